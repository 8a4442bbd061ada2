/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi1 - the server's side of the PMI-1 wire protocol (MPICH), for the ranks of one world on this
 * host: lines of "cmd=... key=value" on one socket per rank. Owns the sockets, the decoding and the
 * host's copy of the key-value space. Knows neither the tree nor PMIx: a barrier goes out by
 * ops->fence and comes back by pmi1_fenced().
 */
#ifndef SCHEDULER_SCSTEPD_PMI1_H
#define SCHEDULER_SCSTEPD_PMI1_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMI1_TIMEOUT_S 1.0 /* a rank that is gone for so long, and has not ended, lives on */

/* The functions that pmi1 calls. None of them calls back before it has returned. */
struct pmi1_ops {
	/*
	 * All local ranks that did not finish are in a barrier. @data holds what they put since the
	 * last one, in pmi1's own format; it is copied. The joined pieces of all hosts come by
	 * pmi1_fenced(). 0 or -errno.
	 */
	int (*fence)(const void *data, size_t size, void *owner);
	/*
	 * cmd=abort, or a rank that does not keep to the protocol (@text says how); also one of
	 * another host.
	 */
	void (*abort)(uint32_t rank, int code, const char *text, void *owner);
	/* The rank did cmd=init, or cmd=finalize: one that ends between the two has failed. */
	void (*initialized)(uint32_t rank, void *owner);
	void (*finalized)(uint32_t rank, void *owner);
};

struct pmi1_setup {
	const char *kvsname; /* copied */
	uint32_t size;       /* ranks of the world */
	uint32_t universe;   /* cores of the job; 0 = not told */
	uint32_t first;      /* ranks of this host: first .. first + n_local - 1 */
	uint32_t n_local;
	const uint32_t *appnum; /* n_local numbers, copied; NULL = all 0 */
	bool is_held;           /* ranks wait in cmd=init until pmi1_release() */
	const char *mapping; /* value of the key PMI_process_mapping: "(vector,(0,2,1))", copied */
};

struct pmi1;

/* NULL with errno. */
struct pmi1 *pmi1_open(struct ev_loop *loop, const struct pmi1_setup *setup,
		       const struct pmi1_ops *ops, void *owner);
/*
 * @fd is the server's end of the socket pair of @rank, pmi1's from now on, non-blocking already;
 * the rank is given the other end as PMI_FD, with PMI_RANK and PMI_SIZE. A rank that goes without
 * cmd=init while others are in a barrier, here or on other hosts, ends the job by ops->abort. One
 * that goes later does so after PMI1_TIMEOUT_S. 0 or -errno; then the fd is closed.
 */
int pmi1_add(struct pmi1 *pmi, uint32_t rank, int fd);
/* The barrier that ops->fence began is over. error: 0 or errno. Called once for each fence. */
void pmi1_fenced(struct pmi1 *pmi, int error, const void *data, size_t size);
/* Twice is fine. */
void pmi1_release(struct pmi1 *pmi);
/* NULL is fine. Ranks see the end of their connection. */
void pmi1_close(struct pmi1 *pmi);

#endif
