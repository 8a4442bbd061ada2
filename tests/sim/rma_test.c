// SPDX-License-Identifier: BSD-3-Clause
/* One-sided operations: sizes, losses, refusals, memory that is withdrawn under them. */
#include <errno.h>

#include "tests/sim/sim.h"

static void lossy(struct sim_config *config, double loss)
{
	uint32_t rail;

	for (rail = 0; rail < config->net.rails; rail++) {
		config->net.rail[rail].loss = loss;
		config->net.rail[rail].duplicate = loss;
	}
}

TAP_TEST(rma__edges_of_sizes_and_offsets)
{
	static const uint64_t lens[] = {1, 7, 8, 9, 1435, 1436, 1437, 1500, 4095, 65536, 100001};
	struct sim_config config = sim_defaults(2, 2, 1);
	struct sim_region *to_read, *to_write;
	uint64_t at = 0;
	struct sim *sim;
	size_t i;

	sim = sim_create(&config);
	to_read = sim_export(sim, 1, 300000);
	to_write = sim_export(sim, 1, 300000);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		sim_read(sim, 0, to_read, at, lens[i]);
		sim_write(sim, 0, to_write, at, lens[i]);
		at += lens[i] + i;
	}
	sim_read(sim, 0, to_read, 0, 300000);
	sim_finish(sim, SEC);
	is_int(sim_retransmits(sim), 0);
	sim_settle(sim, SEC);
	sim_destroy(sim);
}

TAP_TEST(rma__both_ways_at_once_with_loss_and_messages)
{
	struct sim_config config = sim_defaults(3, 2, 2);
	struct sim *sim;
	uint32_t i, j, k;

	lossy(&config, 0.05);
	sim = sim_create(&config);
	sim->check_at = 8;
	for (i = 0; i < 3; i++) {
		for (j = 0; j < 3; j++) {
			struct sim_region *region;

			if (i == j)
				continue;
			region = sim_export(sim, j, 300000);
			for (k = 0; k < 5; k++)
				sim_read(sim, i, region, k * 1000, 250000);
			region = sim_export(sim, j, 300000);
			for (k = 0; k < 5; k++)
				sim_write(sim, i, region, k * 60000, 60000 - k);
			sim_send(sim, i, j, 500, 1, 1400);
		}
	}
	sim_finish(sim, 30 * SEC);
	sim_settle(sim, 30 * SEC);
	sim_destroy(sim);
}

TAP_TEST(rma__refused_outside_or_unknown)
{
	struct sim_config config = sim_defaults(2, 2, 3);
	struct sim_region *region;
	struct sim_op *op;
	struct sim *sim;
	int i;

	lossy(&config, 0.1);
	sim = sim_create(&config);
	region = sim_export(sim, 1, 10000);
	for (i = 0; i < 20; i++) {
		sim_read(sim, 0, region, 1, 10000);
		sim_write(sim, 0, region, 10000, 1);
		sim_write(sim, 0, region, UINT64_MAX, 2);
		op = sim_read(sim, 0, region, 0, 100);
		op->rkey ^= 1ull << (30 + i);
		op->expected = -EACCES;
		op = sim_write(sim, 0, region, 0, 100);
		op->rkey = 0;
		op->expected = -EACCES;
	}
	sim_finish(sim, 10 * SEC);
	sim_read(sim, 0, region, 0, 10000); /* the memory is as it was */
	sim_finish(sim, 10 * SEC);
	sim_destroy(sim);
}

/* More operations than the engine opens at a time: the rest waits its turn. */
TAP_TEST(rma__thousands_of_small_ones)
{
	struct sim_config config = sim_defaults(2, 1, 4);
	struct sim_region *region;
	struct sim *sim;
	uint64_t i;

	lossy(&config, 0.01);
	sim = sim_create(&config);
	sim->check_at = 64;
	region = sim_export(sim, 1, 8 * 3000);
	for (i = 0; i < 3000; i++)
		(void)(i % 2 ? sim_read(sim, 0, region, i * 8, 8)
			     : sim_write(sim, 0, region, i * 8, 8));
	sim_finish(sim, 30 * SEC);
	sim_destroy(sim);
}

#define WITHDRAWN_LEN 500000

/*
 * A transfer of WITHDRAWN_LEN bytes whose memory the target withdraws @delay steps after its start;
 * over.
 */
static struct sim *withdraw_after(uint64_t delay, bool is_write, struct sim_region **ret_region,
				  struct sim_op **ret_op)
{
	struct sim_config config = sim_defaults(2, 2, delay);
	struct sim_op *op;
	struct sim *sim;

	lossy(&config, delay % 2 ? 0.05 : 0);
	sim = sim_create(&config);
	*ret_region = sim_export(sim, 1, WITHDRAWN_LEN);
	op = is_write ? sim_write(sim, 0, *ret_region, 0, WITHDRAWN_LEN)
		      : sim_read(sim, 0, *ret_region, 0, WITHDRAWN_LEN);
	op->expected = 1;
	if (is_write)
		op->remote = NULL;
	sim_run(sim, sim_now(sim) + delay * 70 * US);
	sim_withdraw(sim, *ret_region);
	sim_finish(sim, 10 * SEC);
	okf(op->status == 0 || op->status == -EACCES, "status %d", op->status);
	*ret_op = op;
	return sim;
}

/*
 * pmMUnlock in the middle of a read: it ends as refused, or is already complete; whatever the
 * reader got was the true contents. After it no byte of the memory is sent.
 */
TAP_TEST(rma__withdrawn_while_it_is_read)
{
	uint64_t delay;

	for (delay = 0; delay < 40 && !tap_has_failed(); delay++) {
		struct sim_region *region;
		struct sim_op *op;
		struct sim *sim = withdraw_after(delay, false, &region, &op);

		okf(delay || op->status == -EACCES, "withdrawn at once: status %d", op->status);
		sim_settle(sim, 10 * SEC);
		sim_destroy(sim);
	}
}

/* The target withdraws memory that is being written: nothing is placed in it afterwards. */
TAP_TEST(rma__withdrawn_while_it_is_written)
{
	uint64_t delay, i;

	for (delay = 0; delay < 40 && !tap_has_failed(); delay++) {
		struct sim_region *region;
		struct sim_op *op;
		struct sim *sim = withdraw_after(delay, true, &region, &op);

		sim_settle(sim, 10 * SEC);
		for (i = 0; i < region->len && region->mem[i] == 0xbb; i++)
			;
		okf(i == region->len, "byte %llu was written after the memory was withdrawn",
		    (unsigned long long)i);
		sim_destroy(sim);
	}
}

/* Large transfers must not hold up messages for long. */
TAP_TEST(rma__messages_pass_large_reads)
{
	struct sim_config config = sim_defaults(2, 1, 5);
	struct sim_flow *flow;
	struct sim *sim;
	uint64_t start;
	int i;

	sim = sim_create(&config);
	sim->check_at = 16;
	for (i = 0; i < 4; i++)
		sim_read(sim, 0, sim_export(sim, 1, 3000000), 0, 3000000);
	sim_run(sim, sim_now(sim) + 20 * MS);
	start = sim_now(sim);
	flow = sim_send(sim, 1, 0, 1, 8, 8);
	while (!flow->received && sim_now(sim) < start + 50 * MS && !sim->is_broken)
		sim_run(sim, sim_now(sim) + 50 * US);
	okf(flow->received == 1 && sim_now(sim) - start <= 6 * MS, "a message took %llu us",
	    (unsigned long long)((sim_now(sim) - start) / US));
	sim_finish(sim, 10 * SEC);
	sim_destroy(sim);
}
