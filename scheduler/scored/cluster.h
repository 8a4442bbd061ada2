/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cluster - what scored takes of cluster.json: the hosts, groups and networks that there may be.
 */
#ifndef SCHEDULER_SCORED_CLUSTER_H
#define SCHEDULER_SCORED_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>

#include "cluster/nameset.h"
#include "scheduler/gang/box.h"
#include "scheduler/proto/section.h"

struct cluster_host {
	char *name;
	bool is_usable; /* not defect, not spare */
	long point;     /* where it stands in the space; -1 = nowhere */
};

struct cluster_group {
	char *name;
	size_t *hosts; /* places in cluster.hosts */
	size_t n_hosts;
};

struct cluster_network {
	char *name;
	char *type; /* the device of PM that drives it */
};

struct cluster {
	char *name;
	struct cluster_host *hosts;
	size_t n_hosts;
	struct nameset names; /* of hosts, in their order */
	struct cluster_group *groups;
	size_t n_groups;
	struct cluster_network *networks;
	size_t n_networks;
	struct box_space space; /* of a hypercrossbar; n_dims 0: the network is flat */
	struct section section;
};

/* @may_wait for a writer of the file as cluster_file_load() does. NULL with a sentence in @why. */
struct cluster *cluster_read(const char *path, bool may_wait, char *why, size_t why_size);
void cluster_free(struct cluster *cluster);
/* Its place, also when @name has a domain that the file leaves out; -1 = none. */
long cluster_host_of(const struct cluster *cluster, const char *name);
const struct cluster_group *cluster_group_of(const struct cluster *cluster, const char *name);

#endif
