// SPDX-License-Identifier: BSD-3-Clause
/*
 * Whole jobs under random networks and random events, hundreds of them: what no one thought of.
 * Each run has its own number; when one fails it is printed and SIM_RUN=n repeats that one alone.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/sim/sim.h"

#define RUNS 300
#define EVENTS 40

/* One run. */
struct chaos {
	struct sim *sim;
	uint64_t random;
	uint32_t nodes, rails;
	struct sim_region *spare; /* may be withdrawn at any time, NULL when it has been */
};

static uint32_t below(struct chaos *c, uint32_t n)
{
	return (uint32_t)(tap_rand(&c->random) % n);
}

static bool one_in(struct chaos *c, uint32_t n)
{
	return below(c, n) == 0;
}

static void choose_rail(struct chaos *c, struct simnet_rail *rail, bool has_crc)
{
	static const uint64_t rates[] = {GBIT / 10, GBIT, GBIT, 10 * GBIT, 0};

	*rail = (struct simnet_rail){.rate = rates[below(c, 5)]};
	rail->latency_ns = 1000ull << below(c, 9);
	rail->nic_packets = 1u << below(c, 9);
	if (one_in(c, 2))
		rail->loss = below(c, 100) / 1000.0;
	if (one_in(c, 4))
		rail->duplicate = below(c, 100) / 500.0;
	if (one_in(c, 4))
		rail->jitter_ns = 1 + below(c, 200000);
	if (one_in(c, 4))
		rail->queue_bytes = 16384u << below(c, 6);
	if (one_in(c, 8)) {
		rail->reorder = below(c, 100) / 1000.0;
		rail->reorder_ns = below(c, 500000);
	}
	if (has_crc && one_in(c, 2))
		rail->corrupt = below(c, 100) / 1000.0;
}

static struct sim_config choose_config(struct chaos *c, uint64_t run)
{
	struct sim_config config;
	uint32_t rail, window = 8u << below(c, 6);

	config = sim_defaults(c->nodes, c->rails, run);
	config.net.mtu = 200 + below(c, 1400);
	config.net.tx_buffers = 32 + below(c, 300);
	config.net.rx_buffers = 32 + below(c, 300);
	config.chan.window = window;
	config.chan.credit = 1 + below(c, window < 64 ? window : 64);
	config.chan.crc = one_in(c, 3);
	config.chan.can_gather = !one_in(c, 4);
	config.chan.pull_bytes = 4096u << below(c, 9);
	/* the upper half of the rails for long data */
	if (c->rails > 1 && one_in(c, 2))
		config.chan.bulk_rails =
			(uint8_t)(((1u << c->rails) - 1) & (0xffu << (c->rails + 1) / 2));
	for (rail = 0; rail < c->rails; rail++)
		choose_rail(c, &config.net.rail[rail], config.chan.crc);
	return config;
}

static uint32_t other_than(struct chaos *c, uint32_t node)
{
	return (node + 1 + below(c, c->nodes - 1)) % c->nodes;
}

static void add_traffic(struct chaos *c)
{
	uint32_t src = below(c, c->nodes), dst = other_than(c, src);
	uint32_t most = c->sim->config.net.mtu - 64, len = 1 + below(c, 60000);
	uint32_t max = one_in(c, 2) ? most : 1 + below(c, most), count = 1 + below(c, 300);

	switch (below(c, 4)) {
	case 0:
		sim_read(c->sim, src, sim_export(c->sim, dst, len), 0, len);
		break;
	case 1:
		sim_write(c->sim, src, sim_export(c->sim, dst, len), 0, len);
		break;
	default:
		sim_send(c->sim, src, dst, count, 1, max);
	}
	sim_touch(c->sim, src);
}

/* Rail 0 always works, so that nobody has to be found dead. */
static void break_rail(struct chaos *c)
{
	uint32_t rail = below(c, c->rails), node = below(c, c->nodes), other = other_than(c, node);
	bool is_up = one_in(c, 2);

	if (!rail)
		return;
	switch (below(c, 3)) {
	case 0:
		simnet_cable(c->sim->net, node, rail, is_up);
		break;
	case 1:
		simnet_path(c->sim->net, node, other, rail, is_up);
		break;
	default:
		if (!c->sim->nodes[node].pause_ns)
			sim_carrier(c->sim, node, rail, is_up);
	}
}

static void toggle_pause(struct chaos *c)
{
	uint32_t node = below(c, c->nodes);

	if (c->sim->nodes[node].pause_ns)
		sim_unpause(c->sim, node);
	else
		sim_pause(c->sim, node);
}

static void withdraw(struct chaos *c)
{
	uint32_t node = below(c, c->nodes);

	if (c->spare) {
		if (!c->sim->nodes[c->spare->node].pause_ns) {
			sim_withdraw(c->sim, c->spare);
			c->spare = NULL;
		}
		return;
	}
	c->spare = sim_export(c->sim, node, 50000);
	sim_read(c->sim, other_than(c, node), c->spare, 0, 50000)->expected = 1;
}

static void heal(struct chaos *c)
{
	uint32_t node, other, rail;

	for (node = 0; node < c->nodes; node++) {
		struct sim_node *n = &c->sim->nodes[node];

		n->is_stalled = false;
		n->hold = 0;
		if (n->pause_ns)
			sim_unpause(c->sim, node);
		for (rail = 0; rail < c->rails; rail++) {
			sim_carrier(c->sim, node, rail, true);
			for (other = 0; other < c->nodes; other++)
				simnet_path(c->sim->net, node, other, rail, true);
		}
	}
}

static bool is_quiet(const struct chaos *c)
{
	uint32_t node;

	for (node = 0; node < c->nodes; node++)
		if (!chan_is_quiet(c->sim->nodes[node].chan))
			return false;
	return true;
}

static void quiesce(struct chaos *c, bool is_stopped)
{
	uint32_t node;

	for (node = 0; node < c->nodes; node++) {
		chan_quiesce(c->sim->nodes[node].chan, is_stopped);
		sim_touch(c->sim, node);
	}
}

/* The job is stopped, saved and goes on with new engines. */
static void replace_all(struct chaos *c)
{
	uint64_t start = sim_now(c->sim);
	uint32_t node;

	heal(c);
	quiesce(c, true);
	while (!is_quiet(c) && sim_now(c->sim) < start + 60 * SEC && !c->sim->is_broken)
		sim_run(c->sim, sim_now(c->sim) + 200 * US);
	if (okf(is_quiet(c), "not quiet after 60 s"))
		for (node = 0; node < c->nodes; node++)
			if (!c->sim->nodes[node].n_held)
				is_int(sim_replace(c->sim, node), 0);
	quiesce(c, false);
}

static void event(struct chaos *c)
{
	uint32_t node = below(c, c->nodes);

	switch (below(c, 12)) {
	case 0:
	case 1:
		break_rail(c);
		break;
	case 2:
		toggle_pause(c);
		break;
	case 3:
		c->sim->nodes[node].is_stalled = !c->sim->nodes[node].is_stalled;
		break;
	case 4:
		c->sim->nodes[node].hold = below(c, 20);
		break;
	case 5:
		withdraw(c);
		break;
	case 6:
		if (one_in(c, 4))
			replace_all(c);
		break;
	default:
		add_traffic(c);
	}
}

static void run_one(uint64_t run)
{
	struct chaos c = {.random = tap_seed() ^ run * 0x9e3779b97f4a7c15ull};
	struct sim_config config;
	int i;

	c.nodes = 2 + below(&c, 3);
	c.rails = 1 + below(&c, SIMNET_RAILS);
	config = choose_config(&c, run);
	c.sim = sim_create(&config);
	c.sim->check_at = 1 + below(&c, 8);
	for (i = 0; i < 4; i++)
		add_traffic(&c);
	for (i = 0; i < EVENTS && !c.sim->is_broken; i++) {
		event(&c);
		sim_run(c.sim, sim_now(c.sim) + (1ull << below(&c, 23)));
	}
	heal(&c);
	sim_finish(c.sim, 300 * SEC);
	sim_settle(c.sim, 300 * SEC);
	sim_destroy(c.sim);
}

TAP_TEST(chaos__random_jobs)
{
	const char *only = getenv("SIM_RUN");
	uint64_t run = only ? strtoull(only, NULL, 0) : 0;
	uint64_t end = only ? run + 1 : RUNS;

	for (; run < end && !tap_has_failed(); run++)
		run_one(run);
	if (tap_has_failed())
		tap_diag("this was run %llu: SIM_RUN=%llu repeats it alone",
			 (unsigned long long)run - 1, (unsigned long long)run - 1);
	ok(run == end);
}
