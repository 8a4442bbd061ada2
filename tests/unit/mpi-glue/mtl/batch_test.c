// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_batch: when the threads of a rank become batch threads, and which of them stay as they
 * are.
 */
#include "mpi-glue/mtl/mtl_pm_batch.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define THREADS 4

/* A thread that joins when it is told to, and ends when it is told to. */
struct caller {
	pthread_t thread;
	int policy; /* its own before it joins */
	bool is_refused;
	bool is_last; /* it ends after its next call */
	sem_t join, joined;
	int found; /* its policy afterwards */
};

static struct caller callers[THREADS];

static void *call(void *arg)
{
	const struct sched_param none = {0};
	struct caller *c = arg;

	c->is_refused = c->policy != SCHED_OTHER && sched_setscheduler(0, c->policy, &none);
	for (bool is_last = false; !is_last && !sem_wait(&c->join); sem_post(&c->joined)) {
		is_last = c->is_last;
		mtl_pm_batch_join();
		c->found = sched_getscheduler(0);
	}
	return NULL;
}

static void start(struct caller *c, int policy)
{
	c->policy = policy;
	c->is_last = false;
	sem_init(&c->join, 0, 0);
	sem_init(&c->joined, 0, 0);
	is_int(pthread_create(&c->thread, NULL, call, c), 0);
}

/* Its policy after it has called MPI once more. */
static int join(struct caller *c)
{
	sem_post(&c->join);
	sem_wait(&c->joined);
	return c->found;
}

/* It calls once more, and ends. */
static void end(struct caller *c)
{
	c->is_last = true;
	join(c);
	is_int(pthread_join(c->thread, NULL), 0);
}

/* Threads begun from here on have one core. */
static void begin(void)
{
	cpu_set_t all, one;
	int cpu = 0;

	is_int(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	is_int(sched_setaffinity(0, sizeof(one), &one), 0);
	mtl_pm.idle.is_shared = false;
	mtl_pm.has_batch = mtl_pm_batch_start();
	ok(mtl_pm.has_batch);
}

static void finish(void)
{
	mtl_pm_batch_stop();
	ok(!mtl_pm.has_batch);
}

TAP_TEST(join__one_thread_stays_as_it_is)
{
	begin();
	start(&callers[0], SCHED_OTHER);
	is_int(join(&callers[0]), SCHED_OTHER);
	is_int(join(&callers[0]), SCHED_OTHER);
	/* One has nobody to wake, even where other processes share its core. */
	mtl_pm.idle.is_shared = true;
	is_int(join(&callers[0]), SCHED_OTHER);
	end(&callers[0]);
	finish();
}

TAP_TEST(join__two_threads_of_one_core)
{
	begin();
	start(&callers[0], SCHED_OTHER);
	start(&callers[1], SCHED_OTHER);
	is_int(join(&callers[0]), SCHED_OTHER);
	is_int(join(&callers[1]), SCHED_BATCH);
	/* The first one finds out at its next call. */
	is_int(join(&callers[0]), SCHED_BATCH);
	end(&callers[0]);
	end(&callers[1]);
	finish();
}

TAP_TEST(join__a_thread_that_has_ended_does_not_count)
{
	begin();
	start(&callers[0], SCHED_OTHER);
	is_int(join(&callers[0]), SCHED_OTHER);
	end(&callers[0]);
	start(&callers[1], SCHED_OTHER);
	is_int(join(&callers[1]), SCHED_OTHER);
	is_int(join(&callers[1]), SCHED_OTHER);
	end(&callers[1]);
	finish();
}

TAP_TEST(join__a_policy_that_somebody_has_chosen_stays)
{
	begin();
	start(&callers[0], SCHED_OTHER);
	start(&callers[1], SCHED_IDLE);
	join(&callers[0]);
	if (join(&callers[1]), callers[1].is_refused)
		tap_skip("this thread may not choose SCHED_IDLE");
	else
		is_int(join(&callers[1]), SCHED_IDLE);
	is_int(join(&callers[0]), SCHED_BATCH);
	end(&callers[0]);
	end(&callers[1]);
	finish();
}

/* The last one: cores that were counted once are not forgotten. */
TAP_TEST(join__as_many_cores_as_threads)
{
	cpu_set_t both;
	int n = 0, cpu;

	begin();
	CPU_ZERO(&both);
	for (cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			continue;
		CPU_SET(cpu, &both);
		n++;
	}
	is_int(sched_setaffinity(0, sizeof(both), &both), 0);
	if (n < 2) {
		tap_skip("this machine has one core");
		finish();
		return;
	}
	for (int i = 0; i < 3; i++)
		start(&callers[i], SCHED_OTHER);
	is_int(join(&callers[0]), SCHED_OTHER);
	is_int(join(&callers[1]), SCHED_OTHER);
	is_int(join(&callers[0]), SCHED_OTHER);
	/* Other processes on their core count as well, */
	mtl_pm.idle.is_shared = true;
	is_int(join(&callers[0]), SCHED_BATCH);
	mtl_pm.idle.is_shared = false;
	/* ... and a third thread is one too many. */
	is_int(join(&callers[1]), SCHED_OTHER);
	is_int(join(&callers[2]), SCHED_BATCH);
	end(&callers[2]);
	is_int(join(&callers[1]), SCHED_OTHER);
	start(&callers[2], SCHED_OTHER);
	is_int(join(&callers[2]), SCHED_BATCH);
	is_int(join(&callers[1]), SCHED_BATCH);
	for (int i = 0; i < 3; i++)
		end(&callers[i]);
	finish();
}

TAP_TEST(stop__once_for_each_start)
{
	pthread_key_t other;

	begin();
	finish();
	/* Somebody else has that key now. */
	is_int(pthread_key_create(&other, NULL), 0);
	mtl_pm_batch_stop();
	is_int(pthread_setspecific(other, &other), 0);
	is_int(pthread_key_delete(other), 0);
}
