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

/* The leader: a change of devices has ended; @text: why the devices are those of before. */
typedef void standstill_told(struct step *step, uint64_t serial, bool is_changed, const char *text,
			     double stood_s);

/* Makes the page in the job's directory. NULL with errno. */
struct standstill *standstill_open(struct step *step, standstill_told *told);
void standstill_close(struct standstill *standstill);

/* Before ranks of that world start here: slots of step.h. */
void standstill_expect(struct standstill *standstill, const struct world *world);
/* The leader is asked for it: OP_MIGRATE of scnoded. It is answered by @told. */
void standstill_ask(struct standstill *standstill, const json_t *head);
/* All are told: OP_STANDSTILL. */
void standstill_begin(struct standstill *standstill, const json_t *head);

#endif
