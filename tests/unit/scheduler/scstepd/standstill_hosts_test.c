// SPDX-License-Identifier: BSD-3-Clause
/* standstill: hosts that close their links while their ranks have no devices. */
#include "tests/unit/scheduler/scstepd/standstill_world.h"

/* Until all ranks are without devices. */
static void tries(void)
{
	json_t *head = json_pack("{s:s, s:i}", "op", OP_CHECKPOINT, "serial", 5);

	standstill_ask(t.standstill, head);
	json_decref(head);
	head = json_incref(fake.first->head);
	fake_sent(TREE_ALL, "{\"op\":\"standstill\",\"parts\":true,\"set\":\"0\"}", "");
	standstill_begin(t.standstill, head);
	json_decref(head);
	all_stand();
}

/* This host has done what it was asked for, and so has the other one. */
static void ready(const char *why, enum standstill_outcome theirs, const char *their_why)
{
	unsigned int n = t.n_joins;

	standstill_ready(t.standstill, why);
	if (ok(t.n_joins == n + 1))
		other_says(theirs, their_why);
}

static void asked(const char *want)
{
	is_str(t.asked, want);
	t.asked[0] = '\0';
}

static void goes_on(bool is_changed, const char *text)
{
	all_do(SUSPEND_REVIVE);
	all_do(SUSPEND_MEET);
	all_do(SUSPEND_RUN);
	is_int(t.n_answers, 1);
	is_int(t.is_changed, is_changed);
	is_str(t.text, text);
	is_int(t.n_stops, 0);
}

TAP_TEST(standstill__hosts_part_and_return)
{
	begin();
	tries();
	asked("part ");
	/* The ranks are given no order, and not waited for. */
	is_int(suspend_order_step(t.page->order), SUSPEND_AWAY);
	pass(3600);
	is_int(t.n_joins, 4);
	ready(NULL, STANDSTILL_DONE, "");
	asked("go_away ");
	pass(3600);
	is_int(t.n_joins, 5);
	is_int(suspend_order_step(t.page->order), SUSPEND_AWAY);
	ready(NULL, STANDSTILL_DONE, "");
	asked("");
	is_str(t.page->config, "");
	goes_on(true, "");
	finish();
}

/* After a change of devices they are those that it has. */
TAP_TEST(standstill__hosts_part_by_the_devices_of_now)
{
	begin();
	starts("self+udp");
	all_stand();
	asked("");
	goes_on(true, "");
	t.n_answers = 0;
	tries();
	ready(NULL, STANDSTILL_DONE, "");
	ready(NULL, STANDSTILL_DONE, "");
	is_str(t.page->config, "devices=self+udp");
	goes_on(true, "");
	finish();
}

TAP_TEST(standstill__a_host_that_can_not_part)
{
	begin();
	tries();
	ready("scrun is stopped", STANDSTILL_DONE, "");
	asked("part stay ");
	goes_on(false, "scrun is stopped; the job goes on");
	finish();
	begin();
	tries();
	ready(NULL, STANDSTILL_FAILED, "no scrun");
	asked("part stay ");
	goes_on(false, "no scrun; the job goes on");
	finish();
}

TAP_TEST(standstill__what_is_found_while_hosts_are_away)
{
	begin();
	tries();
	ready(NULL, STANDSTILL_DONE, "");
	ready("rank 2 holds a socket", STANDSTILL_DONE, "");
	/* It has returned, and need not be told to stay. */
	asked("part go_away ");
	goes_on(false, "rank 2 holds a socket; the job goes on");
	finish();
	begin();
	tries();
	ready(NULL, STANDSTILL_DONE, "");
	ready(NULL, STANDSTILL_FAILED, "rank 0 holds a file");
	asked("part go_away ");
	goes_on(false, "rank 0 holds a file; the job goes on");
	finish();
}

TAP_TEST(standstill__no_host_is_asked_to_part_before_the_devices_are_gone)
{
	json_t *head = json_pack("{s:s, s:b}", "set", "0", "parts", true);

	begin();
	slot(1)->presence = SUSPEND_ABSENT;
	standstill_begin(t.standstill, head);
	json_decref(head);
	pass(0.0015);
	other_says(STANDSTILL_DONE, "");
	ranks_do(t.page->order);
	asked("");
	finish();
}
