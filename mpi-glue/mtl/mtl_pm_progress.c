// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_progress - the function Open MPI calls while it waits: a round of mtl_pm_poll. The core is
 * given away when others need it.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"
#include "mpi-glue/mtl/mtl_pm_orders.h"
#include "mpi-glue/mtl/mtl_pm_suspend.h"

#include "opal/runtime/opal_progress.h"
#include "pmcore/util/clock.h"

#include <sched.h>
#include <sys/resource.h>

/* Age of a count of switches up to which a higher one tells of this moment. */
#define SWITCHES_FRESH_NS 1000000

/*
 * Open MPI yields at each idle poll where its launcher counts more ranks than cores. So do we, and
 * two yields let the others run twice before we look again. Threads that find the lock taken have
 * only Open MPI's.
 */
static void yield(void)
{
	if (!mtl_pm_gate())
		mtl_pm.yields_for_opal |= opal_progress_set_yield_when_idle(false);
	sched_yield();
}

/*
 * Was this thread's core given to somebody else since its last long yield? The count is a system
 * call, so it is made after long yields only. One that is old holds switches of a time in which the
 * program computed, and tells nothing.
 */
static bool has_switched(uint64_t yielded_ns, uint64_t now_ns)
{
	static _Thread_local struct {
		long count;
		uint64_t at_ns;
	} last;
	struct rusage usage = {0};
	bool is_more;

	(void)getrusage(RUSAGE_THREAD, &usage);
	is_more = usage.ru_nivcsw != last.count && yielded_ns - last.at_ns < SWITCHES_FRESH_NS;
	last.count = usage.ru_nivcsw;
	last.at_ns = now_ns;
	return is_more;
}

/*
 * Nothing to do: spin or yield, whatever sees the next message first. Serving the reads of others
 * is work as well, which PM does unseen.
 */
static void be_idle(bool is_serving)
{
	uint64_t before = clock_monotonic_ns(), after;
	bool was_shared = mtl_pm.idle.is_shared;

	mtl_pm_watch(before);
	if (is_serving) {
		idle_busy(&mtl_pm.idle);
		return;
	}
	if (!idle_wants_yield(&mtl_pm.idle, before))
		return;
	yield();
	after = clock_monotonic_ns();
	/*
	 * on a shared core each message needs yields, and a system call more would slow them down
	 */
	idle_yielded(&mtl_pm.idle, after - before,
		     idle_is_long(after - before) && (was_shared || has_switched(before, after)));
}

int mtl_pm_progress(void)
{
	bool is_idle = false, is_serving;
	int n;

	if (OPAL_UNLIKELY(mtl_pm_order_is_due()))
		mtl_pm_suspend();
	mtl_pm_come_in();
	/* Another thread is at it: its round serves us as well. */
	if (OPAL_UNLIKELY(mtl_pm_gate()) && !mtl_pm_lock_to_poll())
		return 0;
	n = mtl_pm_poll() + !STAILQ_EMPTY(&mtl_pm.done);
	is_serving = mtl_pm.exposed && !mtl_pm.idle.is_shared; /* on a shared core we yield */
	if (n)
		idle_busy(&mtl_pm.idle);
	else
		is_idle = idle_wants_clock(&mtl_pm.idle);
	mtl_pm_leave();
	if (mtl_pm.client)
		n += mtl_pm.client->progress();
	if (is_idle)
		be_idle(is_serving);
	return n;
}
