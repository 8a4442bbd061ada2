// SPDX-License-Identifier: BSD-3-Clause
/* Rails that die, break one way, return, and differ in speed. */
#include "tests/sim/sim.h"

#include <stddef.h>

#define LEN 1400
#define ENDLESS 2000000

/* A stream from node 0 to 1 over @rails rails of 1 Gbit/s. */
static struct sim *start_stream(struct sim_config *config)
{
	struct sim *sim;

	config->chan.window = 256;
	config->chan.credit = 256;
	sim = sim_create(config);
	sim->check_at = 16;
	sim_send(sim, 0, 1, ENDLESS, LEN, LEN);
	return sim;
}

static uint32_t received(const struct sim *sim)
{
	return sim->flows[1]->received;
}

/* Payload rate from now on for @ns, in units of what one rail can carry. */
static double rails_worth(struct sim *sim, uint64_t ns)
{
	uint32_t before = received(sim);
	double rail = (double)GBIT * LEN / (LEN + WIRE_OVERHEAD);

	sim_run(sim, sim_now(sim) + ns);
	return (received(sim) - before) * (double)LEN * 1e9 / (double)ns / rail;
}

static void at_least(double got, double want, const char *when)
{
	okf(got >= want, "%s: the rate of %.2f rails, expected %.2f", when, got, want);
}

/* Ends the stream early, with all that is under way delivered. */
static void finish_stream(struct sim *sim)
{
	sim->flows[1]->total = sim->flows[1]->sent;
	sim_finish(sim, 30 * SEC);
	sim_destroy(sim);
}

TAP_TEST(rail__all_are_filled)
{
	uint32_t rails;

	for (rails = 1; rails <= 8; rails++) {
		struct sim_config config = sim_defaults(2, rails, rails);
		struct sim *sim = start_stream(&config);

		sim_run(sim, sim_now(sim) + 2 * MS);
		at_least(rails_worth(sim, 20 * MS), 0.98 * rails, "all rails up");
		is_int(sim_retransmits(sim), 0);
		finish_stream(sim);
	}
}

/* Within milliseconds the stripe goes on without the rail, and takes it back when it answers. */
static void lose_a_rail(bool is_told)
{
	struct sim_config config = sim_defaults(2, 2, is_told);
	struct sim *sim = start_stream(&config);

	sim_run(sim, sim_now(sim) + 5 * MS);
	if (is_told)
		sim_carrier(sim, 0, 1, false);
	else
		simnet_cable(sim->net, 0, 1, false);
	sim_run(sim, sim_now(sim) + 20 * MS);
	at_least(rails_worth(sim, 50 * MS), 0.95, "one of two rails dead");
	if (is_told)
		sim_carrier(sim, 0, 1, true);
	else
		simnet_cable(sim->net, 0, 1, true);
	sim_run(sim, sim_now(sim) + 50 * MS);
	at_least(rails_worth(sim, 20 * MS), 1.9, "the rail is back");
	ok(sim->nodes[0].rails[1].deaths >= 1);
	ok(sim->nodes[0].rails[1].returns >= 1);
	is_int(sim->nodes[0].rails[0].deaths, 0);
	finish_stream(sim);
}

TAP_TEST(rail__dies_silently_and_returns)
{
	lose_a_rail(false);
}

TAP_TEST(rail__loses_carrier_and_returns)
{
	lose_a_rail(true);
}

TAP_TEST(rail__stall_after_a_silent_death_is_short)
{
	struct sim_config config = sim_defaults(2, 2, 3);
	struct sim *sim = start_stream(&config);
	uint64_t start, longest = 0, last;
	uint32_t before;

	sim_run(sim, sim_now(sim) + 5 * MS);
	simnet_cable(sim->net, 0, 1, false);
	last = start = sim_now(sim);
	for (before = received(sim); sim_now(sim) < start + 100 * MS && !sim->is_broken;) {
		sim_run(sim, sim_now(sim) + 100 * US);
		if (received(sim) == before)
			continue;
		if (sim_now(sim) - last > longest)
			longest = sim_now(sim) - last;
		before = received(sim);
		last = sim_now(sim);
	}
	okf(longest <= 12 * MS, "nothing was delivered for %llu us",
	    (unsigned long long)(longest / US));
	finish_stream(sim);
}

TAP_TEST(rail__fails_in_one_direction_only)
{
	struct sim_config config = sim_defaults(2, 2, 4);
	struct sim *sim = start_stream(&config);

	sim_run(sim, sim_now(sim) + 5 * MS);
	simnet_path(sim->net, 0, 1, 1, false);
	sim_run(sim, sim_now(sim) + 20 * MS);
	at_least(rails_worth(sim, 50 * MS), 0.95, "one rail dead towards the receiver");
	simnet_path(sim->net, 0, 1, 1, true);
	sim_run(sim, sim_now(sim) + 50 * MS);
	at_least(rails_worth(sim, 20 * MS), 1.9, "mended");
	simnet_path(sim->net, 1, 0, 0, false);
	sim_run(sim, sim_now(sim) + 20 * MS);
	at_least(rails_worth(sim, 50 * MS), 0.95, "one rail dead towards the sender");
	simnet_path(sim->net, 1, 0, 0, true);
	finish_stream(sim);
}

TAP_TEST(rail__all_dead_for_two_seconds)
{
	struct sim_config config = sim_defaults(2, 2, 5);
	struct sim *sim = start_stream(&config);
	uint32_t rail;

	sim_run(sim, sim_now(sim) + 5 * MS);
	for (rail = 0; rail < 2; rail++)
		simnet_cable(sim->net, 1, rail, false);
	sim_run(sim, sim_now(sim) + 2 * SEC);
	for (rail = 0; rail < 2; rail++)
		simnet_cable(sim->net, 1, rail, true);
	sim_run(sim, sim_now(sim) + 1200 * MS);
	at_least(rails_worth(sim, 20 * MS), 1.9, "both rails are back");
	finish_stream(sim);
}

TAP_TEST(rail__dies_under_a_read)
{
	struct sim_config config = sim_defaults(2, 3, 6);
	struct sim *sim = sim_create(&config);

	sim_read(sim, 0, sim_export(sim, 1, 4000000), 0, 4000000);
	sim_run(sim, sim_now(sim) + 2 * MS);
	simnet_cable(sim->net, 0, 0, false);
	sim_run(sim, sim_now(sim) + 5 * MS);
	simnet_cable(sim->net, 1, 1, false);
	sim_finish(sim, 5 * SEC);
	sim_destroy(sim);
}

/*
 * Each of two rails that are cut at once must not wait for the other one to prove that the peer is
 * there.
 */
static void lose_two(uint32_t first, uint32_t second, uint32_t seed)
{
	struct sim_config config = sim_defaults(2, 4, seed);
	struct sim *sim;
	uint32_t rail;

	/*
	 * a message alone goes by the fast ones, and so does the question whether the peer is there
	 */
	for (rail = 0; rail < 4; rail++)
		config.net.rail[rail].rate = rail == first || rail == second ? GBIT : GBIT / 100;
	sim = sim_create(&config);
	sim_send(sim, 0, 1, 1000 + 37 * seed, LEN, LEN);
	sim_finish(sim, 5 * SEC);
	simnet_cable(sim->net, seed % 2, first, false);
	simnet_cable(sim->net, seed % 2, second, false);
	sim_send(sim, 0, 1, 1, LEN, LEN);
	sim_finish(sim, 1 * SEC);
	sim_destroy(sim);
}

TAP_TEST(rail__two_die_at_once)
{
	uint32_t first, second, seed;

	for (seed = 0; seed < 50; seed++)
		for (first = 0; first < 4; first++)
			for (second = first + 1; second < 4; second++)
				lose_two(first, second, seed);
}

/*
 * Node 1 has acked all, late, and its process is gone: node 0 has asked for the ack just before it
 * came.
 */
struct gone {
	bool is_gone;
	uint32_t asked; /* packets of node 0 since then */
};

static void be_gone(void *arg, const struct simnet_transit *transit, struct simnet_fate *fate)
{
	struct gone *gone = arg;

	if (transit->src == 1) {
		fate->delay_ns = 400 * MS;
		return;
	}
	gone->is_gone |= transit->data[offsetof(struct wire_header, type)] == WIRE_PROBE;
	fate->is_lost = gone->is_gone;
	gone->asked += gone->is_gone;
}

/*
 * A peer that owes nothing is not asked for its rails: the answer could only be that its process is
 * gone.
 */
TAP_TEST(rail__none_is_asked_for_when_all_is_acked)
{
	struct sim_config config = sim_defaults(2, 2, 11);
	struct gone gone = {0};
	struct sim *sim;
	uint32_t before;

	config.transit = be_gone;
	config.transit_arg = &gone;
	sim = sim_create(&config);
	sim_send(sim, 0, 1, 1, 100, 100);
	sim_finish(sim, 2 * SEC);
	ok(gone.is_gone);
	before = gone.asked;
	sim_run(sim, sim_now(sim) + 2 * SEC);
	okf(gone.asked == before, "%u packets before the ack, %u after it", before,
	    gone.asked - before);
	sim_destroy(sim);
}

/* Rails up and down at random while traffic runs; one always works. */
TAP_TEST(rail__flapping)
{
	struct sim_config config = sim_defaults(2, 4, 7);
	struct sim *sim = start_stream(&config);
	uint64_t random = config.net.seed;
	int i;

	sim_send(sim, 1, 0, 2000, 1, LEN);
	for (i = 0; i < 100 && !sim->is_broken; i++) {
		uint32_t rail = 1 + (uint32_t)(tap_rand(&random) % 3);

		simnet_cable(sim->net, (uint32_t)(tap_rand(&random) % 2), rail,
			     tap_rand(&random) % 2);
		sim_run(sim, sim_now(sim) + tap_rand(&random) % (5 * MS));
	}
	finish_stream(sim);
}

static void unequal(const uint32_t *mbit, uint32_t rails)
{
	struct sim_config config = sim_defaults(2, rails, rails);
	double sum = 0, got;
	struct sim *sim;
	uint32_t rail;

	for (rail = 0; rail < rails; rail++) {
		config.net.rail[rail].rate = mbit[rail] * (GBIT / 1000);
		sum += mbit[rail] / 1000.0;
	}
	sim = start_stream(&config);
	sim_run(sim, sim_now(sim) + 30 * MS);
	got = rails_worth(sim, 50 * MS);
	okf(got >= 0.93 * sum, "%u unequal rails: %.3f Gbit/s of %.3f", rails, got, sum);
	finish_stream(sim);
}

TAP_TEST(rail__unequal_ones_share_by_speed)
{
	unequal((const uint32_t[]){1000, 500}, 2);
	unequal((const uint32_t[]){1000, 100}, 2);
	unequal((const uint32_t[]){1000, 700, 200, 100}, 4);
}

/*
 * A loss in the first moments makes a rail look worthless, because an ack is late when little is in
 * flight. It must be tried again: each rail carries its part, whatever the beginning was.
 */
TAP_TEST(rail__bad_start_is_forgiven)
{
	uint64_t salt, len = 2000000, sum;
	uint32_t rail;

	for (salt = 0; salt < 500 && !tap_has_failed(); salt++) {
		struct sim_config config = sim_defaults(2, 4, salt);
		struct sim *sim;

		config.chan.window = 512;
		for (rail = 0; rail < 4; rail++)
			config.net.rail[rail].loss = 0.02;
		sim = sim_create(&config);
		sim->check_at = 64;
		sim_read(sim, 0, sim_export(sim, 1, len), 0, len);
		sim_finish(sim, 5 * SEC);
		for (sum = 0, rail = 0; rail < 4; rail++)
			sum += simnet_count(sim->net, rail)->bytes;
		for (rail = 0; rail < 4; rail++)
			okf(simnet_count(sim->net, rail)->bytes * 10 >= sum,
			    "rail %u carried %llu of %llu bytes", rail,
			    (unsigned long long)simnet_count(sim->net, rail)->bytes,
			    (unsigned long long)sum);
		sim_destroy(sim);
	}
}
