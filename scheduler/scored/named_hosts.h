/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * named_hosts - the hosts that a job asks for, by an expression of hosts and of the cluster's
 * groups.
 */
#ifndef SCHEDULER_SCORED_NAMED_HOSTS_H
#define SCHEDULER_SCORED_NAMED_HOSTS_H

#include "cluster/hostlist.h"
#include "scheduler/scored/scored.h"

/*
 * Each host once, in order; hostlist_fini frees them. "all" is every host of the cluster, unless a
 * group has that name. -EINVAL with a sentence: it is no expression. -ENOMEM.
 */
int named_hosts_parse(const struct scored *d, const char *text, struct hostlist *ret, char *why,
		      size_t why_size);
/* -EINVAL with a sentence: one of @hosts, which @text gave, is not in the cluster. */
int named_hosts_check(const struct scored *d, const char *text, const struct hostlist *hosts,
		      char *why, size_t why_size);

#endif
