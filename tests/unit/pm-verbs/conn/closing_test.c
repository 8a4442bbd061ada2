// SPDX-License-Identifier: BSD-3-Clause
/*
 * Connections that end in agreement, by one side or both, answered or not, between links on the
 * fake provider.
 */
#include "pm-verbs/conn/closing.h"
#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/greeting.h"
#include "pm-verbs/conn/wireup.h"
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)

static void close_first(void)
{
	pmv_close(links_of(0), nodes[0].peer[1], pmv_now(links_of(0)));
}

/* Two that have talked, and the first has said that it closes. */
static bool open_and_close(void)
{
	fake_begin(1);
	if (!ok(links_open_still(2, NULL)) || !ok(links_send(0, 1, 10) == 0))
		return false;
	links_drain();
	close_first();
	return true;
}

static void check_closed(int a, int b)
{
	is_int(nodes[a].peer[b]->stage, PMV_IDLE);
	is_int(nodes[b].peer[a]->stage, PMV_IDLE);
	is_int(links_of(a)->n_qps, 0);
	is_int(links_of(b)->n_qps, 0);
	is_int(nodes[a].stats.connections_closed, 1);
	is_int(nodes[b].stats.connections_closed, 1);
	is_int(OPS->send_done(nodes[a].link, NULL), 0);
	is_int(OPS->quiesce(nodes[a].link), 0);
	OPS->resume(nodes[a].link);
}

/*
 * One side closes, or both at once, with messages on their way in both directions: then the numbers
 * go on.
 */
TAP_TEST(close__by_one_or_both)
{
	for (int both = 0; both < 2; both++) {
		fake_begin(1);
		must(links_open_still(2, NULL));
		must(links_send(0, 1, 10) == 0 && links_send(1, 0, 10) == 0);
		links_drain();
		fake.is_held = true;
		for (int i = 0; i < 10; i++)
			must(links_send(0, 1, 10) == 0 && links_send(1, 0, 10) == 0);
		close_first();
		if (both)
			pmv_close(links_of(1), nodes[1].peer[0], pmv_now(links_of(1)));
		is_int(OPS->quiesce(nodes[0].link), -EAGAIN);
		OPS->resume(nodes[0].link);
		fake.is_held = false;
		fake_run();
		links_turn(100);
		is_int(nodes[1].received[0], 11);
		is_int(nodes[0].received[1], 11);
		check_closed(0, 1);
		must(links_send(0, 1, 10) == 0 && links_send(1, 0, 10) == 0);
		links_drain();
		is_int(nodes[0].peer[1]->epoch, 2);
		is_int(nodes[0].stats.connections_reopened, 1);
		is_int(nodes[1].stats.connections_reopened, 1);
		links_check_clean(256);
		links_close();
	}
}

/* Messages that wait for a credit when the connection is closed go over the next one, at once. */
TAP_TEST(close__with_messages_queued)
{
	fake_begin(1);
	must(links_open_still(2, "verbs.credit=8"));
	for (int i = 0; i < 14; i++)
		must(links_send(0, 1, 10) == 0);
	for (int i = 0; i < 20; i++) {
		pmv_progress(links_of(0));
		pmv_progress(links_of(1));
	}
	ok(nodes[0].peer[1]->queue.n > 0);
	close_first();
	links_drain();
	is_int(nodes[0].peer[1]->epoch, 2);
	links_check_clean(256);
	links_close();
}

/* CLOSE is lost with its connection, before or after it arrived. */
TAP_TEST(close__lost)
{
	for (int is_delivered = 0; is_delivered < 2; is_delivered++) {
		fake_begin(1);
		must(links_open_still(2, NULL));
		must(links_send(0, 1, 10) == 0 && links_send(1, 0, 10) == 0);
		links_drain();
		if (is_delivered)
			fake.lose_acks = 1;
		else
			fake.is_held = true;
		close_first();
		if (!is_delivered)
			fake_break(0);
		fake.is_held = false;
		fake_run();
		links_run(3, 300);
		must(links_send(0, 1, 10) == 0 && links_send(1, 0, 10) == 0);
		links_drain();
		is_int(OPS->send_done(nodes[0].link, NULL), 0);
		links_check_quiet();
		links_close();
	}
}

/* The other side dies, leaves or is removed while it is asked. */
TAP_TEST(close__meanwhile_the_peer_goes)
{
	for (int how = 0; how < 3; how++) {
		fake_begin(1);
		must(links_open_still(3, NULL));
		must(links_send(0, 1, 10) == 0 && links_send(0, 2, 10) == 0);
		links_drain();
		close_first();
		if (how == 0)
			OPS->peer_del(nodes[1].link, nodes[1].peer[0]);
		else if (how == 1)
			OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
		else
			node_close(&nodes[1]);
		nodes[0].sent[1] = nodes[1].received[0] = 0;
		links_run(5, 300);
		is_int(nodes[0].dead, 0);
		is_int(links_of(0)->n_closing, 0);
		must(links_send(0, 2, 10) == 0);
		links_drain();
		is_int(links_of(0)->n_qps, 1);
		links_close();
	}
}

/*
 * A node that computes takes no messages, and its place is needed: the connection ends without it.
 */
TAP_TEST(close__not_answered)
{
	fake_begin(1);
	must(links_open_still(4, "verbs.connections=2"));
	must(links_send(0, 1, 10) == 0 && links_send(0, 2, 10) == 0);
	links_drain();
	for (int i = 0; i < 5; i++)
		must(links_send(0, 1, 10) == 0 && links_send(0, 2, 10) == 0);
	must(links_send(0, 3, 10) == 0);
	links_run(1 | 8, 150);
	is_int(nodes[3].received[0], 1);
	/* they send before they look */
	must(links_send(1, 0, 10) == 0 && links_send(2, 0, 10) == 0);
	links_drain();
	for (int i = 0; i < 4; i++)
		is_int(nodes[i].dead, 0);
	links_check_quiet();
	is_int(fake.most_qps, 2);
	links_close();
}

/* An operation that has only asked for its key goes on over the next connection. */
TAP_TEST(close__with_an_operation_open)
{
	static uint8_t region[100], local[100];
	uint64_t rkey;
	uint32_t op;
	int err = -EAGAIN;

	fake_begin(1);
	must(links_open_still(2, NULL));
	links_fill(region, sizeof(region), 3);
	must(!region_add(nodes[1].regions, region, sizeof(region), &rkey));
	must(links_send(0, 1, 10) == 0);
	links_drain();
	must(!OPS->read(nodes[0].link, nodes[0].peer[1], rkey, 0, local, sizeof(local), &op));
	close_first();
	for (int ms = 0; ms < 100 && err == -EAGAIN; ms++) {
		links_run(3, 1);
		err = OPS->rma_done(nodes[0].link, op);
	}
	is_int(err, 0);
	ok(!memcmp(local, region, sizeof(region)));
	is_int(nodes[0].peer[1]->epoch, 2);
	links_close();
}

static void poll(int node, int times)
{
	while (times-- > 0)
		pmv_progress(links_of(node));
}

/*
 * The other side is through, and begins the next one, while this one still drains: nobody waits for
 * a second call.
 */
TAP_TEST(close__the_next_call_comes_early)
{
	uint64_t before;

	must(open_and_close());
	poll(0, 5);
	/* all is acknowledged, and the other side's word is still to come */
	is_int(nodes[0].peer[1]->posted.n, 0);
	is_int(OPS->quiesce(nodes[0].link), -EAGAIN);
	OPS->resume(nodes[0].link);
	poll(1, 10);
	is_int(nodes[1].peer[0]->stage, PMV_IDLE);
	must(links_send(1, 0, 10) == 0);
	before = nodes[1].peer[0]->next_greeting_ns;
	for (int i = 0; i < 3; i++) {
		poll(0, 10);
		poll(1, 10);
	}
	is_int(nodes[1].peer[0]->stage, PMV_READY);
	is_int(nodes[1].peer[0]->next_greeting_ns, before);
	links_drain();
	links_close();
}

/* A greeting of the connection that was closed comes late: it is not taken for a call. */
TAP_TEST(close__late_greeting)
{
	must(open_and_close());
	links_turn(20);
	check_closed(0, 1);
	pmv_greet(links_of(1), nodes[1].peer[0], PMV_HAVE_YOURS);
	links_turn(20);
	is_int(links_of(0)->n_qps, 0);
	links_close();
}

/* A probe of a node goes over a connection. A closed connection is opened again for it. */
TAP_TEST(close__probe_makes_it_anew)
{
	must(open_and_close());
	links_turn(20);
	is_int(OPS->probe(nodes[0].link, nodes[0].peer[1]), 0);
	links_turn(20);
	is_int(nodes[0].peer[1]->stage, PMV_READY);
	is_int(OPS->probe(nodes[0].link, nodes[0].peer[1]), 0);
	links_close();
}
