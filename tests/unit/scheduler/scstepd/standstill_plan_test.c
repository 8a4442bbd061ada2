// SPDX-License-Identifier: BSD-3-Clause
/*
 * standstill_plan: the orders of a change of devices that goes well, and what follows from a
 * failure in each step. Written as text: a letter for each order, in its order.
 */
#include "scheduler/scstepd/standstill_plan.h"

#include <string.h>

#include "tests/harness/tap.h"

#define TRIES 3

/* R run, D drain, H hold, Q quiesce, A away, v revive, m meet */
static const char letters[] = "RDHQAvm";

static struct standstill_plan plan;
static char course[64];

/*
 * Carries out all orders: @outcomes has a letter for each, . done, l late, f failed. Behind it all
 * are done.
 */
static enum standstill_end run(const char *outcomes)
{
	size_t n = 0;

	memset(course, 0, sizeof(course));
	standstill_plan_begin(&plan, TRIES);
	while (plan.end == STANDSTILL_UNDER_WAY && n + 1 < sizeof(course)) {
		char outcome = *outcomes ? *outcomes++ : '.';

		course[n++] = plan.is_paused ? ' ' : 0;
		n -= !plan.is_paused;
		course[n++] = letters[plan.step];
		if (outcome == '.')
			standstill_plan_next(&plan, STANDSTILL_DONE, "");
		else if (outcome == 'l')
			standstill_plan_next(&plan, STANDSTILL_LATE, "late");
		else
			standstill_plan_next(&plan, STANDSTILL_FAILED, "failed");
	}
	return plan.end;
}

TAP_TEST(plan__all_goes_well)
{
	is_int(run(""), STANDSTILL_CHANGED);
	is_str(course, "DHQAvmR");
	is_str(plan.why, "");
}

TAP_TEST(plan__ranks_that_are_late_are_awaited_by_those_that_run)
{
	is_int(run("l.l"), STANDSTILL_CHANGED);
	is_str(course, "DR DR DHQAvmR");
	is_str(plan.why, "");
	is_int(run("l.l.l"), STANDSTILL_KEPT);
	is_str(course, "DR DR DR");
	is_str(plan.why, "late");
}

TAP_TEST(plan__before_the_devices_are_gone_a_failure_changes_nothing)
{
	is_int(run("f"), STANDSTILL_KEPT);
	is_str(course, "DR");
	is_str(plan.why, "failed");
	is_int(run(".f"), STANDSTILL_KEPT);
	is_str(course, "DHR");
	is_int(run("..l"), STANDSTILL_KEPT);
	is_str(course, "DHQR");
	is_str(plan.why, "late");
}

TAP_TEST(plan__a_rank_that_keeps_its_devices_is_asked_again)
{
	is_int(run("...f"), STANDSTILL_CHANGED);
	is_str(course, "DHQAAvmR");
	is_int(run("...ff"), STANDSTILL_KEPT);
	is_str(course, "DHQAAvmR");
	is_str(plan.why, "failed");
}

TAP_TEST(plan__devices_that_do_not_open_or_lead_nowhere_give_way_to_the_old_ones)
{
	is_int(run("....f"), STANDSTILL_KEPT);
	is_str(course, "DHQAvvmR");
	is_int(run(".....f"), STANDSTILL_KEPT);
	is_str(course, "DHQAvmvmR");
	is_str(plan.why, "failed");
	is_int(run("....fl"), STANDSTILL_LOST);
	is_str(course, "DHQAvv");
	is_str(plan.why, "failed");
	is_int(run(".....f.f"), STANDSTILL_LOST);
}

TAP_TEST(plan__a_job_that_does_not_go_on_is_lost)
{
	is_int(run("......f"), STANDSTILL_LOST);
	is_int(run("ff"), STANDSTILL_LOST);
	is_str(plan.why, "failed");
}

/* Every outcome of every order up to a depth: it ends, and never runs without devices. */
static void try_all(char *outcomes, size_t n, size_t depth)
{
	bool is_away = false;

	run(outcomes);
	ok(plan.end != STANDSTILL_UNDER_WAY);
	for (const char *at = course; *at; at++) {
		is_away |= *at == 'A';
		ok(*at != 'R' || !is_away || at[-1] == 'm');
	}
	for (const char *c = ".lf"; n < depth && *c; c++) {
		outcomes[n] = *c;
		outcomes[n + 1] = 0;
		try_all(outcomes, n + 1, depth);
	}
	outcomes[n] = 0;
}

TAP_TEST(plan__every_course_ends_and_none_runs_without_devices)
{
	char outcomes[16] = "";

	try_all(outcomes, 0, 9);
}
