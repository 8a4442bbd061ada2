/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wakeup - sleeping and being woken: one FIFO per process, and the flag in its slot that says that
 * somebody sleeps on it. Knows nothing of rings: whoever publishes calls pms_wake, whoever sleeps looks at
 * its rings again between pms_sleep_begin and the sleep.
 *
 * Litmus (store buffering): the sleeper stores `sleeping` then reads the rings, the sender stores to a ring
 * then reads `sleeping`. One of the two must see the other, which takes a full fence between store and load
 * on both sides. The sender's would cost it a stall per message, so the sleeper runs membarrier(2), which
 * puts that fence into every thread of every registered process. Where membarrier is refused the sender
 * fences by itself (pms_waker.fences), and so it does until its own process is registered. The kernel takes
 * 13 ms for that where there are threads, so a process begins when it has sent enough messages to gain by
 * it, in a thread of its own. A sender left its fence out after that, until Linux 6.18 was seen not to interrupt the core
 * of a sender whose process had registered: it fences always now.
 */
#ifndef PM_SHMEM_WAKEUP_H
#define PM_SHMEM_WAKEUP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "pm-shmem/layout.h"

#define PMS_FENCES_MAX 1024u /* of one context, until it registers its process */

enum pms_fences {
	PMS_FENCES_NEVER,
	PMS_FENCES_UNREGISTERED, /* as long as our process is not registered */
	PMS_FENCES_ALWAYS,       /* the peer runs no membarrier, or we are refused */
};

/* The registration of our process, of one context. Zeroed: not begun. */
struct pms_registrar {
	uint32_t n_fences; /* that a registration would have spared */
	bool is_begun;
	pthread_t thread; /* while is_begun, of ... */
	pid_t pid;
	_Atomic int state; /* enum below */
};

enum { PMS_REGISTRAR_WAITS, PMS_REGISTRAR_DONE, PMS_REGISTRAR_REFUSED };

/* How to wake one peer. */
struct pms_waker {
	struct pms_slot *slot; /* of the peer */
	int fd;                /* its FIFO, -1 = not opened yet */
	enum pms_fences fences;
	struct pms_registrar *registrar; /* while PMS_FENCES_UNREGISTERED */
};

/* Whether the kernel fences others for us when we sleep. */
bool pms_membarrier_works(void);
/* Registers the process for membarrier; false when the kernel refuses. May take many milliseconds. */
bool pms_membarrier_register(void);
/* Waits for the thread, if there is one. */
void pms_registrar_fini(struct pms_registrar *registrar);

/* Makes and opens the FIFO of slot @index. -errno. */
int pms_fifo_create(int dir, uint32_t index, int *ret_fd);
void pms_fifo_remove(int dir, uint32_t index);

/* About to sleep; @count: not 0 and other than the last time. Afterwards the rings must be looked at. */
void pms_sleep_begin(struct pms_slot *self, uint32_t count);
/* Awake again: empties the FIFO. */
void pms_sleep_end(struct pms_slot *self, int fifo);

/* Wakes a peer seen asleep. @index: its slot. True when a byte was written. */
bool pms_wake_slow(struct pms_waker *waker, int dir, uint32_t index);

/* A fence, and the registration that spares the next ones. */
void pms_wake_fenced(struct pms_waker *waker);

/* Between the store that a sleeper waits for and the load of its flag. */
static inline void pms_wake_fence(struct pms_waker *waker)
{
	if (waker->fences != PMS_FENCES_NEVER)
		pms_wake_fenced(waker);
	else
		/* Linux 6.18 does not always interrupt the core of a registered process: wake-ups got lost without */
		atomic_thread_fence(memory_order_seq_cst);
}

/* To be called after something was published for the peer. */
static inline bool pms_wake(struct pms_waker *waker, int dir, uint32_t index)
{
	pms_wake_fence(waker);
	if (!atomic_load_explicit(&waker->slot->sleeping, memory_order_relaxed))
		return false;
	return pms_wake_slow(waker, dir, index);
}

#endif
