// SPDX-License-Identifier: BSD-3-Clause
/* Every way to lose some of the first n packets between two engines, n <= 12. */
#include "tests/sim/sim.h"

/* Which of the first packets of each direction vanish. */
struct pattern {
	uint32_t bits[2]; /* bit i: the i-th packet that node 0 (1) sends, on whatever rail */
	uint32_t seen[2];
};

static void lose(void *arg, const struct simnet_transit *transit, struct simnet_fate *fate)
{
	struct pattern *pattern = arg;
	uint32_t nth = pattern->seen[transit->src]++;

	if (nth < 32 && (pattern->bits[transit->src] >> nth & 1))
		fate->is_lost = true;
}

/* The kind of traffic of a run. */
enum work { MESSAGES, BOTH_WAYS, READ, WRITE };

static void run_pattern(uint32_t rails, uint32_t there, uint32_t back, enum work work)
{
	struct sim_config config = sim_defaults(2, rails, 1);
	struct pattern pattern = {.bits = {there, back}};
	struct sim *sim;

	config.net.tx_buffers = config.net.rx_buffers = 64;
	config.chan.window = 8;
	config.chan.credit = 4;
	config.transit = lose;
	config.transit_arg = &pattern;
	sim = sim_create(&config);
	if (work == READ)
		sim_read(sim, 0, sim_export(sim, 1, 7000), 0, 7000);
	else if (work == WRITE)
		sim_write(sim, 0, sim_export(sim, 1, 7000), 0, 7000);
	else
		sim_send(sim, 0, 1, 9, 1, 1000);
	if (work == BOTH_WAYS)
		sim_send(sim, 1, 0, 9, 1, 1000);
	sim_finish(sim, 20 * SEC);
	sim_destroy(sim);
	if (tap_has_failed())
		tap_diag("lost from 0 to 1: 0x%x, from 1 to 0: 0x%x, %u rails", there, back, rails);
}

static void all_patterns(uint32_t rails, int bits_there, int bits_back, enum work work)
{
	uint32_t there, back;

	for (there = 0; there < 1u << bits_there; there++)
		for (back = 0; back < 1u << bits_back && !tap_has_failed(); back++)
			run_pattern(rails, there, back, work);
}

TAP_TEST(loss__each_of_4096_patterns_of_data)
{
	all_patterns(1, 12, 0, MESSAGES);
}

TAP_TEST(loss__each_of_4096_patterns_of_acks)
{
	all_patterns(1, 0, 12, MESSAGES);
}

TAP_TEST(loss__each_of_4096_patterns_of_both)
{
	all_patterns(1, 6, 6, BOTH_WAYS);
}

TAP_TEST(loss__each_of_4096_patterns_on_three_rails)
{
	all_patterns(3, 12, 0, MESSAGES);
}

TAP_TEST(loss__each_of_1024_patterns_of_a_read)
{
	all_patterns(1, 3, 7, READ);
}

TAP_TEST(loss__each_of_1024_patterns_of_a_write)
{
	all_patterns(2, 7, 3, WRITE);
}

/* A loss costs a round trip, not a timeout, while later packets follow on the same rail. */
TAP_TEST(loss__one_packet_in_a_stream_needs_no_timer)
{
	uint32_t nth, back = 0;

	for (nth = 0; nth < 24; nth++) {
		struct sim_config config = sim_defaults(2, 1, nth);
		struct pattern pattern = {.bits = {1u << nth, back}};
		struct sim *sim;

		config.transit = lose;
		config.transit_arg = &pattern;
		sim = sim_create(&config);
		sim_send(sim, 0, 1, 100, 1000, 1000);
		sim_finish(sim, SEC);
		okf(sim_timeouts(sim) == 0, "packet %u lost: %llu timeouts", nth,
		    (unsigned long long)sim_timeouts(sim));
		okf(sim_retransmits(sim) == 1, "packet %u lost: %llu retransmissions", nth,
		    (unsigned long long)sim_retransmits(sim));
		sim_destroy(sim);
	}
}
