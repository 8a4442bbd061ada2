// SPDX-License-Identifier: BSD-3-Clause
/* Damaged packets, strangers, and packets made up to do harm. */
#include <string.h>

#include "pmcore/wire/codec.h"
#include "tests/sim/sim.h"

static void start_traffic(struct sim *sim, uint32_t count)
{
	sim_send(sim, 0, 1, count, 1, 1400);
	sim_send(sim, 1, 0, count, 1, 1400);
	sim_read(sim, 0, sim_export(sim, 1, 200000), 0, 200000);
	sim_write(sim, 0, sim_export(sim, 1, 200000), 0, 200000);
}

/* One packet in five is damaged: all of them are found, nothing wrong is delivered. */
TAP_TEST(hostile__corruption_with_crc)
{
	struct sim_config config = sim_defaults(2, 2, 1);
	struct sim *sim;
	uint64_t damaged;

	config.chan.crc = true;
	config.net.rail[0].corrupt = config.net.rail[1].corrupt = 0.2;
	sim = sim_create(&config);
	start_traffic(sim, 1000);
	sim_finish(sim, 60 * SEC);
	damaged = simnet_count(sim->net, 0)->corrupted + simnet_count(sim->net, 1)->corrupted;
	ok(damaged > 100);
	ok(sim_drops(sim, DROP_CRC) > damaged / 2);
	sim_destroy(sim);
}

/* Without CRC the contents may be wrong, but the engine stays sound: no crash, no lost buffer. */
TAP_TEST(hostile__corruption_without_crc_keeps_the_engine_sound)
{
	uint64_t seed;

	for (seed = 0; seed < 30; seed++) {
		struct sim_config config = sim_defaults(2, 2, seed);
		struct sim *sim;
		int i;

		config.net.rail[0].corrupt = config.net.rail[1].corrupt = 0.2;
		config.chan.peer_timeout_ns = 5 * SEC;
		config.dead_is_fine = true;
		sim = sim_create(&config);
		sim->is_careless = true;
		start_traffic(sim, 300);
		for (i = 0; i < (int)sim->n_ops; i++)
			sim->ops[i]->expected = 1;
		sim_run(sim, sim_now(sim) + SEC);
		sim_destroy(sim);
		if (tap_has_failed())
			break;
	}
	ok(seed == 30);
}

static void other_key(uint32_t node, struct chan_config *config)
{
	if (node == 2)
		config->key ^= 1;
}

TAP_TEST(hostile__stranger_with_another_key)
{
	struct sim_config config = sim_defaults(3, 2, 2);
	struct sim_flow *from, *to;
	struct sim *sim;

	config.tune = other_key;
	sim = sim_create(&config);
	start_traffic(sim, 500);
	from = sim_send(sim, 2, 1, 100, 1, 1400);
	to = sim_send(sim, 1, 2, 100, 1, 1400);
	sim_run(sim, sim_now(sim) + 2 * SEC);
	is_int(from->received, 0);
	is_int(to->received, 0);
	ok(sim->nodes[1].rails[0].drops[DROP_KEY] > 0);
	ok(sim->nodes[2].rails[0].drops[DROP_KEY] > 0);
	is_int(sim->nodes[0].rails[0].drops[DROP_KEY], 0);
	from->is_cut = to->is_cut = true;
	is_int(sim->flows[1]->received, 500);
	sim_destroy(sim);
}

/* Replays packets of the wire a second and more later, when their numbers are long used. */
struct recorder {
	uint8_t packets[64][1500];
	uint32_t lens[64];
	uint32_t n;
};

static void record(void *arg, const struct simnet_transit *transit, struct simnet_fate *fate)
{
	struct recorder *recorder = arg;

	(void)fate;
	if (transit->src != 0 || recorder->n == 64)
		return;
	memcpy(recorder->packets[recorder->n], transit->data, transit->len);
	recorder->lens[recorder->n++] = transit->len;
}

/* Puts bytes on the wire as if node 0 had sent them. */
static void inject(struct sim *sim, uint32_t rail, const void *data, uint32_t len)
{
	struct pm_packet *packet = simnet_alloc(sim->net, 0);

	if (!ok(packet))
		return;
	memcpy(packet->data, data, len);
	packet->len = len;
	simnet_post(sim->net, 0, rail, 1, packet);
	simnet_free(sim->net, 0, packet);
}

TAP_TEST(hostile__old_packets_replayed)
{
	struct sim_config config = sim_defaults(2, 2, 3);
	struct recorder recorder = {.n = 0};
	struct sim *sim;
	uint32_t i;

	config.transit = record;
	config.transit_arg = &recorder;
	sim = sim_create(&config);
	start_traffic(sim, 300);
	sim_finish(sim, 10 * SEC);
	is_int(recorder.n, 64);
	for (i = 0; i < 64; i++)
		inject(sim, i % 2, recorder.packets[i], recorder.lens[i]);
	start_traffic(sim, 300);
	sim_finish(sim, 10 * SEC);
	sim_settle(sim, 10 * SEC);
	sim_destroy(sim);
}

/* A sender that ignores its credit gets no more buffers than it was granted. */
TAP_TEST(hostile__sender_beyond_its_credit)
{
	struct sim_config config = sim_defaults(2, 1, 4);
	struct sim *sim;
	uint32_t i;

	config.chan.credit = 8;
	config.net.rx_buffers = 64;
	sim = sim_create(&config);
	sim->is_careless = true;
	sim->nodes[1].is_stalled = true;
	for (i = 0; i < 64; i++) {
		_Alignas(8) uint8_t data[64] = {0};
		struct wire_header header = {.version = WIRE_VERSION,
					     .type = WIRE_DATA,
					     .length = 16,
					     .key = SIM_KEY,
					     .dst = 1,
					     .seq = i,
					     .rail_seq = i};
		struct wire_msg msg = {.length = 8, .kind = WIRE_DATAGRAM, .op = 63 - i};

		wire_put_header(data, &header);
		wire_put_msg(data + sizeof(header), &msg);
		inject(sim, 0, data, sizeof(data));
		sim_run(sim, sim_now(sim) + 100 * US);
	}
	okf(simnet_rx_lent(sim->net, 1) <= 64 * 7 / 8, "%u of 64 buffers taken",
	    simnet_rx_lent(sim->net, 1));
	ok(sim_drops(sim, DROP_NO_BUFFER) > 0);
	sim_destroy(sim);
}

/* Well-formed packets with the right key and wild numbers, as a bug or an insider would send. */
TAP_TEST(hostile__wild_numbers_under_the_right_key)
{
	uint64_t seed;

	for (seed = 0; seed < 10; seed++) {
		struct sim_config config = sim_defaults(2, 2, seed);
		uint64_t random;
		struct sim *sim;
		int i;

		config.dead_is_fine = true;
		sim = sim_create(&config);
		sim->is_careless = true;
		random = config.net.seed;
		start_traffic(sim, 300);
		for (i = 0; i < 2; i++)
			sim->ops[i]->expected = 1;
		for (i = 0; i < 300; i++) {
			_Alignas(8) uint8_t data[200] = {0};
			struct wire_header header = {.version = WIRE_VERSION,
						     .type = (uint8_t)(1 + tap_rand(&random) % 3),
						     .flags = (uint8_t)(tap_rand(&random) &
									~WIRE_F_CRC),
						     .rail = (uint8_t)(tap_rand(&random) % 8),
						     .credit = (uint16_t)tap_rand(&random),
						     .key = SIM_KEY,
						     .src = 0,
						     .dst = 1,
						     .seq = (uint32_t)tap_rand(&random) % 1000,
						     .rail_seq = (uint32_t)tap_rand(&random),
						     .ack = (uint32_t)tap_rand(&random) % 1000,
						     .sack = (uint32_t)tap_rand(&random),
						     .rail_ack = (uint32_t)tap_rand(&random)};
			struct wire_msg msg = {.length = 100,
					       .kind = (uint8_t)(1 + i % 6),
					       .op = (uint32_t)tap_rand(&random)};
			uint64_t word;
			size_t at;

			for (at = 56; at < sizeof(data) - 8; at += 8) {
				word = tap_rand(&random) >> tap_rand(&random) % 64;
				memcpy(data + at, &word, 8);
			}
			header.length = header.type == WIRE_PROBE ? 0
					: header.type == WIRE_ACK ? sizeof(struct wire_ack)
								  : 108;
			if (header.type == WIRE_ACK)
				memset(data + 48 + 32, 0, 8);
			else
				wire_put_msg(data + 48, &msg);
			wire_put_header(data, &header);
			inject(sim, (uint32_t)i % 2, data, 48u + header.length);
			sim_run(sim, sim_now(sim) + tap_rand(&random) % (100 * US));
		}
		sim_destroy(sim);
		if (tap_has_failed())
			break;
	}
	ok(seed == 10);
}
