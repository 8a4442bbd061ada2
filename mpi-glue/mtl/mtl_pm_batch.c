/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_batch - threads of a rank that has fewer cores are scheduled as batch (sched(7)). In Open MPI one thread polls, and
 * wakes a thread whose request is complete. The woken thread takes the core at once, and spins until the first one has
 * left the wake-up (WAIT_SYNC_RELEASE of Open MPI 4.1), which runs again at the kernel's next tick, 4 ms later. A
 * batch thread does not take the core from the one that wakes it.
 */
#include "mpi-glue/mtl/mtl_pm_batch.h"

#include <limits.h>
#include <sched.h>

static _Thread_local bool is_counted, is_batch;
static unsigned int n_threads, n_cores;

void mtl_pm_batch_start(void)
{
	cpu_set_t cores;

	/* more cores than the set holds */
	if (sched_getaffinity(0, sizeof(cores), &cores))
		n_cores = UINT_MAX;
	else
		n_cores = (unsigned int)CPU_COUNT(&cores);
}

void mtl_pm_batch_join(void)
{
	struct sched_param none = {0};

	if (is_batch)
		return;
	n_threads += !is_counted;
	is_counted = true;
	if (n_threads < 2 || (n_threads <= n_cores && !mtl_pm.idle.is_shared))
		return;
	is_batch = true;
	/* A policy that somebody has chosen stays. Where the call is forbidden, threads wait as they did. */
	if (sched_getscheduler(0) == SCHED_OTHER)
		(void)sched_setscheduler(0, SCHED_BATCH, &none);
}
