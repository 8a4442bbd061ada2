/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cgroup - the two groups of a job on a host: "step" with its scstepd, "ranks" with everything the
 * ranks ever start, which alone is frozen. Three forms: v2 (also the unified part of a hybrid
 * machine), v1 (freezer), none: then the processes are found as descendants of the scstepd, which
 * is a subreaper, and stopped by SIGSTOP. cgroup_freeze() is called by the switch thread: with
 * cgroups there is no allocation, no lock, no waiting in it.
 */
#ifndef SCHEDULER_SCNODED_CGROUP_H
#define SCHEDULER_SCNODED_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum cgroup_form {
	CGROUP_NONE,
	CGROUP_V1,
	CGROUP_V2,
	CGROUP_HYBRID /* v2 freezer, v1 controllers */
};

struct cgroup; /* of one job */

/*
 * The form of control groups that this host has and that we may write. @parent: the group above all
 * of ours ("openscore"), made if it is missing.
 */
enum cgroup_form cgroup_probe(const char *parent, char *why, size_t why_size);
const char *cgroup_form_name(enum cgroup_form form);

/* Whether cgroup_limit() will work for jobs there. */
bool cgroup_can_limit(enum cgroup_form form, const char *parent);

/* Makes both groups of job @id, or finds those of an earlier scnoded. NULL with errno. */
struct cgroup *cgroup_open(enum cgroup_form form, const char *parent, uint64_t id);
int cgroup_put_step(struct cgroup *group, pid_t pid);
int cgroup_put_rank(struct cgroup *group, pid_t pid);
/*
 * All processes of the job, in ascending order, read at one go; free() *@pids. Their number, or
 * -ENOMEM.
 */
ssize_t cgroup_pids(const struct cgroup *group, pid_t **pids);
/* Whether @pid is among @n such pids. */
bool cgroup_has(const pid_t *pids, size_t n, pid_t pid);
/*
 * At most so many processes and threads among the ranks from now on; those there are stay. 0;
 * -EOPNOTSUPP: there is no controller for it here, or we may not use it.
 */
int cgroup_limit(struct cgroup *group, uint32_t tasks);
/* Whether cgroup_limit_memory() will work for jobs there. */
bool cgroup_can_limit_memory(enum cgroup_form form, const char *parent);
/* At most so many bytes of memory for the ranks: 0 or -EOPNOTSUPP. */
int cgroup_limit_memory(struct cgroup *group, uint64_t bytes);
/*
 * The file that tells how many ranks the kernel has ended for that, see limit_kills(); false: there
 * is none.
 */
bool cgroup_memory_kills(const struct cgroup *group, char *path, size_t size);
/*
 * 0 or -errno. Only writes to a file, but without cgroups it reads /proc and sends signals. A child
 * that is forked then may go on: the caller calls it again until cgroup_is_frozen().
 */
int cgroup_freeze(struct cgroup *group, bool is_frozen);
/* Whether every process has stopped by now (re-read; poll(2) of cgroup.events comes 8 ms late). For
 * the switch thread, too. */
bool cgroup_is_frozen(const struct cgroup *group);
/*
 * SIGKILL to every process of the ranks, frozen ones too (v1: they are thawed for it). Again until
 * cgroup_is_empty().
 */
int cgroup_kill(struct cgroup *group);
int cgroup_kill_all(struct cgroup *group);           /* step included */
bool cgroup_is_empty(const struct cgroup *group);    /* of ranks */
bool cgroup_is_deserted(const struct cgroup *group); /* of both */
/* CPU time of the ranks so far, ns. */
uint64_t cgroup_cpu_ns(const struct cgroup *group);
/* Removes both groups (they are deserted) and the object. -EBUSY: somebody is left. */
int cgroup_remove(struct cgroup *group);
/* Forgets the object, leaves the groups. */
void cgroup_forget(struct cgroup *group);
/* Numbers of the jobs that have groups below @parent; free() *@ids. Count or -errno. */
ssize_t cgroup_list(enum cgroup_form form, const char *parent, uint64_t **ids);

#endif
