/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep - what is left of a job's files when its processes are gone: its directories, and in
 * /dev/shm segments of Open MPI and of PM that nobody maps or has open any more. Users may leave as
 * many as they like: the daemon waits for none.
 */
#ifndef SCHEDULER_SCNODED_SWEEP_H
#define SCHEDULER_SCNODED_SWEEP_H

#include <stdint.h>
#include <sys/types.h>

/* Removes the segments of @uid that no process uses. */
void sweep_shared_memory(uid_t uid);
/*
 * The same, and removes the record of job @id under @run. Returns the process that does this, and
 * ends when it is done; -1: fork() failed, and all is done already.
 */
pid_t sweep_begin(const char *run, uint64_t id, uid_t uid);

#endif
