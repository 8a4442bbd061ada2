/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wakeup - sleeping and being woken: one FIFO per process, and the flag in its slot that says that
 * somebody sleeps on it. Knows nothing of rings: whoever publishes calls pms_wake, whoever sleeps
 * looks at its rings again between pms_sleep_begin and the sleep.
 *
 * Litmus (store buffering): the sleeper stores `sleeping` then reads the rings, the sender stores
 * to a ring then reads `sleeping`. One of the two must see the other, which takes a full fence
 * between store and load on both sides. membarrier(2) by the sleeper does not spare the sender's:
 * Linux 6.18 did not interrupt each core of a process that had registered for it
 * (GLOBAL_EXPEDITED), and wake-ups were lost.
 */
#ifndef PM_SHMEM_WAKEUP_H
#define PM_SHMEM_WAKEUP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "pm-shmem/layout.h"

/* How to wake one peer. */
struct pms_waker {
	struct pms_slot *slot; /* of the peer */
	int fd;                /* its FIFO, -1 = not opened yet */
};

/* Makes and opens the FIFO of slot @index. -errno. */
int pms_fifo_create(int dir, uint32_t index, int *ret_fd);
void pms_fifo_remove(int dir, uint32_t index);

/*
 * About to sleep; @count: not 0 and other than the last time. Afterwards the rings must be looked
 * at.
 */
void pms_sleep_begin(struct pms_slot *self, uint32_t count);
/* Awake again: empties the FIFO. */
void pms_sleep_end(struct pms_slot *self, int fifo);

/* Wakes a peer seen asleep. @index: its slot. True when a byte was written. */
bool pms_wake_slow(struct pms_waker *waker, int dir, uint32_t index);

/* Between the store that a sleeper waits for and the load of its flag. */
static inline void pms_wake_fence(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}

/* To be called after something was published for the peer. */
static inline bool pms_wake(struct pms_waker *waker, int dir, uint32_t index)
{
	pms_wake_fence();
	if (!atomic_load_explicit(&waker->slot->sleeping, memory_order_relaxed))
		return false;
	return pms_wake_slow(waker, dir, index);
}

#endif
