/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit - the pids controller: how many processes and threads a job, or a user through scout, may have on this host.
 */
#ifndef SCHEDULER_SCNODED_LIMIT_H
#define SCHEDULER_SCNODED_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * v2: whether jobs' groups below @root, a directory of the cgroup2 mount, can be limited; sees to it that they can, and
 * that their memory is counted if that can be.
 */
bool limit_offer(const char *root);
/* For all who are in that group or below it: 0 or -EOPNOTSUPP. */
int limit_group(const char *group, uint32_t tasks);
/* For the ranks of the job's group @group: 0 or -EOPNOTSUPP. */
int limit_set(const char *group, uint32_t tasks);
/* A job's limit with so many ranks here: @said, or a default if the administrator set none (0). */
uint32_t limit_of(uint32_t said, uint32_t ranks);

#endif
