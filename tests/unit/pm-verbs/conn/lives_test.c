// SPDX-License-Identifier: BSD-3-Clause
/* Records of a peer that follow each other, and greetings that are of none that is there. */
#include "pm-verbs/conn/life.h"
#include "pm-verbs/conn/wireup.h"
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)

/* @at gets a greeting of node @from, as its network may deliver one at any time. */
static void replay(int at, const struct pmv_greeting *g)
{
	uint8_t bytes[PMV_GREETING_BYTES];

	pmv_greeting_put(bytes, g, 4711);
	pmv_greeting_arrived(pmv_of(nodes[at].link), bytes, sizeof(bytes));
}

/* The greeting that node 1 would send about its connection to node 0. */
static struct pmv_greeting of_node_1(void)
{
	const struct pm_link_peer *p = nodes[1].peer[0];

	return (struct pmv_greeting){.from = 1,
				     .epoch = p->epoch,
				     .life = p->life,
				     .heard = p->their_life,
				     .qp = p->qp->qp->qp_num,
				     .psn = p->psn,
				     .credits = p->offered,
				     .received = p->received};
}

/* A connection with messages both ways. */
static void open_connected(int n_devices)
{
	fake_begin(n_devices);
	must(links_open(2, NULL));
	for (int i = 0; i < 5; i++)
		must(links_send(0, 1, 8) == 0 && links_send(1, 0, 8) == 0);
	links_drain();
}

static void talk(void)
{
	must(links_send(0, 1, 8) == 0 && links_send(1, 0, 8) == 0);
	links_drain();
	is_int(nodes[0].dead, 0);
	is_int(nodes[1].dead, 0);
}

TAP_TEST(life__newer_records_have_higher_ones)
{
	uint64_t life;

	fake_begin(1);
	must(links_open(2, NULL));
	for (int i = 0; i < 3000; i++) {
		life = nodes[0].peer[1]->life;
		OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
		must(links_add(0, 1));
		if (!okf(nodes[0].peer[1]->life > life, "not after %d", i))
			break;
	}
	/* also those of the next process */
	life = nodes[0].peer[1]->life;
	node_close(&nodes[0]);
	must(node_open(&nodes[0], 0, NULL) == 0 && links_add(0, 1));
	ok(nodes[0].peer[1]->life > life);
	links_close();
}

/*
 * Node 0 has given node 1 up, removed it and added it again; node 1 knows nothing of it and goes on
 * greeting, with counts of messages that the new record has never sent.
 */
TAP_TEST(life__of_one_that_was_given_up_wrongly)
{
	open_connected(1);
	pmv_peer_kill(pmv_of(nodes[0].link), nodes[0].peer[1], "as if");
	links_turn(1);
	is_int(nodes[0].dead, 2);
	nodes[0].dead = 0;
	OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
	must(links_add(0, 1));
	/* lost with the old record */
	must(links_send(1, 0, 8) == 0);
	nodes[0].received[1]++;
	for (int i = 0; i < 100; i++) {
		links_turn(20);
		pmv_of(nodes[0].link)->clock.now += 10000000;
		pmv_of(nodes[1].link)->clock.now += 10000000;
	}
	is_int(nodes[0].dead, 0);
	is_int(nodes[0].peer[1]->their_life, nodes[1].peer[0]->life);
	is_int(nodes[1].peer[0]->their_life, nodes[0].peer[1]->life);
	talk();
	links_close();
}

/* Whatever was said once: a live connection goes on, and nothing is made for it. */
TAP_TEST(greeting__replayed)
{
	struct pmv_greeting g;
	struct pmv_qp *qp;

	open_connected(1);
	qp = nodes[0].peer[1]->qp;
	g = of_node_1();
	replay(0, &g);
	/* of the same records, first words */
	g.epoch = 1;
	g.heard = g.received = 0;
	replay(0, &g);
	/* of an older record of node 1, in all its states */
	g.life -= 1000;
	replay(0, &g);
	g.epoch = 7;
	replay(0, &g);
	g.heard = nodes[0].peer[1]->life;
	g.flags = PMV_HAVE_YOURS | PMV_READY_HERE;
	replay(0, &g);
	g.flags = PMV_GOODBYE;
	replay(0, &g);
	/* to an older record of node 0 */
	g = of_node_1();
	g.heard -= 1000;
	g.epoch = 9;
	g.received = 12345;
	replay(0, &g);
	links_turn(50);
	ok(nodes[0].peer[1]->qp == qp && nodes[0].peer[1]->stage == PMV_READY);
	is_int(nodes[0].peer[1]->epoch, 1);
	talk();
	ok(nodes[0].peer[1]->qp == qp);
	links_close();
}

/*
 * A new record of node 0 hears first what a former record of node 1 had said: the right one ends
 * that.
 */
TAP_TEST(greeting__replayed_to_a_new_record)
{
	struct pmv_greeting g;

	open_connected(1);
	g = of_node_1();
	for (int side = 0; side < 2; side++) {
		fake.drop_ud = 1;
		OPS->peer_del(nodes[side].link, nodes[side].peer[1 - side]);
		must(links_add(side, 1 - side));
	}
	links_turn(10);
	replay(0, &g);
	g.heard = g.received = 0;
	replay(0, &g);
	is_int(nodes[0].peer[1]->their_life, g.life);
	for (int i = 0; i < 100; i++) {
		links_turn(20);
		pmv_of(nodes[0].link)->clock.now += 10000000;
		pmv_of(nodes[1].link)->clock.now += 10000000;
	}
	talk();
	is_int(nodes[0].peer[1]->their_life, nodes[1].peer[0]->life);
	links_close();
}

/* Its goodbye was lost: what it had sent before is taken first, whichever rails the parts take. */
TAP_TEST(life__comes_back_after_a_lost_goodbye)
{
	for (uint32_t pair = 0; pair < 4; pair++) {
		open_connected(2);
		for (int i = 0; i < 20; i++)
			must(links_send(1, 0, 8) == 0);
		fake.drop_ud = 1;
		OPS->peer_del(nodes[1].link, nodes[1].peer[0]);
		is_int(fake.drop_ud, 0);
		must(links_add(1, 0));
		nodes[1].peer[0]->epoch = pair;
		must(links_send(1, 0, 8) == 0);
		links_drain();
		is_int(nodes[0].received[1], 5 + 20 + 1);
		talk();
		links_close();
	}
}

/*
 * Operations on a record that is replaced end; messages that were never posted go to the new one.
 */
TAP_TEST(life__replaced_with_work_under_way)
{
	static uint8_t region[100000], local[100000];
	uint64_t rkey;
	uint32_t op;

	open_connected(1);
	must(!region_add(nodes[1].regions, region, sizeof(region), &rkey));
	is_int(links_rma(0, 1, false, rkey, 0, local, 10), 0);
	fake.is_held = true;
	must(!OPS->read(nodes[0].link, nodes[0].peer[1], rkey, 0, local, sizeof(local), &op));
	ok(nodes[0].peer[1]->qp->n_pieces > 0);
	fake.drop_ud = 1;
	OPS->peer_del(nodes[1].link, nodes[1].peer[0]);
	fake.is_held = false;
	fake_run();
	must(links_add(1, 0));
	must(links_send(1, 0, 8) == 0);
	links_drain();
	is_int(OPS->rma_done(nodes[0].link, op), -EPIPE);
	is_int(pmv_of(nodes[0].link)->n_ops, 0);
	is_int(nodes[0].peer[1]->n_grants, 0);
	is_int(links_rma(0, 1, false, rkey, 0, local, sizeof(local)), 0);
	talk();
	links_close();
}

/* As many messages of node 2 as its credits allow wait at node 0. */
static void flood(void)
{
	while (!links_send(2, 0, 8))
		continue;
}

/*
 * Node 1 says goodbye to node 0, to which node 2 never stops sending: no round of polls is empty.
 */
TAP_TEST(goodbye__under_steady_traffic)
{
	static const char *const options[] = {NULL, "verbs.credit=256"};

	for (int i = 0; i < 2; i++) {
		struct pmv_link *link;
		int turns = 0;

		fake_begin(1);
		must(links_open(3, options[i]));
		must(links_send(1, 0, 8) == 0 && links_send(2, 0, 8) == 0);
		links_drain();
		link = pmv_of(nodes[0].link);
		flood();
		OPS->peer_del(nodes[1].link, nodes[1].peer[0]);
		for (; turns < 200 && pmv_peer_is_open(nodes[0].peer[1]); turns++) {
			ok(pmv_progress(link) > 0);
			while (link->arrived.head)
				links_take(0);
			for (int k = 0; k < 20; k++)
				pmv_progress(pmv_of(nodes[2].link));
			flood();
		}
		okf(nodes[0].peer[1]->state == PMV_PEER_LEFT, "after %d turns", turns);
		ok(turns > 1);
		links_drain();
		links_close();
	}
}
