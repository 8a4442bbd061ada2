/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - how much memory the job's control group on this host had at most, and whether that was
 * too much.
 */
#ifndef SCHEDULER_SCSTEPD_MEMORY_H
#define SCHEDULER_SCSTEPD_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_MOUNTS "/proc/self/mounts"
#define MEMORY_GROUP "/proc/self/cgroup"

/*
 * Whether the kernel has ended a process because of its group's limit, by a file with a line
 * "oom_kill N".
 */
bool memory_was_exceeded(const char *kills);

/*
 * Bytes, by memory.peak of the parent of our own group: the file is there with cgroup v2, Linux
 * 5.19 and the controller enabled. -ENOENT without it, or another -errno. @mounts and @group: files
 * of these formats.
 */
int64_t memory_peak(const char *mounts, const char *group);

#endif
