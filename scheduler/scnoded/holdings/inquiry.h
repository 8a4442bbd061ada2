/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inquiry - an errand that asks what stands in the way of a checkpoint of a job's part on this
 * host. A look (look.h) may hang in a file system, or have a hundred thousand descriptors before
 * it.
 */
#ifndef SCHEDULER_SCNODED_HOLDINGS_INQUIRY_H
#define SCHEDULER_SCNODED_HOLDINGS_INQUIRY_H

#include "scheduler/scnoded/errand.h"
#include "scheduler/scnoded/holdings/restorable.h"
#include "scheduler/scnoded/holdings/survey.h"

/* Seconds: more than both looks of look.h and the pause between them may take. */
#define INQUIRY_LIMIT_S 8

/*
 * See errand_start(). @order and @terms are not needed after the call; the order's limit counts for
 * nothing. @done: NULL if nothing is in the way, else the lines of look.h or why the look has
 * failed. NULL: out of memory.
 */
struct errand *inquiry_start(struct ev_loop *loop, const struct survey_order *order,
			     const struct restorable_terms *terms, errand_done *done, void *owner);

#endif
