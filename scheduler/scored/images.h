/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * images - of a job that nobody restarts any more: all hosts that have written any remove them. A
 * job that was restarted on other hosts has some on those of before, too.
 */
#ifndef SCHEDULER_SCORED_IMAGES_H
#define SCHEDULER_SCORED_IMAGES_H

#include "scheduler/scored/scored.h"

struct images_removal {
	const struct order *order; /* of the job: its hosts may have what the journal has not */
	uint64_t round;            /* the last one, or 1 */
	bool is_whole;             /* nothing is removed if a host is not connected */
};

/* The journal forgets the job's checkpoints. 0 or -errno with a sentence. */
int images_remove(struct scored *d, const struct images_removal *removal, char *why,
		  size_t why_size);

#endif
