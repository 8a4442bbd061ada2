/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waiting - whether the ranks of a job do nothing but wait for messages: from the counters that
 * each PM context shows (pmcore/util/stats.h). A rank waits when it has looked for messages since
 * the last time, and none has come or gone. Anybody may put files beside the counters, so only
 * those are looked at that a process of the job can have made, by their names, and no more than
 * WAITING_NAMES of them per beat.
 */
#ifndef SCHEDULER_SCNODED_WAITING_H
#define SCHEDULER_SCNODED_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* of all jobs of this host together, in one beat: they share it evenly */
#define WAITING_NAMES 16384
#define WAITING_FILE 4 /* a file that is read counts as so many names */

struct waiting; /* counters of one job */

/* Processes of a job on this host. */
struct waiting_job {
	uid_t uid;
	const pid_t *pids; /* in ascending order */
	size_t n_pids;
	uint64_t ns; /* their pid namespace; 0: ours */
	uint32_t ranks;
	uint32_t names; /* at most so many are tried */
};

/* NULL: no memory. */
struct waiting *waiting_open(void);
void waiting_close(struct waiting *waiting);
/*
 * Reads the counters of the job. Whether it has as many contexts as ranks, and all of them waited
 * since the call before. A job with too many processes or contexts to look at is not said to wait.
 */
bool waiting_look(struct waiting *waiting, const struct waiting_job *job);

#endif
