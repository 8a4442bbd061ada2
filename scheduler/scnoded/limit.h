/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit - the controllers pids and memory: how many processes and threads a job, or a user through
 * scout, may have on this host, and how much memory a job.
 */
#ifndef SCHEDULER_SCNODED_LIMIT_H
#define SCHEDULER_SCNODED_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * v2: whether jobs' groups below @root, a directory of the cgroup2 mount, can be limited; sees to
 * it that they can, and that their memory is counted if that can be.
 */
bool limit_offer(const char *root);
/* For all who are in that group or below it: 0 or -EOPNOTSUPP. */
int limit_group(const char *group, uint32_t tasks);
/* For the ranks of the job's group @group: 0 or -EOPNOTSUPP. */
int limit_set(const char *group, uint32_t tasks);
/*
 * Bytes of memory that the ranks of the job's group @group may have; more ends all of them (v2) or
 * the one who wants it (v1). 0 or -EOPNOTSUPP.
 */
int limit_set_memory(const char *group, uint64_t bytes);
/*
 * How often the kernel has ended a process of theirs for that. @path: the file that tells; it need
 * not be there.
 */
uint64_t limit_kills(const char *path);
/*
 * The file that tells, for the group of a job: v2 and v1 have different ones. false: there is none.
 */
bool limit_kills_path(const char *group, char *path, size_t size);
/* Whether memory of jobs' groups below @root can be limited (v2), see limit_offer(). */
bool limit_has_memory(const char *root);
/* A job's limit with so many ranks here: @said, or a default if the administrator set none (0). */
uint32_t limit_of(uint32_t said, uint32_t ranks);

#endif
