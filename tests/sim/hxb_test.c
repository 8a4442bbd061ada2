// SPDX-License-Identifier: BSD-3-Clause
/*
 * Jobs on hypercrossbars: ways over relays, shallow switches, relays and lines that die on the way.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

/* A grid of 1 Gbit/s and small frames; a dimension of 0 is not there. */
static struct hxbnet_config grid(uint32_t x, uint32_t y, uint32_t z, uint32_t lanes, uint64_t salt)
{
	struct hxbnet_config config = hxbnet_defaults();
	uint64_t state = tap_seed() ^ (salt * 0x9e3779b97f4a7c15ull);

	config.dims[0] = x;
	config.dims[1] = y;
	config.dims[2] = z;
	config.n_dims = z ? 3 : 2;
	config.lanes = lanes;
	config.mtu = 1500 - ETH_MTU_OVERHEAD;
	config.tx_buffers = 1024;
	config.detect_ns = 10 * MS;
	config.seed = tap_rand(&state);
	return config;
}

static struct sim *start(const struct hxbnet_config *hxb)
{
	struct sim_config config = sim_hxb(hxb);
	struct sim *sim = sim_create(&config);

	sim->check_at = 16;
	return sim;
}

static void all_to_all(struct sim *sim, uint32_t count, uint32_t max)
{
	uint32_t n = sim->config.net.nodes, i, j;

	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			if (i != j)
				sim_send(sim, i, j, count, 1, max);
}

static void all_read_all(struct sim *sim, uint64_t len)
{
	uint32_t n = sim->config.net.nodes, i, j;

	for (i = 0; i < n; i++) {
		struct sim_region *region = sim_export(sim, i, len);

		for (j = 0; j < n; j++)
			if (i != j)
				sim_read(sim, j, region, 0, len);
	}
}

/* ---- ways ---- */

struct steps {
	const struct hxbnet_config *config;
	uint32_t last_dim; /* the dimension corrected last, + 1 */
};

static void step(void *arg, uint32_t from, uint32_t rail, uint32_t to)
{
	struct steps *steps = arg;
	uint32_t dim = rail / steps->config->lanes;

	okf(dim + 1 > steps->last_dim, "dimension %u after dimension %u", dim, steps->last_dim - 1);
	okf(from != to, "a link from %u to itself", from);
	steps->last_dim = dim + 1;
}

static uint32_t differences(const struct hxbnet_config *config, uint32_t a, uint32_t b)
{
	uint32_t n = 0, d;

	for (d = 0; d < config->n_dims; a /= config->dims[d], b /= config->dims[d], d++)
		n += a % config->dims[d] != b % config->dims[d];
	return n;
}

TAP_TEST(hxbnet_walk__corrects_each_coordinate_once_in_order)
{
	static const struct hxbnet_ops none;
	struct hxbnet_config config = grid(4, 3, 5, 2, 1);
	struct hxbnet *net = hxbnet_create(&config, &none, NULL);
	uint32_t n = hxbnet_hosts(&config), i, j, rail;

	is_int(n, 60);
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			for (rail = 0; i != j && rail < 6; rail++) {
				struct steps steps = {.config = &config};

				if (hxbnet_rails(net, i, j) >> rail & 1)
					is_int(hxbnet_walk(net, i, j, rail, step, &steps),
					       differences(&config, i, j));
			}
	hxbnet_destroy(net);
}

static void count_step(void *arg, uint32_t from, uint32_t rail, uint32_t to)
{
	(void)from;
	(void)rail;
	(void)to;
	++*(int *)arg;
}

/* Once the neighbours know, every pair of living hosts is reached around any one that is dead. */
TAP_TEST(hxbnet_walk__around_each_dead_host)
{
	static const struct hxbnet_ops none;
	struct hxbnet_config config = grid(3, 3, 2, 1, 2);
	struct hxbnet *net = hxbnet_create(&config, &none, NULL);
	uint32_t n = hxbnet_hosts(&config), dead, i, j, rail;

	for (dead = 0; dead < n; dead++) {
		hxbnet_host(net, dead, false);
		hxbnet_advance(net, hxbnet_now(net) + 2 * config.detect_ns);
		for (i = 0; i < n; i++)
			for (j = 0; j < n; j++) {
				int links = 0;

				if (i == j || i == dead || j == dead)
					continue;
				rail = (uint32_t)__builtin_ctz(hxbnet_rails(net, i, j));
				okf(hxbnet_walk(net, i, j, rail, count_step, &links) > 0,
				    "no way from %u to %u around %u", i, j, dead);
			}
		hxbnet_host(net, dead, true);
		hxbnet_advance(net, hxbnet_now(net) + 2 * config.detect_ns);
	}
	hxbnet_destroy(net);
}

/* ---- everything arrives, once and in order: sim.h checks ---- */

TAP_TEST(hxb__all_to_all_of_messages_with_loss)
{
	static const uint32_t shapes[][4] = {{2, 2, 0, 1}, {3, 3, 2, 1}, {2, 2, 2, 2}};
	uint32_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const uint32_t *s = shapes[i];
		struct hxbnet_config config = grid(s[0], s[1], s[2], s[3], 10 + i);
		struct sim *sim;

		config.loss = 0.01;
		sim = start(&config);
		all_to_all(sim, 60, 1400);
		sim_finish(sim, 20 * SEC);
		sim_settle(sim, 20 * SEC);
		ok(hxbnet_count(sim->hxb)->relayed > 0);
		ok(hxbnet_count(sim->hxb)->lost > 0);
		is_int(hxbnet_count(sim->hxb)->detours, 0);
		sim_destroy(sim);
	}
}

TAP_TEST(hxb__all_to_all_of_reads_with_loss)
{
	struct hxbnet_config config = grid(2, 2, 2, 2, 20);
	struct sim *sim;

	config.loss = 0.01;
	sim = start(&config);
	all_read_all(sim, 50000);
	sim_finish(sim, 20 * SEC);
	sim_destroy(sim);
}

/* A port holds ten frames, a NIC sixteen that it relays: both drop, and all comes nevertheless. */
TAP_TEST(hxb__shallow_buffers)
{
	struct hxbnet_config config = grid(3, 3, 2, 1, 30);
	struct sim *sim;

	config.queue_bytes = 16 * 1024;
	config.relay_packets = 16;
	sim = start(&config);
	all_to_all(sim, 40, 1400);
	all_read_all(sim, 20000);
	sim_finish(sim, 60 * SEC);
	ok(hxbnet_count(sim->hxb)->tail_dropped > 0);
	ok(hxbnet_count(sim->hxb)->backlog_max <= 16 * 1024);
	sim_destroy(sim);
}

/* The host that passes frames on is slower than the wire: its ring drops. */
TAP_TEST(hxb__slow_relay)
{
	struct hxbnet_config config = grid(2, 2, 0, 1, 31);
	struct sim *sim;

	config.relay_ns = 40 * US;
	config.ring_packets = 8;
	sim = start(&config);
	sim_send(sim, 0, 3, 600, 1400, 1400);
	sim_finish(sim, 20 * SEC);
	ok(hxbnet_count(sim->hxb)->relay_dropped > 0);
	sim_destroy(sim);
}

TAP_TEST(hxb__both_lanes_carry)
{
	struct hxbnet_config config = grid(2, 2, 2, 2, 32);
	struct sim_flow *flow;
	struct sim *sim;

	config.mtu = 9000 - ETH_MTU_OVERHEAD;
	sim = start(&config);
	flow = sim_send(sim, 0, 7, 2000, 8900, 8900);
	sim_finish(sim, 20 * SEC);
	okf(sim_goodput(flow) > 1.9 * (double)GBIT, "%.0f B/s over two lanes", sim_goodput(flow));
	sim_destroy(sim);
}

static uint64_t digest_of_run(uint64_t salt)
{
	struct hxbnet_config config = grid(3, 2, 2, 2, salt);
	uint64_t digest;
	struct sim *sim;

	config.loss = 0.01;
	config.queue_bytes = 32 * 1024;
	sim = start(&config);
	all_to_all(sim, 20, 1400);
	sim_finish(sim, 20 * SEC);
	digest = hxbnet_digest(sim->hxb);
	sim_destroy(sim);
	return digest;
}

TAP_TEST(hxb__same_seed_same_run)
{
	ok(digest_of_run(40) == digest_of_run(40));
	ok(digest_of_run(40) != digest_of_run(41));
}

/* ---- failures ---- */

/* The longest time in which a flow got nothing, from now until it is complete. */
static uint64_t longest_silence(struct sim *sim, const struct sim_flow *flow, uint64_t limit_ns)
{
	uint64_t end = sim_now(sim) + limit_ns, since = sim_now(sim), longest = 0;
	uint32_t received = flow->received;

	while (flow->received < flow->total && sim_now(sim) < end && !tap_has_failed()) {
		sim_run(sim, sim_now(sim) + MS / 4);
		if (flow->received == received)
			continue;
		if (sim_now(sim) - since > longest)
			longest = sim_now(sim) - since;
		since = sim_now(sim);
		received = flow->received;
	}
	return longest;
}

/* Others send over the dead relay; it had nothing to say itself. */
TAP_TEST(hxb__relay_dies_under_traffic)
{
	uint64_t salt;

	for (salt = 50; salt < 53; salt++) {
		struct hxbnet_config config = grid(3, 3, 0, 1, salt);
		struct sim_flow *flow;
		struct sim *sim;
		uint64_t silence;

		config.loss = salt == 52 ? 0.01 : 0;
		sim = start(&config);
		flow = sim_send(sim, 0, 4, 4000, 1400, 1400);
		sim_send(sim, 4, 0, 500, 100, 1400);
		sim_read(sim, 0, sim_export(sim, 7, 500000), 0, 500000);
		sim_run(sim, sim_now(sim) + 10 * MS);
		ok(flow->received > 100 && flow->received < 2000);
		hxbnet_host(sim->hxb, 1, false);
		silence = longest_silence(sim, flow, 10 * SEC);
		sim_finish(sim, 10 * SEC);
		is_int(flow->received, 4000);
		ok(hxbnet_count(sim->hxb)->dark > 0);
		ok(hxbnet_count(sim->hxb)->detours > 0);
		okf(silence < config.detect_ns + 60 * MS, "%llu us without progress",
		    (unsigned long long)(silence / US));
		sim_destroy(sim);
	}
}

/* Of two lanes one dies: the other takes its traffic, and nobody steps aside. */
TAP_TEST(hxb__line_of_one_lane_dies_and_returns)
{
	struct hxbnet_config config = grid(2, 2, 2, 2, 60);
	struct sim *sim = start(&config);
	struct sim_flow *flow;

	flow = sim_send(sim, 0, 7, 8000, 1400, 1400);
	all_to_all(sim, 200, 1400);
	sim_run(sim, sim_now(sim) + 10 * MS);
	hxbnet_line(sim->hxb, 0, 1, false);
	sim_run(sim, sim_now(sim) + 60 * MS);
	ok(flow->received < flow->total);
	ok(hxbnet_count(sim->hxb)->dark > 0);
	hxbnet_line(sim->hxb, 0, 1, true);
	sim_finish(sim, 20 * SEC);
	is_int(hxbnet_count(sim->hxb)->detours, 0);
	sim_destroy(sim);
}

TAP_TEST(hxb__cable_unplugged_is_seen_at_once)
{
	struct hxbnet_config config = grid(2, 2, 0, 1, 61);
	struct sim *sim = start(&config);

	sim_send(sim, 0, 3, 3000, 1400, 1400);
	sim_send(sim, 0, 1, 500, 1400, 1400);
	sim_run(sim, sim_now(sim) + 5 * MS);
	hxbnet_cable(sim->hxb, 0, 0, false);
	sim_finish(sim, 20 * SEC);
	ok(hxbnet_count(sim->hxb)->detours > 0);
	sim_destroy(sim);
}

/* Both ways to a host are shut: its frames are dropped for that reason, and come when one opens. */
TAP_TEST(hxb__no_way_for_a_while)
{
	struct hxbnet_config config = grid(2, 2, 0, 1, 62);
	struct sim *sim = start(&config);
	struct sim_flow *flow;

	flow = sim_send(sim, 0, 3, 3000, 1400, 1400);
	sim_run(sim, sim_now(sim) + 5 * MS);
	hxbnet_host(sim->hxb, 1, false);
	hxbnet_host(sim->hxb, 2, false);
	sim_run(sim, sim_now(sim) + 300 * MS);
	ok(hxbnet_count(sim->hxb)->no_way > 0);
	ok(flow->received < flow->total);
	hxbnet_host(sim->hxb, 2, true);
	sim_finish(sim, 20 * SEC);
	sim_destroy(sim);
}

/* A process that is gone leaves a host that relays. */
TAP_TEST(hxb__process_dies_and_its_host_relays)
{
	struct hxbnet_config hxb = grid(3, 3, 0, 1, 63);
	struct sim_config config = sim_hxb(&hxb);
	struct sim_flow *flow;
	struct sim *sim;

	config.dead_is_fine = true;
	config.chan.peer_timeout_ns = SEC;
	sim = sim_create(&config);
	all_to_all(sim, 100, 1400);
	flow = sim_send(sim, 0, 4, 1000, 1400, 1400);
	sim_run(sim, sim_now(sim) + 2 * MS);
	sim_kill(sim, 1);
	sim_finish(sim, 20 * SEC);
	is_int(flow->received, flow->total);
	is_int(hxbnet_count(sim->hxb)->detours, 0);
	sim_destroy(sim);
}

/* ---- many to one ---- */

/*
 * Sixteen come in by the receiver's last rail, all over the NIC of the host before it, which serves
 * its own frames and those it relays in turn: it has half of the link. Those equally far away get
 * the same.
 */
TAP_TEST(hxb__incast_fills_the_port_and_is_fair_at_equal_distance)
{
	struct hxbnet_config config = grid(4, 4, 2, 1, 70);
	uint64_t begin, first = UINT64_MAX, last = 0;
	const uint64_t wire = 150 * 1500 * 16 * SEC / GBIT;
	struct sim *sim;
	uint32_t i;

	config.queue_bytes = 64 * 1024;
	sim = start(&config);
	sim->check_at = 64;
	begin = sim_now(sim);
	for (i = 1; i < 32; i++)
		sim_send(sim, i, 0, 150, 1400, 1400);
	sim_finish(sim, 20 * SEC);
	for (i = 16; i < 32; i++) {
		uint64_t end = sim->flows[(size_t)i * 32]->last_ns - begin;

		first = i % 4 && i / 4 % 4 && end < first ? end : first;
		last = end > last ? end : last;
	}
	okf(first * 2 >= last, "the first of the farthest needed %llu us, the last %llu us",
	    (unsigned long long)(first / US), (unsigned long long)(last / US));
	okf(last * 9 <= wire * 10, "%llu us, the wire would need %llu us",
	    (unsigned long long)(last / US), (unsigned long long)(wire / US));
	sim_destroy(sim);
}
