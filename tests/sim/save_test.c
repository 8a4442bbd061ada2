// SPDX-License-Identifier: BSD-3-Clause
/*
 * Quiesce, freeze and thaw in the middle of traffic: a new engine goes on where the old one
 * stopped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

static bool is_quiet(const struct sim *sim, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!chan_is_quiet(sim->nodes[i].chan))
			return false;
	return true;
}

/* Stops nodes 0..n-1 and waits until nothing of theirs is on the way. */
static void quiesce(struct sim *sim, uint32_t n)
{
	uint64_t start = sim_now(sim);
	uint32_t i;

	for (i = 0; i < n; i++) {
		chan_quiesce(sim->nodes[i].chan, true);
		sim_touch(sim, i);
	}
	while (!is_quiet(sim, n) && sim_now(sim) < start + 10 * SEC && !sim->is_broken)
		sim_run(sim, sim_now(sim) + 100 * US);
	okf(is_quiet(sim, n), "not quiet after 10 s");
}

static void resume(struct sim *sim, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		chan_quiesce(sim->nodes[i].chan, false);
		sim_touch(sim, i);
	}
}

/* Traffic of every kind between three nodes. */
static struct sim *start(uint64_t salt, double loss)
{
	struct sim_config config = sim_defaults(3, 2, salt);
	struct sim *sim;
	uint32_t i, j;

	config.net.rail[0].loss = config.net.rail[1].loss = loss;
	sim = sim_create(&config);
	sim->check_at = 4;
	for (i = 0; i < 3; i++) {
		for (j = 0; j < 3; j++) {
			if (i == j)
				continue;
			sim_send(sim, i, j, 700, 1, 1400);
			sim_read(sim, i, sim_export(sim, j, 200000), 0, 200000);
			sim_write(sim, i, sim_export(sim, j, 200000), 0, 200000);
		}
	}
	return sim;
}

/* While stopped no new data leaves, whatever the application asks for. */
TAP_TEST(quiesce__nothing_new_leaves)
{
	struct sim *sim = start(1, 0.02);
	uint64_t posted;
	uint32_t rail;

	sim_run(sim, sim_now(sim) + 3 * MS);
	quiesce(sim, 3);
	sim_run(sim, sim_now(sim) + 100 * MS);
	posted = simnet_count(sim->net, 0)->posted + simnet_count(sim->net, 1)->posted;
	sim_send(sim, 0, 1, 50, 1, 100);
	sim_run(sim, sim_now(sim) + SEC);
	for (rail = 0; rail < 2; rail++)
		posted -= simnet_count(sim->net, rail)->posted;
	okf(posted == 0, "%lld packets left a stopped job", -(long long)posted);
	resume(sim, 3);
	sim_finish(sim, 30 * SEC);
	sim_destroy(sim);
}

TAP_TEST(freeze__busy_engine_refuses)
{
	struct sim *sim = start(2, 0);
	char small[8];

	sim_run(sim, sim_now(sim) + MS);
	is_int(chan_freeze(sim->nodes[0].chan, small, sizeof(small)), -EBUSY);
	sim_finish(sim, 30 * SEC);
	sim_destroy(sim);
}

TAP_TEST(freeze__held_messages_refuse)
{
	struct sim_config config = sim_defaults(2, 1, 3);
	struct sim *sim = sim_create(&config);

	sim->nodes[1].hold = 4;
	sim_send(sim, 0, 1, 4, 1, 100);
	sim_finish(sim, SEC);
	quiesce(sim, 2);
	is_int(chan_freeze(sim->nodes[1].chan, NULL, 0), -EBUSY);
	ok(chan_freeze(sim->nodes[0].chan, NULL, 0) > 0);
	sim_destroy(sim);
}

/* Every engine of the job is replaced, several times, in the middle of everything. */
TAP_TEST(thaw__whole_job_replaced_in_traffic)
{
	uint64_t round, seed;

	for (seed = 0; seed < 10 && !tap_has_failed(); seed++) {
		struct sim *sim = start(10 + seed, seed % 2 ? 0.05 : 0);
		uint32_t i;

		for (round = 0; round < 5 && !sim->is_broken; round++) {
			sim_run(sim, sim_now(sim) + (1 + seed) * 300 * US);
			for (i = 0; i < 3; i++)
				sim->nodes[i].is_stalled = (seed + i) % 3 == 0;
			quiesce(sim, 3);
			for (i = 0; i < 3; i++)
				is_int(sim_replace(sim, i), 0);
			for (i = 0; i < 3; i++)
				sim->nodes[i].is_stalled = false;
			resume(sim, 3);
		}
		sim_finish(sim, 60 * SEC);
		sim_settle(sim, 60 * SEC);
		sim_destroy(sim);
	}
}

/* Only one node is saved and restored while the others are stopped and keep their engines. */
TAP_TEST(thaw__one_node_replaced)
{
	struct sim *sim = start(30, 0.01);
	int round;

	for (round = 0; round < 5 && !sim->is_broken; round++) {
		sim_run(sim, sim_now(sim) + MS);
		quiesce(sim, 3);
		is_int(sim_replace(sim, 1), 0);
		resume(sim, 3);
	}
	sim_finish(sim, 60 * SEC);
	sim_destroy(sim);
}

/* Messages that arrived and were not read are in the blob, in order. */
TAP_TEST(thaw__unread_and_unsent_messages)
{
	struct sim_config config = sim_defaults(2, 2, 31);
	struct sim_flow *flow;
	struct sim *sim;

	sim = sim_create(&config);
	sim->nodes[1].is_stalled = true;
	flow = sim_send(sim, 0, 1, 300, 1, 1400);
	sim_run(sim, sim_now(sim) + 10 * MS);
	is_int(flow->received, 0);
	quiesce(sim, 2);
	is_int(sim_replace(sim, 1), 0);
	is_int(sim_replace(sim, 0), 0);
	ok(simnet_rx_lent(sim->net, 1) == 0);
	sim->nodes[1].is_stalled = false;
	resume(sim, 2);
	sim_finish(sim, 10 * SEC);
	sim_destroy(sim);
}

/*
 * A damaged blob is refused or taken, but never breaks the engine; a short one is always refused.
 */
TAP_TEST(thaw__damaged_blobs)
{
	struct sim_config config = sim_defaults(2, 2, 32);
	struct sim *sim = sim_create(&config);
	uint64_t random = config.net.seed;
	uint8_t *blob, *bad;
	struct chan *old;
	int need, i, len;

	sim->nodes[1].is_stalled = true;
	sim_send(sim, 0, 1, 100, 1, 1400);
	sim_send(sim, 1, 0, 100, 1, 1400);
	sim_run(sim, sim_now(sim) + 10 * MS);
	quiesce(sim, 2);
	old = sim->nodes[1].chan;
	need = chan_freeze(old, NULL, 0);
	must(need > 0);
	blob = malloc((size_t)need);
	is_int(chan_freeze(old, blob, (size_t)need), need);
	is_int(chan_thaw(sim->nodes[0].chan, blob, (size_t)need, NULL, NULL), -EINVAL);
	for (i = 0; i < 500; i++) {
		len = i % 2 ? need : (int)(tap_rand(&random) % (uint64_t)need);
		bad = malloc((size_t)len + 1);
		memcpy(bad, blob, (size_t)len);
		if (len == need)
			bad[tap_rand(&random) % (uint64_t)len] ^=
				(uint8_t)(1 << tap_rand(&random) % 8);
		is_int(sim_replace_with(sim, 1, bad, (size_t)len), -EINVAL);
		free(bad);
	}
	is_int(sim_replace_with(sim, 1, blob, (size_t)need), 0);
	chan_destroy(old);
	free(blob);
	sim->nodes[1].is_stalled = false;
	resume(sim, 2);
	sim_finish(sim, 10 * SEC);
	sim_destroy(sim);
}
