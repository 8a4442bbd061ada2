// SPDX-License-Identifier: BSD-3-Clause
/* More peers than connections: links on the fake provider with a bound, which they never exceed. */
#include <sys/resource.h>

#include "pm-verbs/conn/closing.h"
#include "pm-verbs/conn/connection.h"
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)
#define MS 1000000ull

static uint64_t sum_closed(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < LINKS; i++)
		sum += nodes[i].stats.connections_closed;
	return sum;
}

/* ---- all to all ---- */

/* A step of a random schedule. Messages that are sent may stay in the devices for a while. */
static void step(uint64_t *rng)
{
	int from = (int)(tap_rand(rng) % LINKS), to = (int)(tap_rand(rng) % LINKS);

	switch (tap_rand(rng) % 8) {
	case 0:
	case 1:
	case 2:
		if (from != to)
			links_send(from, to, 1 + (uint32_t)(tap_rand(rng) % 300));
		break;
	case 3:
		links_pass_time(tap_rand(rng) % (3 * MS));
		break;
	case 4:
		fake.is_held = tap_rand(rng) % 4 == 0;
		if (!fake.is_held)
			fake_run();
		break;
	default:
		for (uint64_t n = tap_rand(rng) % (2 * PMV_IDLE_CHORES); n; n--)
			links_take(from);
	}
}

static void all_to_all(uint64_t seed, int n_devices, int bound)
{
	char options[64];

	snprintf(options, sizeof(options), "verbs.credit=8,verbs.connections=%d", bound);
	fake_begin(n_devices);
	must(links_open_still(LINKS, options));
	for (int i = 0; i < 3000; i++)
		step(&seed);
	fake.is_held = false;
	fake_run();
	must(links_drain());
	links_check_clean(bound);
	ok(sum_closed() > 0);
	links_check_quiet();
	links_close();
}

TAP_TEST(connections__all_to_all)
{
	uint64_t seed = tap_seed();

	for (int i = 0; i < 24 && !tap_has_failed(); i++)
		all_to_all(seed + (uint64_t)i, 1 + i / 3 % 2, 1 + i % 3);
}

/*
 * Each calls the two that follow it, all at once: nobody's last place is taken by one that waits
 * for another's.
 */
TAP_TEST(connections__a_circle_of_calls)
{
	fake_begin(1);
	must(links_open_still(LINKS, "verbs.connections=2"));
	fake.is_held = true;
	for (int i = 0; i < LINKS; i++)
		for (int k = 1; k <= 2; k++)
			must(links_send(i, (i + k) % LINKS, 10) == 0);
	fake.is_held = false;
	fake_run();
	links_drain();
	links_check_clean(2);
	links_check_quiet();
	links_close();
}

/* ---- one-sided ---- */

static uint8_t region[LINKS][3 << 20], local[3 << 20];

/*
 * Regions of other nodes in turn, more of them than connections: keys are asked for anew, data goes
 * on.
 */
/* Links with one place that begin together and know the others in the same order. */
TAP_TEST(connections__a_circle_of_calls_in_step)
{
	fake_begin(1);
	must(links_open_still(LINKS, "verbs.connections=1"));
	for (int turn = 1; turn < LINKS; turn++)
		for (int i = 0; i < LINKS; i++)
			must(links_send(i, (i + turn) % LINKS, 10) == 0);
	must(links_drain());
	links_check_clean(1);
	links_close();
}

TAP_TEST(read_write__over_closed_connections)
{
	uint64_t rkey[LINKS], len;
	void *addr;

	fake_begin(2);
	must(links_open_still(LINKS, "verbs.connections=2"));
	for (int i = 1; i < LINKS; i++) {
		links_fill(region[i], sizeof(region[i]), (uint64_t)i);
		must(!region_add(nodes[i].regions, region[i], sizeof(region[i]), &rkey[i]));
	}
	for (int round = 0; round < 3; round++)
		for (int i = 1; i < LINKS; i++) {
			is_int(links_rma(0, i, false, rkey[i], 0, local, sizeof(local)), 0);
			ok(!memcmp(local, region[i], sizeof(local)));
			is_int(links_rma(0, i, true, rkey[i], 5, local, 1000), 0);
			ok(!memcmp(local, region[i] + 5, 1000));
			links_fill(region[i], sizeof(region[i]), (uint64_t)(i + round));
		}
	ok(nodes[0].stats.connections_reopened >= 8);
	/* a key that was told over an earlier connection, and one of this one */
	for (int i = 1; i < LINKS; i++) {
		must(!region_remove(nodes[i].regions, rkey[i], &addr, &len));
		OPS->unexport(nodes[i].link, rkey[i], addr, len);
		is_int(nodes[i].peer[0]->n_told, 0);
	}
	links_turn(10);
	for (int i = 1; i < LINKS; i++)
		is_int(links_rma(0, i, false, rkey[i], 0, local, 10), -EACCES);
	links_check_clean(2);
	links_check_quiet();
	links_close();
}

/* Operations on all at once: those without a place wait, and all come to their end. */
TAP_TEST(read__more_than_places)
{
	uint64_t rkey[LINKS];
	uint32_t op[LINKS];
	int n_left = LINKS - 1;

	fake_begin(1);
	must(links_open_still(LINKS, "verbs.connections=2"));
	for (int i = 1; i < LINKS; i++) {
		links_fill(region[i], 1000, (uint64_t)i);
		must(!region_add(nodes[i].regions, region[i], 1000, &rkey[i]));
		must(!OPS->read(nodes[0].link, nodes[0].peer[i], rkey[i], 0, local + i * 1000, 1000,
				&op[i]));
	}
	/* also while the link is told to stand still */
	is_int(OPS->quiesce(nodes[0].link), -EAGAIN);
	for (int ms = 0; ms < 500 && n_left; ms++) {
		links_run(31, 1);
		for (int i = 1; i < LINKS; i++)
			n_left -= OPS->rma_done(nodes[0].link, op[i]) == 0;
	}
	is_int(n_left, 0);
	for (int i = 1; i < LINKS; i++)
		ok(!memcmp(local + i * 1000, region[i], 1000));
	links_run(31, 150);
	is_int(OPS->quiesce(nodes[0].link), 0);
	links_check_clean(2);
	links_close();
}

/* ---- the end of links ---- */

static int resolve(void *arg, uint32_t node, struct pm_link_peer **ret_peer)
{
	return OPS->peer_add(nodes[0].link, node, nodes[node].address, nodes[node].address_len,
			     ret_peer);
}

/* Saved with messages for more nodes than it has connections, and restored. */
TAP_TEST(save_restore__with_peers_that_wait)
{
	uint8_t saved[4096];
	struct node old;
	int len;

	fake_begin(1);
	must(links_open_still(LINKS, "verbs.connections=2"));
	for (int to = 1; to < LINKS; to++)
		must(links_send(0, to, 10) == 0);
	ok(links_of(0)->n_waiting >= 3);
	for (int i = 0; i < 10 && OPS->quiesce(nodes[0].link); i++)
		links_turn(1);
	is_int(OPS->quiesce(nodes[0].link), 0);
	len = OPS->save(nodes[0].link, saved, sizeof(saved));
	old = nodes[0];
	node_close(&nodes[0]);
	links_run(30, 10);
	must(node_open(&nodes[0], 0, "verbs.connections=2") == 0);
	node_still(&nodes[0]);
	memcpy(nodes[0].sent, old.sent, sizeof(old.sent));
	for (int i = 1; i < LINKS; i++) {
		OPS->peer_del(nodes[i].link, nodes[i].peer[0]);
		must(links_add(i, 0));
	}
	is_int(OPS->restore(nodes[0].link, saved, (size_t)len, resolve, NULL), 0);
	links_drain();
	links_check_clean(2);
	links_close();
}

/* Those that wait are removed, in any order, or leave. */
TAP_TEST(waiting__peers_go)
{
	fake_begin(1);
	must(links_open_still(LINKS, "verbs.connections=2"));
	must(links_send(0, 1, 10) == 0);
	links_drain();
	for (int to = 2; to < LINKS; to++)
		must(links_send(0, to, 10) == 0);
	is_int(links_of(0)->n_waiting, 2);
	OPS->peer_del(nodes[0].link, nodes[0].peer[4]);
	OPS->peer_del(nodes[0].link, nodes[0].peer[3]);
	nodes[0].sent[3] = nodes[0].sent[4] = 0;
	is_int(links_of(0)->n_waiting, 0);
	must(links_add(0, 3) && links_add(0, 4));
	must(links_send(0, 3, 10) == 0 && links_send(0, 4, 10) == 0);
	links_drain();
	links_check_clean(2);
	links_check_quiet();
	links_close();
}

/*
 * Each call of the library fails once in the middle of it all: nothing is lost in silence, nothing
 * leaks.
 */
static void with_failure(enum fake_call call, int nth, long *ret_uses)
{
	long before;
	bool is_dead = false, is_all = true;

	fake_begin(1);
	must(links_open_still(4, "verbs.credit=8,verbs.connections=3"));
	before = fake.calls[call];
	fake_fail(call, nth, ENOMEM);
	for (int i = 0; i < 6; i++)
		for (int from = 0; from < 4; from++)
			for (int to = 0; to < 4; to++) {
				if (from != to)
					links_send(from, to, 100);
				links_turn(5);
			}
	links_run(15, 300);
	*ret_uses = fake.calls[call] - before;
	for (int i = 0; i < 4; i++) {
		is_dead |= nodes[i].dead != 0;
		for (int k = 0; k < 4; k++)
			is_all &= nodes[i].sent[k] == nodes[k].received[i];
	}
	okf(is_all || is_dead, "%s %d: messages are missing and nobody is said to be dead",
	    fake_call_name(call), nth);
	ok(fake.most_qps <= 3);
	links_close();
}

TAP_TEST(connections__each_call_fails_once)
{
	static const enum fake_call calls[] = {FAKE_REG_MR,    FAKE_RESIZE_CQ, FAKE_CREATE_QP,
					       FAKE_MODIFY_QP, FAKE_CREATE_AH, FAKE_POST_SEND,
					       FAKE_POST_RECV};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		long uses = 0, none;

		with_failure(calls[i], 0, &uses);
		for (int nth = 1; nth <= uses && !tap_has_failed(); nth += nth < 60 ? 1 : 19)
			with_failure(calls[i], nth, &none);
	}
}

/* ---- a thousand ---- */

#define MANY 1000

/* A node in the middle and a thousand around it, with an own record each. */
static struct node *around;

static void look(struct node *n, uint64_t *ret_received)
{
	struct pm_inbound in;

	if (OPS->receive(n->link, &in) != 1)
		return;
	ret_received[in.src]++;
	OPS->release(n->link, in.cookie);
}

static void post_one(struct node *from, struct pm_link_peer *to)
{
	uint64_t cookie;
	void *buf;

	must(!OPS->get_send(from->link, to, 4, &buf, &cookie));
	memset(buf, 1, 4);
	must(!OPS->send(from->link, to, cookie, 4));
}

static void open_many(const char *options)
{
	struct pm_link_peer *peer;

	must(!node_open(&nodes[0], 0, options));
	for (uint32_t i = 1; i <= MANY; i++) {
		struct node *n = &around[i];

		must(!node_open(n, i, options));
		must(!OPS->peer_add(nodes[0].link, i, n->address, n->address_len, &peer));
		post_one(&nodes[0], peer);
		must(!OPS->peer_add(n->link, 0, nodes[0].address, nodes[0].address_len, &peer));
		if (i % 2)
			post_one(n, peer);
	}
}

static uint64_t sum(const uint64_t *counts)
{
	uint64_t all = 0;

	for (int i = 0; i <= MANY; i++)
		all += counts[i];
	return all;
}

/* One message to each of a thousand nodes, and one back from every other: with 16 connections. */
TAP_TEST(connections__a_thousand_peers)
{
	struct rlimit files = {4 * MANY, 4 * MANY};
	uint64_t *in = calloc(MANY + 1, sizeof(*in)), *out = calloc(MANY + 1, sizeof(*out));
	uint64_t before;

	fake_begin(1);
	memset(nodes, 0, sizeof(nodes));
	around = calloc(MANY + 1, sizeof(*around));
	if (!ok(around && in && out && !setrlimit(RLIMIT_NOFILE, &files)))
		return;
	open_many("verbs.mtu=1024,verbs.credit=8,verbs.connections=16");
	before = OPS->memory(nodes[0].link);
	for (int ms = 0; ms < 3000 && (sum(in) < MANY / 2 || sum(out) < MANY); ms++) {
		for (int i = 0; i < 2 * PMV_IDLE_CHORES; i++)
			look(&nodes[0], in);
		for (int i = 1; i <= MANY; i++) {
			look(&around[i], out + i);
			pmv_of(around[i].link)->clock.now += MS;
		}
		links_pass_time(MS);
	}
	is_int(sum(in), MANY / 2);
	is_int(sum(out), MANY);
	is_int(fake.most_qps, 16);
	links_check_clean(16);
	tap_diag("%llu KiB with all queued, %llu KiB at the end", (unsigned long long)before >> 10,
		 (unsigned long long)OPS->memory(nodes[0].link) >> 10);
	for (int i = 1; i <= MANY; i++)
		node_close(&around[i]);
	links_close();
	free(around);
	free(in);
	free(out);
}
