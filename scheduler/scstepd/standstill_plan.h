/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * standstill_plan - the course of a standstill: which order all ranks get next, given how the last
 * one went. Pure: every host of the job has one, is given the same outcomes, and so decides the
 * same. The orders are those of pmcore/util/suspend_page.h.
 *
 * A rank that computes, or that waits for one that stands still, is late for SUSPEND_DRAIN: all go
 * on, and after a pause it is tried again. Before SUSPEND_AWAY a failure leaves the job as it was.
 * From there on it goes on by the devices of before, and if these don't open either, it is lost.
 */
#ifndef SCHEDULER_SCSTEPD_STANDSTILL_PLAN_H
#define SCHEDULER_SCSTEPD_STANDSTILL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "pmcore/util/suspend_page.h"

#define STANDSTILL_WHY 1024 /* bytes of a sentence */

enum standstill_outcome {
	STANDSTILL_DONE,   /* by all ranks */
	STANDSTILL_LATE,   /* not by all of them in time, and by no one wrongly */
	STANDSTILL_FAILED, /* a rank could not */
};

enum standstill_end {
	STANDSTILL_UNDER_WAY,
	STANDSTILL_CHANGED, /* the job goes on by the new devices */
	STANDSTILL_KEPT,    /* it goes on by those of before; why says the reason */
	STANDSTILL_LOST,    /* it can't go on */
};

/* Steps of the hosts, not of their ranks, between SUSPEND_AWAY and SUSPEND_REVIVE. */
enum {
	STANDSTILL_PART = SUSPEND_STEPS, /* nothing more is sent over the hosts' links */
	STANDSTILL_ABSENCE,              /* the links are closed, and come again */
};

struct standstill_plan {
	unsigned int step; /* to be carried out by all: one of these, or an order */
	bool is_paused;    /* before it the job runs for a while */
	bool is_new;       /* for SUSPEND_REVIVE: the devices that were asked for */
	enum standstill_end end;
	char why[STANDSTILL_WHY]; /* "": nothing has failed */
	/* private */
	bool parts;      /* the hosts close their links */
	bool is_refused; /* they could not, or something is in the way of a checkpoint */
	bool is_again;   /* SUSPEND_RUN is given because ranks were late */
	uint32_t tries_left, aways_left;
};

/*
 * @tries: of SUSPEND_DRAIN, 1 or more. @parts: the hosts close their links while the ranks have no
 * devices. The first order is in the plan then.
 */
void standstill_plan_begin(struct standstill_plan *plan, uint32_t tries, bool parts);
/* The order was carried out, or was not: @why, "" if it was. The next one is in the plan. */
void standstill_plan_next(struct standstill_plan *plan, enum standstill_outcome outcome,
			  const char *why);

#endif
