// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/scheduler/scnoded/holdings/inquired.h"

#include <stdio.h>

#include "tests/harness/tap.h"

struct inquired inquired;

static void done(const char *text, void *owner)
{
	struct inquired *i = owner;

	i->inquiry = NULL;
	i->n++;
	i->is_clear = !text;
	snprintf(i->text, sizeof(i->text), "%s", text ? text : "");
}

void inquired_start(const struct survey_order *order)
{
	struct restorable_terms terms = {
		.job = 7, .host = "here", .ghost_bytes = RESTORABLE_GHOST_BYTES};

	inquired = (struct inquired){.n = 0};
	inquired.inquiry =
		inquiry_start(ev_default_loop(EVFLAG_AUTO), order, &terms, done, &inquired);
	ok(inquired.inquiry != NULL);
}

void inquired_wait(void)
{
	while (!inquired.n)
		ev_run(ev_default_loop(EVFLAG_AUTO), EVRUN_ONCE);
	is_int(inquired.n, 1);
}

void inquired_stop(void)
{
	errand_stop(inquired.inquiry);
	inquired.inquiry = NULL;
}
