// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/nspid.h"

#include <limits.h>
#include <stdlib.h>

int nspid_list(const struct step *step, struct pidns_table *ret)
{
	pid_t *pids = NULL;
	ssize_t n = step->ns && step->group ? cgroup_pids(step->group, &pids) : 0;
	int err = n < 0 ? (int)n : 0;

	*ret = (struct pidns_table){0};
	for (ssize_t i = 0; !err && i < n; i++)
		err = pidns_add(ret, pids[i]);
	free(pids);
	if (err)
		pidns_fini(ret);
	return err;
}

/*
 * The groups are read anew for each: a number may pass to another process meanwhile. One of 64 bits
 * would be cut to that of another.
 */
pid_t nspid_of(const struct step *step, const struct pidns_table *table, json_int_t told)
{
	pid_t *pids = NULL, pid;
	ssize_t n;

	if (told <= 1 || told > INT_MAX || !step->group)
		return 0;
	pid = step->ns ? pidns_find(table, step->ns, (pid_t)told) : (pid_t)told;
	if (pid <= 1)
		return 0;
	n = cgroup_pids(step->group, &pids);
	if (n <= 0 || !cgroup_has(pids, (size_t)n, pid) ||
	    (step->ns && (pidns_of(pid) != step->ns || pidns_inner(pid) != (pid_t)told)))
		pid = 0;
	free(pids);
	return pid;
}

/*
 * An init has one child, and the orphans of a job are scstepd's. Only a scstepd that its user has
 * changed could have others there, of the same job.
 */
bool nspid_is_scstepd(const struct step *step, pid_t pid)
{
	if (step->pid <= 0)
		return false;
	return step->ns ? pidns_parent(pid) == step->pid : pid == step->pid;
}
