// SPDX-License-Identifier: BSD-3-Clause
/* Long data between two nodes with a rail for single packets, 0, and one for long data, 1. */
#include "tests/sim/sim.h"

#define SINGLE 0
#define BULK 1
#define LEN (4u << 20)

/* Reads of node 0 of memory of node 1, one after the other; the bytes that came by each rail. */
struct reader {
	struct sim *sim;
	struct sim_region *region;
	uint32_t left;
};

static void again(void *arg, struct sim_op *op)
{
	struct reader *reader = arg;

	if (reader->left && reader->left--)
		sim_read(reader->sim, 0, reader->region, 0, LEN);
}

static void start(struct reader *reader, uint64_t single_rate, uint64_t bulk_rate, uint32_t reads,
		  bool is_forced)
{
	struct sim_config config = sim_defaults(2, 2, 1);

	config.net.rail[SINGLE].rate = single_rate;
	config.net.rail[BULK].rate = bulk_rate;
	config.chan.window = 256;
	config.chan.credit = 64;
	config.chan.bulk_rails = 1u << BULK;
	config.chan.is_bulk_forced = is_forced;
	config.op_done = again;
	config.done_arg = reader;
	reader->sim = sim_create(&config);
	reader->sim->check_at = 16;
	reader->region = sim_export(reader->sim, 1, LEN);
	reader->left = reads - 1;
	sim_read(reader->sim, 0, reader->region, 0, LEN);
}

static uint64_t bytes_by(const struct reader *reader, uint32_t rail)
{
	return reader->sim->nodes[1].rails[rail].tx_bytes;
}

static void finish(struct reader *reader)
{
	reader->left = 0;
	sim_finish(reader->sim, 60 * SEC);
	sim_destroy(reader->sim);
}

static double share_of_bulk(const struct reader *reader)
{
	double bulk = (double)bytes_by(reader, BULK);

	return bulk / (bulk + (double)bytes_by(reader, SINGLE));
}

TAP_TEST(road__long_data_takes_the_faster_kind)
{
	struct reader fast, slow, forced;

	start(&fast, GBIT, 4 * GBIT, 16, false);
	sim_finish(fast.sim, 10 * SEC);
	okf(share_of_bulk(&fast) > 0.95, "%.2f by bulk rails 4 times as fast",
	    share_of_bulk(&fast));
	finish(&fast);
	start(&slow, 4 * GBIT, GBIT, 16, false);
	sim_finish(slow.sim, 10 * SEC);
	okf(share_of_bulk(&slow) < 0.2, "%.2f by bulk rails 4 times as slow", share_of_bulk(&slow));
	finish(&slow);
	start(&forced, 4 * GBIT, GBIT, 16, true);
	sim_finish(forced.sim, 10 * SEC);
	okf(share_of_bulk(&forced) > 0.95, "%.2f by bulk rails that are forced",
	    share_of_bulk(&forced));
	finish(&forced);
}

/* A firewall that is put up while a job runs: the rest goes by single rails. */
TAP_TEST(road__a_bulk_rail_dies_and_returns)
{
	struct reader reader;
	uint64_t before;

	start(&reader, GBIT, 4 * GBIT, 200, false);
	sim_run(reader.sim, sim_now(reader.sim) + 50 * MS);
	simnet_cable(reader.sim->net, 1, BULK, false);
	sim_run(reader.sim, sim_now(reader.sim) + 50 * MS);
	before = bytes_by(&reader, SINGLE);
	sim_run(reader.sim, sim_now(reader.sim) + 50 * MS);
	okf((double)(bytes_by(&reader, SINGLE) - before) > 0.8 * GBIT * 0.05,
	    "%llu bytes by the single rail while the other is dead",
	    (unsigned long long)(bytes_by(&reader, SINGLE) - before));
	simnet_cable(reader.sim->net, 1, BULK, true);
	sim_run(reader.sim, sim_now(reader.sim) + 100 * MS);
	before = bytes_by(&reader, BULK);
	sim_run(reader.sim, sim_now(reader.sim) + 50 * MS);
	okf((double)(bytes_by(&reader, BULK) - before) > 3.0 * GBIT * 0.05,
	    "%llu bytes by the rail that is back",
	    (unsigned long long)(bytes_by(&reader, BULK) - before));
	finish(&reader);
}

/* One that never works is never trusted. */
TAP_TEST(road__a_bulk_rail_that_never_works_costs_nothing)
{
	struct reader reader;
	uint64_t begin;

	start(&reader, GBIT, 4 * GBIT, 8, false);
	simnet_cable(reader.sim->net, 1, BULK, false);
	begin = sim_now(reader.sim);
	sim_finish(reader.sim, 10 * SEC);
	okf((double)(sim_now(reader.sim) - begin) < 8.0 * LEN / GBIT * 1.15e9, "%llu us",
	    (unsigned long long)((sim_now(reader.sim) - begin) / US));
	is_int(sim_retransmits(reader.sim), 0);
	finish(&reader);
}

/* The single rail dies: everything goes by the other one. */
TAP_TEST(road__a_single_rail_dies)
{
	struct reader reader;

	start(&reader, GBIT, 4 * GBIT, 50, false);
	sim_run(reader.sim, sim_now(reader.sim) + 20 * MS);
	simnet_cable(reader.sim->net, 1, SINGLE, false);
	sim_finish(reader.sim, 20 * SEC);
	finish(&reader);
}
