/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * statistics - what --statistics prints when the job is over: what scrun saw, and what the daemons
 * counted.
 */
#ifndef SCHEDULER_SCRUN_STATISTICS_H
#define SCHEDULER_SCRUN_STATISTICS_H

#include <jansson.h>

#include "scheduler/scrun/place.h"

/* Times of the event loop, in seconds; 0 = it did not come so far. */
struct statistics {
	double submitted_s, placed_s, attached_s, ended_s;
	json_t *counted; /* owned, or NULL */
	struct {
		uint64_t ranks; /* whose peak is known */
		uint64_t most, sum;
		uint64_t world, rank; /* which has the most */
		char host[256];       /* of it */
	} memory;                     /* bytes resident, at the peak of each rank */
	json_t *groups; /* {host: bytes}, peaks of the job's control groups; owned, or NULL */
};

/*
 * Takes what OP_RANK_ENDED tells of memory: max_rss N, [group_peak N], bytes; host S is one of the
 * place.
 */
void statistics_rank_ended(struct statistics *statistics, const struct place *place,
			   const json_t *head);

/* Of the job at @place; NULL = it never had one. */
void statistics_say(const struct statistics *statistics, const struct place *place);
void statistics_fini(struct statistics *statistics);

#endif
