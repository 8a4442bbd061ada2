// SPDX-License-Identifier: BSD-3-Clause
/*
 * Packets that come in another order, twice, or late: what rails of different speed do, and worse.
 */
#include "tests/sim/sim.h"

#define PERMUTED 7

/* The first packets of node 0 arrive in this order. */
struct permutation {
	uint32_t place[PERMUTED];
	uint32_t seen;
	uint32_t rails; /* bit set of those used */
};

static void delay(void *arg, const struct simnet_transit *transit, struct simnet_fate *fate)
{
	struct permutation *p = arg;

	if (transit->src != 0 || p->seen == PERMUTED)
		return;
	p->rails |= 1u << transit->rail;
	fate->delay_ns = (p->place[p->seen++] + 1) * 20 * US;
}

static void run_permutation(struct permutation *p)
{
	struct sim_config config = sim_defaults(2, PERMUTED, 2);
	struct sim *sim;
	int i;

	config.net.tx_buffers = config.net.rx_buffers = 64;
	config.chan.window = 8;
	config.chan.credit = 8;
	config.transit = delay;
	config.transit_arg = p;
	p->seen = p->rails = 0;
	sim = sim_create(&config);
	sim_send(sim, 0, 1, PERMUTED, 900, 1000);
	sim_finish(sim, SEC);
	is_int(p->rails, (1u << PERMUTED) - 1);
	is_int(sim_retransmits(sim), 0);
	is_int(sim_timeouts(sim), 0);
	for (i = 0; i < PERMUTED; i++)
		is_int(sim->nodes[1].rails[i].losses, 0);
	sim_destroy(sim);
}

/* Heap's algorithm. */
static void permute(struct permutation *p, uint32_t n)
{
	uint32_t i, other, t;

	if (n == 1) {
		run_permutation(p);
		return;
	}
	for (i = 0; i < n && !tap_has_failed(); i++) {
		permute(p, n - 1);
		other = n % 2 ? 0 : i;
		t = p->place[other];
		p->place[other] = p->place[n - 1];
		p->place[n - 1] = t;
	}
}

TAP_TEST(order__all_5040_permutations_over_seven_rails)
{
	struct permutation p;
	uint32_t i;

	for (i = 0; i < PERMUTED; i++)
		p.place[i] = i;
	permute(&p, PERMUTED);
}

/* Much traffic both ways; the run has to end well whatever the rails do. */
static struct sim *start(struct sim_config *config)
{
	struct sim *sim = sim_create(config);

	sim_send(sim, 0, 1, 2000, 1, 1400);
	sim_send(sim, 1, 0, 2000, 1, 1400);
	sim_read(sim, 0, sim_export(sim, 1, 200000), 0, 200000);
	return sim;
}

TAP_TEST(order__rails_of_different_latency_lose_nothing)
{
	struct sim_config config = sim_defaults(2, 4, 3);
	struct sim *sim;
	uint32_t rail;

	for (rail = 0; rail < 4; rail++) {
		config.net.rail[rail].latency_ns = (10 + 90 * rail) * US;
		config.net.rail[rail].jitter_ns = 50 * US;
	}
	sim = start(&config);
	sim_finish(sim, 5 * SEC);
	is_int(sim_retransmits(sim), 0);
	is_int(sim_drops(sim, DROP_DUPLICATE), 0);
	sim_destroy(sim);
}

TAP_TEST(order__every_packet_comes_twice)
{
	struct sim_config config = sim_defaults(2, 2, 4);
	struct sim *sim;

	config.net.rail[0].duplicate = config.net.rail[1].duplicate = 1;
	sim = start(&config);
	sim_finish(sim, 5 * SEC);
	ok(sim_drops(sim, DROP_DUPLICATE) > 1000);
	sim_destroy(sim);
}

/* A network that breaks the promise of FIFO rails costs repetitions, never contents or order. */
TAP_TEST(order__rails_that_are_not_fifo)
{
	struct sim_config config = sim_defaults(2, 2, 5);
	struct sim *sim;

	config.net.rail[0].reorder = config.net.rail[1].reorder = 0.1;
	config.net.rail[0].reorder_ns = config.net.rail[1].reorder_ns = 300 * US;
	sim = start(&config);
	sim_finish(sim, 20 * SEC);
	sim_destroy(sim);
}

TAP_TEST(order__everything_at_once)
{
	uint64_t seed;

	for (seed = 0; seed < 20 && !tap_has_failed(); seed++) {
		struct sim_config config = sim_defaults(3, 3, 100 + seed);
		struct sim *sim;
		uint32_t rail;

		config.chan.window = 8u << seed % 5;
		config.chan.credit = 1 + (uint32_t)seed % 8;
		for (rail = 0; rail < 3; rail++) {
			config.net.rail[rail].loss = 0.03 * rail;
			config.net.rail[rail].duplicate = 0.05;
			config.net.rail[rail].reorder = 0.02 * (seed % 3);
			config.net.rail[rail].reorder_ns = MS;
			config.net.rail[rail].jitter_ns = 100 * US;
			config.net.rail[rail].nic_packets = 8;
		}
		sim = start(&config);
		sim->nodes[1].hold = (uint32_t)seed % 4;
		sim_send(sim, 2, 0, 500, 1, 100);
		sim_send(sim, 1, 2, 500, 1, 1400);
		sim_write(sim, 2, sim_export(sim, 1, 100000), 0, 100000);
		sim_finish(sim, 60 * SEC);
		sim_settle(sim, 60 * SEC);
		sim_destroy(sim);
	}
}

static uint64_t digest_of_run(uint64_t salt)
{
	struct sim_config config = sim_defaults(2, 2, salt);
	struct sim *sim;
	uint64_t digest;

	config.net.rail[0].loss = config.net.rail[1].loss = 0.05;
	sim = start(&config);
	sim_finish(sim, 20 * SEC);
	digest = simnet_digest(sim->net);
	sim_destroy(sim);
	return digest;
}

TAP_TEST(order__same_seed_same_packets_byte_for_byte)
{
	ok(digest_of_run(6) == digest_of_run(6));
	ok(digest_of_run(6) != digest_of_run(7));
}
