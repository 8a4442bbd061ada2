// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/skew.h"

#include "tests/harness/tap.h"

#define MS 1000000ll

TAP_TEST(skew_take__highest_of_the_last)
{
	/* A clock 2 ms fast; the messages came later and later, then none less late than 1 ms. */
	struct skew skew = {0};

	skew_take(&skew, 2 * MS);
	is_int(skew.ns, 2 * MS);
	for (int i = 1; i < SKEW_MESSAGES; i++)
		skew_take(&skew, -i * 1000 * MS);
	is_int(skew.ns, 2 * MS);
	skew_take(&skew, 1 * MS); /* takes the place of the first */
	is_int(skew.ns, 1 * MS);
	skew_take(&skew, 2 * MS);
	is_int(skew.ns, 2 * MS);
}

TAP_TEST(skew_take__slow_clock)
{
	struct skew skew;

	skew_begin(&skew);
	for (int i = 1; i < SKEW_MESSAGES; i++) {
		ok(!skew_take(&skew, -20 * MS - i));
		is_int(skew.ns, 0);
	}
	ok(skew_take(&skew, -30 * MS));
	is_int(skew.ns, -20 * MS - 1);
}

TAP_TEST(skew_take__delayed_registration)
{
	/* Its message came 3 s late, those after it at once: never is the clock called slow. */
	struct skew skew;

	skew_begin(&skew);
	ok(!skew_take(&skew, -3000 * MS));
	for (int i = 0; i < 3 * SKEW_MESSAGES; i++) {
		ok(!skew_take(&skew, -1000));
		ok(skew.ns <= 0 && skew.ns >= -1000);
	}
}

TAP_TEST(skew_take__fast_clock)
{
	struct skew skew;

	skew_begin(&skew);
	ok(skew_take(&skew, 6 * MS));
	is_int(skew.ns, 6 * MS);
}

TAP_TEST(skew_take__told_when_it_begins)
{
	struct skew skew;
	int n_told = 0;

	skew_begin(&skew);
	ok(!skew_take(&skew, SKEW_TOLD_NS));
	for (int i = 0; i < 3 * SKEW_MESSAGES; i++)
		n_told += skew_take(&skew, SKEW_TOLD_NS + 1);
	is_int(n_told, 1);
	for (int i = 0; i < SKEW_MESSAGES; i++)
		ok(!skew_take(&skew, 0));
	is_int(skew.ns, 0);
	ok(skew_take(&skew, SKEW_TOLD_NS + 1));
}

TAP_TEST(skew_begin__forgets)
{
	struct skew skew = {0};

	for (int i = 0; i < SKEW_MESSAGES; i++)
		skew_take(&skew, 50 * MS);
	skew_begin(&skew);
	is_int(skew.ns, 0);
	ok(!skew_take(&skew, 1 * MS));
	is_int(skew.ns, 1 * MS);
	skew_begin(&skew);
	ok(skew_take(&skew, 50 * MS));
}
