/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bulk - one-sided operations. The initiator asks by a cell of the message ring; all else runs in
 * the bulk rings of the pair, so that unreleased messages never hold it up:
 *
 *   read    READ --> DATA <- DATA <- ...                    (complete with the last byte)
 *   write   WRITE -> GRANT <- PUT -> PUT -> ... DONE <-
 *   read of a region on the board:   nothing; the initiator copies it by itself
 *   either, when the target copies across address spaces:   DONE <-
 *   either, when the key, the range or the memory is not there:   REFUSE <-
 *   given up by the initiator:   CANCEL -> REFUSE <-   (or what was on its way)
 *
 * The target finds the region by its key for each chunk, so memory is never touched after unexport.
 * Copies across address spaces are made by the target, which has the key at hand, with the
 * initiator's leave (pms_bulk_head.leases). The target takes the lease for each piece, and the
 * initiator takes it back before it gives up its memory.
 *
 * bulk.c: asking side and polling. serve.c: answering side. pair.c: the rings of a pair. direct.c:
 * the initiator's own copies. lease.c: its leases.
 */
#ifndef PM_SHMEM_BULK_H
#define PM_SHMEM_BULK_H

#include "pm-shmem/chunkring.h"
#include "pm-shmem/device.h"

#define PMS_OPS 256           /* our operations outstanding, to all peers */
#define PMS_CMA_MIN 16384     /* shorter ones go through the ring in any case */
#define PMS_DIRECT_MIN 4096   /* the same where the initiator can copy by itself */
#define PMS_CMA_PIECE 1048576 /* bytes copied in one go while others wait */
#define PMS_TURN 262144       /* bytes of one operation before the next has its turn */

enum pms_op_state {
	PMS_OP_FREE,
	PMS_OP_ASKED,     /* waiting for what the target sends */
	PMS_OP_COPY,      /* read: we copy it by ourselves, piece by piece */
	PMS_OP_STREAM,    /* write: granted, sending data */
	PMS_OP_SENT,      /* write: all data sent, waiting for its end */
	PMS_OP_CANCEL,    /* given up, the target is to be told */
	PMS_OP_CANCELLED, /* told; whatever comes is thrown away */
	PMS_OP_FINISHED,  /* result is valid */
};

/* An operation of ours. */
struct pms_op {
	/* in the free list or the peer's list of those with something to send */
	struct pms_op *next;
	struct pm_link_peer *peer;
	uint8_t *local;
	uint64_t rkey;    /* of the target's region */
	uint64_t roffset; /* in it, bytes */
	uint64_t len;     /* bytes */
	uint64_t moved;   /* bytes sent or received */
	uint32_t name;    /* as the user and the target know it: use count << 8 | index */
	uint32_t lease;   /* PMS_LEASES = none */
	enum pms_op_state state;
	int result; /* 0 or -errno */
	bool is_write;
};

struct pms_rma {
	struct pms_op *free;
	struct pms_op ops[PMS_OPS];
};

enum pms_job_state {
	PMS_JOB_DATA,    /* read: sending data */
	PMS_JOB_GRANT,   /* write: the grant is to be sent */
	PMS_JOB_RECEIVE, /* write: waiting for data */
	PMS_JOB_CMA,     /* copying across address spaces */
	PMS_JOB_DONE,    /* the end is to be told */
	PMS_JOB_REFUSE,  /* so is the refusal */
};

/* An operation of the peer on our memory. */
struct pms_job {
	struct pms_job *next; /* in the list of those that can go on */
	struct pms_request ask;
	uint64_t moved; /* bytes */
	enum pms_job_state state;
	int error; /* of a refusal, -errno */
	bool is_write;
};

/* One-sided state of a peer. */
struct pms_bulk {
	struct pms_chunk_tx tx;
	struct pms_chunk_rx rx;
	void *tx_memory, *rx_memory; /* mapped bulk parts */
	struct pms_op *ready_ops;    /* with something to send, the one whose turn it is first */
	struct pms_op **ready_ops_tail;
	struct pms_job *ready_jobs; /* that wait for no data of the peer, same order */
	struct pms_job **ready_jobs_tail;
	struct pms_job *jobs[PMS_OPS]; /* by the place of the operation in the initiator's table */
	uint32_t n_ops;                /* not finished */
	uint32_t n_jobs;
	uint32_t leases;      /* bit i: lease i is in use by an operation of ours */
	bool is_filled;       /* all data of tx has pages, else the first page of each chunk */
	bool is_cma_possible; /* same pid namespace, our copies for the peer were never refused */
	/* the same of our own reads: the kernel may allow one and not the other */
	bool is_direct_possible;
	bool is_blocked; /* the flag in tx is up */
};

/* ---- as device.c and the polling see them ---- */

int pms_read(struct pm_link *base, struct pm_link_peer *peer, uint64_t rkey, uint64_t roffset,
	     void *local, uint64_t len, uint32_t *ret_op);
int pms_write(struct pm_link *base, struct pm_link_peer *peer, uint64_t rkey, uint64_t roffset,
	      const void *local, uint64_t len, uint32_t *ret_op);
int pms_rma_done(struct pm_link *base, uint32_t op);
void pms_exported(struct pm_link *base, uint64_t rkey, void *addr, uint64_t len);
void pms_unexport(struct pm_link *base, uint64_t rkey, void *addr, uint64_t len);

/*
 * A READ or WRITE cell from the peer: 0, -ENOMEM: it can't be answered, -EINVAL: there is one of
 * its name already.
 */
int pms_serve_request(struct pms_link *link, struct pm_link_peer *peer,
		      const struct pms_message *message);
/* Moves what can be moved now; called while link->n_bulk is not 0. */
void pms_bulk_progress(struct pms_link *link);
/* Ends all operations with a peer that is gone or given up: ours fail with -EPIPE. */
void pms_bulk_abort(struct pms_link *link, struct pm_link_peer *peer);
/*
 * The queue to the peer is about to be dropped: operations whose requests wait there have failed.
 */
void pms_bulk_unsent(struct pms_link *link, const struct pm_link_peer *peer);
/* As abort, and frees the state. */
void pms_bulk_fini(struct pms_link *link, struct pm_link_peer *peer);
/* Raises or lowers the blocked flag of the bulk ring to the peer, if we wait for room in it. */
void pms_bulk_flag(struct pm_link_peer *peer, bool is_blocked);
/* Whether progress would do something: asked before a sleep. */
bool pms_bulk_has_work(struct pm_link_peer *peer);
uint64_t pms_bulk_memory(const struct pms_link *link);

/* ---- between bulk.c, serve.c, pair.c, direct.c and lease.c ---- */

/* The peer's state, made at first use. -ENOMEM, -ENOSPC. */
int pms_bulk_get(struct pms_link *link, struct pm_link_peer *peer, struct pms_bulk **ret_bulk);
/* Makes all data of the ring to the peer writable, if there is room in the file system. */
void pms_bulk_fill(struct pms_link *link, struct pm_link_peer *peer);
/* Bytes of the next chunk of an operation with @left bytes to go. */
uint32_t pms_bulk_step(const struct pms_bulk *bulk, uint64_t len, uint64_t left);
/*
 * Leave for the target to copy to and from our memory, if both can: the lease's index, or
 * PMS_LEASES.
 */
uint32_t pms_lease_give(struct pms_bulk *bulk, uint32_t name, uint64_t len);
/* Takes it back: from the return on the target no longer touches our memory. */
void pms_lease_end(struct pms_link *link, struct pms_op *op);
/* Copies the first piece of a read as pms_direct_step does; false: it has to be asked for. */
bool pms_direct_begin(struct pms_link *link, struct pms_op *op);
/*
 * Copies the next piece of a read out of the target's memory. Nothing has changed after a failure:
 * -EACCES (the region is not on the board, or is there no more), -EPIPE (the target has ended), or
 * what the kernel said.
 */
int pms_direct_step(struct pms_link *link, struct pms_op *op);
/* One step of the job whose turn it is. False: nothing to do, or no room. */
bool pms_serve_step(struct pms_link *link, struct pm_link_peer *peer);
/* A PUT or CANCEL chunk from the peer; false: not yet. */
bool pms_serve_chunk(struct pms_link *link, struct pm_link_peer *peer,
		     const struct pms_chunk *chunk, const uint8_t *data);
void pms_serve_abort(struct pms_link *link, struct pm_link_peer *peer);
static inline bool pms_bulk_is_active(const struct pms_bulk *bulk)
{
	return bulk->n_ops || bulk->n_jobs;
}

#endif
