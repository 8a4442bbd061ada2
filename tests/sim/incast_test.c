// SPDX-License-Identifier: BSD-3-Clause
/* Many senders and one receiver behind a shallow switch queue. */
#include "tests/sim/sim.h"

#define SENDERS 64

static struct sim *start_incast(uint32_t queue_bytes)
{
	struct sim_config config = sim_defaults(SENDERS + 1, 1, queue_bytes);
	struct sim *sim;

	config.net.tx_buffers = 256;
	config.net.rx_buffers = 2048;
	config.net.rail[0].queue_bytes = queue_bytes;
	sim = sim_create(&config);
	sim->check_at = 32;
	return sim;
}

/* Bytes the receiver got, as a share of what its cable can carry since @start. */
static double share_of_link(const struct sim *sim, uint64_t bytes, uint64_t start)
{
	double seconds = (double)(sim_now(sim) - start) / 1e9;

	return (double)bytes / seconds / (double)GBIT;
}

static double loss(const struct sim *sim)
{
	const struct simnet_count *count = simnet_count(sim->net, 0);

	return (double)count->tail_dropped / (double)count->posted;
}

/*
 * All 64 stream messages at once into a queue of 44 packets. Most of the loss is the first moment,
 * when each may send its initial credit of 32 and nobody knows of the others.
 */
TAP_TEST(incast__messages_through_a_shallow_queue)
{
	struct sim *sim = start_incast(64 * 1024);
	uint64_t start = sim_now(sim), bytes = 0;
	uint32_t i;
	double share;

	for (i = 1; i <= SENDERS; i++)
		sim_send(sim, i, 0, 150, 1400, 1400);
	sim_finish(sim, 20 * SEC);
	for (i = 1; i <= SENDERS; i++)
		bytes += sim->flows[(size_t)i * (SENDERS + 1)]->bytes;
	share = share_of_link(sim, bytes, start);
	tap_diag("64 senders, queue 64 KiB: %.1f %% of the link, %.2f %% lost, %llu timeouts",
		 100 * share, 100 * loss(sim), (unsigned long long)sim_timeouts(sim));
	okf(share >= 0.90, "%.1f %% of the link", 100 * share);
	okf(loss(sim) <= 0.12, "%.2f %% lost", 100 * loss(sim));
	is_int(simnet_count(sim->net, 0)->no_buffer, 0);
	sim_destroy(sim);
}

/* The receiver's requests keep the sum of all answers below the queue: nothing is lost. */
TAP_TEST(incast__reads_are_paced_by_the_receiver)
{
	struct sim_config config = sim_defaults(SENDERS + 1, 1, 1);
	uint64_t start, len = 200000;
	struct sim *sim;
	double share;
	uint32_t i;

	config.net.tx_buffers = 256;
	config.net.rail[0].queue_bytes = 128 * 1024;
	config.chan.pull_bytes = 96 * 1024;
	sim = sim_create(&config);
	sim->check_at = 32;
	start = sim_now(sim);
	for (i = 1; i <= SENDERS; i++)
		sim_read(sim, 0, sim_export(sim, i, len), 0, len);
	sim_finish(sim, 20 * SEC);
	share = share_of_link(sim, len * SENDERS, start);
	okf(share >= 0.90, "%.1f %% of the link", 100 * share);
	okf(loss(sim) <= 0.001, "%.2f %% lost", 100 * loss(sim));
	sim_destroy(sim);
}

/* Writes are reads of the target: the same pacing. */
TAP_TEST(incast__writes_are_paced_by_the_receiver)
{
	struct sim_config config = sim_defaults(SENDERS + 1, 1, 2);
	struct sim_region *region;
	uint64_t start, len = 200000;
	struct sim *sim;
	double share;
	uint32_t i;

	config.net.tx_buffers = 256;
	config.net.rail[0].queue_bytes = 128 * 1024;
	config.chan.pull_bytes = 96 * 1024;
	sim = sim_create(&config);
	sim->check_at = 32;
	start = sim_now(sim);
	region = sim_export(sim, 0, SENDERS * len);
	for (i = 1; i <= SENDERS; i++)
		sim_write(sim, i, region, (i - 1) * len, len);
	sim_finish(sim, 20 * SEC);
	share = share_of_link(sim, len * SENDERS, start);
	okf(share >= 0.90, "%.1f %% of the link", 100 * share);
	okf(loss(sim) <= 0.001, "%.2f %% lost", 100 * loss(sim));
	sim_destroy(sim);
}

/* Frames dropped by the receiver's port of those that the data took. */
static double port_loss(const struct sim *sim, uint64_t bytes)
{
	const struct simnet_count *count = simnet_count(sim->net, 0);

	return (double)count->tail_dropped / ((double)bytes / 1400);
}

#define PORT_RATE 25000000 /* 200 Mbit/s */

/* A port of 200 Mbit/s with a queue of 64 KiB; nobody has told the receiver. */
static struct sim_config shallow_port(uint32_t senders, uint64_t salt)
{
	struct sim_config config = sim_defaults(senders + 1, 1, salt);

	config.net.tx_buffers = 512;
	config.net.rail[0].rate = PORT_RATE;
	config.net.rail[0].queue_bytes = 64 * 1024;
	config.chan.window = 256;
	return config;
}

/* Two transfers of @len from each sender at once. */
static void unpaced(uint32_t senders, uint64_t salt, uint64_t len, bool is_write)
{
	struct sim_config config = shallow_port(senders, salt);
	uint64_t bytes = 2 * senders * len, start;
	struct sim_region *region;
	struct sim *sim;
	uint32_t i;
	double share;

	sim = sim_create(&config);
	sim->check_at = 64;
	start = sim_now(sim);
	region = sim_export(sim, 0, is_write ? bytes : 1);
	for (i = 0; i < 2 * senders; i++) {
		if (is_write)
			sim_write(sim, 1 + i / 2, region, i * len, len);
		else
			sim_read(sim, 0, sim_export(sim, 1 + i / 2, len), 0, len);
	}
	sim_finish(sim, 60 * SEC);
	share = (double)bytes / PORT_RATE / ((double)(sim_now(sim) - start) / 1e9);
	tap_diag("%u senders: %.1f %% of the port, %.3f %% lost, %llu timeouts", senders,
		 100 * share, 100 * port_loss(sim, bytes), (unsigned long long)sim_timeouts(sim));
	okf(share >= 0.90, "%.1f %% of the port", 100 * share);
	okf(port_loss(sim, bytes) <= 0.005, "%.3f %% lost", 100 * port_loss(sim, bytes));
	sim_destroy(sim);
}

TAP_TEST(incast__unknown_shallow_port_reads)
{
	uint64_t salt;

	for (salt = 10; salt < 13; salt++)
		unpaced(7, salt, 2000000, false);
	unpaced(64, salt, 250000, false);
}

TAP_TEST(incast__unknown_shallow_port_writes)
{
	unpaced(7, 20, 2000000, true);
	unpaced(64, 21, 250000, true);
}

/* No sender starves: when the first is done the last is not far. */
TAP_TEST(incast__is_fair)
{
	struct sim *sim = start_incast(256 * 1024);
	uint64_t first = UINT64_MAX, last = 0, start = sim_now(sim);
	uint32_t i;

	for (i = 1; i <= SENDERS; i++)
		sim_send(sim, i, 0, 150, 1400, 1400);
	sim_finish(sim, 20 * SEC);
	for (i = 1; i <= SENDERS; i++) {
		uint64_t end = sim->flows[(size_t)i * (SENDERS + 1)]->last_ns - start;

		first = end < first ? end : first;
		last = end > last ? end : last;
	}
	okf(first * 4 >= last, "the first sender needed %llu us, the last %llu us",
	    (unsigned long long)(first / US), (unsigned long long)(last / US));
	sim_destroy(sim);
}

/* Everybody to everybody, a permutation at a time and all at once. */
TAP_TEST(incast__all_to_all)
{
	enum { NODES = 16 };
	struct sim_config config = sim_defaults(NODES, 2, 3);
	struct sim *sim;
	uint32_t i, j;

	config.net.tx_buffers = 256;
	config.net.rail[0].queue_bytes = config.net.rail[1].queue_bytes = 64 * 1024;
	sim = sim_create(&config);
	sim->check_at = 32;
	for (i = 0; i < NODES; i++)
		for (j = 0; j < NODES; j++)
			if (i != j)
				sim_send(sim, i, j, 40, 1, 1400);
	sim_finish(sim, 20 * SEC);
	sim_settle(sim, 20 * SEC);
	sim_destroy(sim);
}
