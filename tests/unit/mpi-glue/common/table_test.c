// SPDX-License-Identifier: BSD-3-Clause
/* table: look-ups, growth, and deletion inside a run of colliding keys. */
#include "mpi-glue/common/table.h"
#include "tests/harness/tap.h"

#include <errno.h>
#include <string.h>

TAP_TEST(table_get__empty)
{
	struct table t = {0};

	ok(table_get(&t, 0) == NULL);
	ok(table_take(&t, 7) == NULL);
	table_fini(&t);
}

TAP_TEST(table_put__grows)
{
	static int values[1000];
	struct table t = {0};

	for (uint32_t i = 0; i < 1000; i++)
		is_int(table_put(&t, i * 0x10001u, &values[i]), 0);
	is_int(t.count, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		ok(table_get(&t, i * 0x10001u) == &values[i]);
	ok(table_get(&t, 5) == NULL);
	table_fini(&t);
	ok(table_get(&t, 0) == NULL);
}

TAP_TEST(table_take__every_order_of_colliding_keys)
{
	/*
	 * In 8 slots 6, 14 and 22 share the home 6, 7 and 15 the home 7: a run that wraps around.
	 */
	static const uint32_t keys[] = {6, 14, 7};
	static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
					 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	int values[3];

	for (int o = 0; o < 6; o++) {
		struct table t = {0};

		for (int i = 0; i < 3; i++)
			is_int(table_put(&t, keys[i], &values[i]), 0);
		for (int i = 0; i < 3; i++) {
			int gone = orders[o][i];

			ok(table_take(&t, keys[gone]) == &values[gone]);
			ok(table_get(&t, keys[gone]) == NULL);
			for (int j = i + 1; j < 3; j++)
				ok(table_get(&t, keys[orders[o][j]]) == &values[orders[o][j]]);
		}
		is_int(t.count, 0);
		table_fini(&t);
	}
}

TAP_TEST(table__random_against_array)
{
	enum { KEYS = 64, STEPS = 200000 };
	uint64_t state = tap_seed();
	void *model[KEYS] = {NULL};
	int values[KEYS];
	struct table t = {0};
	uint32_t count = 0;

	for (int step = 0; step < STEPS; step++) {
		uint32_t n = tap_rand(&state) % KEYS;
		uint32_t key = (n % 8) << 20 | n / 8;

		if (model[n]) {
			okf(table_take(&t, key) == model[n], "step %d", step);
			model[n] = NULL;
			count--;
		} else {
			model[n] = &values[n];
			is_int(table_put(&t, key, &values[n]), 0);
			count++;
		}
		n = tap_rand(&state) % KEYS;
		okf(table_get(&t, (n % 8) << 20 | n / 8) == model[n], "step %d", step);
		is_int(t.count, count);
		if (tap_has_failed())
			break;
	}
	table_fini(&t);
}
