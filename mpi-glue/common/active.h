/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * active - every byte that btl/pm of one process sends another: active messages, and one-sided
 * operations that the other process carries out.
 *
 * Pure: knows neither MPI nor PM. A datagram starts with one of the structs below; the kind in its
 * first byte tells which. Numbers are in host byte order: a job is of one architecture. Bytes of
 * peers are never trusted: active_parse is the only way in, numbers go through ids.h.
 *
 *   message    MESSAGE | FIRST, MORE, MORE ... up to the length that FIRST tells
 *   put        PUT, PUTS or PULL -> DONE, which answers several
 *   get        GET -> RESULT with the data
 */
#ifndef MPI_GLUE_ACTIVE_H
#define MPI_GLUE_ACTIVE_H

#include <stddef.h>
#include <stdint.h>

enum active_kind {
	ACTIVE_MESSAGE = 64, /* struct active_head, the whole message */
	ACTIVE_FIRST,        /* struct active_head, the first part; length: of the whole message */
	ACTIVE_MORE,         /* struct active_head, the next part */
	ACTIVE_PUT,          /* struct active_request, the data */
	ACTIVE_GET,          /* struct active_request; length: of the data */
	ACTIVE_RESULT,       /* struct active_result, the data */
	ACTIVE_DONE, /* struct active_head, length: so many uint64_t, ids of puts that are done */
	ACTIVE_PUTS, /* struct active_puts, the pieces */
	ACTIVE_PULL, /* struct active_pull */
	ACTIVE_KINDS,
};

/* Highest tag of a message. */
#define ACTIVE_TAG_MAX 254u
/* Longest message of FIRST, bytes. */
#define ACTIVE_LENGTH_MAX (64u << 10)
/* Puts that one DONE answers. */
#define ACTIVE_DONE_MAX 32u
/* Requests to one process that have no answer, so it need not keep more answers; PULLs of them. */
#define ACTIVE_ASKED_MAX 1024u
#define ACTIVE_PULLS_MAX 64u

struct active_head {
	uint8_t kind; /* enum active_kind */
	uint8_t tag;  /* MESSAGE, FIRST: up to ACTIVE_TAG_MAX */
	uint16_t zero;
	/* FIRST, GET, DONE: see above; PUTS: pieces; RESULT: 0, or errno in place of data */
	uint32_t length;
};
_Static_assert(sizeof(struct active_head) == 8, "wire size");

struct active_request {
	struct active_head head;
	uint64_t id;      /* of the operation, echoed by the answer */
	uint64_t region;  /* memory of the receiver, by its own number */
	uint64_t address; /* in the receiver's memory */
};
_Static_assert(sizeof(struct active_request) == 32, "wire size");

struct active_result {
	struct active_head head;
	uint64_t id; /* of the operation, from its request */
};
_Static_assert(sizeof(struct active_result) == 16, "wire size");

/* Short puts that share a datagram: one operation, which is done when all of them are. */
struct active_puts {
	struct active_head head;
	uint64_t id; /* of the operation */
};
_Static_assert(sizeof(struct active_puts) == 16, "wire size");

/* One of them; its data follow, filled up to a multiple of 8. */
struct active_piece {
	uint64_t region; /* as in struct active_request */
	uint64_t address;
	uint64_t length; /* of the data, not 0 */
};
_Static_assert(sizeof(struct active_piece) == 24, "wire size");

/* Bytes of a piece with @length bytes of data. */
static inline size_t active_piece_size(size_t length)
{
	return sizeof(struct active_piece) + ((length + 7) & ~(size_t)7);
}

/* A put of many bytes: the receiver reads them out of the sender's memory. */
struct active_pull {
	struct active_request request;
	uint64_t length;    /* of the data, not 0 */
	uint64_t handle[4]; /* PM handle of the sender's memory, which begins with them */
};
_Static_assert(sizeof(struct active_pull) == 72, "wire size");

/*
 * Length of the struct at the start of a datagram of @len bytes (8-byte aligned), so that data
 * follow; -EBADMSG for anything that no honest peer sends.
 */
int active_parse(const void *datagram, size_t len);

#endif
