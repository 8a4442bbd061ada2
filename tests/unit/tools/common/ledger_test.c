// SPDX-License-Identifier: BSD-3-Clause
/* ledger - loss, duplicates and order, against a naive model for random series. */
#include "pmcore/tools/common/ledger.h"

#include <stdbool.h>
#include <string.h>

#include "tests/harness/tap.h"

TAP_TEST(ledger_enter__in_order)
{
	struct ledger l = {.next = 0};

	for (uint64_t i = 0; i < 1000; i++)
		is_int(ledger_enter(&l, i), LEDGER_GOOD);
	is_int(l.missing + l.late + l.duplicates, 0);
}

TAP_TEST(ledger_enter__late_one_is_not_missing)
{
	struct ledger l = {.next = 0};

	is_int(ledger_enter(&l, 0), LEDGER_GOOD);
	is_int(ledger_enter(&l, 2), LEDGER_GAP);
	is_int(l.missing, 1);
	is_int(ledger_enter(&l, 1), LEDGER_LATE);
	is_int(l.missing, 0);
	is_int(l.late, 1);
	is_int(ledger_enter(&l, 1), LEDGER_DUPLICATE);
	is_int(ledger_enter(&l, 3), LEDGER_GOOD);
}

TAP_TEST(ledger_enter__duplicates)
{
	struct ledger l = {.next = 0};

	ledger_enter(&l, 0);
	is_int(ledger_enter(&l, 0), LEDGER_DUPLICATE);
	for (uint64_t i = 1; i < 200; i++)
		ledger_enter(&l, i);
	is_int(ledger_enter(&l, 5), LEDGER_DUPLICATE);
	is_int(ledger_enter(&l, 199), LEDGER_DUPLICATE);
	is_int(l.duplicates, 3);
}

TAP_TEST(ledger_enter__gap_wider_than_the_window)
{
	struct ledger l = {.next = 0};

	ledger_enter(&l, 0);
	is_int(ledger_enter(&l, 64), LEDGER_GAP);
	is_int(l.missing, 63);
	is_int(ledger_enter(&l, 1), LEDGER_LATE);
	is_int(ledger_enter(&l, 0), LEDGER_DUPLICATE);
	is_int(ledger_enter(&l, 100000), LEDGER_GAP);
	is_int(ledger_enter(&l, 99999), LEDGER_LATE);
	is_int(ledger_enter(&l, 99999), LEDGER_DUPLICATE);
}

TAP_TEST(ledger_enter__random_series_like_the_model)
{
	uint64_t seed = tap_seed();

	for (int round = 0; round < 200; round++) {
		struct ledger l = {.next = 0};
		bool came[400] = {false};
		uint64_t top = 0, distinct = 0, duplicates = 0;

		for (int i = 0; i < 300; i++) {
			uint64_t back = tap_rand(&seed) % 40, n = top + tap_rand(&seed) % 3;

			if (tap_rand(&seed) % 3 == 0)
				n = top > back ? top - back : 0;
			if (n >= 400)
				break;
			duplicates += came[n];
			distinct += !came[n];
			came[n] = true;
			top = n + 1 > top ? n + 1 : top;
			ledger_enter(&l, n);
		}
		is_int(l.next, top);
		is_int(l.missing, top - distinct);
		is_int(l.duplicates, duplicates);
	}
}
