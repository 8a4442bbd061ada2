// SPDX-License-Identifier: BSD-3-Clause
/*
 * Rounds of a flood: many nodes send small messages to one and wait for its answer, which it gives
 * when it has all of the round. Nodes look at their messages late, as ranks do that share cores
 * with other programs. No round may stand still for much longer than that takes.
 */
#include "tests/sim/sim.h"

#define SENDERS 7

struct flood {
	struct sim *sim;
	uint32_t each;       /* messages of a sender in a round */
	uint32_t here;       /* nodes of which this half of the round has come */
	uint32_t left;       /* rounds behind this one */
	uint64_t began_ns;   /* this round */
	uint64_t longest_ns; /* of the rounds that are over */
};

static void begin_round(struct flood *f)
{
	f->began_ns = sim_now(f->sim);
	for (uint32_t i = 1; i <= SENDERS; i++)
		sim_send(f->sim, i, 0, f->each, 12, 12);
}

static void end_round(struct flood *f)
{
	uint64_t took = sim_now(f->sim) - f->began_ns;

	if (took > f->longest_ns)
		f->longest_ns = took;
	if (f->left--)
		begin_round(f);
}

static void flow_done(void *arg, struct sim_flow *flow)
{
	struct flood *f = arg;

	if (++f->here < SENDERS)
		return;
	f->here = 0;
	if (flow->dst)
		end_round(f);
	else
		for (uint32_t i = 1; i <= SENDERS; i++)
			sim_send(f->sim, 0, i, 1, 12, 12);
}

static void start(struct flood *f, uint64_t react_ns, double loss, uint64_t salt)
{
	struct sim_config config = sim_defaults(SENDERS + 1, 1, salt);

	config.net.rail[0].queue_bytes = 64 * 1024;
	config.net.rail[0].loss = loss;
	config.react_ns = react_ns;
	config.flow_done = flow_done;
	config.done_arg = f;
	f->sim = sim_create(&config);
	f->sim->check_at = 64;
	begin_round(f);
}

static void finish(struct flood *f, uint64_t most_ns)
{
	sim_finish(f->sim, 600 * SEC);
	tap_diag("%u messages each: longest round %.1f ms, %llu timeouts", f->each,
		 (double)f->longest_ns / (double)MS, (unsigned long long)sim_timeouts(f->sim));
	okf(f->longest_ns <= most_ns, "a round took %.1f ms", (double)f->longest_ns / (double)MS);
	sim_destroy(f->sim);
}

static void rounds(uint32_t each, uint32_t n, uint64_t react_ns, double loss, uint64_t most_ns)
{
	struct flood f = {.each = each, .left = n - 1};

	start(&f, react_ns, loss, each + react_ns);
	finish(&f, most_ns);
}

/* There and back each node waits for its core once. */
TAP_TEST(flood__nodes_that_wait_for_a_core)
{
	rounds(1, 200, 100 * US, 0, 400 * US);
	rounds(1, 200, 5 * MS, 0, 20 * MS);
	rounds(50, 100, 5 * MS, 0, 20 * MS);
}

/* A lost packet costs a few more waits. Long floods lose some in the switch's queue as well. */
TAP_TEST(flood__with_loss)
{
	rounds(1, 200, 100 * US, 0.01, 50 * MS);
	rounds(1, 200, 5 * MS, 0.01, 200 * MS);
	rounds(50, 100, 5 * MS, 0.01, 200 * MS);
	rounds(1000, 20, 5 * MS, 0, 200 * MS);
	rounds(1000, 20, 5 * MS, 0.01, 200 * MS);
}

/*
 * The receiver has no core for seconds. Nobody takes it for dead, and it goes on at once when it is
 * back. But a packet that is lost then is repeated after the longest timeout only.
 */
TAP_TEST(flood__receiver_without_a_core_for_long)
{
	for (uint64_t loss = 0; loss < 2; loss++) {
		struct flood f = {.each = 50, .left = 500};

		start(&f, 100 * US, (double)loss / 100, loss);
		sim_run(f.sim, sim_now(f.sim) + 20 * MS);
		ok(f.left > 0 && f.left < 500);
		/* not sim_pause: the clock goes on */
		f.sim->nodes[0].pause_ns = sim_now(f.sim);
		sim_run(f.sim, sim_now(f.sim) + 5 * SEC);
		f.sim->nodes[0].pause_ns = 0;
		sim_touch(f.sim, 0);
		finish(&f, 5 * SEC + (loss ? SEC : 0) + 50 * MS);
	}
}
