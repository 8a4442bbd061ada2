/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * small_order - an order of many hosts for tests that need no job of their own.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCSTEPD_SMALL_ORDER_H
#define TESTS_UNIT_SCHEDULER_SCSTEPD_SMALL_ORDER_H

#include <stdlib.h>

#include "scheduler/proto/order.h"

struct small_order {
	struct order order;
	struct job job;
	struct job_app apps[2];
};

/* @each ranks on each host; the second program has the last rank. small_order_fini(). */
static inline void small_order_init(struct small_order *small, size_t n_hosts, uint32_t each)
{
	static char *argv[] = {(char *)"prog", NULL};

	*small = (struct small_order){0};
	small->order.id = 70000;
	small->order.cluster = (char *)"lab";
	small->order.n_hosts = n_hosts;
	small->order.hosts = calloc(n_hosts, sizeof(*small->order.hosts));
	for (size_t i = 0; i < n_hosts; i++) {
		small->order.hosts[i].name = (char *)"host";
		small->order.hosts[i].first = (uint32_t)i * each;
		small->order.hosts[i].ranks = each;
		small->order.hosts[i].n_cores = each;
	}
	small->job.ranks = (uint32_t)n_hosts * each;
	small->apps[0] = (struct job_app){.argv = argv, .ranks = small->job.ranks - 1};
	small->apps[1] = (struct job_app){.argv = argv, .ranks = 1};
	small->job.apps = small->apps;
	small->job.n_apps = 2;
	small->order.job = &small->job;
}

static inline void small_order_fini(struct small_order *small)
{
	free(small->order.hosts);
}

#endif
