// SPDX-License-Identifier: BSD-3-Clause
/*
 * standstill_plan: the orders of a change of devices that goes well, and what follows from a
 * failure in each step. Written as text: a letter for each order, in its order.
 */
#include "scheduler/scstepd/standstill_plan.h"

#include <string.h>

#include "tests/harness/tap.h"

#define TRIES 3

/* R run, D drain, H hold, Q quiesce, A away, v revive, m meet; of hosts: p part, a absence */
static const char letters[] = "RDHQAvmpa";

static struct standstill_plan plan;
static char course[64];
static bool parts; /* the hosts close their links */

/*
 * Carries out all orders: @outcomes has a letter for each, . done, l late, f failed. Behind it all
 * are done.
 */
static enum standstill_end run(const char *outcomes)
{
	size_t n = 0;

	memset(course, 0, sizeof(course));
	standstill_plan_begin(&plan, TRIES, parts);
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

static enum standstill_end run_with_parts(const char *outcomes)
{
	enum standstill_end end;

	parts = true;
	end = run(outcomes);
	parts = false;
	return end;
}

TAP_TEST(plan__hosts_close_their_links_while_no_rank_has_devices)
{
	is_int(run_with_parts(""), STANDSTILL_CHANGED);
	is_str(course, "DHQApavmR");
	is_str(plan.why, "");
	/* Ranks that were late have delayed it. */
	is_int(run_with_parts("l."), STANDSTILL_CHANGED);
	is_str(course, "DR DHQApavmR");
	is_int(run_with_parts("...f"), STANDSTILL_CHANGED);
	is_str(course, "DHQAApavmR");
}

TAP_TEST(plan__links_that_can_not_be_closed)
{
	/* Nobody goes away then, and the ranks open their devices again. */
	is_int(run_with_parts("....f"), STANDSTILL_KEPT);
	is_str(course, "DHQApvmR");
	is_str(plan.why, "failed");
	is_int(run_with_parts("....l"), STANDSTILL_KEPT);
	is_str(course, "DHQApvmR");
	is_str(plan.why, "late");
}

TAP_TEST(plan__what_is_found_in_the_absence)
{
	is_int(run_with_parts(".....f"), STANDSTILL_KEPT);
	is_str(course, "DHQApavmR");
	is_str(plan.why, "failed");
	/* Devices are tried twice, as in any other change. */
	is_int(run_with_parts(".....ff"), STANDSTILL_KEPT);
	is_str(course, "DHQApavvmR");
	is_str(plan.why, "failed");
	is_int(run_with_parts(".....fff"), STANDSTILL_LOST);
	is_str(course, "DHQApavv");
	is_int(run_with_parts("......f"), STANDSTILL_KEPT);
	is_str(course, "DHQApavvmR");
}

TAP_TEST(plan__no_links_are_closed_before_the_devices_are_gone)
{
	is_int(run_with_parts("...ff"), STANDSTILL_KEPT);
	is_str(course, "DHQAAvmR");
	is_int(run_with_parts("..f"), STANDSTILL_KEPT);
	is_str(course, "DHQR");
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
		ok(*at != 'p' || (parts && at[-1] == 'A'));
		ok(*at != 'a' || at[-1] == 'p');
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

TAP_TEST(plan__every_course_with_parts_ends_and_none_runs_without_devices)
{
	char outcomes[16] = "";

	parts = true;
	try_all(outcomes, 0, 9);
	parts = false;
}
