/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * standstill - the ranks of the whole job give their devices back together and open others: this
 * host's page of orders (pmcore/util/suspend_page.h), and what all hosts know of each step. All
 * hosts carry out one order, tell each other by a collective how it went, and decide the next one
 * alike (standstill_plan.h).
 */
#ifndef SCHEDULER_SCSTEPD_STANDSTILL_H
#define SCHEDULER_SCSTEPD_STANDSTILL_H

#include <jansson.h>
#include <stdint.h>

#include "scheduler/scstepd/step.h"

/* The page, in the job's directory on this host. */
#define STANDSTILL_FILE "suspend"

struct standstill;

struct standstill_events {
	/* The leader: it has ended; @text: why the devices are those of before. */
	void (*told)(struct step *step, uint64_t serial, bool is_changed, const char *text,
		     double stood_s);
	/* Nothing more may be sent over our links; standstill_ready() when that is so. */
	void (*part)(struct step *step);
	/* Our links are closed, and made anew when scnoded says so; then standstill_ready(). */
	void (*go_away)(struct step *step);
	/* It does not come to that after all. */
	void (*stay)(struct step *step);
};

/* Makes the page in the job's directory. NULL with errno. */
struct standstill *standstill_open(struct step *step, const struct standstill_events *events);
void standstill_close(struct standstill *standstill);

/* Before ranks of that world start here: slots of step.h. */
void standstill_expect(struct standstill *standstill, const struct world *world);
/* The leader is asked for it: OP_MIGRATE of scnoded. It is answered by @told. */
void standstill_ask(struct standstill *standstill, const json_t *head);
/* The work of part() or go_away() is done; @why: it could not be, and NULL if it could. */
void standstill_ready(struct standstill *standstill, const char *why);
/*
 * Between go_away() and standstill_ready(): all was restored from images, and @incarnation is
 * another one than those in which these ranks had devices before. They are to open @devices now;
 * NULL: those that were said. 0 or -ENOMEM.
 */
int standstill_moved(struct standstill *standstill, uint32_t incarnation, const char *devices);
/* All are told: OP_STANDSTILL. */
void standstill_begin(struct standstill *standstill, const json_t *head);

#endif
