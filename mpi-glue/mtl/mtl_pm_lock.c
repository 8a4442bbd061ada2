// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_lock - the way of the program's threads into the component and out of it. They take the
 * lock, past the progress thread and each other, and tell the progress thread what it has to know.
 * Callbacks of Open MPI run after the lock is left.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"
#include "mpi-glue/mtl/mtl_pm_batch.h"
#include "mpi-glue/mtl/mtl_pm_thread.h"
#include "pmcore/util/clock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A program that stays away from MPI for so long after a start computes. */
#define COMPUTES_NS 100000
/*
 * A computation makes the thread wake at once at so many of the next starts, several at so many at
 * most; a program begins with one. So a process that lost its core for once, which looks the same,
 * costs little.
 */
#define BELIEVED 8
#define BELIEVED_MAX 64

struct mtl_pm_helper mtl_pm_helper = {.event = -1, .believed = BELIEVED};

void mtl_pm_disarm(void)
{
	if (!mtl_pm_helper.is_armed)
		return;
	mtl_pm_helper.is_armed = false;
	pmAfterSelect(mtl_pm.ctx);
}

/* The thread wakes up. */
static void ring(void)
{
	const uint64_t one = 1;

	if (write(mtl_pm_helper.event, &one, sizeof(one)) != sizeof(one))
		mtl_pm_fatal("the progress thread cannot be woken: %s", strerror(errno));
}

/* Lock held: it is the program's until it leaves. */
static void have_lock(void)
{
	mtl_pm.has_lock = true;
	if (mtl_pm.has_batch)
		mtl_pm_batch_join();
}

/* Lock held: what the thread does while the program is outside of MPI is over. */
static void end_absence(void)
{
	mtl_pm_disarm();
	if (!(mtl_pm_gate() & MTL_PM_GATE_TAKEN))
		return;
	__atomic_fetch_and(&mtl_pm.gate, ~(uint32_t)MTL_PM_GATE_TAKEN, __ATOMIC_RELEASE);
	if (keep_back(&mtl_pm_helper.keep))
		ring();
}

/*
 * The thread may have parked, or have tried to come in and left, while we waited for the lock: then
 * there is nobody to lock out any more.
 */
void mtl_pm_lock(void)
{
	bool moves_long = mtl_pm.moves_long;

	if (!__atomic_load_n(&mtl_pm.has_thread, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&mtl_pm.lock);
		have_lock();
		return;
	}
	/* A thread that keeps the timers alone lets the program in by itself. */
	if (moves_long)
		__atomic_fetch_add(&mtl_pm_helper.waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&mtl_pm.lock);
	if (moves_long)
		__atomic_fetch_sub(&mtl_pm_helper.waiting, 1, __ATOMIC_RELAXED);
	end_absence();
	if (!mtl_pm_gate())
		pthread_mutex_unlock(&mtl_pm.lock);
	else
		have_lock();
}

/*
 * Whether the program has computed since it started something, which tells what it will do next
 * time.
 */
static void note_return(void)
{
	uint64_t started_ns = __atomic_exchange_n(&mtl_pm_helper.started_ns, 0, __ATOMIC_RELAXED);
	uint32_t believed = __atomic_load_n(&mtl_pm_helper.believed, __ATOMIC_RELAXED);

	if (!started_ns)
		return;
	if (clock_monotonic_ns() - started_ns > COMPUTES_NS)
		believed = believed + BELIEVED < BELIEVED_MAX ? believed + BELIEVED : BELIEVED_MAX;
	else if (believed)
		believed--;
	__atomic_store_n(&mtl_pm_helper.believed, believed, __ATOMIC_RELAXED);
}

bool mtl_pm_lock_to_poll(void)
{
	if (__atomic_load_n(&mtl_pm.has_thread, __ATOMIC_ACQUIRE)) {
		if (mtl_pm.moves_long)
			__atomic_fetch_add(&mtl_pm_helper.polls, 1, __ATOMIC_RELAXED);
		if (__atomic_load_n(&mtl_pm_helper.started_ns, __ATOMIC_RELAXED))
			note_return();
		/*
		 * The thread's round is short. Polling until it is over could keep the core from
		 * it.
		 */
		if (!mtl_pm_helper.allows_threads) {
			mtl_pm_lock();
			return true;
		}
	}
	if (pthread_mutex_trylock(&mtl_pm.lock)) {
		__atomic_store_n(&mtl_pm.presence, MTL_PM_OUTSIDE, __ATOMIC_RELAXED);
		return false;
	}
	end_absence();
	have_lock();
	return true;
}

void mtl_pm_wake_thread(void)
{
	if (!__atomic_exchange_n(&mtl_pm_helper.is_told, true, __ATOMIC_ACQ_REL))
		ring();
}

bool mtl_pm_thread_tell(void)
{
	if (!__atomic_load_n(&mtl_pm_helper.started_ns, __ATOMIC_RELAXED))
		__atomic_store_n(&mtl_pm_helper.started_ns, clock_monotonic_ns(), __ATOMIC_RELAXED);
	if (!mtl_pm.has_lock)
		return true;
	/* a napping thread looks by itself soon */
	if (mtl_pm_helper.is_parked || __atomic_load_n(&mtl_pm_helper.believed, __ATOMIC_RELAXED))
		mtl_pm_wake_thread();
	return false;
}

void mtl_pm_thread_unpark(void)
{
	__atomic_fetch_or(&mtl_pm.gate, MTL_PM_GATE_SHARED, __ATOMIC_RELEASE);
	mtl_pm_wake_thread();
}

void mtl_pm_run_callbacks(struct mtl_pm_requests *done)
{
	struct mtl_pm_request *req;

	/* A callback may give the request's memory back: take it out first. */
	while ((req = STAILQ_FIRST(done))) {
		STAILQ_REMOVE_HEAD(done, done);
		req->super.completion_callback(&req->super);
	}
}
