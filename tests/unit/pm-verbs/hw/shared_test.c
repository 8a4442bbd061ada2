// SPDX-License-Identifier: BSD-3-Clause
/*
 * Receives that connections share: how many, order, credits, the end of a queue pair, buffers that
 * get lost.
 */
#include "pm-verbs/hw/pool.h"
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)

static struct pmv_shared *shared_of(int node)
{
	return &pmv_of(nodes[node].link)->rails[0].shared;
}

static bool send_some(int from, int to, int n)
{
	for (int i = 0; i < n; i++) {
		int err;

		for (int k = 0;
		     (err = links_send(from, to, 1 + (uint32_t)i % 900)) == -EAGAIN && k < TURNS;
		     k++) {
			links_turn(1);
			links_pass_time(1000000);
		}
		if (err)
			return false;
	}
	return true;
}

static void begin(int n, const char *options)
{
	fake_begin(1);
	fake.max_srq = 64;
	must(links_open(n, options));
}

/* ---- how many ---- */

TAP_TEST(posted__as_many_as_the_connections_need)
{
	begin(LINKS, NULL);
	ok(!shared_of(0)->srq);
	for (int i = 1; i < LINKS; i++) {
		must(links_send(i, 0, 10) == 0);
		links_drain();
		is_int(shared_of(0)->posted, 40 * i);
		is_int(shared_of(i)->posted, 40);
	}
	for (int i = 1; i < LINKS; i++)
		ok(send_some(i, 0, 100));
	links_drain();
	is_int(fake.waits, 0);
	is_int(shared_of(0)->posted, 40 * (LINKS - 1));
	is_int(nodes[0].stats.shared_posted, 40 * (LINKS - 1));
	links_close();
}

/* Beyond the bound a peer costs no buffers, and senders wait in the device. */
TAP_TEST(posted__at_most_the_option)
{
	uint64_t locked = 0;

	begin(LINKS, "verbs.shared=16");
	fake.is_held = true;
	for (int i = 1; i < LINKS; i++)
		for (int k = 0; k < 30; k++)
			must(links_send(i, 0, 10) == 0);
	fake.is_held = false;
	fake_run();
	for (int round = 0; round < 20; round++) {
		for (int i = 1; i < LINKS; i++)
			ok(send_some(i, 0, 20) && send_some(0, i, 3));
		is_int(shared_of(0)->posted, 16);
		if (round == 2)
			locked = fake.locked;
	}
	links_drain();
	ok(fake.waits > 0);
	is_int(fake.locked, locked);
	links_close();
}

TAP_TEST(posted__none_without_connection)
{
	struct pmv_link *link;

	begin(3, NULL);
	link = pmv_of(nodes[0].link);
	ok(send_some(1, 0, 5) && send_some(2, 0, 5));
	links_drain();
	is_int(shared_of(0)->n_qps, 2);
	OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
	links_turn(100);
	is_int(shared_of(0)->n_qps, 1);
	is_int(shared_of(0)->want, 40);
	OPS->peer_del(nodes[0].link, nodes[0].peer[2]);
	links_turn(100);
	ok(!shared_of(0)->srq);
	is_int(shared_of(0)->posted, 0);
	is_int(link->n_free, link->n_slots);
	is_int(link->rails[0].shared.qps.count, 0);
	links_close();
}

/*
 * Without the option, without the device, or when the device refuses: each connection has its own.
 */
TAP_TEST(posted__own_ones_where_none_are_shared)
{
	for (int way = 0; way < 3; way++) {
		fake_begin(1);
		fake.max_srq = way == 0 ? 0 : 64;
		must(links_open(2, way == 1 ? "verbs.shared=0" : NULL));
		if (way == 2)
			fake_fail(FAKE_CREATE_SRQ, 1, EINVAL);
		ok(send_some(0, 1, 100) && send_some(1, 0, 100));
		links_drain();
		ok(!nodes[0].peer[1]->qp->is_shared);
		is_int(nodes[0].peer[1]->qp->n_receives, 40);
		is_int(nodes[1].peer[0]->qp->is_shared, way == 2);
		links_close();
	}
}

/* ---- who reads nothing ---- */

#define N 30 /* messages: a little less than a peer has credits for */

/* With no memory to be had, messages are copied aside and the receives stay. */
TAP_TEST(memory__all_held_and_no_more_to_be_had)
{
	struct pm_inbound in[N];
	uint8_t region[100], local[100];
	uint64_t rkey;
	int n = 0;

	begin(2, NULL);
	must(!region_add(nodes[0].regions, region, sizeof(region), &rkey));
	links_fill(region, sizeof(region), 3);
	ok(send_some(1, 0, 1));
	links_drain();
	for (int i = 0; i < N; i++)
		must(links_send(1, 0, 100 + (uint32_t)i) == 0);
	fake.lockable = fake.locked + sizeof(local);
	for (int i = 0; i < TURNS && n < N; i++) {
		n += OPS->receive(nodes[0].link, &in[n]) == 1;
		links_take(1);
	}
	must(n == N);
	is_int(shared_of(0)->posted, 40);
	ok(pmv_of(nodes[0].link)->n_plain > 0);
	ok(pmv_of(nodes[0].link)->n_free >= PMV_KEPT);
	fake.lockable = 0;
	for (int i = 0; i < 50; i++)
		is_int(links_rma(1, 0, false, rkey, 0, local, sizeof(local)), 0);
	ok(!memcmp(local, region, sizeof(local)));
	for (int i = 0; i < n; i++) {
		ok(links_is_filled(in[i].buf, in[i].len, 1001 + (uint64_t)i));
		OPS->release(nodes[0].link, in[i].cookie);
	}
	nodes[0].received[1] += N;
	ok(send_some(1, 0, 100));
	links_drain();
	links_close();
}

/* Many connections with the memory that one has at first. */
TAP_TEST(memory__no_more_than_at_first)
{
	begin(LINKS, NULL);
	fake.lockable = fake.locked;
	for (int round = 0; round < 5; round++)
		for (int i = 1; i < LINKS; i++)
			ok(send_some(i, 0, 50) && send_some(0, i, 20));
	links_drain();
	for (int i = 0; i < LINKS; i++)
		is_int(nodes[i].dead, 0);
	is_int(shared_of(0)->posted, PMV_CHUNK_SLOTS - PMV_KEPT);
	is_int(fake.locked, fake.lockable);
	links_close();
}

/* Copied messages are released to a connection with receives of its own. */
TAP_TEST(memory__copies_outlive_sharing)
{
	struct pm_inbound in[N];
	int n = 0;

	begin(2, NULL);
	ok(send_some(1, 0, 1));
	links_drain();
	for (int i = 0; i < N; i++)
		must(links_send(1, 0, 10) == 0);
	fake.lockable = fake.locked;
	for (int i = 0; i < TURNS && n < N; i++) {
		n += OPS->receive(nodes[0].link, &in[n]) == 1;
		links_take(1);
	}
	must(n == N);
	fake.lockable = 0;
	nodes[0].received[1] += N;
	fake_break_shared(0);
	links_hear();
	ok(send_some(0, 1, 3));
	links_drain();
	ok(!nodes[0].peer[1]->qp->is_shared);
	for (int i = 0; i < n; i++)
		OPS->release(nodes[0].link, in[i].cookie);
	is_int(nodes[0].peer[1]->qp->n_receives, 40);
	ok(send_some(1, 0, 100));
	links_drain();
	links_close();
}

TAP_TEST(credits__who_sends_more_is_given_up)
{
	begin(3, NULL);
	ok(send_some(1, 0, 1) && send_some(2, 0, 1));
	links_drain();
	nodes[1].peer[0]->credits += 100;
	for (int i = 0; i < 60; i++) {
		must(links_send(1, 0, 10) == 0);
		pmv_progress(pmv_of(nodes[0].link));
		pmv_progress(pmv_of(nodes[1].link));
	}
	is_int(nodes[0].peer[1]->state, PMV_PEER_DEAD);
	ok(strstr(nodes[0].peer[1]->why, "more than it has credits for") != NULL);
	nodes[1].sent[0] = nodes[0].received[1] = 61;
	while (nodes[0].dead != 2)
		OPS->receive(nodes[0].link, &(struct pm_inbound){0}) == -EPIPE ? nodes[0].dead = 2
									       : 0;
	ok(send_some(2, 0, 50));
	links_drain();
	links_close();
}

/* ---- the end of a queue pair ---- */

#define BURST 60

/*
 * The receiver's device has acknowledged messages that it has not told of when the connection
 * breaks.
 */
static void break_with_late_messages(void)
{
	fake.is_late = true;
	for (int i = 0; i < BURST; i++)
		must(links_send(1, 0, 50) == 0);
	fake_break(0);
	fake.is_late = false;
	/* who sends learns of it */
	must(links_send(1, 0, 50) == 0);
	links_turn(200);
}

TAP_TEST(end__what_was_acknowledged_is_taken_first)
{
	begin(2, "verbs.credit=100");
	ok(send_some(1, 0, 1));
	links_drain();
	for (int round = 0; round < 5; round++) {
		break_with_late_messages();
		is_int(nodes[0].peer[1]->stage, PMV_DRAINING);
		is_int(nodes[0].received[1], 1 + (BURST + 1) * round);
		fake_run();
		links_drain();
		is_int(nodes[0].dead + nodes[1].dead, 0);
	}
	ok(!shared_of(0)->is_silent);
	links_close();
}

/* A device that never says that a queue pair takes no more is made to stop. */
TAP_TEST(end__of_a_silent_device)
{
	begin(2, "verbs.credit=100");
	fake.is_silent = true;
	ok(send_some(1, 0, 1));
	links_drain();
	for (int round = 0; round < 5; round++) {
		break_with_late_messages();
		links_drain();
		is_int(nodes[0].dead + nodes[1].dead, 0);
		ok(shared_of(0)->is_silent);
	}
	links_close();
}

TAP_TEST(end__bursts_and_lost_connections)
{
	for (int way = 0; way < 4; way++) {
		begin(4, way & 1 ? "verbs.shared=16" : NULL);
		fake.is_silent = way & 2;
		for (int i = 0; i < 300; i++) {
			for (int from = 0; from < 4; from++)
				ok(send_some(from, (from + 1 + i % 3) % 4, 3));
			fake.lose_acks = i % 20 == 7;
			if (i % 30 == 10)
				fake_break(0);
			links_turn(i % 4);
		}
		links_drain();
		for (int i = 0; i < 4; i++)
			is_int(nodes[i].dead, 0);
		ok(nodes[0].peer[1]->epoch > 5);
		links_close();
	}
}

/* Messages by a queue pair of a removed peer are dropped, and their buffers receive again. */
TAP_TEST(end__messages_of_nobody_are_dropped)
{
	begin(3, NULL);
	ok(send_some(1, 0, 1) && send_some(2, 0, 1));
	links_drain();
	for (int i = 0; i < 30; i++)
		must(links_send(1, 0, 50) == 0);
	OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
	nodes[1].sent[0] = nodes[0].received[1] = 0;
	links_turn(100);
	is_int(shared_of(0)->n_qps, 1);
	ok(shared_of(0)->posted >= 40);
	ok(send_some(2, 0, 100));
	links_drain();
	links_close();
}

/* A sleeper is woken by the device's word, and without it in time to do without. */
TAP_TEST(end__sleep)
{
	for (int is_silent = 0; is_silent < 2; is_silent++) {
		struct pmv_link *link;
		uint64_t timeout = UINT64_MAX;
		int n = 0;

		begin(2, NULL);
		link = pmv_of(nodes[0].link);
		fake.is_silent = is_silent;
		ok(send_some(1, 0, 1));
		links_drain();
		links_turn(10);
		fake.is_late = true;
		must(links_send(1, 0, 10) == 0);
		OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
		nodes[1].sent[0] = nodes[0].received[1] = 0;
		while (OPS->arm(nodes[0].link, &timeout))
			must(n++ < 10);
		ok(timeout > 0 && timeout <= 300000000);
		is_int(link->n_qps, 1);
		fake.is_late = false;
		fake_run();
		OPS->disarm(nodes[0].link);
		link->clock.now += is_silent * timeout;
		for (int i = 0; i < 3; i++)
			pmv_progress(link);
		is_int(link->n_qps, 0);
		links_close();
	}
}

/* ---- what goes wrong with them ---- */

/*
 * The connection between 0 and @from ends, with a receive that a message was half in; the others go
 * on.
 */
static void lose_one(int from)
{
	fake.lose_shared = 1;
	fake_break_qp(nodes[0].peer[from]->qp->qp);
	links_hear();
	links_turn(50);
	links_drain();
}

/*
 * Buffers that got lost with queue pairs are made up for, and come back with the last connection.
 */
TAP_TEST(missing__counted_and_replaced)
{
	struct pmv_link *link;

	begin(3, "verbs.shared=16");
	link = pmv_of(nodes[0].link);
	ok(send_some(1, 0, 5) && send_some(2, 0, 5));
	links_drain();
	for (int i = 0; i < 8; i++) {
		ok(send_some(1, 0, 100) && send_some(2, 0, 100));
		links_drain();
		lose_one(i % 2 + 1);
	}
	ok(shared_of(0)->missing >= 6);
	is_int(nodes[0].stats.shared_missing, shared_of(0)->missing);
	is_int(shared_of(0)->posted - shared_of(0)->missing, 16);
	ok(send_some(1, 0, 100));
	links_drain();
	OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
	OPS->peer_del(nodes[0].link, nodes[0].peer[2]);
	links_turn(100);
	ok(!shared_of(0)->srq);
	is_int(link->n_free, link->n_slots);
	links_close();
}

/* Too many are missing: the connections end and share what is made anew. */
TAP_TEST(missing__too_many)
{
	long made;

	begin(3, "verbs.shared=16");
	ok(send_some(1, 0, 5) && send_some(2, 0, 5));
	links_drain();
	made = fake.calls[FAKE_CREATE_SRQ];
	for (int i = 0; i < 80; i++) {
		ok(send_some(1, 0, 50) && send_some(2, 0, 50));
		links_drain();
		lose_one(i % 2 + 1);
		ok(shared_of(0)->missing <= 33);
	}
	ok(send_some(1, 0, 50) && send_some(2, 0, 50));
	links_drain();
	ok(fake.calls[FAKE_CREATE_SRQ] > made);
	is_int(nodes[0].dead + nodes[1].dead + nodes[2].dead, 0);
	links_close();
}

TAP_TEST(failed__each_connection_gets_its_own)
{
	char text[4096];

	begin(3, NULL);
	ok(send_some(1, 0, 5) && send_some(2, 0, 5));
	links_drain();
	fake_break_shared(0);
	links_hear();
	ok(send_some(1, 0, 100) && send_some(2, 0, 100) && send_some(0, 1, 50));
	links_drain();
	ok(!shared_of(0)->srq);
	ok(!nodes[0].peer[1]->qp->is_shared && !nodes[0].peer[2]->qp->is_shared);
	OPS->dump(nodes[0].link, text, sizeof(text));
	ok(strstr(text, "failed: each has its own") != NULL);
	links_close();
}
