/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * process - the agent's own processes, one for each command and each file: whatever takes its time
 * in a file system or is killed does not hold up the connection to scout.
 */
#ifndef SCHEDULER_SCREMOTE_PROCESS_H
#define SCHEDULER_SCREMOTE_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

#define PROCESS_FDS_MAX 4

struct process_plan {
	void (*work)(const void *plan);
	const void *plan;
	int fds[PROCESS_FDS_MAX]; /* above 2, that it keeps beside 0 to 2; -1: none */
};

/*
 * Its pid, or -errno. It is a session of its own, has all signals blocked and none ignored but
 * those of the agent's, and ends when work() returns.
 */
pid_t process_fork(const struct process_plan *plan);

#endif
