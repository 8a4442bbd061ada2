// SPDX-License-Identifier: BSD-3-Clause
/* Tests of the region table: ranges, keys that no one can guess or use again, growth. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/region.h"
#include "tests/harness/tap.h"

static char memory[4096];

TAP_TEST(region_find__inside_and_outside)
{
	struct region_table *table = region_table_create(1);
	void *addr = NULL;
	uint64_t rkey;

	must(table);
	is_int(region_add(table, memory, 100, &rkey), 0);
	ok(rkey != 0);
	is_int(region_find(table, rkey, 0, 100, &addr), 0);
	ok(addr == memory);
	is_int(region_find(table, rkey, 40, 60, &addr), 0);
	ok(addr == memory + 40);
	is_int(region_find(table, rkey, 100, 0, &addr), 0);
	ok(addr == memory + 100);
	is_int(region_find(table, rkey, 0, 101, &addr), -EACCES);
	is_int(region_find(table, rkey, 101, 0, &addr), -EACCES);
	is_int(region_find(table, rkey, 1, UINT64_MAX, &addr), -EACCES);
	is_int(region_find(table, rkey, UINT64_MAX, 2, &addr), -EACCES);
	ok(addr == memory + 100);
	region_table_destroy(table);
}

TAP_TEST(region_find_writable__refuses_what_is_read_only)
{
	struct region_table *table = region_table_create(1);
	uint64_t rkey, readonly;
	void *addr = NULL;
	uint64_t len;

	must(table);
	is_int(region_add(table, memory, 100, &rkey), 0);
	is_int(region_add_readonly(table, memory + 100, 50, &readonly), 0);
	is_int(region_find_writable(table, readonly, 0, 50, &addr), -EACCES);
	ok(!addr);
	is_int(region_find(table, readonly, 0, 50, &addr), 0);
	ok(addr == memory + 100);
	is_int(region_find_writable(table, rkey, 40, 60, &addr), 0);
	ok(addr == memory + 40);
	is_int(region_find_writable(table, rkey, 40, 61, &addr), -EACCES);
	is_int(region_find_writable(table, rkey ^ 1ull << 40, 0, 1, &addr), -EACCES);
	/* the slot has no memory of what it was */
	is_int(region_remove(table, readonly, &addr, &len), 0);
	is_int(region_add(table, memory, 100, &rkey), 0);
	is_int(region_find_writable(table, rkey, 0, 100, &addr), 0);
	region_table_destroy(table);
}

TAP_TEST(region_add__bad_ranges)
{
	struct region_table *table = region_table_create(1);
	uint64_t rkey = 77;

	must(table);
	is_int(region_add(table, memory, 0, &rkey), -EINVAL);
	is_int(region_add(table, memory, UINT64_MAX, &rkey), -EINVAL);
	is_int(region_add(table, (void *)(UINTPTR_MAX - 10), 12, &rkey), -EINVAL);
	is_int(rkey, 77);
	region_table_destroy(table);
}

TAP_TEST(region_remove__key_is_never_good_again)
{
	struct region_table *table = region_table_create(3);
	uint64_t rkey, again, len;
	void *addr;
	int i;

	must(table);
	is_int(region_add(table, memory, 10, &rkey), 0);
	is_int(region_remove(table, rkey, &addr, &len), 0);
	ok(addr == memory);
	is_int(len, 10);
	is_int(region_remove(table, rkey, &addr, &len), -ENOENT);
	for (i = 0; i < 1000; i++) {
		is_int(region_add(table, memory, 10, &again), 0);
		ok(again != rkey);
		is_int(region_find(table, rkey, 0, 1, &addr), -EACCES);
		is_int(region_remove(table, again, &addr, &len), 0);
	}
	region_table_destroy(table);
}

TAP_TEST(region_find__keys_nobody_gave)
{
	struct region_table *table = region_table_create(tap_seed());
	uint64_t state = tap_seed(), rkey, bit;
	void *addr;
	int i;

	must(table);
	is_int(region_find(table, 0, 0, 1, &addr), -EACCES);
	is_int(region_find(table, 1, 0, 1, &addr), -EACCES);
	is_int(region_add(table, memory, 10, &rkey), 0);
	for (bit = 0; bit < 64; bit++)
		is_int(region_find(table, rkey ^ 1ull << bit, 0, 1, &addr), -EACCES);
	for (i = 0; i < 10000; i++)
		is_int(region_find(table, tap_rand(&state), 0, 1, &addr), -EACCES);
	is_int(region_find(table, 0, 0, 1, &addr), -EACCES);
	region_table_destroy(table);
}

TAP_TEST(region_add__same_seed_same_keys_other_seed_others)
{
	struct region_table *a = region_table_create(5), *b = region_table_create(5),
			    *c = region_table_create(6);
	uint64_t key_a, key_b, key_c;
	int i;

	must(a && b && c);
	for (i = 0; i < 100; i++) {
		is_int(region_add(a, memory, 1, &key_a), 0);
		is_int(region_add(b, memory, 1, &key_b), 0);
		is_int(region_add(c, memory, 1, &key_c), 0);
		ok(key_a == key_b);
		ok(key_a != key_c);
	}
	region_table_destroy(a);
	region_table_destroy(b);
	region_table_destroy(c);
}

TAP_TEST(region_add__thousands_then_random_removal)
{
	enum { N = 5000 };
	struct region_table *table = region_table_create(9);
	static uint64_t keys[N];
	uint64_t state = tap_seed(), len;
	void *addr;
	int i, step;

	must(table);
	for (i = 0; i < N; i++)
		is_int(region_add(table, memory, (uint64_t)i + 1, &keys[i]), 0);
	for (step = 0; step < 20000; step++) {
		i = (int)(tap_rand(&state) % N);
		is_int(region_find(table, keys[i], (uint64_t)i, 1, &addr), 0);
		is_int(region_find(table, keys[i], (uint64_t)i + 1, 1, &addr), -EACCES);
		is_int(region_remove(table, keys[i], &addr, &len), 0);
		is_int(len, i + 1);
		is_int(region_add(table, memory, (uint64_t)i + 1, &keys[i]), 0);
	}
	region_table_destroy(table);
	region_table_destroy(NULL);
}

TAP_TEST(region_add__table_is_full)
{
	struct region_table *table = region_table_create(9);
	uint64_t rkey, n = 0, len;
	void *addr;

	must(table);
	while (n <= 1 << 20 && region_add(table, memory, 1, &rkey) == 0)
		n++;
	is_int(n, 1 << 20);
	is_int(region_add(table, memory, 1, &rkey), -ENOMEM);
	is_int(region_remove(table, rkey, &addr, &len), 0);
	is_int(region_add(table, memory, 1, &rkey), 0);
	region_table_destroy(table);
}

TAP_TEST(region_whole__of_both_kinds)
{
	struct region_table *table = region_table_create(1);
	static char memory[100];
	bool is_readonly = true;
	uint64_t key, readonly, len = 0;
	void *addr = NULL;

	must(!region_add(table, memory, 100, &key));
	must(!region_add_readonly(table, memory + 1, 7, &readonly));
	is_int(region_whole(table, key, &addr, &len, &is_readonly), 0);
	ok(addr == memory && len == 100 && !is_readonly);
	is_int(region_whole(table, readonly, &addr, &len, &is_readonly), 0);
	ok(addr == memory + 1 && len == 7 && is_readonly);
	is_int(region_whole(table, key + 1, &addr, &len, &is_readonly), -EACCES);
	region_table_destroy(table);
}
