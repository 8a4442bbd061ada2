// SPDX-License-Identifier: BSD-3-Clause
/*
 * grant: the budget of all senders together against what gets lost; that reads and writes keep to
 * it.
 */
#include "pmcore/channel/grant.h"
#include "tests/unit/channel/rig.h"

#define KIB 1024u
#define WINDOW 512u /* packets judged together */
#define FIRST (64 * KIB)
#define LEAST (16 * KIB)

static uint8_t memory[400000];

/* @n packets of 1 KiB that were asked for come, @lost of them vanish before. */
static void arrive(struct rig *rig, uint32_t n, uint32_t lost)
{
	rig->rails[0].losses += lost;
	for (; n; n--) {
		rig->chan->grant.is_used_up = true;
		rig->rails[0].rx_packets++;
		grant_arrived(rig->chan, KIB);
	}
}

static uint64_t budget(const struct rig *rig)
{
	return rig->chan->grant.budget;
}

/* Lost too much, and the smaller budget has become visible. */
static void overrun(struct rig *rig)
{
	uint64_t before = budget(rig);

	arrive(rig, 16, 3);
	ok(budget(rig) < before || before == LEAST);
	arrive(rig, (uint32_t)(before / KIB), 50);
}

static struct rig *overrun_until(uint64_t bytes)
{
	struct rig *rig = rig_new(1);

	while (budget(rig) > bytes)
		overrun(rig);
	return rig;
}

TAP_TEST(grant__grows_by_half_until_the_bound)
{
	struct rig *rig = rig_init();

	rig->config.pull_bytes = 200 * KIB;
	rig_open(rig);
	is_int(budget(rig), FIRST);
	arrive(rig, 63, 0);
	is_int(budget(rig), FIRST);
	arrive(rig, 1, 0);
	is_int(budget(rig), FIRST + FIRST / 2);
	arrive(rig, 96 + 144, 0);
	is_int(budget(rig), 200 * KIB);
	arrive(rig, 1000, 0);
	is_int(budget(rig), 200 * KIB);
	rig_close(rig);
}

TAP_TEST(grant__starts_with_so_much_for_each_rail)
{
	struct rig *rig = rig_init();

	rig->config.n_rails = 3;
	rig_open(rig);
	is_int(budget(rig), 3 * FIRST);
	rig_close(rig);
	rig = rig_init();
	rig->config.n_rails = 8;
	rig->config.pull_bytes = 100 * KIB;
	rig_open(rig);
	is_int(budget(rig), 100 * KIB);
	rig_close(rig);
}

/* Without need for more nothing is learned about more. */
TAP_TEST(grant__does_not_grow_unused)
{
	struct rig *rig = rig_new(1);
	uint32_t i;

	for (i = 0; i < 2 * WINDOW; i++) {
		rig->rails[0].rx_packets++;
		grant_arrived(rig->chan, KIB);
	}
	is_int(budget(rig), FIRST);
	rig_close(rig);
}

TAP_TEST(grant__halves_when_the_start_overruns)
{
	struct rig *rig = rig_new(1);

	arrive(rig, 64, 0);
	is_int(budget(rig), 96 * KIB);
	arrive(rig, 16, 2);
	is_int(budget(rig), 48 * KIB);
	/* what was asked for before goes on to be lost */
	arrive(rig, 96, 40);
	is_int(budget(rig), 48 * KIB);
	/* slowly from here on */
	arrive(rig, WINDOW - 1, 0);
	is_int(budget(rig), 48 * KIB);
	arrive(rig, 16, 0);
	is_int(budget(rig), 48 * KIB + 48 * KIB / 32);
	rig_close(rig);
}

TAP_TEST(grant__gives_way_by_a_quarter_after_a_calm_time)
{
	struct rig *rig = overrun_until(FIRST / 2);

	arrive(rig, WINDOW, 0);
	is_int(budget(rig), 33 * KIB);
	arrive(rig, 16, 2);
	is_int(budget(rig), 33 * KIB - 33 * KIB / 4);
	arrive(rig, 33, 0);
	/* and by half when that was not enough */
	arrive(rig, 16, 2);
	is_int(budget(rig), LEAST);
	rig_close(rig);
}

TAP_TEST(grant__one_loss_in_a_window_is_none)
{
	struct rig *rig = overrun_until(FIRST / 2);

	arrive(rig, WINDOW, 1);
	arrive(rig, WINDOW, 1);
	is_int(budget(rig), 33 * KIB + 33 * KIB / 32);
	rig_close(rig);
}

TAP_TEST(grant__hurries_when_nothing_is_lost_for_long)
{
	struct rig *rig = overrun_until(LEAST);
	uint32_t i;

	for (i = 0; i < 60; i++)
		arrive(rig, WINDOW + 512, 0);
	is_int(budget(rig), 1024 * KIB);
	rig_close(rig);
}

/*
 * Of a link that loses 2 % whatever the load no less is asked for, and more than twice as much is
 * noticed.
 */
TAP_TEST(grant__loss_that_stays_is_expected)
{
	struct rig *rig = overrun_until(LEAST);
	uint32_t i;

	for (i = 0; i < 200; i++)
		arrive(rig, 98, 2);
	is_int(budget(rig), 1024 * KIB);
	for (i = 0; i < 30; i++)
		arrive(rig, 92, 8);
	ok(budget(rig) < 512 * KIB);
	rig_close(rig);
}

TAP_TEST(grant__expectation_fades_when_the_link_is_better)
{
	struct rig *rig = overrun_until(LEAST);
	uint32_t i;

	for (i = 0; i < 20; i++)
		arrive(rig, 98, 2);
	ok(rig->chan->grant.expected > 0);
	for (i = 0; i < 200; i++)
		arrive(rig, 1024, 0);
	ok(rig->chan->grant.expected < 32);
	rig_close(rig);
}

/* One packet of 50 is lost, so most windows of 16 packets lose none. */
TAP_TEST(grant__short_windows_without_loss_prove_nothing)
{
	struct rig *rig = overrun_until(LEAST);
	uint32_t learned, i;

	for (i = 0; i < 6; i++)
		arrive(rig, 98, 2);
	learned = rig->chan->grant.expected;
	ok(learned > 0);
	for (i = 0; i < 50 * 100; i++) {
		rig->rails[0].losses += i % 50 == 25;
		rig->rails[0].rx_packets++;
		grant_arrived(rig->chan, KIB);
	}
	is_int(rig->chan->grant.expected, learned);
	rig_close(rig);
}

/* Else it would go up and down there for ever, and learn nothing. */
TAP_TEST(grant__loss_just_above_the_least_is_the_links_own)
{
	struct rig *rig = overrun_until(LEAST);

	arrive(rig, WINDOW + 16, 0);
	ok(budget(rig) > LEAST);
	arrive(rig, 16, 3);
	is_int(budget(rig), LEAST);
	is_int(rig->chan->grant.expected, 0);
	arrive(rig, WINDOW, 3);
	ok(rig->chan->grant.expected > 0);
	ok(rig->chan->grant.is_starting);
	rig_close(rig);
}

/* Loss of a half is never taken for the link's own. */
TAP_TEST(grant__stays_at_the_least_when_most_is_lost)
{
	struct rig *rig = overrun_until(LEAST);
	uint32_t i;

	for (i = 0; i < 100; i++)
		arrive(rig, 16, 16);
	is_int(budget(rig), LEAST);
	rig_close(rig);
}

TAP_TEST(grant__bounds_what_is_asked_for)
{
	struct rig *rig = overrun_until(LEAST);
	uint32_t op[2], i;

	for (i = 0; i < 2; i++)
		is_int(chan_read(rig->chan, rig->peer, i, 0, memory, sizeof(memory), rig->now,
				 &op[i]),
		       0);
	rig_poll(rig, 0);
	ok(rig->chan->outstanding > LEAST / 2);
	ok(rig->chan->outstanding <= LEAST);
	ok(rig->chan->grant.is_used_up);
	rig_close(rig);
}
