/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * envelope - every byte that one MPI process sends another over PM, and the checks on arrival.
 *
 * Pure: knows neither MPI nor PM. A datagram starts with one of the structs below; the kind in its
 * first byte tells which. Numbers are in host byte order: a job is of one architecture (Open MPI
 * checks that before). Bytes of peers are never trusted: envelope_parse is the only way in, ids go
 * through ids.h.
 *
 *   eager     EAGER | EAGER_SYNC (answered by ACK at the match) | FIRST, MORE, MORE ...
 *   long      RTS, MORE, MORE ... up to the head -> receiver reads the rest by handle -> FIN
 *             the same -> PULL -> DATA, DATA ... (when the sender's memory is not in one piece, or
 *             the receiver's)
 *             the same -> receiver reads it in pieces, and unpacks them -> FIN (when only the
 *             receiver's is not)
 *   way       READ, COPY: announce messages of a length, or send them unasked (ways.h)
 *   choke     CHOKE: send no unasked-for data any more, RTS only; UNCHOKE ends that
 */
#ifndef MPI_GLUE_ENVELOPE_H
#define MPI_GLUE_ENVELOPE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

enum envelope_kind {
	ENVELOPE_EAGER = 1,  /* struct envelope, the whole message */
	ENVELOPE_EAGER_SYNC, /* struct envelope_sync, the whole message */
	ENVELOPE_FIRST,      /* struct envelope_first, the first part of a message */
	ENVELOPE_MORE,       /* struct envelope_control, the next part of the peer's open message */
	ENVELOPE_RTS,        /* struct envelope_rts, the first part of the head */
	ENVELOPE_ACK,        /* struct envelope_control: the synchronous send was matched */
	ENVELOPE_PULL,       /* struct envelope_pull */
	ENVELOPE_DATA,    /* struct envelope_control, the next part for the receiver's operation */
	ENVELOPE_FIN,     /* struct envelope_control: the sender's memory is free again */
	ENVELOPE_CHOKE,   /* struct envelope_control */
	ENVELOPE_UNCHOKE, /* struct envelope_control */
	ENVELOPE_READ, /* struct envelope_control: announce messages of class @id, they are read */
	ENVELOPE_COPY, /* struct envelope_control: send them unasked again */
	ENVELOPE_KINDS,
	ENVELOPE_OTHERS = 64, /* this one and those above are btl/pm's: active.h */
};

/* Largest context id that fits beside the kind. */
#define ENVELOPE_CONTEXT_MAX 0xffffffu

/*
 * Data may start behind a pad, so that in the datagram they are aligned as in the sender's memory.
 * Copies of some KiB between buffers that agree modulo a cache line are about 15 % faster.
 */
#define ENVELOPE_ALIGN 64u

struct envelope {
	uint32_t kind_context; /* kind in the low 8 bits, context id above */
	int32_t source;        /* sender's rank in the communicator */
	int32_t tag;
	union {
		uint32_t pad;   /* bytes between header and data, below ENVELOPE_ALIGN */
		uint32_t stamp; /* RTS: as in FIRST */
	};
};
_Static_assert(sizeof(struct envelope) == 16, "wire size");

struct envelope_sync {
	struct envelope base;
	uint64_t id; /* sender's operation, echoed by ACK */
};
_Static_assert(sizeof(struct envelope_sync) == 24, "wire size");

/* Longest message of FIRST, bytes: such messages are of medium size. */
#define ENVELOPE_FIRST_MAX (256u << 20)

struct envelope_first {
	struct envelope base;
	uint32_t size; /* of the whole message in bytes */
	/* when it was begun: ns of the host's monotonic clock, modulo 2^32; 0 = not told */
	uint32_t stamp;
};
_Static_assert(sizeof(struct envelope_first) == 24, "wire size");

struct envelope_rts {
	struct envelope base;
	uint64_t size; /* of the message in bytes */
	uint64_t id;   /* sender's operation, echoed by PULL and FIN */
	/*
	 * bytes that come unasked, here and in MORE; a MORE with ENVELOPE_LAST may end them before
	 */
	uint64_t head;
	uint64_t handle[4]; /* PM handle of the message's memory; all zero: it must be pulled */
};
_Static_assert(sizeof(struct envelope_rts) == 72, "wire size");

/* In MORE: the head of a long message ends here. */
#define ENVELOPE_LAST 1u
/*
 * A head that is packed ends where an element would be cut: up to so many bytes before its
 * announced end. One that is the whole message, or whose memory is in one piece (there is a
 * handle), ends where it says.
 */
#define ENVELOPE_SLACK 512u

struct envelope_control {
	uint32_t kind; /* enum envelope_kind */
	union {
		uint32_t error; /* FIN: 0, or 1 when the receiver could not read */
		uint32_t pad; /* MORE, DATA: bytes between header and data, below ENVELOPE_ALIGN */
	};
	/* operation of the side this goes to; 0 where none is meant; MORE: 0 or ENVELOPE_LAST */
	uint64_t id;
};
_Static_assert(sizeof(struct envelope_control) == 16, "wire size");

struct envelope_pull {
	struct envelope_control base; /* id: the sender's operation */
	uint64_t reply;               /* the receiver's operation, named by DATA */
	uint64_t wanted;              /* bytes to send, counted from the start of the message */
};
_Static_assert(sizeof(struct envelope_pull) == 32, "wire size");

static inline uint32_t envelope_pack(enum envelope_kind kind, uint32_t context)
{
	return (uint32_t)kind | context << 8;
}

static inline uint32_t envelope_kind(const void *datagram)
{
	return *(const uint32_t *)datagram & 0xff;
}

static inline uint32_t envelope_context(const struct envelope *e)
{
	return e->kind_context >> 8;
}

/* Writes the pad into the header of a datagram of a kind that carries data. */
static inline void envelope_set_pad(void *datagram, uint32_t pad)
{
	if (envelope_kind(datagram) == ENVELOPE_MORE || envelope_kind(datagram) == ENVELOPE_DATA)
		((struct envelope_control *)datagram)->pad = pad;
	else
		((struct envelope *)datagram)->pad = pad;
}

/*
 * Length of the header and its pad at the start of a datagram of @len bytes (8-byte aligned), so
 * that the data follow; -EBADMSG for anything that no honest peer sends.
 */
int envelope_parse(const void *datagram, size_t len);

/*
 * The same if it is of that kind, MORE or DATA; -EBADMSG for any other. Inline, as a long message
 * has many of them.
 */
static inline int envelope_parse_part(const void *datagram, size_t len, enum envelope_kind kind)
{
	const struct envelope_control *m = datagram;

	if (len < sizeof(*m) || m->kind != kind || m->pad >= ENVELOPE_ALIGN ||
	    len <= sizeof(*m) + m->pad)
		return -EBADMSG;
	return (int)(sizeof(*m) + m->pad);
}

#endif
