/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent_group - the control group of one scremote with all processes that it starts, so that none
 * of them counts as scnoded's and none escapes when the agent group is to end. The agent groups of
 * a user lie in one group (PARENT/scout-UID), which bounds how many processes and threads they have
 * together; root's is not bounded. Processes that a command has left behind on purpose stay in the
 * agent group. It is removed when the last of them has ended, by a later scnoded too.
 */
#ifndef SCHEDULER_SCNODED_AGENT_GROUP_H
#define SCHEDULER_SCNODED_AGENT_GROUP_H

#include <ev.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/scnoded/cgroup.h"

#define AGENT_GROUP_GRACE_S 3.0 /* more than a keeper's: it says SIGHUP first */
#define AGENT_GROUP_STAYS (-1.0)

struct agent_group;
struct agent_groups;

/* Finds those that an earlier scnoded has left. NULL: no memory. @tasks: of a user. */
struct agent_groups *agent_groups_open(struct ev_loop *loop, enum cgroup_form form,
				       const char *parent, uint32_t tasks);
/* Those with somebody in them stay as they are. */
void agent_groups_close(struct agent_groups *agent_groups);
/*
 * Ends all that is in any of them, that of living scremotes AGENT_GROUP_GRACE_S later; runs the
 * loop until it is gone, or will not go.
 */
void agent_groups_end(struct agent_groups *agent_groups);

/* NULL with errno: there can be none; ENOTSUP: no cgroups here, which main() has said. */
struct agent_group *agent_group_make(struct agent_groups *agent_groups, uid_t uid);
/*
 * signals_fork() of the scremote, which finds itself in the agent group. A child that the kernel
 * does not let in goes on outside, as on a host without groups. The child may call what spawn.h
 * says, and nothing of libc that minds threads: libc may not know that the child has none.
 */
pid_t agent_group_fork(const struct agent_group *agent_group);
/*
 * The scremote has ended. Takes the agent group. All that is in it is killed so many seconds later,
 * or not: AGENT_GROUP_STAYS.
 */
void agent_group_leave(struct agent_group *agent_group, double grace_s);

#endif
