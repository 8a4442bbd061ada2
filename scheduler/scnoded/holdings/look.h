/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * look - what stands in the way of a checkpoint of a job's part on this host, as text. A process
 * may have been about to close something, so it looks a second time before it refuses. As slow as
 * survey.h: for a child of scnoded.
 */
#ifndef SCHEDULER_SCNODED_HOLDINGS_LOOK_H
#define SCHEDULER_SCNODED_HOLDINGS_LOOK_H

#include "scheduler/scnoded/holdings/restorable.h"
#include "scheduler/scnoded/holdings/survey.h"

#define LOOK_TEXT_MAX 16384 /* bytes, the end included */
#define LOOK_LIMIT_MS 5000  /* of each look, instead of that of the order */
#define LOOK_AGAIN_MS 2500  /* no second look after a first one that took longer */
#define LOOK_PAUSE_MS 50    /* between the two */

/*
 * Fills @ret, of LOOK_TEXT_MAX bytes: "" if nothing is in the way, else whole sentences, each on a
 * line of its own, and how many more there are. The last line has no end.
 */
void look_twice(const struct survey_order *order, const struct restorable_terms *terms, char *ret);

#endif
