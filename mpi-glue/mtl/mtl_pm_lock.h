/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_lock - enters the component from a call of Open MPI and leaves it again. A program with
 * one thread takes no lock; the progress thread, while it watches, and the program's own threads
 * make it necessary.
 */
#ifndef MTL_PM_LOCK_H
#define MTL_PM_LOCK_H

#include "mpi-glue/mtl/mtl_pm.h"

/*
 * A long message was started and is not over; lock held. True: the thread is parked,
 * mtl_pm_leave_and_unpark.
 */
bool mtl_pm_thread_tell(void);
void mtl_pm_thread_unpark(void);
void mtl_pm_lock(void);
/* For a round of progress. False: another thread is at it. */
bool mtl_pm_lock_to_poll(void);
/* Lock not held. */
void mtl_pm_run_callbacks(struct mtl_pm_requests *done);

/* The program sets the gate before it wakes a parked thread, which opens it again when it parks. */
static inline uint32_t mtl_pm_gate(void)
{
	return __atomic_load_n(&mtl_pm.gate, __ATOMIC_ACQUIRE);
}

/*
 * The program is inside before it looks at the gate, and the progress thread closes the gate before
 * it looks whether the program is inside. The kernel's membarrier keeps that order for both
 * (mtl_pm_keep.c), so there is no fence here.
 */
static inline void mtl_pm_come_in(void)
{
	__atomic_store_n(&mtl_pm.presence, MTL_PM_INSIDE, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void mtl_pm_go_out(void)
{
	if (OPAL_UNLIKELY(mtl_pm.has_lock)) {
		mtl_pm.has_lock = false;
		pthread_mutex_unlock(&mtl_pm.lock);
	}
	__atomic_store_n(&mtl_pm.presence, MTL_PM_OUTSIDE, __ATOMIC_RELEASE);
}

static inline void mtl_pm_enter(void)
{
	mtl_pm_come_in();
	if (OPAL_UNLIKELY(mtl_pm_gate()))
		mtl_pm_lock();
}

/* Leaves the lock and calls back for what was completed under it: callbacks may call us again. */
static inline void mtl_pm_leave(void)
{
	struct mtl_pm_requests done;

	if (OPAL_LIKELY(STAILQ_EMPTY(&mtl_pm.done))) {
		mtl_pm_go_out();
		return;
	}
	STAILQ_INIT(&done);
	STAILQ_CONCAT(&done, &mtl_pm.done);
	mtl_pm_go_out();
	mtl_pm_run_callbacks(&done);
}

/*
 * The same, and unparks the thread if it @is_parked: before the callbacks, which may start
 * something as well.
 */
static inline void mtl_pm_leave_and_unpark(bool is_parked)
{
	struct mtl_pm_requests done;

	if (OPAL_LIKELY(!is_parked)) {
		mtl_pm_leave();
		return;
	}
	STAILQ_INIT(&done);
	STAILQ_CONCAT(&done, &mtl_pm.done);
	mtl_pm_go_out();
	mtl_pm_thread_unpark();
	mtl_pm_run_callbacks(&done);
}

/*
 * After the start of a request that mtl_pm_mark_long has seen, lock held. Its result is for
 * mtl_pm_leave_and_unpark.
 */
static inline bool mtl_pm_tell_thread(size_t length)
{
	return OPAL_UNLIKELY(mtl_pm.moves_long) && length >= MTL_PM_LONG &&
	       (mtl_pm.n_long || mtl_pm_has_unfinished()) && mtl_pm_thread_tell();
}

#endif
