/* SPDX-License-Identifier: BSD-3-Clause */
/* inquired - for tests of inquiry.h: what the last inquiry has told, and the loop until then. */
#ifndef TESTS_UNIT_SCHEDULER_SCNODED_HOLDINGS_INQUIRED_H
#define TESTS_UNIT_SCHEDULER_SCNODED_HOLDINGS_INQUIRED_H

#include <stdbool.h>

#include "scheduler/scnoded/holdings/inquiry.h"
#include "scheduler/scnoded/holdings/look.h"

extern struct inquired {
	struct errand *inquiry; /* NULL: it has ended */
	unsigned int n;         /* events, since the start */
	bool is_clear;          /* nothing is in the way */
	char text[LOOK_TEXT_MAX];
} inquired;

/* About a job 7 on "here". */
void inquired_start(const struct survey_order *order);
void inquired_wait(void); /* for its event */
void inquired_stop(void);

#endif
