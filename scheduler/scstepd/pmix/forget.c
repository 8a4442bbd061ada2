// SPDX-License-Identifier: BSD-3-Clause
/*
 * forget - a count of calls that are under way, and a condition. Static, for PMIx may still call
 * when nobody waits any more.
 */
#include "scheduler/scstepd/pmix/forget.h"

#include <pmix_server.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "pmcore/util/clock.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t is_done;
	size_t n_open; /* worlds that PMIx has not forgotten yet */
} forgetting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void on_forgotten(pmix_status_t status, void *arg)
{
	pthread_mutex_lock(&forgetting.lock);
	forgetting.n_open--;
	pthread_cond_signal(&forgetting.is_done);
	pthread_mutex_unlock(&forgetting.lock);
}

bool forget_worlds(const struct worlds *worlds, unsigned int limit_ms)
{
	uint64_t limit_ns = clock_monotonic_ns() + limit_ms * UINT64_C(1000000);
	struct timespec limit = {.tv_sec = (time_t)(limit_ns / 1000000000),
				 .tv_nsec = (long)(limit_ns % 1000000000)};
	bool is_done;

	pthread_mutex_lock(&forgetting.lock);
	for (size_t i = 0; i < worlds->n; i++)
		forgetting.n_open += worlds->all[i] != NULL;
	pthread_mutex_unlock(&forgetting.lock);
	for (size_t i = 0; i < worlds->n; i++)
		if (worlds->all[i])
			PMIx_server_deregister_nspace(worlds->all[i]->nspace, on_forgotten, NULL);
	pthread_mutex_lock(&forgetting.lock);
	while (forgetting.n_open && !pthread_cond_clockwait(&forgetting.is_done, &forgetting.lock,
							    CLOCK_MONOTONIC, &limit))
		;
	is_done = !forgetting.n_open;
	pthread_mutex_unlock(&forgetting.lock);
	return is_done;
}
