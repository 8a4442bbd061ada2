/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inquiry - asks what stands in the way of a checkpoint of a job's part on this host, while
 * scnoded's loop goes on. A child of scnoded looks (look.h): it may hang in a file system, have a
 * hundred thousand descriptors to look at, or be killed. Knows processes and time, not what is
 * looked for.
 */
#ifndef SCHEDULER_SCNODED_HOLDINGS_INQUIRY_H
#define SCHEDULER_SCNODED_HOLDINGS_INQUIRY_H

#include <ev.h>

#include "scheduler/scnoded/holdings/restorable.h"
#include "scheduler/scnoded/holdings/survey.h"

/* More than both looks of look.h and the pause between them may take. */
#define INQUIRY_LIMIT_S 8

struct inquiry;

struct inquiry_events {
	/*
	 * It has ended, and is gone after the call, as @text is. NULL: nothing is in the way; else
	 * the lines of look.h, or one that says why the look has failed.
	 */
	void (*done)(const char *text, void *owner);
};

/*
 * @loop: the default one, which reaps the child whenever that ends. @order and @terms are not
 * needed after the call; the order's limit counts for nothing. The event comes from the loop, also
 * when the child can't be started. NULL: out of memory.
 */
struct inquiry *inquiry_start(struct ev_loop *loop, const struct survey_order *order,
			      const struct restorable_terms *terms,
			      const struct inquiry_events *events, void *owner);
/* Kills the child, and waits for nothing. No event comes. NULL is fine. */
void inquiry_stop(struct inquiry *inquiry);

#endif
