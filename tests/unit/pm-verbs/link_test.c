// SPDX-License-Identifier: BSD-3-Clause
/* Messages between links on the fake provider: sizes, order, credits, contact, parting, breaks. */
#include "pm-verbs/conn/connection.h"
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)

TAP_TEST(send__every_size)
{
	uint32_t mtu;

	fake_begin(1);
	must(links_open(2, NULL));
	mtu = OPS->mtu(nodes[0].link, NULL);
	is_int(mtu, 4096 - PMV_HEADER);
	for (uint32_t len = 1; len <= mtu; len += len < 300 ? 1 : 37)
		while (links_send(0, 1, len) == -EAGAIN)
			links_turn(1);
	while (links_send(0, 1, mtu) == -EAGAIN)
		links_turn(1);
	links_drain();
	is_int(fake.inlined, 0);
	is_int(OPS->send_done(nodes[0].link, nodes[0].peer[1]), 0);
	is_int(OPS->send_done(nodes[0].link, NULL), 0);
	links_close();
}

TAP_TEST(send__small_ones_are_carried_inline)
{
	fake_begin(1);
	fake.max_inline = 200;
	must(links_open(2, NULL));
	for (uint32_t len = 1; len <= 300; len++)
		while (links_send(0, 1, len) == -EAGAIN)
			links_turn(1);
	links_drain();
	ok(fake.inlined >= 120 && fake.inlined < 200);
	links_close();
}

/* Both greet at once: the two greetings cross, and there is one connection. */
TAP_TEST(connect__crossing)
{
	fake_begin(1);
	must(links_open(3, NULL));
	for (int round = 0; round < 300; round++)
		for (int from = 0; from < 3; from++)
			for (int to = 0; to < 3; to++)
				while (from != to && links_send(from, to, 100) == -EAGAIN)
					links_turn(1);
	links_drain();
	is_int(nodes[0].peer[1]->epoch, 1);
	is_int(nodes[1].peer[0]->epoch, 1);
	is_int(pmv_of(nodes[0].link)->n_qps, 2);
	links_close();
}

/* Whatever datagram of the handshake gets lost, the next ones make up for it. */
TAP_TEST(connect__lost_greetings)
{
	for (int lost = 1; lost <= 5; lost++) {
		fake_begin(1);
		must(links_open(2, NULL));
		fake.drop_ud = lost;
		must(links_send(0, 1, 10) == 0);
		links_drain();
		must(links_send(1, 0, 10) == 0);
		links_drain();
		is_int(fake.drop_ud, 0);
		links_close();
	}
}

/* A message from a node that was never added: its address is asked for. */
TAP_TEST(connect__from_unknown)
{
	fake_begin(1);
	memset(nodes, 0, sizeof(nodes));
	must(node_open(&nodes[0], 0, NULL) == 0 && node_open(&nodes[1], 1, NULL) == 0);
	must(links_add(0, 1));
	must(links_send(0, 1, 10) == 0);
	links_drain();
	must(links_add(1, 0));
	must(links_send(1, 0, 20) == 0);
	links_drain();
	is_int(pmv_of(nodes[1].link)->n_qps, 1);
	links_close();
}

TAP_TEST(connect__other_job)
{
	struct pmv_link *link;

	fake_begin(1);
	must(links_open(2, NULL));
	link = pmv_of(nodes[0].link);
	link->env.job_key++;
	must(links_send(0, 1, 10) == 0);
	links_turn(1000);
	is_int(pmv_of(nodes[1].link)->n_qps, 0);
	links_close();
}

/* A receiver that takes nothing: the sender is told to wait, and the reserve stays. */
TAP_TEST(credits__run_out)
{
	int sent = 0, err;

	fake_begin(1);
	must(links_open(2, "verbs.credit=16"));
	must(links_send(0, 1, 10) == 0);
	links_drain();
	for (int i = 0; i < 1000; i++) {
		struct pmv_link *link = pmv_of(nodes[1].link);

		err = links_send(0, 1, 10);
		sent += !err;
		pmv_progress(link);
		pmv_progress(pmv_of(nodes[0].link));
	}
	is_int(err, -EAGAIN);
	ok(sent >= 16 && sent < 100);
	ok(nodes[0].stats.no_buffer > 0);
	is_int(nodes[0].peer[1]->credits, PMV_RESERVE);
	is_int(OPS->send_out(nodes[0].link, nodes[0].peer[1]), -EAGAIN);
	is_int(OPS->send_done(nodes[0].link, nodes[0].peer[1]), -EAGAIN);
	links_drain();
	is_int(OPS->send_out(nodes[0].link, nodes[0].peer[1]), 0);
	links_close();
}

/* With all of a user's messages held at the other side, one-sided operations still go. */
TAP_TEST(credits__held_messages_do_not_stop_operations)
{
	struct pm_inbound in[16];
	uint8_t region[500], local[500];
	uint64_t rkey;
	int n = 0;

	fake_begin(1);
	must(links_open(2, "verbs.credit=16"));
	links_fill(region, sizeof(region), 5);
	must(!region_add(nodes[1].regions, region, sizeof(region), &rkey));
	for (int i = 0; i < 16; i++)
		must(links_send(0, 1, 10) == 0);
	for (int i = 0; i < TURNS && n < 16; i++) {
		n += OPS->receive(nodes[1].link, &in[n]) == 1;
		links_take(0);
	}
	must(n == 16);
	for (int i = 0; i < 100; i++) {
		is_int(links_rma(0, 1, false, rkey, (uint64_t)i, local, 100), 0);
		ok(!memcmp(local, region + i, 100));
	}
	for (int i = 0; i < n; i++)
		OPS->release(nodes[1].link, in[i].cookie);
	nodes[1].received[0] = 16;
	links_drain();
	links_close();
}

/* Node 1 takes all that the user's credits allow, and keeps it. */
static void hold_all(struct pm_inbound *in, int n)
{
	int got = 0;

	for (int i = 0; i < n; i++)
		must(links_send(0, 1, 10) == 0);
	for (int i = 0; i < TURNS && got < n; i++) {
		got += OPS->receive(nodes[1].link, &in[got]) == 1;
		links_take(0);
	}
	must(got == n);
	nodes[1].received[0] += (uint64_t)n;
}

/* All is released while the connection is made anew: the other side knows of none of it. */
TAP_TEST(credits__released_while_greeting)
{
	struct pm_inbound in[16];

	fake_begin(1);
	must(links_open(2, "verbs.credit=16"));
	hold_all(in, 16);
	fake.drop_ud = 1000;
	fake_break(0);
	links_hear();
	links_turn(10);
	is_int(nodes[1].peer[0]->stage, PMV_GREETING);
	for (int i = 0; i < 16; i++)
		OPS->release(nodes[1].link, in[i].cookie);
	fake.drop_ud = 0;
	must(links_send(0, 1, 10) == 0);
	links_drain();
	links_close();
}

/* The credits fall due while the send queue takes nothing more. */
TAP_TEST(credits__released_with_full_send_queue)
{
	struct pm_inbound in[16];
	struct pmv_qp *qp;

	fake_begin(1);
	must(links_open(2, "verbs.credit=16"));
	hold_all(in, 16);
	qp = nodes[1].peer[0]->qp;
	fake.is_held = true;
	must(links_send(1, 0, 10) == 0);
	qp->n_sends += pmv_of(nodes[1].link)->n_credits;
	for (int i = 0; i < 16; i++)
		OPS->release(nodes[1].link, in[i].cookie);
	qp->n_sends -= pmv_of(nodes[1].link)->n_credits;
	is_int(nodes[1].peer[0]->owed, 16);
	fake.is_held = false;
	fake_run();
	must(links_send(0, 1, 10) == 0);
	links_drain();
	links_close();
}

TAP_TEST(send__order_is_of_send)
{
	uint64_t cookie[8];
	void *buf[8];

	fake_begin(1);
	must(links_open(2, NULL));
	for (int i = 0; i < 8; i++)
		must(!OPS->get_send(nodes[0].link, nodes[0].peer[1], 50, &buf[i], &cookie[i]));
	for (int i = 7; i >= 0; i--) {
		uint32_t len = i == 3 ? 0 : 20;

		if (len)
			links_fill(buf[i], len, nodes[0].sent[1]++);
		is_int(OPS->send(nodes[0].link, nodes[0].peer[1], cookie[i], len), 0);
	}
	links_drain();
	is_int(nodes[1].received[0], 7);
	links_close();
}

/* The acknowledgements are lost: what arrived is not sent again, what did not is. */
TAP_TEST(recovery__each_message_once)
{
	fake_begin(1);
	must(links_open(2, NULL));
	for (int i = 0; i < 400; i++) {
		fake.lose_acks = i % 20 == 7;
		while (links_send(0, 1, 1 + (uint32_t)i) == -EAGAIN)
			links_turn(1);
		if (i % 3 == 0)
			while (links_send(1, 0, 5) == -EAGAIN)
				links_turn(1);
		if (i % 50 == 30)
			fake_break(0);
		links_turn(i % 5);
	}
	links_drain();
	ok(nodes[0].peer[1]->epoch > 5);
	is_int(nodes[0].peer[1]->failures, 0);
	links_close();
}

/* Messages that were posted and had not left go over the next connection. */
TAP_TEST(recovery__posted_and_not_sent)
{
	fake_begin(1);
	must(links_open(2, NULL));
	must(links_send(0, 1, 8) == 0);
	links_drain();
	fake.is_held = true;
	for (int i = 0; i < 20; i++)
		must(links_send(0, 1, 100) == 0);
	is_int(nodes[0].peer[1]->posted.n, 20);
	fake_break(0);
	fake.is_held = false;
	fake_run();
	links_drain();
	is_int(nodes[1].received[0], 21);
	links_close();
}

/* A side that only receives may lose any number of connections that served it. */
TAP_TEST(recovery__of_one_that_only_receives)
{
	fake_begin(1);
	must(links_open(2, NULL));
	for (int i = 0; i < 2 * PMV_FAILURES_MAX; i++) {
		must(links_send(0, 1, 8) == 0);
		links_drain();
		is_int(nodes[1].peer[0]->failures, 0);
		fake_break(0);
		links_turn(10);
	}
	is_int(nodes[1].dead, 0);
	links_close();
}

/* A broken port: the next connection takes the other rail. */
TAP_TEST(recovery__other_rail)
{
	struct pmv_rail *rail;

	fake_begin(2);
	must(links_open(2, NULL));
	is_int(pmv_of(nodes[0].link)->n_rails, 2);
	must(links_send(0, 1, 8) == 0);
	links_drain();
	rail = nodes[0].peer[1]->qp->rail;
	fake.ports[rail->index].is_cut = true;
	for (int i = 0; i < 100; i++) {
		while (links_send(0, 1, 200) == -EAGAIN)
			links_turn(1);
		while (links_send(1, 0, 200) == -EAGAIN)
			links_turn(1);
	}
	links_drain();
	ok(nodes[0].peer[1]->qp->rail != rail);
	links_close();
}

/* Any step of connecting fails on one pair of rails: the next connection takes the other one. */
TAP_TEST(recovery__cannot_connect_by_one_rail)
{
	/* the first two uses make the ends */
	for (int nth = 3; nth <= 6; nth++) {
		fake_begin(2);
		must(links_open(2, NULL));
		fake_fail(FAKE_MODIFY_QP, nth, EINVAL);
		must(links_send(0, 1, 8) == 0);
		links_drain();
		is_int(nodes[0].dead, 0);
		is_int(nodes[1].dead, 0);
		ok(nodes[0].peer[1]->epoch > 1);
		links_close();
	}
}

/* Its device answers no more, and neither does it. */
TAP_TEST(peer__dead)
{
	fake_begin(1);
	must(links_open(3, NULL));
	must(links_send(0, 1, 8) == 0 && links_send(0, 2, 8) == 0);
	links_drain();
	/* as if killed: no goodbye */
	for (struct pm_link_peer *p = pmv_of(nodes[1].link)->peers; p; p = p->next)
		p->epoch = 0;
	node_close(&nodes[1]);
	must(links_send(0, 1, 8) == 0);
	nodes[0].sent[1] = 0;
	nodes[1].received[0] = 0;
	links_turn(1000);
	is_int(nodes[0].dead, 0);
	/* the job's time is what counts: it is moved on */
	for (int i = 0; i < 600 && !nodes[0].dead; i++) {
		pmv_of(nodes[0].link)->clock.now += 10000000;
		links_turn(PMV_IDLE_CHORES);
	}
	is_int(nodes[0].dead, 2);
	ok(strstr(nodes[0].why, "node 1: it does not answer: fake0:1: transport retry") != NULL);
	is_int(links_send(0, 1, 8), -EPIPE);
	is_int(OPS->send_done(nodes[0].link, nodes[0].peer[1]), -EPIPE);
	is_int(nodes[0].stats.peers_dead, 1);
	/* the others go on */
	must(links_send(0, 2, 8) == 0 && links_send(2, 0, 8) == 0);
	for (int i = 0; i < 100; i++)
		links_turn(10);
	is_int(nodes[2].received[0], 2);
	OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
	links_close();
}

TAP_TEST(probe__finds_the_death)
{
	fake_begin(1);
	must(links_open(2, NULL));
	is_int(OPS->probe(nodes[0].link, nodes[0].peer[1]), 0);
	must(links_send(0, 1, 8) == 0);
	links_drain();
	is_int(OPS->probe(nodes[0].link, nodes[0].peer[1]), 0);
	links_turn(10);
	is_int(nodes[0].peer[1]->stage, PMV_READY);
	fake.ports[0].is_cut = true;
	is_int(OPS->probe(nodes[0].link, nodes[0].peer[1]), 0);
	links_turn(10);
	ok(nodes[0].peer[1]->stage != PMV_READY);
	is_int(nodes[0].peer[1]->lost_ns, 4000000000);
	links_close();
}

TAP_TEST(peer__leaves_and_comes_back)
{
	fake_begin(1);
	must(links_open(2, NULL));
	must(links_send(0, 1, 8) == 0 && links_send(1, 0, 8) == 0);
	links_drain();
	OPS->peer_del(nodes[1].link, nodes[1].peer[0]);
	links_turn(100);
	is_int(links_send(0, 1, 8), -EPIPE);
	is_int(nodes[0].dead, 0);
	must(links_add(1, 0));
	must(links_send(1, 0, 8) == 0);
	links_drain();
	must(links_send(0, 1, 8) == 0);
	links_drain();
	links_close();
}

/* On any rails of goodbye and messages: all that was acknowledged before it is received. */
TAP_TEST(peer__leaves_behind_its_messages)
{
	for (uint32_t pair = 0; pair < 4; pair++) {
		fake_begin(2);
		must(links_open(2, NULL));
		must(links_send(0, 1, 8) == 0);
		links_drain();
		for (int i = 0; i < 32; i++)
			must(links_send(1, 0, 8) == 0);
		is_int(nodes[1].peer[0]->n_pairs, 2);
		is_int(nodes[1].peer[0]->posted.n, 32);
		nodes[1].peer[0]->greeted = pair;
		OPS->peer_del(nodes[1].link, nodes[1].peer[0]);
		links_turn(100);
		is_int(nodes[0].received[1], 32);
		is_int(links_send(0, 1, 8), -EPIPE);
		is_int(pmv_of(nodes[0].link)->n_leaving, 0);
		is_int(nodes[0].dead, 0);
		links_close();
	}
}

/* A goodbye to a stopped link ends only what would keep it from becoming quiet. */
TAP_TEST(quiesce__a_peer_leaves)
{
	uint8_t region[500], local[500];
	uint64_t rkey;
	uint32_t op;

	fake_begin(1);
	must(links_open(2, NULL));
	must(!region_add(nodes[1].regions, region, sizeof(region), &rkey));
	must(links_send(0, 1, 8) == 0);
	links_drain();
	must(!OPS->read(nodes[0].link, nodes[0].peer[1], rkey, 0, local, sizeof(local), &op));
	is_int(OPS->quiesce(nodes[0].link), -EAGAIN);
	OPS->peer_del(nodes[1].link, nodes[1].peer[0]);
	for (int i = 0; i < 100 && OPS->quiesce(nodes[0].link); i++)
		pmv_progress(pmv_of(nodes[0].link));
	is_int(OPS->quiesce(nodes[0].link), 0);
	is_int(OPS->rma_done(nodes[0].link, op), -EPIPE);
	links_close();
}

/* Buffers that are lent outlive their peer. */
TAP_TEST(peer_del__with_buffers_lent)
{
	struct pm_inbound in;
	uint64_t cookie;
	void *buf;

	fake_begin(1);
	must(links_open(2, NULL));
	for (int i = 0; i < 10; i++)
		must(links_send(0, 1, 8) == 0);
	for (int i = 0; i < TURNS && OPS->receive(nodes[1].link, &in) != 1; i++)
		links_take(0);
	must(!OPS->get_send(nodes[1].link, nodes[1].peer[0], 8, &buf, &cookie));
	OPS->peer_del(nodes[1].link, nodes[1].peer[0]);
	ok(links_is_filled(in.buf, in.len, 0));
	is_int(OPS->send(nodes[1].link, nodes[1].peer[0], cookie, 8), -EPIPE);
	ok(pmv_of(nodes[1].link)->peers != NULL);
	OPS->release(nodes[1].link, in.cookie);
	ok(pmv_of(nodes[1].link)->peers == NULL);
	links_turn(100);
	is_int(pmv_of(nodes[1].link)->n_qps, 0);
	is_int(pmv_of(nodes[1].link)->n_free, pmv_of(nodes[1].link)->n_slots);
	links_close();
}

TAP_TEST(quiesce__posted_messages_are_waited_for)
{
	fake_begin(1);
	must(links_open(2, NULL));
	must(links_send(0, 1, 8) == 0);
	links_drain();
	fake.is_held = true;
	must(links_send(0, 1, 8) == 0);
	is_int(OPS->quiesce(nodes[0].link), -EAGAIN);
	is_int(links_send(0, 1, 8), -EAGAIN);
	fake.is_held = false;
	fake_run();
	links_turn(5);
	is_int(OPS->quiesce(nodes[0].link), 0);
	OPS->resume(nodes[0].link);
	must(links_send(0, 1, 8) == 0);
	links_drain();
	links_close();
}

static int resolve(void *arg, uint32_t node, struct pm_link_peer **ret_peer)
{
	const struct node *n = arg;

	return OPS->peer_add(n->link, node, nodes[node].address, nodes[node].address_len, ret_peer);
}

/* A whole job is saved with messages unread and unsent, closed, and goes on in new contexts. */
TAP_TEST(save_restore__messages_on_both_sides)
{
	uint8_t saved[2][400000];
	struct node old[2];
	int len[2];

	fake_begin(1);
	must(links_open(2, "verbs.credit=16"));
	for (int i = 0; i < 30; i++) {
		must(links_send(0, 1, 1000 + (uint32_t)i) == 0);
		pmv_progress(pmv_of(nodes[0].link));
		pmv_progress(pmv_of(nodes[1].link));
	}
	must(links_send(1, 0, 5) == 0);
	for (int i = 0; i < 10; i++) {
		OPS->quiesce(nodes[i % 2].link);
		pmv_progress(pmv_of(nodes[0].link));
		pmv_progress(pmv_of(nodes[1].link));
	}
	for (int i = 0; i < 2; i++) {
		is_int(OPS->quiesce(nodes[i].link), 0);
		len[i] = OPS->save(nodes[i].link, saved[i], sizeof(saved[i]));
		is_int(OPS->save(nodes[i].link, NULL, 0), len[i]);
		old[i] = nodes[i];
	}
	ok(len[0] > 10000 && len[1] > 10000);
	for (int i = 0; i < 2; i++)
		node_close(&nodes[i]);
	for (int i = 0; i < 2; i++) {
		must(node_open(&nodes[i], (uint32_t)i, "verbs.credit=16") == 0);
		memcpy(nodes[i].sent, old[i].sent, sizeof(old[i].sent));
		memcpy(nodes[i].received, old[i].received, sizeof(old[i].received));
	}
	for (int i = 0; i < 2; i++)
		is_int(OPS->restore(nodes[i].link, saved[i], (size_t)len[i], resolve, &nodes[i]),
		       0);
	links_drain();
	is_int(nodes[1].received[0], 30);
	is_int(nodes[0].received[1], 1);
	/* the first record is one of 5 bytes */
	for (int i = 1; i < 12 + 5; i++)
		is_int(OPS->restore(nodes[0].link, saved[0], (size_t)i, resolve, &nodes[0]),
		       -EINVAL);
	links_close();
}

/* Messages acknowledged and not polled are saved, as are those for a peer that has closed. */
TAP_TEST(save__takes_what_came)
{
	const int n = 20, record = 12 + 8;
	uint8_t saved[21 * 20];
	uint64_t cookie;
	void *buf;

	fake_begin(2);
	must(links_open(2, NULL));
	must(links_send(0, 1, 8) == 0);
	links_drain();
	must(!OPS->get_send(nodes[0].link, nodes[0].peer[1], 8, &buf, &cookie));
	is_int(OPS->quiesce(nodes[0].link), 0);
	is_int(OPS->send(nodes[0].link, nodes[0].peer[1], cookie, 8), 0);
	for (int i = 0; i < n; i++)
		must(links_send(1, 0, 8) == 0);
	OPS->peer_del(nodes[1].link, nodes[1].peer[0]);
	is_int(OPS->save(nodes[0].link, NULL, 0), (n + 1) * record);
	is_int(OPS->save(nodes[0].link, saved, sizeof(saved)), (n + 1) * record);
	is_int(OPS->quiesce(nodes[0].link), 0);
	OPS->resume(nodes[0].link);
	links_turn(100);
	is_int(nodes[0].received[1], n);
	is_int(links_send(0, 1, 8), -EPIPE);
	links_close();
}

TAP_TEST(dump__says_what_there_is)
{
	char text[2000];

	fake_begin(2);
	must(links_open(2, NULL));
	must(links_send(0, 1, 8) == 0);
	links_drain();
	ok(OPS->dump(nodes[0].link, text, sizeof(text)) < (int)sizeof(text));
	ok(strstr(text, "verbs: 2 rails, 1 queue pairs") != NULL);
	ok(strstr(text, "rail 1: fake1:1, RoCE v2, address 1, MTU 1024") != NULL);
	ok(strstr(text, "node 1: connected, connection 1") != NULL);
	ok(OPS->memory(nodes[0].link) > 64 * 4096);
	links_close();
}
