/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_thread - what the progress thread (mtl_pm_thread.c) and the program's way past it
 * (mtl_pm_lock.c) share.
 */
#ifndef MTL_PM_THREAD_H
#define MTL_PM_THREAD_H

#include "mpi-glue/common/keep.h"
#include "mpi-glue/mtl/mtl_pm.h"

extern struct mtl_pm_helper {
	pthread_t id;
	pid_t pid;           /* a child after fork() has no thread */
	int event;           /* wakes it */
	bool is_stopping;    /* atomic */
	bool is_told;        /* atomic: event was written, and not seen yet */
	bool is_parked;      /* the thread's; others read it with the lock held */
	struct keep keep;    /* while it is parked; lock held */
	bool has_barriers;   /* the process is registered with the kernel; the thread's */
	bool is_armed;       /* PM sleeps: lock held */
	bool allows_threads; /* the program has threads of its own */
	uint32_t waiting;    /* of the program, for the lock; atomic */
	uint32_t polls;      /* of the program; atomic */
	uint32_t seen;       /* polls at the last look */
	uint32_t idle;       /* ticks without an open message */
	/* starts for which the program still counts as one that computes; atomic */
	uint32_t believed;
	uint64_t started_ns; /* of the first start since the last poll; 0: none; atomic */
} mtl_pm_helper;

/* If PM was told that the thread sleeps: tells it that the thread is awake. Lock held. */
void mtl_pm_disarm(void);
/* The thread looks at once, also if it is parked. */
void mtl_pm_wake_thread(void);

/* mtl_pm_keep.c */
/*
 * Whether the kernel has the barriers that the thread needs; does not wait. Otherwise the program
 * has to take the lock always.
 */
bool mtl_pm_keep_begin(void);
/*
 * The parked thread has slept: looks whether the program is away, and after PM if it is. Returns
 * how long to sleep next.
 */
int mtl_pm_keep(void);

#endif
