// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scstepd/standstill_plan.h"

#include <stdio.h>

/* Ranks without devices can't go on: that one of them still has them is tried twice. */
#define AWAYS 2

void standstill_plan_begin(struct standstill_plan *plan, uint32_t tries, bool parts)
{
	*plan = (struct standstill_plan){.step = SUSPEND_DRAIN,
					 .is_new = true,
					 .parts = parts,
					 .tries_left = tries,
					 .aways_left = AWAYS};
}

static void note(struct standstill_plan *plan, const char *why)
{
	/* the first reason is the cause of those that follow */
	if (!*plan->why)
		snprintf(plan->why, sizeof(plan->why), "%s", why);
}

/* It ends by the devices of before, from @step on. */
static void give_up(struct standstill_plan *plan, const char *why, enum suspend_step step)
{
	note(plan, why);
	plan->is_new = false;
	plan->step = step;
}

static void after_drain(struct standstill_plan *plan, enum standstill_outcome outcome,
			const char *why)
{
	if (outcome == STANDSTILL_DONE) {
		plan->step = SUSPEND_HOLD;
	} else if (outcome == STANDSTILL_LATE && --plan->tries_left) {
		plan->is_again = true;
		plan->step = SUSPEND_RUN;
	} else {
		give_up(plan, why, SUSPEND_RUN);
	}
}

static void after_run(struct standstill_plan *plan, enum standstill_outcome outcome,
		      const char *why)
{
	if (outcome != STANDSTILL_DONE) {
		note(plan, why);
		plan->end = STANDSTILL_LOST;
	} else if (plan->is_again) {
		plan->is_again = false;
		plan->is_paused = true;
		plan->step = SUSPEND_DRAIN;
	} else {
		plan->end = plan->is_new && !plan->is_refused ? STANDSTILL_CHANGED
							      : STANDSTILL_KEPT;
	}
}

static void after_away(struct standstill_plan *plan, enum standstill_outcome outcome,
		       const char *why)
{
	if (outcome == STANDSTILL_DONE) {
		plan->step = plan->parts ? STANDSTILL_PART : SUSPEND_REVIVE;
	} else if (!--plan->aways_left) {
		give_up(plan, why, SUSPEND_REVIVE);
	}
}

static void after_part(struct standstill_plan *plan, enum standstill_outcome outcome,
		       const char *why)
{
	plan->step = outcome == STANDSTILL_DONE && plan->step == STANDSTILL_PART
			     ? STANDSTILL_ABSENCE
			     : SUSPEND_REVIVE;
	if (outcome == STANDSTILL_DONE)
		return;
	note(plan, why);
	plan->is_refused = true;
}

/* New devices do not open, or lead nowhere: back to those of before. */
static void after_new_devices(struct standstill_plan *plan, enum standstill_outcome outcome,
			      const char *why)
{
	if (outcome == STANDSTILL_DONE) {
		plan->step = plan->step == SUSPEND_REVIVE ? SUSPEND_MEET : SUSPEND_RUN;
	} else if (plan->is_new) {
		give_up(plan, why, SUSPEND_REVIVE);
	} else {
		note(plan, why);
		plan->end = STANDSTILL_LOST;
	}
}

void standstill_plan_next(struct standstill_plan *plan, enum standstill_outcome outcome,
			  const char *why)
{
	plan->is_paused = false;
	switch (plan->step) {
	case SUSPEND_DRAIN:
		after_drain(plan, outcome, why);
		break;
	case SUSPEND_HOLD:
	case SUSPEND_QUIESCE:
		if (outcome == STANDSTILL_DONE)
			plan->step++;
		else
			give_up(plan, why, SUSPEND_RUN);
		break;
	case SUSPEND_AWAY:
		after_away(plan, outcome, why);
		break;
	case STANDSTILL_PART:
	case STANDSTILL_ABSENCE:
		after_part(plan, outcome, why);
		break;
	case SUSPEND_REVIVE:
	case SUSPEND_MEET:
		after_new_devices(plan, outcome, why);
		break;
	default:
		after_run(plan, outcome, why);
	}
}
