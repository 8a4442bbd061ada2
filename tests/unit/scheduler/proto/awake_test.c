// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/awake.h"

#include "tests/harness/tap.h"

#define S 1000000000ull
#define BEGUN (1000 * S)

static struct awake awake;

static double after(double s)
{
	return awake_now(&awake, BEGUN + (uint64_t)(s * 1e9));
}

static void beat_at(double s)
{
	awake_beat(&awake, BEGUN + (uint64_t)(s * 1e9));
}

static int ms(double s)
{
	return (int)(s * 1000 + 0.5);
}

TAP_TEST(awake_now__goes_with_the_time)
{
	awake_begin(&awake, BEGUN, 1);
	is_int(ms(after(0)), 0);
	is_int(ms(after(0.4)), 400);
	for (int i = 1; i <= 100; i++)
		beat_at(i);
	is_int(ms(after(100.5)), 100500);
}

TAP_TEST(awake_now__stands_still_while_no_beat_comes)
{
	static const double stalls_s[] = {4, 10, 60, 86400};

	for (int i = 0; i < 4; i++) {
		double end = 1 + stalls_s[i], heard;

		awake_begin(&awake, BEGUN, 1);
		beat_at(1);
		heard = after(1);
		is_int(ms(after(end) - heard), 1000);
		beat_at(end);
		is_int(ms(after(end) - heard), 1000);
		/* From then on a silence is one. */
		beat_at(end + 1);
		beat_at(end + 2);
		is_int(ms(after(end + 3) - heard), 4000);
	}
}

TAP_TEST(awake_now__a_beat_that_is_a_little_late)
{
	awake_begin(&awake, BEGUN, 1);
	beat_at(1.3);
	beat_at(2);
	is_int(ms(after(2)), 1700);
}

TAP_TEST(awake_now__never_goes_back)
{
	awake_begin(&awake, BEGUN, 1);
	beat_at(1);
	is_int(ms(after(0.5)), 1000);
	beat_at(0.5);
	is_int(ms(after(0.5)), 1000);
}
