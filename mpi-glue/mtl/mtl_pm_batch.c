// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_batch - threads of a rank that has fewer cores than threads are scheduled as batch
 * (sched(7)). In Open MPI one thread polls, and wakes a thread whose request is complete. The woken
 * thread takes the core at once, and spins until the polling thread has left the wake-up
 * (WAIT_SYNC_RELEASE of Open MPI 4.1). The polling thread runs again at the kernel's next tick, up
 * to 4 ms later. A batch thread does not take the core from the thread that wakes it.
 */
#include "mpi-glue/mtl/mtl_pm_batch.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "mpi-glue/common/crowd.h"

/* More than Linux can have. */
#define CORES_MOST 65536

static _Thread_local bool is_counted, is_batch;

static struct {
	pthread_key_t key; /* its destructor runs when a counted thread ends */
	bool has_key;
	unsigned int threads; /* counted, and not ended; atomic */
	unsigned int judged;  /* the same when is_crowded was found; 0: not yet */
	unsigned int online;  /* cores of the host */
	bool is_crowded;
	/* of all counted, a bit each */
	unsigned long cores[CORES_MOST / 8 / sizeof(unsigned long)];
} batch;

static void leave(void *value)
{
	(void)value;
	__atomic_fetch_sub(&batch.threads, 1, __ATOMIC_RELAXED);
}

bool mtl_pm_batch_start(void)
{
	batch.has_key = !pthread_key_create(&batch.key, leave);
	batch.online = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	return batch.has_key;
}

void mtl_pm_batch_stop(void)
{
	if (batch.has_key)
		pthread_key_delete(batch.key);
	batch.has_key = false;
	mtl_pm.has_batch = false;
}

static void count(void)
{
	static unsigned long own[CORES_MOST / 8 / sizeof(unsigned long)];

	is_counted = true;
	batch.judged = 0;
	__atomic_fetch_add(&batch.threads, 1, __ATOMIC_RELAXED);
	pthread_setspecific(batch.key, &batch);
	if (!sched_getaffinity(0, sizeof(own), (cpu_set_t *)own))
		CPU_OR_S(sizeof(own), (cpu_set_t *)batch.cores, (cpu_set_t *)batch.cores,
			 (cpu_set_t *)own);
}

/* Looked at again when their number has changed, or another thread has begun. */
static bool is_crowded(void)
{
	unsigned int threads = __atomic_load_n(&batch.threads, __ATOMIC_RELAXED);
	int cores;

	if (threads == batch.judged)
		return batch.is_crowded;
	cores = CPU_COUNT_S(sizeof(batch.cores), (cpu_set_t *)batch.cores);
	batch.judged = threads;
	batch.is_crowded = crowd_is_crowded(threads, (unsigned int)cores, batch.online,
					    (unsigned int)ompi_process_info.num_local_peers + 1);
	return batch.is_crowded;
}

void mtl_pm_batch_join(void)
{
	struct sched_param none = {0};

	if (is_batch)
		return;
	if (!is_counted)
		count();
	if (!is_crowded() && !(batch.judged > 1 && mtl_pm.idle.is_shared))
		return;
	is_batch = true;
	/*
	 * A policy that somebody has chosen stays. Where the call is forbidden, threads wait as
	 * they did.
	 */
	if (sched_getscheduler(0) == SCHED_OTHER)
		(void)sched_setscheduler(0, SCHED_BATCH, &none);
}
