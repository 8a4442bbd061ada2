// SPDX-License-Identifier: BSD-3-Clause
/* The cost of random loss: goodput compared with the lossless run of the same network. */
#include "tests/sim/sim.h"

#include <stdlib.h>

/* So long that the first contact weighs little: with its ack and the probe lost it takes 10 ms. */
#define MESSAGES 80000
#define RUNS 5 /* with loss, of a read or write */

/* Payload rate of a long stream of messages at a loss probability, bytes per second. */
static double stream_rate(double loss, uint32_t rails, uint32_t window)
{
	struct sim_config config = sim_defaults(2, rails, 1);
	struct sim_flow *flow;
	struct sim *sim;
	uint32_t rail;
	double rate;

	config.chan.window = window;
	config.chan.credit = window;
	config.net.tx_buffers = 2 * window + 64;
	config.net.rx_buffers = 4 * window;
	for (rail = 0; rail < rails; rail++)
		config.net.rail[rail].loss = loss;
	sim = sim_create(&config);
	sim->check_at = 64;
	flow = sim_send(sim, 0, 1, MESSAGES, 1400, 1400);
	sim_finish(sim, 60 * SEC);
	rate = sim_goodput(flow);
	sim_destroy(sim);
	return rate;
}

static void message_goodput(double loss, double goal)
{
	uint32_t rails;

	for (rails = 1; rails <= 4; rails *= 4) {
		double lossless = stream_rate(0, rails, 512);
		double ratio = stream_rate(loss, rails, 512) / lossless / (1 - loss);

		tap_diag("messages, %u rails, %.0f %% loss: %.1f %% of (1 - loss) x lossless, "
			 "lossless is %.1f %% of the wire",
			 rails, 100 * loss, 100 * ratio, 100 * lossless / (double)GBIT / rails);
		okf(ratio >= goal, "%.3f, expected %.2f", ratio, goal);
		okf(lossless >= 0.95 * 1400 / 1456 * (double)GBIT * rails, "lossless: %.0f B/s",
		    lossless);
	}
}

TAP_TEST(goodput__messages_at_1_percent)
{
	message_goodput(0.01, 0.96);
}

TAP_TEST(goodput__messages_at_8_percent)
{
	message_goodput(0.08, 0.90);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Seconds a read takes. */
static double read_time(double loss, uint32_t rails, bool is_write, uint32_t run)
{
	struct sim_config config = sim_defaults(2, rails, 2 + run);
	const uint64_t len = 20000000ull * rails; /* long enough that the end weighs little */
	struct sim *sim;
	uint32_t rail;
	double time;

	config.chan.window = 512;
	config.chan.credit = 32;
	for (rail = 0; rail < rails; rail++)
		config.net.rail[rail].loss = loss;
	sim = sim_create(&config);
	sim->check_at = 64;
	if (is_write)
		sim_write(sim, 0, sim_export(sim, 1, len), 0, len);
	else
		sim_read(sim, 0, sim_export(sim, 1, len), 0, len);
	time = (double)sim_finish(sim, 60 * SEC) / 1e9;
	sim_destroy(sim);
	okf(loss > 0 || time < 1.08 * (double)len / ((double)GBIT * rails), "lossless: %.3f s",
	    time);
	return time;
}

/*
 * The median of several: one loss at a bad moment costs a timeout, which weighs much in a single
 * one.
 */
static double usual_read_time(double loss, uint32_t rails, bool is_write)
{
	double times[RUNS];

	for (int i = 0; i < RUNS; i++)
		times[i] = read_time(loss, rails, is_write, (uint32_t)i);
	qsort(times, RUNS, sizeof(times[0]), by_value);
	return times[RUNS / 2];
}

static void read_goodput(double loss, double goal, bool is_write)
{
	uint32_t rails;

	for (rails = 1; rails <= 4; rails *= 4) {
		double ratio = read_time(0, rails, is_write, 0) /
			       usual_read_time(loss, rails, is_write) / (1 - loss);

		tap_diag("%s, %u rails, %.0f %% loss: %.1f %% of (1 - loss) x lossless",
			 is_write ? "writes" : "reads", rails, 100 * loss, 100 * ratio);
		okf(ratio >= goal, "%.3f, expected %.2f", ratio, goal);
	}
}

TAP_TEST(goodput__reads_at_1_percent)
{
	read_goodput(0.01, 0.96, false);
}

TAP_TEST(goodput__reads_at_8_percent)
{
	read_goodput(0.08, 0.90, false);
}

TAP_TEST(goodput__writes_at_1_percent)
{
	read_goodput(0.01, 0.96, true);
}

/* Losses must not be answered with much more than what was lost. */
TAP_TEST(goodput__repetitions_match_losses)
{
	struct sim_config config = sim_defaults(2, 2, 3);
	const struct simnet_count *count;
	uint64_t lost = 0;
	struct sim *sim;
	uint32_t rail;

	config.chan.window = 256;
	config.chan.credit = 256;
	config.net.rail[0].loss = config.net.rail[1].loss = 0.02;
	sim = sim_create(&config);
	sim->check_at = 16;
	sim_send(sim, 0, 1, 10000, 1400, 1400);
	sim_finish(sim, 60 * SEC);
	for (rail = 0; rail < 2; rail++) {
		count = simnet_count(sim->net, rail);
		lost += count->lost;
	}
	okf(sim_retransmits(sim) <= lost + lost / 10 + 5, "%llu repetitions for %llu losses",
	    (unsigned long long)sim_retransmits(sim), (unsigned long long)lost);
	sim_destroy(sim);
}

/* Acks cost little: a stream of full packets needs one for every sixteen at most. */
TAP_TEST(goodput__bare_acks_are_few)
{
	struct sim_config config = sim_defaults(2, 1, 4);
	struct sim *sim;

	config.chan.window = 256;
	config.chan.credit = 256;
	sim = sim_create(&config);
	sim_send(sim, 0, 1, 8000, 1400, 1400);
	sim_finish(sim, 10 * SEC);
	okf(sim->nodes[1].stats.acks_tx <= 8000 / 16 + 16, "%llu bare acks for 8000 packets",
	    (unsigned long long)sim->nodes[1].stats.acks_tx);
	sim_destroy(sim);
}
