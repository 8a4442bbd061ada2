// SPDX-License-Identifier: BSD-3-Clause
/* pmi1_space: keys and values within their limits, and what other hosts have joined. */
#include "scheduler/scstepd/pmi1_space.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/harness/tap.h"

TAP_TEST(pmi1_space__empty)
{
	struct pmi1_space space = {0};

	ok(!pmi1_space_get(&space, "a"));
	ok(!pmi1_space_get(&space, ""));
	pmi1_space_fini(&space);
	pmi1_space_fini(&space);
}

TAP_TEST(pmi1_space_put__the_last_value_counts)
{
	struct pmi1_space space = {0};

	is_int(pmi1_space_put(&space, "a", "1"), 0);
	is_int(pmi1_space_put(&space, "b", ""), 0);
	is_int(pmi1_space_put(&space, "a", "another"), 0);
	is_int(space.n, 2);
	is_str(pmi1_space_get(&space, "a"), "another");
	is_str(pmi1_space_get(&space, "b"), "");
	ok(!pmi1_space_get(&space, "ab"));
	pmi1_space_fini(&space);
	is_int(space.n, 0);
	ok(!pmi1_space_get(&space, "a"));
}

TAP_TEST(pmi1_space_put__lengths)
{
	char key[PMI1_KEY_MAX + 1], value[PMI1_VALUE_MAX + 1];
	struct pmi1_space space = {0};

	memset(key, 'k', sizeof(key));
	memset(value, 'v', sizeof(value));
	key[PMI1_KEY_MAX] = value[PMI1_VALUE_MAX] = '\0';
	is_int(pmi1_space_put(&space, key, "1"), -EMSGSIZE);
	is_int(pmi1_space_put(&space, "a", value), -EMSGSIZE);
	is_int(space.n, 0);
	is_int(pmi1_space_put(&space, key + 1, value + 1), 0);
	is_str(pmi1_space_get(&space, key + 1), value + 1);
	ok(!pmi1_space_get(&space, key));
	pmi1_space_fini(&space);
}

/* All are still there after the table has grown several times. */
TAP_TEST(pmi1_space_put__many)
{
	struct pmi1_space space = {0};
	char key[16], value[16];
	int n_wrong = 0;

	for (int i = 0; i < 3000; i++) {
		snprintf(key, sizeof(key), "key-%d", i);
		snprintf(value, sizeof(value), "%d", i * 7);
		n_wrong += pmi1_space_put(&space, key, value) != 0;
	}
	is_int(n_wrong, 0);
	is_int(space.n, 3000);
	okf(space.n_buckets >= space.n, "%zu buckets: lookups get long", space.n_buckets);
	for (int i = 0; i < 3000; i++) {
		const char *found;

		snprintf(key, sizeof(key), "key-%d", i);
		snprintf(value, sizeof(value), "%d", i * 7);
		found = pmi1_space_get(&space, key);
		n_wrong += !found || strcmp(found, value);
	}
	is_int(n_wrong, 0);
	pmi1_space_fini(&space);
}

TAP_TEST(pmi1_space_merge__pairs_of_other_hosts)
{
	struct pmi1_space space = {0};

	is_int(pmi1_space_put(&space, "a", "old"), 0);
	is_int(pmi1_space_merge(&space, "a\0new\0b\0\0", 9), 0);
	is_str(pmi1_space_get(&space, "a"), "new");
	is_str(pmi1_space_get(&space, "b"), "");
	is_int(pmi1_space_merge(&space, "", 0), 0);
	is_int(space.n, 2);
	pmi1_space_fini(&space);
}

/* @size bytes of one key and one value, with a key of @n_key characters. */
static int merge_lengths(struct pmi1_space *space, size_t n_key, size_t n_value)
{
	char data[PMI1_KEY_MAX + PMI1_VALUE_MAX + 4];

	memset(data, 'x', sizeof(data));
	data[n_key] = data[n_key + 1 + n_value] = '\0';
	return pmi1_space_merge(space, data, n_key + n_value + 2);
}

TAP_TEST(pmi1_space_merge__too_long)
{
	struct pmi1_space space = {0};

	is_int(merge_lengths(&space, PMI1_KEY_MAX, 1), -EPROTO);
	is_int(merge_lengths(&space, 1, PMI1_VALUE_MAX), -EPROTO);
	is_int(space.n, 0);
	is_int(merge_lengths(&space, PMI1_KEY_MAX - 1, PMI1_VALUE_MAX - 1), 0);
	/* A value may be longer than any key. */
	is_int(merge_lengths(&space, 1, PMI1_KEY_MAX), 0);
	is_int(space.n, 2);
	pmi1_space_fini(&space);
}

/* Nothing of a damaged piece is taken, not even the pairs before the damage. */
TAP_TEST(pmi1_space_merge__damaged)
{
	struct pmi1_space space = {0};

	is_int(pmi1_space_merge(&space, "a\0b\0c\0d", 7), -EPROTO);
	is_int(pmi1_space_merge(&space, "a\0b\0c", 6), -EPROTO);
	is_int(pmi1_space_merge(&space, "a", 1), -EPROTO);
	is_int(pmi1_space_merge(&space, "", 1), -EPROTO);
	is_int(space.n, 0);
	pmi1_space_fini(&space);
}
