/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * restart - a job that does not run any more starts again from a checkpoint, under its number: on
 * the hosts that have written its images, or on others that can read them.
 */
#ifndef SCHEDULER_SCORED_RESTART_H
#define SCHEDULER_SCORED_RESTART_H

#include "scheduler/scored/scored.h"

struct restart_wish {
	uint64_t id;    /* of the job */
	uint64_t round; /* of the checkpoint; 0: the last one */
	uid_t uid;      /* of the user who asks, */
	bool is_operator;
	const char *hosts;   /* as job.group: these, or some of them; NULL: those of then */
	const char *network; /* as job.network; NULL: by the devices that it had */
	bool waits;          /* in the queue, until there is a place */
};

/*
 * The job, in the list. Without @waits it has its place, and the caller tells its hosts; with it
 * the caller puts it into the queue. NULL with a sentence.
 */
struct sjob *restart_make(struct scored *d, const struct restart_wish *wish, char *why,
			  size_t why_size);
/*
 * Its hosts remove all images of it, and it can not be restarted any more. 0 or -errno with a
 * sentence.
 */
int restart_remove(struct scored *d, uint64_t id, uid_t uid, bool is_operator, char *why,
		   size_t why_size);

#endif
