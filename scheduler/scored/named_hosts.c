// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/named_hosts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster/hostexpr.h"
#include "scheduler/scored/cluster.h"
#include "scheduler/scored/nodes.h"

static int each_of_all(const struct scored *d, int (*add)(void *to, const char *name), void *to)
{
	size_t n = d->cluster ? d->cluster->n_hosts : d->n_nodes;
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		err = add(to, d->cluster ? d->cluster->hosts[i].name : d->nodes[i]->name);
	return err;
}

static int each_of_group(void *arg, const char *name, int (*add)(void *to, const char *name),
			 void *to)
{
	const struct scored *d = arg;
	const struct cluster_group *group = d->cluster ? cluster_group_of(d->cluster, name) : NULL;
	int err = 0;

	if (!group)
		return strcmp(name, "all") != 0 ? -ENOENT : each_of_all(d, add, to);
	for (size_t i = 0; !err && i < group->n_hosts; i++)
		err = add(to, d->cluster->hosts[group->hosts[i]].name);
	return err;
}

static bool is_known(const struct scored *d, const char *name)
{
	return d->cluster ? cluster_host_of(d->cluster, name) >= 0 : nodes_find(d, name) != NULL;
}

int named_hosts_parse(const struct scored *d, const char *text, struct hostlist *ret, char *why,
		      size_t why_size)
{
	const struct hostexpr_groups groups = {.each = each_of_group, .arg = (void *)d};
	char wrong[200] = "";
	int err = hostexpr_expand(ret, text, &groups, wrong, sizeof(wrong));

	if (err == -EINVAL)
		snprintf(why, why_size,
			 "group %s: no group of the cluster, and no list of hosts: %s", text,
			 wrong);
	return err;
}

int named_hosts_check(const struct scored *d, const char *text, const struct hostlist *hosts,
		      char *why, size_t why_size)
{
	for (size_t i = 0; i < hosts->n; i++) {
		if (is_known(d, hosts->names[i]))
			continue;
		snprintf(why, why_size,
			 "group %s: host %s is not in the cluster; scinfo shows the hosts", text,
			 hosts->names[i]);
		return -EINVAL;
	}
	return 0;
}
