/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout - every byte of the shared segment, and nothing else. All processes of a job on a host map
 * it.
 *
 *   header page | slots, one per process | boards, the same | areas, one per ordered pair (sender,
 *   receiver)
 *   area = message part: heads page, cells, spill, bytes | bulk part: heads page, chunks
 *
 * A word has exactly one writer unless its comment says otherwise. Each line (64 bytes) is written
 * by one side only, so that nobody's writes slow down another's reads. The file is sparse: a pair
 * that never talks has no pages.
 */
#ifndef PM_SHMEM_LAYOUT_H
#define PM_SHMEM_LAYOUT_H

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define PMS_LINE 64
#define PMS_PAGE 4096
#define PMS_SLOTS 256 /* processes per host and job */
#define PMS_WORDS (PMS_SLOTS / 64)
#define PMS_RING_MIN 16384u /* bytes of a byte ring, power of two */
#define PMS_RING_MAX (1u << 24)
#define PMS_CELL 32        /* bytes of a cell: a message of 24 bytes takes one, half a line */
#define PMS_INLINE 2040    /* message bytes that travel in cells */
#define PMS_SHORT 56       /* message bytes copied word by word, from private buffers if lent */
#define PMS_SPILL PMS_PAGE /* behind the last cell, for the message that begins there */
#define PMS_CHUNKS 16 /* of a pair's bulk ring: together they stay in the caches of both sides */
#define PMS_CHUNK_BYTES 16384           /* 32768 is as fast for megabytes, 6 % slower for 64 KiB */
#define PMS_LEASES 32                   /* one-sided operations outstanding per pair */
#define PMS_EXPORTS 128                 /* regions on the board of a process */
#define PMS_MAGIC 0x34304d4853534f50ull /* "POSSHM04"; changes with any change of this file */

/* How the first process of the host found large data to move fastest. */
enum pms_large { PMS_LARGE_UNKNOWN, PMS_LARGE_RING, PMS_LARGE_CMA };

struct pms_header {
	_Atomic uint64_t magic; /* PMS_MAGIC, written last: before that the segment is not made */
	uint64_t id;            /* random, tells this segment from any other of any host */
	uint64_t key_check; /* a hash of the job key other than the one in the directory's name */
	uint32_t ring;      /* bytes of a pair's byte ring */
	uint32_t mtu;       /* largest datagram, bytes */
	uint32_t large;     /* enum pms_large; written once, under the lock */
};

/*
 * A slot belongs to the process that holds the lock on its byte of the file (liveness.h). A slot in
 * state LIVE whose lock is free belonged to a process that was killed.
 */
enum pms_slot_state { PMS_SLOT_FREE, PMS_SLOT_LIVE, PMS_SLOT_LEFT };

struct pms_slot {
	/* who: written under the segment lock, before state becomes LIVE */
	alignas(PMS_LINE) _Atomic uint32_t state; /* enum pms_slot_state */
	uint32_t node;                            /* number in the job */
	uint32_t pid;                             /* as seen in the pid namespace pid_ns */
	uint32_t uses;                            /* processes that had this slot so far */
	uint64_t instance;                        /* random, tells the users of a slot apart */
	uint64_t pid_ns;                          /* inode of the pid namespace, 0 = unknown */
	/*
	 * arm count while asleep or about to be, 0 while awake; the owner sets it, a waker clears
	 * it
	 */
	alignas(PMS_LINE) _Atomic uint32_t sleeping;
	/*
	 * bit i: process i sends to this one; set by i at its first message, cleared by the owner
	 */
	alignas(PMS_LINE) _Atomic uint64_t contacts[PMS_WORDS];
	/* bit i: this process may touch the areas it shares with i; written by the owner */
	alignas(PMS_LINE) _Atomic uint64_t refers[PMS_WORDS];
};

/*
 * A region that others of the host may copy out of, without asking; written by the process that
 * exported it.
 */
struct pms_export {
	alignas(32) _Atomic uint64_t rkey; /* written last, 0 = none */
	_Atomic uint64_t addr;             /* in the owner's memory */
	_Atomic uint64_t len;              /* bytes */
};

/*
 * By the key, modulo PMS_EXPORTS. A region whose place is taken is not on the board: it has to be
 * asked for.
 */
struct pms_board {
	struct pms_export exports[PMS_EXPORTS];
};

/*
 * The first cell of a message begins with a word that is written last and tells in one piece
 * whether the message is there. Its bits 0..31 are the message's position (in cells) + 1, 32..55
 * its length in bytes, 56..63 its kind. The body, by kind, follows behind the word, in this cell
 * and the next ones. Those have no word: before a message is published the word behind it, where
 * the next one will begin, is cleared if data lie there.
 */
struct pms_cell {
	alignas(PMS_CELL) _Atomic uint64_t word;
	_Atomic uint64_t body[PMS_CELL / 8 - 1];
};

enum pms_kind {
	PMS_KIND_INLINE = 1,  /* the message */
	PMS_KIND_BYTES = 2,   /* the offset of the message in the byte ring, 8 bytes */
	PMS_KIND_READ = 3,    /* a struct pms_request */
	PMS_KIND_WRITE = 4,   /* the same */
	PMS_KIND_CARRIED = 5, /* what the sender's libpm says to ours, up to PMS_SHORT bytes */
};

/* A one-sided operation asked of its target. */
struct pms_request {
	uint64_t rkey;
	uint64_t roffset; /* in the region, bytes */
	uint64_t len;     /* bytes */
	uint64_t local;   /* address of the initiator's memory, for a copy across address spaces */
	uint32_t op;      /* the initiator's name of the operation */
	uint32_t lease;   /* index in pms_bulk_head.leases, PMS_LEASES = no such copy allowed */
};

/* First page of the message part of an area. */
struct pms_ring_head {
	alignas(PMS_LINE) _Atomic uint32_t head;    /* consumer: cells before it are free again */
	alignas(PMS_LINE) _Atomic uint32_t blocked; /* producer: asleep until the head moves */
};

/* A chunk of the bulk ring is announced by this line; its data is at the same index. */
struct pms_chunk {
	alignas(PMS_LINE) _Atomic uint64_t seq; /* position + 1, written last */
	uint64_t offset;                        /* in the operation, bytes */
	uint32_t op;                            /* the initiator's name of the operation */
	uint32_t kind;                          /* enum pms_chunk_kind */
	uint32_t len;                           /* data bytes of this chunk */
	int32_t error;                          /* of PMS_CHUNK_REFUSE: -errno */
};

enum pms_chunk_kind {
	PMS_CHUNK_DATA = 1,   /* target to initiator: part of the data of a read */
	PMS_CHUNK_GRANT = 2,  /* target to initiator: send the data of your write */
	PMS_CHUNK_DONE = 3,   /* target to initiator: all has been copied */
	PMS_CHUNK_REFUSE = 4, /* target to initiator: not allowed or not possible */
	PMS_CHUNK_PUT = 5,    /* initiator to target: part of the data of a write */
	PMS_CHUNK_CANCEL = 6, /* initiator to target: forget the operation, then refuse it */
};

/* First page of the bulk part of an area; its producer is the initiator that gives the leases. */
struct pms_bulk_head {
	alignas(PMS_LINE) _Atomic uint64_t head;    /* consumer: chunks before it are free again */
	alignas(PMS_LINE) _Atomic uint32_t blocked; /* producer: asleep until the head moves */
	alignas(PMS_LINE) struct pms_chunk chunks[PMS_CHUNKS];
	/*
	 * permission to copy to or from the initiator's memory: op << 8 | enum pms_lease, both
	 * write
	 */
	alignas(PMS_LINE) _Atomic uint64_t leases[PMS_LEASES];
};

enum pms_lease { PMS_LEASE_NONE, PMS_LEASE_GIVEN, PMS_LEASE_IN_USE };

#define PMS_SLOTS_OFFSET PMS_PAGE
#define PMS_BOARDS_OFFSET (PMS_PAGE + PMS_SLOTS * sizeof(struct pms_slot))
#define PMS_BOARDS_BYTES (PMS_SLOTS * sizeof(struct pms_board))
#define PMS_AREAS_OFFSET (PMS_BOARDS_OFFSET + PMS_BOARDS_BYTES)
#define PMS_BULK_BYTES (PMS_PAGE + PMS_CHUNKS * PMS_CHUNK_BYTES)

/* Cells of a message ring whose byte ring has @ring bytes: half as many bytes. */
static inline uint32_t pms_cells(uint32_t ring)
{
	return ring / 2 / PMS_CELL;
}

/* Cells of a message with @len bytes behind its word. */
static inline uint32_t pms_cells_of(uint32_t len)
{
	return (len + sizeof(uint64_t) + PMS_CELL - 1) / PMS_CELL;
}

/* Bytes of the message part of an area. */
static inline uint64_t pms_ring_bytes(uint32_t ring)
{
	return PMS_PAGE + pms_cells(ring) * sizeof(struct pms_cell) + PMS_SPILL + (uint64_t)ring;
}

static inline uint64_t pms_area_bytes(uint32_t ring)
{
	return pms_ring_bytes(ring) + PMS_BULK_BYTES;
}

static inline uint64_t pms_area_offset(uint32_t ring, uint32_t from, uint32_t to)
{
	return PMS_AREAS_OFFSET + ((uint64_t)from * PMS_SLOTS + to) * pms_area_bytes(ring);
}

static_assert(sizeof(struct pms_cell) == PMS_CELL, "a cell has no holes");
static_assert(PMS_INLINE + 8 <= PMS_CELL + PMS_SPILL, "the last cell's message fits behind it");
static_assert(PMS_INLINE + 8 <= PMS_RING_MIN / 4, "half of the cells hold the longest message");
static_assert(sizeof(struct pms_chunk) == PMS_LINE, "an announcement is one line");
static_assert(sizeof(struct pms_slot) == 4 * PMS_LINE, "a slot is four lines");
static_assert(sizeof(struct pms_board) == PMS_PAGE, "a board is a page");
static_assert(sizeof(struct pms_header) <= PMS_PAGE, "the header fits its page");
static_assert(sizeof(struct pms_ring_head) <= PMS_PAGE, "the heads fit their page");
static_assert(sizeof(struct pms_bulk_head) <= PMS_PAGE, "the bulk heads fit their page");
static_assert(sizeof(struct pms_request) <= PMS_SHORT, "a request is short");
static_assert(PMS_AREAS_OFFSET % PMS_PAGE == 0, "areas can be mapped");

#endif
