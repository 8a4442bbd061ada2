/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * statistics - what --statistics prints when the job is over: what scrun saw, and what the daemons counted.
 */
#ifndef SCHEDULER_SCRUN_STATISTICS_H
#define SCHEDULER_SCRUN_STATISTICS_H

#include <jansson.h>

#include "scheduler/scrun/place.h"

/* Times of the event loop, in seconds; 0 = it did not come so far. */
struct statistics {
	double submitted_s, placed_s, attached_s, ended_s;
	json_t *counted; /* owned, or NULL */
};

/* Of the job at @place; NULL = it never had one. */
void statistics_say(const struct statistics *statistics, const struct place *place);

#endif
