// SPDX-License-Identifier: BSD-3-Clause
/*
 * The queue pair that greetings go by: in error and again, broken for good, and the paths it still
 * needs.
 */
#include "pm-verbs/hw/greeter.h"
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)

static struct pmv_rail *rail_of(int node, int rail)
{
	return &pmv_of(nodes[node].link)->rails[rail];
}

static bool is_said(int node, const char *what)
{
	char text[4000];

	OPS->dump(nodes[node].link, text, sizeof(text));
	return okf(strstr(text, what) != NULL, "\"%s\" is not in: %s", what, text);
}

/* With rdma_rxe a datagram that can't be sent because the link is down does this. */
TAP_TEST(greeter__a_datagram_stops_it)
{
	uint32_t number;

	fake_begin(1);
	must(links_open(2, NULL));
	number = rail_of(0, 0)->greeter->qp_num;
	fake.refuse_ud = 3;
	must(links_send(0, 1, 8) == 0);
	links_drain();
	must(links_send(1, 0, 8) == 0);
	links_drain();
	is_int(fake.refuse_ud, 0);
	is_int(rail_of(0, 0)->greeter->qp_num, number);
	is_int(rail_of(0, 0)->greeter->state, IBV_QPS_RTS);
	is_int(rail_of(0, 0)->greeter_starts, 3);
	is_int(rail_of(0, 0)->n_in, PMV_GREETINGS_IN);
	is_said(0, "its queue pair for greetings failed 3 times");
	links_close();
}

/*
 * As a whole in error, with receives posted that come back, and once more as soon as it runs again.
 */
TAP_TEST(greeter__in_error)
{
	fake_begin(1);
	must(links_open(2, NULL));
	for (int i = 0; i < 3; i++) {
		fake_break_ud(0);
		links_turn(20);
		is_int(rail_of(0, 0)->greeter->state, IBV_QPS_RTS);
		is_int(rail_of(1, 0)->greeter->state, IBV_QPS_RTS);
	}
	must(links_send(0, 1, 8) == 0);
	links_drain();
	links_close();
}

/*
 * Whichever step of starting again fails: the other rail's greetings go on, and the dump says why.
 */
TAP_TEST(greeter__does_not_start_again)
{
	static const struct {
		enum fake_call call;
		int nth;
		const char *why;
	} cases[] = {
		{FAKE_MODIFY_QP, 1,
		 "rail 0: no greetings go by it: its queue pair cannot be stopped"},
		{FAKE_MODIFY_QP, 2, "its queue pair cannot be started again: Cannot allocate"},
		{FAKE_MODIFY_QP, 3, "its queue pair cannot be started again: Cannot allocate"},
		{FAKE_MODIFY_QP, 4, "its queue pair cannot be started again: Cannot allocate"},
		{FAKE_MODIFY_QP, 5, "its queue pair cannot be started again: Cannot allocate"},
		{FAKE_POST_RECV, 1, "its queue pair cannot be started again: Cannot allocate"},
		{FAKE_POST_RECV, 64, "its queue pair cannot be started again: Cannot allocate"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_begin(2);
		must(links_open(2, NULL));
		fake_fail(cases[i].call, cases[i].nth, ENOMEM);
		fake_break_ud(0);
		for (int turn = 0; turn < 20; turn++)
			pmv_progress(pmv_of(nodes[0].link));
		is_said(0, cases[i].why);
		is_int(rail_of(0, 0)->greeter_state, PMV_GREETER_BROKEN);
		must(links_send(0, 1, 8) == 0);
		links_drain();
		is_int(nodes[0].dead, 0);
		links_close();
	}
}

/* Without another rail the node can't be met, and this is what is said of it. */
TAP_TEST(greeter__broken_and_alone)
{
	fake_begin(1);
	must(links_open(2, "channel.peer_timeout=1000"));
	fake_fail(FAKE_MODIFY_QP, 2, EIO);
	fake_break_ud(0);
	for (int turn = 0; turn < 20; turn++)
		pmv_progress(pmv_of(nodes[0].link));
	must(links_send(0, 1, 8) == 0);
	for (int i = 0; i < 200 && !nodes[0].dead; i++) {
		pmv_of(nodes[0].link)->clock.now += 10000000;
		links_turn(PMV_IDLE_CHORES);
	}
	is_int(nodes[0].dead, 2);
	ok(strstr(nodes[0].why, "node 1: it does not answer: no greetings go by fake0:1: its queue "
				"pair cannot be started again: Input/output error") != NULL);
	links_close();
}

/* The goodbye of a peer that is deleted goes by its path. */
TAP_TEST(path__outlives_its_peer)
{
	fake_begin(1);
	must(links_open(2, NULL));
	must(links_send(0, 1, 8) == 0);
	links_drain();
	fake.is_held = true;
	OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
	ok(pmv_of(nodes[0].link)->peers == NULL);
	is_int(rail_of(0, 0)->n_out, 1);
	ok(rail_of(0, 0)->old_paths != NULL);
	fake.is_held = false;
	fake_run();
	links_turn(10);
	ok(rail_of(0, 0)->old_paths == NULL);
	is_int(links_send(1, 0, 8), -EPIPE);
	links_close();
}

/* The link is closed with the goodbye still waiting in the device. */
TAP_TEST(path__outlives_its_peer_until_the_close)
{
	fake_begin(1);
	must(links_open(2, NULL));
	must(links_send(0, 1, 8) == 0);
	links_drain();
	fake.is_held = true;
	node_close(&nodes[0]);
	is_int(fake.early, 0);
	links_close();
}
