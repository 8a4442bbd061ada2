/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_cluster - hosts of scored that are up, without any daemon: enough for who gets which cores.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCORED_FAKE_CLUSTER_H
#define TESTS_UNIT_SCHEDULER_SCORED_FAKE_CLUSTER_H

#include "scheduler/scored/scored.h"

#define FAKE_HOSTS_MAX 16

struct fake_cluster {
	struct scored d;
	struct node nodes[FAKE_HOSTS_MAX];
	struct node *list[FAKE_HOSTS_MAX];
	struct host hosts[FAKE_HOSTS_MAX];
	char names[FAKE_HOSTS_MAX][8]; /* h0, h1, ... */
	char why[512];
};

/* Hosts of @cores cores each, time-shared in @rows rows. Must stay where it is. */
void fake_cluster_open(struct fake_cluster *f, uint32_t hosts, uint32_t cores, uint32_t rows);
void fake_cluster_close(struct fake_cluster *f);

#endif
