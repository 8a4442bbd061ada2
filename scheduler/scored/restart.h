/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * restart - a job that does not run any more starts again from a checkpoint: under its number, and
 * on the hosts that have its images.
 */
#ifndef SCHEDULER_SCORED_RESTART_H
#define SCHEDULER_SCORED_RESTART_H

#include "scheduler/scored/scored.h"

/*
 * The job @id of @uid, or anybody's if @is_operator, from checkpoint @round (0: the last one). It
 * starts at once or not at all: NULL with a sentence. The caller tells its hosts.
 */
struct sjob *restart_make(struct scored *d, uint64_t id, uint64_t round, uid_t uid,
			  bool is_operator, char *why, size_t why_size);
/*
 * Its hosts remove all images of it, and it can not be restarted any more. 0 or -errno with a
 * sentence.
 */
int restart_remove(struct scored *d, uint64_t id, uid_t uid, bool is_operator, char *why,
		   size_t why_size);

#endif
