// SPDX-License-Identifier: BSD-3-Clause
/*
 * How many connections a link may have, who waits for one, and who gives way, on the fake provider.
 */
#include "pm-verbs/conn/evict.h"
#include "pm-verbs/conn/places.h"

#include "pm-verbs/conn/connection.h"
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)
#define MS 1000000ull
#define BYTES (160u << 10)

TAP_TEST(pmv_places_most__limits)
{
	static const struct {
		struct pmv_places_limits limits;
		uint32_t most;
	} cases[] = {
		{{0, 100000, 1000000, 97, BYTES, UINT64_MAX, 0}, 256},
		/* asked for, as far as the device has it */
		{{1000, 100000, 1000000, 97, BYTES, UINT64_MAX, 0}, 1000},
		{{2, 100000, 1000000, 97, BYTES, UINT64_MAX, 0}, 2},
		{{1000, 500, 1000000, 97, BYTES, UINT64_MAX, 0}, 500},
		{{1000, 500, 1000000, 97, BYTES, UINT64_MAX, 4}, 125},
		{{1000, 100000, 32767, 97, BYTES, UINT64_MAX, 1}, 337},
		/* a quarter of the lock limit, but for who asks */
		{{0, 100000, 1000000, 97, BYTES, 64 << 20, 0}, 102},
		{{200, 100000, 1000000, 97, BYTES, 64 << 20, 0}, 200},
		{{0, 100000, 1000000, 97, BYTES, 64 << 10, 0}, 1},
		{{0, 3, 1000000, 97, BYTES, UINT64_MAX, 4}, 1},
		/* who shares receives needs no buffers */
		{{0, 100000, 1000000, 57, 0, 64 << 10, 0}, 512},
		{{1000, 100000, 1000000, 57, 0, 64 << 10, 0}, 1000},
		{{0, 100, 1000000, 57, 0, UINT64_MAX, 1}, 100},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		is_int(pmv_places_most(&cases[i].limits), cases[i].most);
}

/* ---- who gives way ---- */

/* Idle ones go at once, the one unused for longest first. */
TAP_TEST(victim__least_recently_used)
{
	fake_begin(1);
	must(links_open_still(LINKS, "verbs.connections=3"));
	for (int to = 1; to <= 3; to++) {
		must(links_send(0, to, 10) == 0);
		links_drain();
	}
	must(links_send(1, 0, 10) == 0);
	links_drain();
	must(links_send(0, 4, 10) == 0);
	for (int i = 0; i < 20; i++)
		links_turn(1);
	is_int(nodes[4].received[0], 1);
	is_int(nodes[0].peer[2]->stage, PMV_IDLE);
	is_int(nodes[0].peer[1]->stage, PMV_READY);
	is_int(nodes[0].peer[3]->stage, PMV_READY);
	is_int(nodes[0].stats.connections_closed, 1);
	links_check_clean(3);
	links_close();
}

/*
 * Receivers that take nothing hold all places, with messages queued for them: the third is reached
 * all the same.
 */
TAP_TEST(victim__busy_for_ever)
{
	uint32_t timeout_ms = 0;

	fake_begin(1);
	must(links_open_still(4, "verbs.connections=2,verbs.credit=8"));
	for (int to = 1; to <= 2; to++)
		while (links_send(0, to, 10) == 0)
			for (int n = 0; n < 3; n++)
				pmv_progress(links_of(n));
	ok(nodes[0].peer[1]->queue.n > 0 && nodes[0].peer[2]->queue.n > 0);
	must(links_send(0, 3, 10) == 0);
	/* not before those had their time */
	for (int i = 0; i < 100; i++)
		for (int n = 0; n < 4; n++)
			pmv_progress(links_of(n));
	is_int(nodes[0].peer[3]->stage, PMV_IDLE);
	for (; timeout_ms < 50 && !nodes[3].received[0]; timeout_ms++) {
		for (int i = 0; i < 2 * PMV_IDLE_CHORES; i++) {
			for (int n = 1; n < 3; n++)
				pmv_progress(links_of(n));
			links_take(0);
			links_take(3);
		}
		links_pass_time(MS);
	}
	is_int(nodes[3].received[0], 1);
	ok(timeout_ms >= 8);
	links_drain();
	links_check_clean(2);
	links_check_quiet();
	links_close();
}

/* The timers run also for who sleeps: the sleep ends when a busy connection may be closed. */
TAP_TEST(arm__until_a_place_is_taken_away)
{
	uint64_t timeout = UINT64_MAX;

	fake_begin(1);
	must(links_open_still(4, "verbs.connections=2,verbs.credit=8"));
	for (int to = 1; to <= 2; to++)
		while (links_send(0, to, 10) == 0)
			for (int n = 0; n < 3; n++)
				pmv_progress(links_of(n));
	must(links_send(0, 3, 10) == 0);
	while (pmv_progress(links_of(0)))
		;
	is_int(OPS->arm(nodes[0].link, &timeout), 0);
	okf(timeout > 0 && timeout <= PMV_SLICE_NS, "%llu ns", (unsigned long long)timeout);
	OPS->disarm(nodes[0].link);
	links_drain();
	links_close();
}

/* A node that computes answers no call. Others are reached meanwhile, and it is when it looks. */
TAP_TEST(call__of_one_that_does_not_look)
{
	fake_begin(1);
	must(links_open_still(4, "verbs.connections=2"));
	must(links_send(0, 1, 10) == 0 && links_send(0, 2, 10) == 0 && links_send(0, 3, 10) == 0);
	links_run(1 | 4 | 8, 150);
	is_int(nodes[2].received[0], 1);
	is_int(nodes[3].received[0], 1);
	links_drain();
	links_check_quiet();
	for (int i = 0; i < 4; i++)
		is_int(nodes[i].dead, 0);
	is_int(fake.most_qps, 2);
	links_close();
}

/* One that is gone is found out by how long it was called, however often others had its place. */
TAP_TEST(call__of_one_that_is_gone)
{
	fake_begin(1);
	must(links_open_still(4, "verbs.connections=2,channel.peer_timeout=500"));
	node_close(&nodes[1]);
	for (int ms = 0; ms < 3000 && !nodes[0].dead; ms += 10) {
		int to = 2 + ms / 10 % 2;

		links_send(0, 1, 10);
		must(links_send(0, to, 10) == 0);
		links_run(1 | 4 | 8, 10);
	}
	is_int(nodes[0].dead, 2);
	ok(nodes[0].stats.connections_closed > 5);
	nodes[0].sent[1] = 0;
	links_drain();
	links_close();
}

/* The device has memory for fewer than are allowed: those that there are make room. */
TAP_TEST(connect__no_memory_for_more)
{
	fake_begin(1);
	must(links_open_still(LINKS, "verbs.connections=4"));
	must(links_send(0, 1, 10) == 0 && links_send(0, 2, 10) == 0);
	links_drain();
	fake_fail(FAKE_CREATE_QP, 1, ENOMEM);
	must(links_send(0, 3, 10) == 0 && links_send(0, 4, 10) == 0);
	links_drain();
	is_int(links_of(0)->n_most, 2);
	links_check_clean(2);
	links_close();
}

/*
 * With more calls out than the lowered bound allows nobody else may call, so nobody gives way for
 * it.
 */
TAP_TEST(pmv_places_lower__below_the_calls)
{
	fake_begin(1);
	must(links_open_still(LINKS, "verbs.connections=4"));
	must(links_send(0, 1, 10) == 0);
	links_drain();
	must(links_send(0, 2, 10) == 0 && links_send(0, 3, 10) == 0);
	is_int(links_of(0)->n_calling, 2);
	ok(pmv_places_lower(links_of(0), 2));
	must(links_send(0, 4, 10) == 0);
	links_run(1, 50);
	is_int(nodes[0].peer[1]->stage, PMV_READY);
	links_drain();
	links_check_quiet();
	links_close();
}

/* A node that calls a full node is told to wait, and does not take that node for dead. */
TAP_TEST(call__of_one_that_is_full)
{
	fake_begin(1);
	must(links_open_still(4, "verbs.connections=2,channel.peer_timeout=50"));
	must(links_send(0, 1, 10) == 0 && links_send(0, 2, 10) == 0);
	links_drain();
	/* these two answer nothing for longer than anybody waits */
	must(links_send(0, 1, 10) == 0 && links_send(0, 2, 10) == 0);
	must(links_send(3, 0, 10) == 0);
	links_run(1 | 8, 90);
	is_int(nodes[0].peer[3]->is_waiting, true);
	links_run(1 | 8, 60);
	is_int(nodes[0].received[3], 1);
	links_drain();
	links_check_clean(2);
	links_close();
}

/*
 * One whose peer has a key of ours may be in use, though nothing is seen of it: an idle one goes
 * before it.
 */
TAP_TEST(victim__not_one_that_has_a_key)
{
	static uint8_t region[100], local[100];
	uint64_t rkey;

	fake_begin(1);
	must(links_open_still(4, "verbs.connections=2"));
	must(!region_add(nodes[0].regions, region, sizeof(region), &rkey));
	is_int(links_rma(1, 0, false, rkey, 0, local, sizeof(local)), 0);
	must(links_send(2, 0, 10) == 0);
	links_drain();
	must(links_send(0, 3, 10) == 0);
	links_drain();
	is_int(nodes[0].peer[1]->stage, PMV_READY);
	is_int(nodes[0].peer[2]->stage, PMV_IDLE);
	links_close();
}

/* One that was made just now, and not used yet, is not taken away before that. */
TAP_TEST(victim__not_one_just_made)
{
	fake_begin(1);
	must(links_open_still(4, "verbs.connections=2"));
	for (int to = 1; to <= 2; to++) {
		pmv_connect(links_of(0), nodes[0].peer[to]);
		for (int i = 0; i < 20; i++)
			for (int n = 0; n < 3; n++)
				pmv_progress(links_of(n));
		must(nodes[0].peer[to]->stage == PMV_READY);
	}
	nodes[0].peer[1]->since_ns = nodes[0].peer[2]->since_ns = pmv_now(links_of(0)) + 5 * MS;
	must(links_send(0, 3, 10) == 0);
	for (int i = 0; i < 20; i++)
		pmv_progress(links_of(0));
	is_int(nodes[0].peer[1]->stage, PMV_READY);
	is_int(nodes[0].peer[2]->stage, PMV_READY);
	links_run(15, 20);
	is_int(nodes[3].received[0], 1);
	links_close();
}

/*
 * A connection that broke is made again before others get its place: its peer may have kept one for
 * it.
 */
TAP_TEST(waiting__one_that_was_lost_keeps_its_place)
{
	fake_begin(1);
	must(links_open_still(4, "verbs.connections=2"));
	must(links_send(0, 1, 10) == 0 && links_send(0, 2, 10) == 0);
	links_drain();
	must(links_send(0, 1, 10) == 0 && links_send(0, 2, 10) == 0 && links_send(0, 3, 10) == 0);
	is_int(nodes[0].peer[3]->is_waiting, true);
	pmv_connection_lost(links_of(0), nodes[0].peer[1], UINT64_MAX, "test");
	while (pmv_progress(links_of(0)))
		;
	is_int(nodes[0].peer[1]->stage, PMV_GREETING);
	links_drain();
	links_close();
}

/*
 * All places are taken by nodes that called, or were called, and look no more: another one that
 * calls gets in.
 */
TAP_TEST(call__places_of_those_that_do_not_look)
{
	fake_begin(1);
	must(links_open_still(4, "verbs.connections=2"));
	must(links_send(1, 0, 10) == 0);
	must(links_send(0, 2, 10) == 0);
	links_run(1, 20);
	is_int(nodes[0].peer[1]->stage, PMV_GREETING);
	is_int(nodes[0].peer[2]->stage, PMV_GREETING);
	must(links_send(3, 0, 10) == 0);
	links_run(1 | 8, 50);
	is_int(nodes[0].received[3], 0);
	links_run(1 | 8, 1100);
	is_int(nodes[0].received[3], 1);
	links_drain();
	links_check_quiet();
	links_close();
}
