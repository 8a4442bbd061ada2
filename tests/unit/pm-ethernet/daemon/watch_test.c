// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-ethernet/daemon/watch.c: when a neighbour counts as silent, and when as back. */
#include "pm-ethernet/daemon/watch.h"

#include "tests/harness/tap.h"

#define TICK 25000000ull

/* Judges one watch after the other by @echoes, '.' = no echo; what is_silent was after each. */
static void judge(struct ethd_pulse *pulse, const char *echoes, const char *want)
{
	uint64_t sent = 1000, echo = 0;

	for (; *echoes; echoes++, want++, sent += TICK) {
		bool was = pulse->is_silent, changed;

		if (*echoes == 'e')
			echo = sent + 100000;
		changed = ethd_pulse_judge(pulse, sent, echo);
		okf(pulse->is_silent == (*want == 's'), "at %s: silent %d", echoes,
		    pulse->is_silent);
		ok(changed == (was != pulse->is_silent));
	}
}

TAP_TEST(ethd_pulse_judge__three_without_an_echo_are_silence)
{
	struct ethd_pulse pulse = {0};

	judge(&pulse, "eee...", "-----s");
}

TAP_TEST(ethd_pulse_judge__single_losses_are_none)
{
	struct ethd_pulse pulse = {0};

	judge(&pulse, "e..e..e.e..e", "------------");
}

TAP_TEST(ethd_pulse_judge__two_echoes_in_a_row_are_the_end_of_it)
{
	struct ethd_pulse pulse = {0};

	judge(&pulse, "...e.e.ee..e...", "--ssssss------s");
}

TAP_TEST(ethd_pulse_judge__silence_lasts)
{
	struct ethd_pulse pulse = {.is_silent = true};

	for (int i = 0; i < 1000; i++)
		judge(&pulse, ".", "s");
	judge(&pulse, "ee", "s-");
}

TAP_TEST(ethd_pulse_judge__an_echo_just_at_the_sending)
{
	struct ethd_pulse pulse = {0};

	ok(!ethd_pulse_judge(&pulse, 5, 5) && pulse.n_missed == 0);
	ok(!ethd_pulse_judge(&pulse, 6, 5) && pulse.n_missed == 1);
}

TAP_TEST(ethd_watch_timer__nothing_without_a_grid)
{
	static struct ethd d = {.options = {.watch_ns = ETHD_WATCH_NS}};

	ok(ethd_watch_timer(&d, 1) == UINT64_MAX);
}
