// SPDX-License-Identifier: BSD-3-Clause
/* standstill: ranks that stand still and open other devices. */
#include "tests/unit/scheduler/scstepd/standstill_world.h"

TAP_TEST(standstill__other_devices)
{
	uint64_t key;

	begin();
	starts("self+udp");
	all_stand();
	is_str(t.page->config, "devices=self+udp");
	key = t.page->job_key;
	ok(key);
	all_do(SUSPEND_REVIVE);
	/* Those of all, by node. */
	is_int(t.page->n_known, 3);
	is_int(suspend_page_address(t.page, 0)->node, 0);
	is_str(suspend_page_address(t.page, 0)->bytes, "z");
	is_int(suspend_page_address(t.page, 1)->node, 2);
	is_int(suspend_page_address(t.page, 2)->node, 3);
	all_do(SUSPEND_MEET);
	stillclock_ns += 5000000;
	all_do(SUSPEND_RUN);
	is_int(t.n_answers, 1);
	ok(t.is_changed);
	is_str(t.text, "");
	ok(t.stood_s > 0.005 && t.stood_s < 0.1);
	/* Once more, by another key. */
	starts("self+ethernet");
	all_stand();
	is_str(t.page->config, "devices=self+ethernet");
	ok(t.page->job_key != key);
	finish();
}

TAP_TEST(standstill__devices_that_do_not_open)
{
	begin();
	starts("verbs");
	all_stand();
	strcpy(slot(1)->why, "verbs: no\xff device");
	slot(0)->done = slot(1)->failed = t.page->order;
	pass(0.0015);
	other_says(STANDSTILL_DONE, "");
	/* Those of before, which were the first ones. */
	is_str(t.page->config, "");
	all_do(SUSPEND_REVIVE);
	all_do(SUSPEND_MEET);
	all_do(SUSPEND_RUN);
	is_int(t.n_answers, 1);
	ok(!t.is_changed);
	is_str(t.text,
	       "rank 3 on host: verbs: no? device; the job goes on by the devices that it had");
	is_int(t.n_stops, 0);
	finish();
}

/* The next order comes with other devices: nobody may be at this one still. */
TAP_TEST(standstill__one_that_fails_does_not_hurry_the_others)
{
	begin();
	starts("verbs");
	all_stand();
	strcpy(slot(1)->why, "no device");
	slot(1)->failed = t.page->order;
	for (int i = 0; i < 100; i++)
		pass(1);
	is_int(t.n_joins, 4);
	is_str(t.page->config, "devices=verbs");
	slot(0)->done = t.page->order;
	pass(0.03);
	is_int(t.n_joins, 5);
	other_says(STANDSTILL_DONE, "");
	is_str(t.page->config, "");
	all_do(SUSPEND_REVIVE);
	finish();
}

TAP_TEST(standstill__no_devices_open_any_more)
{
	begin();
	starts("verbs");
	all_stand();
	for (int i = 0; i < 2; i++) {
		ranks_do(t.page->order);
		other_says(STANDSTILL_FAILED, "rank 0 on h0: no");
	}
	is_int(t.n_answers, 1);
	is_str(t.text, "rank 0 on h0: no; the job ends");
	is_int(t.n_stops, 1);
	finish();
}

/* Rank 0 stands and goes on; rank 1 comes to no order, and to SUSPEND_RUN it need not. */
static void try_in_vain(void)
{
	unsigned int n = t.n_joins;

	slot(0)->done = t.page->order;
	pass(0.2);
	is_int(t.n_joins, n);
	pass(0.11);
	is_int(t.n_joins, n + 1);
	other_says(STANDSTILL_DONE, "");
	is_int(suspend_order_step(t.page->order), SUSPEND_RUN);
	pass(0.01);
	is_int(t.n_joins, n + 1);
	slot(0)->done = t.page->order;
	pass(0.0015);
	is_int(t.n_joins, n + 2);
	other_says(STANDSTILL_DONE, "");
	is_int(suspend_order_step(t.page->order), SUSPEND_RUN);
	pass(0.19);
	is_int(suspend_order_step(t.page->order), SUSPEND_RUN);
	pass(0.02);
	is_int(suspend_order_step(t.page->order), SUSPEND_DRAIN);
}

TAP_TEST(standstill__a_rank_that_computes)
{
	begin();
	starts("udp");
	try_in_vain();
	try_in_vain();
	all_do(SUSPEND_DRAIN);
	is_int(suspend_order_step(t.page->order), SUSPEND_HOLD);
	finish();
}

TAP_TEST(standstill__a_rank_that_is_stopped_without_devices_is_waited_for)
{
	begin();
	starts("udp");
	all_stand();
	slot(0)->done = t.page->order;
	for (int i = 0; i < 100; i++)
		pass(60);
	is_int(t.n_joins, 4);
	/* It is looked at less often. */
	ranks_do(t.page->order);
	pass(0.02);
	is_int(t.n_joins, 5);
	finish();
}

static void is_refused(const char *text)
{
	pass(0.0015);
	other_says(STANDSTILL_DONE, "");
	ranks_do(t.page->order);
	other_says(STANDSTILL_DONE, "");
	is_int(t.n_answers, 1);
	ok(!t.is_changed);
	is_str(t.text, text);
}

TAP_TEST(standstill__ranks_that_can_not)
{
	begin();
	slot(1)->presence = SUSPEND_ABSENT;
	starts("udp");
	is_refused("rank 3 on host does not use PM, or has not come to MPI_Init yet; the job goes "
		   "on by the devices that it had");
	finish();
	begin();
	slot(0)->presence = SUSPEND_GONE;
	starts("udp");
	is_refused("rank 2 on host has come to MPI_Finalize; the job goes on by the devices that "
		   "it had");
	finish();
	begin();
	t.ranks[1].slot = 1000000;
	starts("udp");
	is_refused(
		"rank 3 on host was spawned when there was no room for it in the page of orders, "
		"after very many others or as $TMPDIR was full; the job goes on by the devices "
		"that it had");
	finish();
}

TAP_TEST(standstill__ranks_that_have_ended_are_not_asked)
{
	begin();
	slot(1)->presence = SUSPEND_GONE;
	t.ranks[1].has_ended = true;
	starts("udp");
	slot(0)->done = t.page->order;
	pass(0.0015);
	other_says(STANDSTILL_DONE, "");
	is_int(suspend_order_step(t.page->order), SUSPEND_HOLD);
	finish();
}

TAP_TEST(standstill__numbers_in_the_page_are_not_believed)
{
	begin();
	starts("udp");
	t.page->n_slots = t.page->n_nodes = UINT32_MAX;
	all_do(SUSPEND_DRAIN);
	all_do(SUSPEND_HOLD);
	all_do(SUSPEND_QUIESCE);
	all_do(SUSPEND_AWAY);
	slot(0)->address_length = UINT32_MAX;
	all_do(SUSPEND_REVIVE);
	is_int(t.page->n_known, 3);
	finish();
}

/* Whoever has no address in the page counts as ended, so none may be left out. */
TAP_TEST(standstill__more_addresses_than_ranks)
{
	struct suspend_slot many = {.address_length = 2, .address = "z"};
	const struct suspend_slot *slots[] = {&many, &many, &many};
	size_t size;
	char *part, *all;

	begin();
	starts("udp");
	all_stand();
	ranks_do(t.page->order);
	part = standstill_part_encode(STANDSTILL_DONE, "", slots, 3, &size);
	all = malloc(size + t.part_size);
	memcpy(all, t.part, t.part_size);
	memcpy(all + t.part_size, part, size);
	t.done(0, all, size + t.part_size, t.arg);
	is_int(suspend_order_step(t.page->order), SUSPEND_REVIVE);
	is_str(t.page->config, "");
	free(all);
	free(part);
	finish();
}

TAP_TEST(standstill_ask__not_now)
{
	begin();
	fake.step.state = STEP_READY;
	ask("udp");
	is_str(t.text, "the job does not run yet, or ends");
	fake.step.state = STEP_RUN;
	starts("udp");
	ask("udp");
	is_int(t.n_answers, 2);
	is_str(t.text, "the ranks of the job stand still already, for another request; try again "
		       "in a moment");
	ok(!fake.first);
	finish();
}

TAP_TEST(standstill__hosts_that_can_not_meet)
{
	begin();
	starts("udp");
	t.join_error = -ENOSPC;
	ranks_do(t.page->order);
	is_int(t.n_stops, 1);
	finish();
	/* The other one talks nonsense. */
	begin();
	starts("udp");
	ranks_do(t.page->order);
	t.done(0, "nonsense", 8, t.arg);
	is_int(suspend_order_step(t.page->order), SUSPEND_RUN);
	ranks_do(t.page->order);
	other_says(STANDSTILL_DONE, "");
	is_str(t.text,
	       "a host says what makes no sense; the job goes on by the devices that it had");
	finish();
	/* The job ends meanwhile. */
	begin();
	starts("udp");
	ranks_do(t.page->order);
	fake.step.state = STEP_STOPPING;
	other_says(STANDSTILL_DONE, "");
	is_int(suspend_order_step(t.page->order), SUSPEND_DRAIN);
	finish();
}
