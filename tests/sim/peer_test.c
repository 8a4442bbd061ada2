// SPDX-License-Identifier: BSD-3-Clause
/* Peers that die, that only seem dead, and that are many. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/wire/codec.h"
#include "tests/sim/sim.h"

#define TIMEOUT (2 * SEC)

static struct sim_config with_timeout(uint32_t nodes, uint64_t salt)
{
	struct sim_config config = sim_defaults(nodes, 2, salt);

	config.chan.peer_timeout_ns = TIMEOUT;
	return config;
}

TAP_TEST(peer__killed_one_is_found_dead_in_time)
{
	struct sim_config config = with_timeout(3, 1);
	struct pm_packet *packet;
	uint64_t killed;
	struct sim *sim;
	void *payload;

	config.dead_is_fine = true;
	sim = sim_create(&config);
	sim->check_at = 16;
	sim_send(sim, 0, 1, 50000, 1, 1400);
	sim_send(sim, 0, 2, 5000, 1, 1400);
	sim_send(sim, 2, 0, 5000, 1, 1400);
	sim_read(sim, 0, sim_export(sim, 1, 30000000), 0, 30000000)->expected = -EPIPE;
	sim_write(sim, 0, sim_export(sim, 1, 30000000), 0, 30000000)->expected = -EPIPE;
	sim_run(sim, sim_now(sim) + 5 * MS);
	sim_kill(sim, 1);
	killed = sim_now(sim);
	sim_run(sim, killed + TIMEOUT - 50 * MS);
	is_int(sim->nodes[0].dead_count, 0);
	sim_run(sim, killed + TIMEOUT + SEC);
	is_int(sim->nodes[0].dead_count, 1);
	is_int(sim->nodes[0].last_dead, 1);
	ok(chan_peer_is_dead(sim_peer(sim, 0, 1)));
	is_int(chan_reserve(sim->nodes[0].chan, sim_peer(sim, 0, 1), 10, &packet, &payload),
	       -EPIPE);
	sim_finish(sim, 30 * SEC);
	is_int(sim->nodes[0].dead_count, 1);
	is_int(sim->nodes[2].dead_count, 0);
	is_int(sim->nodes[0].stats.peers_dead, 1);
	ok(chan_is_acked(sim->nodes[0].chan, sim_peer(sim, 0, 1)));
	sim_settle(sim, 30 * SEC);
	sim_destroy(sim);
}

TAP_TEST(peer__told_dead_from_outside)
{
	struct sim_config config = with_timeout(2, 2);
	struct sim *sim;

	config.dead_is_fine = true;
	sim = sim_create(&config);
	sim_send(sim, 0, 1, 500, 1, 1400);
	sim_read(sim, 0, sim_export(sim, 1, 300000), 0, 300000)->expected = -EPIPE;
	sim_run(sim, sim_now(sim) + 500 * US);
	sim_kill(sim, 1);
	chan_peer_dead(sim->nodes[0].chan, sim_peer(sim, 0, 1), ECONNREFUSED);
	sim_touch(sim, 0);
	is_int(sim->nodes[0].dead_count, 1);
	is_int(sim->nodes[0].last_error, ECONNREFUSED);
	chan_peer_dead(sim->nodes[0].chan, sim_peer(sim, 0, 1), ECONNREFUSED);
	is_int(sim->nodes[0].dead_count, 1);
	sim_settle(sim, 10 * SEC);
	sim_destroy(sim);
}

TAP_TEST(peer__deleted_in_traffic)
{
	uint64_t delay;

	for (delay = 0; delay < 30 && !tap_has_failed(); delay++) {
		struct sim_config config = with_timeout(3, delay);
		struct sim *sim;

		config.dead_is_fine = true;
		config.net.rail[0].loss = 0.02;
		sim = sim_create(&config);
		sim->nodes[0].hold = 5;
		sim_send(sim, 0, 1, 500, 1, 1400);
		sim_send(sim, 1, 0, 500, 1, 1400);
		sim_send(sim, 0, 2, 500, 1, 1400);
		sim_read(sim, 0, sim_export(sim, 1, 300000), 0, 300000)->expected = 1;
		sim_read(sim, 1, sim_export(sim, 0, 300000), 0, 300000)->expected = 1;
		sim_run(sim, sim_now(sim) + delay * 100 * US);
		sim_kill(sim, 1);
		chan_peer_del(sim->nodes[0].chan, sim_peer(sim, 0, 1));
		chan_check(sim->nodes[0].chan);
		sim_finish(sim, 10 * SEC);
		sim_destroy(sim);
	}
}

/* Silence without unanswered packets is no death: the peer may compute for an hour. */
TAP_TEST(peer__idle_for_an_hour)
{
	struct sim_config config = with_timeout(2, 3);
	struct sim *sim = sim_create(&config);

	sim_send(sim, 0, 1, 10, 1, 1400);
	sim_finish(sim, SEC);
	sim_run(sim, sim_now(sim) + 3600 * SEC);
	sim_send(sim, 0, 1, 10, 1, 1400);
	sim_finish(sim, SEC);
	sim_destroy(sim);
}

/*
 * A node that waits for a computing peer may probe it all the time: the peer is not found dead, its
 * rails stay in use, and messages sent later still arrive.
 */
TAP_TEST(peer__probed_while_it_computes)
{
	struct sim_config config = with_timeout(2, 7);
	struct sim *sim;
	int i;

	config.net.rx_buffers = 64;
	sim = sim_create(&config);
	sim_send(sim, 0, 1, 10, 1, 1400);
	sim_finish(sim, SEC);
	sim_pause(sim, 1);
	for (i = 0; i < 600; i++) {
		is_int(chan_probe(sim->nodes[0].chan, sim_peer(sim, 0, 1), sim_now(sim)), 0);
		sim_touch(sim, 0);
		sim_run(sim, sim_now(sim) + SEC / 2);
	}
	is_int(sim->nodes[0].dead_count, 0);
	is_int(sim->nodes[0].rails[0].deaths + sim->nodes[0].rails[1].deaths, 0);
	ok(sim->nodes[0].rails[0].tx_packets + sim->nodes[0].rails[1].tx_packets < 1300);
	sim_unpause(sim, 1);
	sim_send(sim, 1, 0, 100, 1, 1400);
	sim_send(sim, 0, 1, 100, 1, 1400);
	sim_finish(sim, 5 * SEC);
	sim_settle(sim, 10 * SEC);
	is_int(sim->nodes[0].dead_count + sim->nodes[1].dead_count, 0);
	sim_destroy(sim);
}

/* The whole job stands still with packets under way; clocks and timers stand still too. */
TAP_TEST(peer__job_frozen_for_an_hour)
{
	struct sim_config config = with_timeout(3, 4);
	struct sim *sim;
	uint32_t i, j;
	int round;

	config.net.rail[0].loss = 0.02;
	config.net.rx_buffers = 64;
	config.chan.credit = 8;
	sim = sim_create(&config);
	for (i = 0; i < 3; i++)
		for (j = 0; j < 3; j++)
			if (i != j)
				sim_send(sim, i, j, 1000, 1, 1400);
	for (round = 0; round < 5; round++) {
		sim_run(sim, sim_now(sim) + MS);
		for (i = 0; i < 3; i++)
			sim_pause(sim, i);
		sim_run(sim, sim_now(sim) + 3600 * SEC);
		for (i = 0; i < 3; i++)
			sim_unpause(sim, i);
	}
	sim_finish(sim, 20 * SEC);
	sim_destroy(sim);
}

static void patient_others(uint32_t node, struct chan_config *config)
{
	config->peer_timeout_ns = node == 1 ? TIMEOUT : 600 * SEC;
}

/*
 * One node stands still for much longer than its own timeout, then goes on: it must not take the
 * others for dead, nor the others it. Its device queue overflowed meanwhile.
 */
TAP_TEST(peer__one_node_paused_for_a_minute)
{
	struct sim_config config = with_timeout(3, 5);
	struct sim *sim;
	uint32_t i, j;
	int round;

	config.tune = patient_others;
	config.net.rx_buffers = 64;
	config.chan.credit = 16;
	sim = sim_create(&config);
	sim->check_at = 4;
	for (i = 0; i < 3; i++)
		for (j = 0; j < 3; j++)
			if (i != j)
				sim_send(sim, i, j, 2000, 1, 1400);
	sim_read(sim, 0, sim_export(sim, 1, 3000000), 0, 3000000);
	sim_read(sim, 1, sim_export(sim, 0, 3000000), 0, 3000000);
	for (round = 0; round < 3; round++) {
		sim_run(sim, sim_now(sim) + 2 * MS);
		sim_pause(sim, 1);
		sim_run(sim, sim_now(sim) + 60 * SEC);
		sim_unpause(sim, 1);
	}
	sim_finish(sim, 60 * SEC);
	sim_settle(sim, 60 * SEC);
	sim_destroy(sim);
}

/* A receiver that computes with its engine unserved looks like the same from outside. */
TAP_TEST(peer__restarts_fast_after_a_pause)
{
	struct sim_config config = with_timeout(2, 6);
	struct sim *sim = sim_create(&config);
	uint64_t resumed;

	sim_send(sim, 0, 1, 3000, 1400, 1400);
	sim_run(sim, sim_now(sim) + 2 * MS);
	sim_pause(sim, 1);
	sim_run(sim, sim_now(sim) + 500 * MS);
	sim_unpause(sim, 1);
	resumed = sim_now(sim);
	sim_finish(sim, 5 * SEC);
	okf(sim_now(sim) - resumed < 1100 * MS, "took %llu ms after the pause",
	    (unsigned long long)((sim_now(sim) - resumed) / MS));
	sim_destroy(sim);
}

/* ---- a context of a job with 100000 nodes ---- */

#define MANY 100000

/* A device that keeps the last packet it was given, and nothing else. */
struct stub {
	struct pm_packet packets[64];
	struct pm_packet *pool;
	uint32_t dst; /* of the last post */
	uint8_t last[2048];
	uint32_t last_len;
};

static struct pm_packet *stub_alloc(void *arg)
{
	struct stub *stub = arg;
	struct pm_packet *packet = stub->pool;

	if (packet)
		stub->pool = packet->next;
	return packet;
}

static void stub_free(void *arg, struct pm_packet *packet)
{
	struct stub *stub = arg;

	packet->len = 0;
	packet->next = stub->pool;
	stub->pool = packet;
}

static int stub_post(void *arg, uint32_t rail, void *dev_peer, struct pm_packet *packet)
{
	struct stub *stub = arg;

	is_int(rail, 0);
	stub->dst = (uint32_t)(uintptr_t)dev_peer;
	memcpy(stub->last, packet->data, packet->len);
	stub->last_len = packet->len;
	return 0;
}

static void stub_return(void *arg, uint64_t token)
{
	(void)arg;
	is_int(token, 77);
}

static struct chan_peer *stub_unknown(void *arg, uint32_t node)
{
	(void)arg;
	(void)node;
	return NULL;
}

static void stub_dead(void *arg, struct chan_peer *peer, int error)
{
	(void)arg;
	okf(false, "node %u is dead: %d", chan_peer_node(peer), error);
}

static const struct chan_ops stub_ops = {.tx_alloc = stub_alloc,
					 .tx_free = stub_free,
					 .tx_post = stub_post,
					 .rx_return = stub_return,
					 .unknown_peer = stub_unknown,
					 .peer_dead = stub_dead};

static struct stub *stub_create(void)
{
	struct stub *stub = calloc(1, sizeof(*stub));
	int i;

	for (i = 0; i < 64; i++) {
		stub->packets[i].data = malloc(2048);
		stub->packets[i].room = 2048;
		stub_free(stub, &stub->packets[i]);
	}
	return stub;
}

static void stub_destroy(struct stub *stub)
{
	struct pm_packet *packet;
	int n = 0, i;

	for (packet = stub->pool; packet; packet = packet->next)
		n++;
	is_int(n, 64);
	for (i = 0; i < 64; i++)
		free(stub->packets[i].data);
	free(stub);
}

/* Sends one message to the peer and answers it as the peer would. */
static void say_hello(struct chan *chan, struct stub *stub, struct chan_peer *peer, uint64_t now)
{
	_Alignas(8) uint8_t data[sizeof(struct wire_header) + sizeof(struct wire_ack) + 8] = {0};
	struct wire_header sent,
		header = {.version = WIRE_VERSION, .type = WIRE_ACK, .key = SIM_KEY};
	struct wire_ack ack = {.rail_next = {1}};
	struct pm_packet *packet;
	void *payload;

	if (!is_int(chan_reserve(chan, peer, 8, &packet, &payload), 0))
		return;
	memcpy(payload, "greeting", 8);
	stub->last_len = 0;
	chan_submit(chan, peer, packet, 8, now);
	chan_poll(chan, now);
	is_int(wire_decode(stub->last, stub->last_len, 0, &sent), DROP_NONE);
	is_int(sent.dst, chan_peer_node(peer));
	header.src = sent.dst;
	header.dst = sent.src;
	header.ack = sent.seq + 1;
	header.length = sizeof(ack);
	header.credit = 64;
	wire_put_header(data, &header);
	wire_put_ack(data + sizeof(header), &ack, NULL);
	chan_input(chan,
		   &(struct pm_rx){.data = data, .len = sizeof(header) + sizeof(ack), .token = 77},
		   1, now);
}

TAP_TEST(peer__hundred_thousand_cost_256_bytes_each_while_idle)
{
	struct chan_config config = {.self = MANY,
				     .key = SIM_KEY,
				     .window = 512,
				     .credit = 32,
				     .rx_buffers = 4096,
				     .n_rails = 1,
				     .pull_bytes = 1 << 20};
	struct stub *stub = stub_create();
	struct region_table *regions = region_table_create(1);
	uint64_t before, empty, now = SEC;
	struct chan_peer *peer;
	struct chan *chan;
	double each, real;
	uint32_t i;

	config.regions = regions;
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	is_int(chan_create(&config, &stub_ops, stub, &chan), 0);
	empty = chan_memory(chan);
	okf(empty < 8 << 20, "an engine without peers holds %llu bytes", (unsigned long long)empty);
	ok(chan_idle_peer_bytes() <= 256);
	for (i = 0; i < MANY; i++)
		is_int(chan_peer_add(chan, i, (void *)(uintptr_t)i, 1, 1500, &peer), 0);
	for (i = 0; i < MANY && !tap_has_failed(); i++) {
		now += 10 * US;
		say_hello(chan, stub, chan_peer_find(chan, i), now);
	}
	now += 10 * SEC;
	chan_poll(chan, now);
	chan_check(chan);
	ok(chan_is_quiet(chan));
	each = (double)(chan_memory(chan) - empty) / MANY;
	real = (double)(mallinfo2().uordblks + mallinfo2().hblkhd - before) / MANY;
	tap_diag("each of %d idle peers: %.1f bytes by the engine, %.1f by malloc (%zu its state)",
		 MANY, each, real, chan_idle_peer_bytes());
	okf(each <= 256, "%.1f bytes for an idle peer", each);
	okf(real <= 256 + (double)empty / MANY, "%.1f bytes in truth", real);
	chan_destroy(chan);
	region_table_destroy(regions);
	stub_destroy(stub);
}
