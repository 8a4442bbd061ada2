// SPDX-License-Identifier: BSD-3-Clause
/* How long a node may be silent: what tells a process that is gone from a way that failed. */
#include "pm-verbs/conn/life.h"
#include "pm-verbs/conn/closing.h"
#include "pm-verbs/conn/wireup.h"
#include "pm-verbs/hw/events.h"
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)

/* Nodes 0, 1, 2 on devices of their own, in contact; time passes by pass() alone. */
static void open_hosts(const char *options)
{
	fake_begin(3);
	memset(nodes, 0, sizeof(nodes));
	for (uint32_t i = 0; i < 3; i++) {
		char all[200];

		snprintf(all, sizeof(all), "verbs.devices=fake%u%s%s", i, options ? "," : "",
			 options ? options : "");
		must(node_open(&nodes[i], i, all) == 0);
		node_still(&nodes[i]);
	}
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			must(i == j || links_add(i, j));
	must(links_send(0, 1, 8) == 0 && links_send(0, 2, 8) == 0);
	links_drain();
}

/*
 * Node 0 looks for messages, and no other, who all compute; until @ms have passed or a death is
 * told. How long.
 */
static int pass(int ms)
{
	int at = 0;

	for (; at < ms && !nodes[0].dead; at += 10) {
		pmv_of(nodes[0].link)->clock.now += 10000000;
		for (int i = 0; i < PMV_IDLE_CHORES; i++)
			links_take(0);
	}
	return at;
}

static void cut(int device, bool is_cut)
{
	fake.ports[device].is_cut = is_cut;
}

static void is_between(int value, int low, int high)
{
	okf(value >= low && value <= high, "%d ms are not within %d and %d", value, low, high);
}

/* The connection to node 1 breaks without a word. */
static void lose(void)
{
	cut(1, true);
	must(links_send(0, 1, 8) == 0);
	for (int i = 0; i < 10; i++)
		links_take(0);
	ok(nodes[0].peer[1]->stage == PMV_GREETING);
}

static void come_back(void)
{
	for (int i = 0; i < 3; i++)
		cut(i, false);
	links_drain();
	is_int(nodes[0].dead, 0);
}

TAP_TEST(lost__no_other_sign)
{
	static const struct {
		const char *options;
		int low, high;
	} cases[] = {
		{NULL, 3900, 4100},
		{"verbs.lost_timeout=1000", 900, 1100},
		{"verbs.lost_timeout=0,channel.peer_timeout=7000", 6900, 7100},
		{"channel.peer_timeout=2000", 1900, 2100},
		{"channel.peer_timeout=0,verbs.lost_timeout=3000", 2900, 3100},
		{"channel.peer_timeout=0,verbs.lost_timeout=0", 20000, 20000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_hosts(cases[i].options);
		lose();
		is_between(pass(20000), cases[i].low, cases[i].high);
		nodes[0].sent[1] = nodes[1].received[0];
		links_close();
	}
}

/* Our port failed before the connection was found broken. */
TAP_TEST(lost__after_our_port_failed)
{
	open_hosts(NULL);
	cut(0, true);
	fake_event(0, IBV_EVENT_PORT_ERR);
	must(links_send(0, 1, 8) == 0);
	links_take(0);
	ok(strstr(nodes[0].peer[1]->why, "(its link is down)") != NULL);
	is_int(pass(15000), 15000);
	must(links_send(0, 2, 8) == 0);
	is_int(pass(15000), 15000);
	ok(pmv_of(nodes[0].link)->rails[0].is_down);
	fake_event(0, IBV_EVENT_PORT_ACTIVE);
	come_back();
	/* what was long ago says nothing of later deaths */
	is_int(pass(10000), 10000);
	lose();
	is_between(pass(20000), 3900, 4100);
	nodes[0].sent[1] = nodes[1].received[0];
	links_close();
}

/* It fails, or comes back, while the node has time to answer. */
TAP_TEST(lost__before_our_port_failed)
{
	open_hosts(NULL);
	lose();
	is_int(pass(3000), 3000);
	fake_event(0, IBV_EVENT_PORT_ERR);
	pmv_events(pmv_of(nodes[0].link));
	is_int(pass(30000), 30000);
	come_back();
	links_close();
}

/* Nobody has read what it said when time is up. */
TAP_TEST(lost__our_port_said_so_unheard)
{
	open_hosts(NULL);
	lose();
	is_int(pass(3000), 3000);
	fake_event(0, IBV_EVENT_PORT_ACTIVE);
	is_int(pass(30000), 30000);
	come_back();
	links_close();
}

/* The longer time that a port's failure gives ends too. */
TAP_TEST(lost__our_port_failed_and_the_process_is_gone)
{
	open_hosts("channel.peer_timeout=9000");
	lose();
	is_int(pass(2000), 2000);
	fake_event(0, IBV_EVENT_PORT_ACTIVE);
	pmv_events(pmv_of(nodes[0].link));
	is_between(pass(20000), 8900, 9100);
	nodes[0].sent[1] = nodes[1].received[0];
	links_close();
}

/* A switch, not two processes. */
TAP_TEST(lost__two_hosts_at_once)
{
	open_hosts(NULL);
	lose();
	is_int(pass(2000), 2000);
	cut(2, true);
	must(links_send(0, 2, 8) == 0);
	is_int(pass(30000), 30000);
	come_back();
	links_close();
}

/* ... but one after the other: both. */
TAP_TEST(lost__two_hosts_in_turn)
{
	open_hosts("verbs.lost_timeout=20000");
	lose();
	is_int(pass(10000), 10000);
	cut(2, true);
	must(links_send(0, 2, 8) == 0);
	is_between(pass(30000), 9900, 10100);
	is_int(nodes[0].dead, 2);
	nodes[0].dead = 0;
	is_between(pass(30000), 9900, 10100);
	is_int(nodes[0].dead, 3);
	nodes[0].sent[1] = nodes[1].received[0];
	nodes[0].sent[2] = nodes[2].received[0];
	links_close();
}

/* ---- where another device can take nodes over ---- */

static void open_leaving(const char *options)
{
	open_hosts(options);
	for (int i = 0; i < 3; i++)
		pmv_of(nodes[i].link)->env.can_leave = true;
}

/* As pass(), until the way to @peer is lost. */
static int pass_until_lost(int peer, int ms)
{
	int at = 0;

	for (; at < ms && pmv_peer_is_open(nodes[0].peer[peer]); at += 10)
		pass(10);
	return at;
}

static void close_leaving(void)
{
	is_int(nodes[0].dead, 0);
	for (int i = 1; i < 3; i++)
		nodes[0].sent[i] = nodes[i].received[0];
	links_close();
}

/* Nobody may be dead, and yet there is no way. */
TAP_TEST(left__our_port_is_down)
{
	static const struct {
		const char *options;
		int low, high;
	} cases[] = {
		{NULL, 3900, 4100},
		{"verbs.lost_timeout=1000", 900, 1100},
		{"verbs.lost_timeout=0,channel.peer_timeout=7000", 6900, 7100},
		{"channel.peer_timeout=0,verbs.lost_timeout=0", 20000, 20000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_leaving(cases[i].options);
		cut(0, true);
		fake_event(0, IBV_EVENT_PORT_ERR);
		must(links_send(0, 1, 8) == 0);
		is_between(pass_until_lost(1, 20000), cases[i].low, cases[i].high);
		is_int(nodes[0].peer[2]->state, PMV_PEER_ALIVE);
		close_leaving();
	}
}

/* It says so while the node has time to answer. */
TAP_TEST(left__our_port_goes_down_meanwhile)
{
	open_leaving("verbs.lost_timeout=5000");
	lose();
	is_int(pass_until_lost(1, 3000), 3000);
	cut(0, true);
	fake_event(0, IBV_EVENT_PORT_ERR);
	pmv_events(pmv_of(nodes[0].link));
	is_between(pass_until_lost(1, 20000), 4900, 5100);
	close_leaving();
}

/* There is a way again: the node computes, and is waited for. */
TAP_TEST(left__our_port_came_back)
{
	open_leaving(NULL);
	cut(0, true);
	fake_event(0, IBV_EVENT_PORT_ERR);
	must(links_send(0, 1, 8) == 0);
	is_int(pass_until_lost(1, 3000), 3000);
	cut(0, false);
	fake_event(0, IBV_EVENT_PORT_ACTIVE);
	pmv_events(pmv_of(nodes[0].link));
	is_int(pass_until_lost(1, 30000), 30000);
	come_back();
	links_close();
}

/* One of two ports leads there still. */
TAP_TEST(left__another_port_is_up)
{
	fake_begin(2);
	must(links_open_still(2, NULL));
	pmv_of(nodes[0].link)->env.can_leave = true;
	is_int(pmv_of(nodes[0].link)->n_rails, 2);
	must(links_send(0, 1, 8) == 0);
	links_drain();
	fake_event(0, IBV_EVENT_PORT_ERR);
	fake_event(1, IBV_EVENT_PORT_ACTIVE);
	cut(0, true);
	cut(1, true);
	must(links_send(0, 1, 8) == 0);
	is_int(pass_until_lost(1, 30000), 30000);
	come_back();
	links_close();
}

/* A switch: both processes are reached by the other device. */
TAP_TEST(left__two_hosts_at_once)
{
	open_leaving(NULL);
	lose();
	is_int(pass_until_lost(1, 2000), 2000);
	cut(2, true);
	must(links_send(0, 2, 8) == 0);
	is_between(pass_until_lost(1, 20000), 1900, 2100);
	is_between(pass_until_lost(2, 20000), 1900, 2100);
	close_leaving();
}

/* ---- silence without a sign of anything ---- */

/* Times within @ms that node 0's link tells of a silence; -1: of a node that is not @peer. */
static int pass_in_doubt(int peer, int ms)
{
	int doubts = 0;

	for (int at = 0; at < ms; at += 10) {
		pmv_of(nodes[0].link)->clock.now += 10000000;
		for (int i = 0; i < PMV_IDLE_CHORES; i++) {
			struct pm_inbound in;
			int got = OPS->receive(nodes[0].link, &in);

			if (got == -ETIMEDOUT && in.src != (uint32_t)peer)
				return -1;
			doubts += got == -ETIMEDOUT;
		}
	}
	return doubts;
}

/* Nodes 0, 1, 2 of which none has heard of another one. */
static void open_strangers(const char *options, bool can_leave)
{
	fake_begin(3);
	memset(nodes, 0, sizeof(nodes));
	for (uint32_t i = 0; i < 3; i++) {
		char all[200];

		snprintf(all, sizeof(all), "verbs.devices=fake%u%s", i, options);
		must(node_open(&nodes[i], i, all) == 0);
		node_still(&nodes[i]);
		pmv_of(nodes[i].link)->env.can_leave = can_leave;
	}
	must(links_add(0, 1) && links_add(1, 0));
	must(links_send(0, 1, 8) == 0);
}

static void meet(void)
{
	links_drain();
	is_int(nodes[0].dead, 0);
	is_int(pmv_of(nodes[0].link)->n_dying, 0);
	links_close();
}

TAP_TEST(doubt__first_contact)
{
	static const struct {
		const char *options;
		bool can_leave;
		int before, after; /* silences told within 3.8 s, and 3 s more */
	} cases[] = {
		{"", true, 0, 3},
		{",verbs.lost_timeout=1500", true, 3, 3},
		{",verbs.lost_timeout=0", true, 0, 0},
		{"", false, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_strangers(cases[i].options, cases[i].can_leave);
		is_int(pass_in_doubt(1, 3800), cases[i].before);
		is_int(pass_in_doubt(1, 3000), cases[i].after);
		meet();
	}
}

/* Its process lives, so it has as long again; the way is broken if nothing comes. */
TAP_TEST(doubt__process_lives)
{
	open_strangers("", true);
	cut(1, true);
	is_int(pass_in_doubt(1, 5500), 2);
	OPS->leaving->lives(nodes[0].link, nodes[0].peer[1]);
	is_int(pass_in_doubt(1, 3800), 0);
	is_int(nodes[0].peer[1]->state, PMV_PEER_ALIVE);
	is_between(pass_until_lost(1, 20000), 100, 300);
	ok(strstr(nodes[0].peer[1]->why,
		  "it does not answer: its process does by another device") != NULL);
	ok(pmv_peer_is_lost(nodes[0].peer[1]));
	nodes[0].sent[1] = 0;
	links_close();
}

/* An answer of the peer to a question from before its silence proves nothing. */
TAP_TEST(doubt__answer_of_before)
{
	open_strangers("", true);
	is_int(pass_in_doubt(1, 4500), 1);
	OPS->leaving->lives(nodes[0].link, nodes[0].peer[1]);
	is_int(pass_in_doubt(1, 20000), 20);
	meet();
}

/*
 * A peer lives after its connection is closed. Each close is reported until the other device has
 * heard of the peer.
 */
TAP_TEST(doubt__connection_is_closed)
{
	open_strangers("", true);
	links_drain();
	for (int i = 0; i < 4; i++) {
		int told = 0;

		pmv_close(links_of(0), nodes[0].peer[1], pmv_now(links_of(0)));
		for (int j = 0; j < 100; j++) {
			struct pm_inbound in;

			told += OPS->receive(nodes[0].link, &in) == -ETIMEDOUT;
			links_take(1);
		}
		is_int(nodes[0].peer[1]->stage, PMV_IDLE);
		is_int(told, i < 2);
		if (i == 1)
			OPS->leaving->lives(nodes[0].link, nodes[0].peer[1]);
		must(links_send(0, 1, 8) == 0);
		links_drain();
	}
	meet();
}

/* It answers here too, as it looks for messages again. */
TAP_TEST(doubt__process_lives_and_answers)
{
	open_strangers("", true);
	is_int(pass_in_doubt(1, 5500), 2);
	OPS->leaving->lives(nodes[0].link, nodes[0].peer[1]);
	for (int i = 0; i < 10 && nodes[0].peer[1]->stage != PMV_READY; i++) {
		pass(100);
		links_take(1);
	}
	is_int(nodes[0].peer[1]->stage, PMV_READY);
	is_int(pass_in_doubt(1, 20000), 0);
	/* who is connected is not lost by what comes late */
	OPS->leaving->lives(nodes[0].link, nodes[0].peer[1]);
	is_int(pass_in_doubt(1, 20000), 0);
	meet();
}

/* A silence that was not told yet is of nobody any more. */
TAP_TEST(doubt__ends_with_the_peer)
{
	open_strangers("", true);
	pmv_of(nodes[0].link)->clock.now += 5000000000ull;
	pmv_greeting_timers(pmv_of(nodes[0].link), pmv_of(nodes[0].link)->clock.now);
	is_int(pmv_of(nodes[0].link)->n_dying, 1);
	OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
	nodes[0].peer[1] = NULL;
	is_int(pmv_of(nodes[0].link)->n_dying, 0);
	is_int(pass_in_doubt(1, 5000), 0);
	nodes[0].sent[1] = 0;
	links_close();
}
