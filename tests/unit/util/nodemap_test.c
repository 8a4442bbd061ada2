// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of the node map: growth, gaps closed by removal, shrinking, and random use against a model.
 */
#include <errno.h>
#include <string.h>

#include "pmcore/util/nodemap.h"
#include "tests/harness/tap.h"

#define MODEL_NODES 512

static char things[MODEL_NODES]; /* addresses of these are the values */

TAP_TEST(nodemap_get__on_an_empty_map)
{
	struct nodemap map = {0};

	ok(!nodemap_get(&map, 0));
	ok(!nodemap_remove(&map, 0));
	ok(!map.slots);
	nodemap_fini(&map);
}

TAP_TEST(nodemap_put__finds_what_was_put)
{
	struct nodemap map = {0};
	uint32_t node;

	for (node = 0; node < 300; node++)
		is_int(nodemap_put(&map, node * 65536u, &things[node]), 0);
	for (node = 0; node < 300; node++)
		ok(nodemap_get(&map, node * 65536u) == &things[node]);
	ok(!nodemap_get(&map, 1));
	is_int(map.count, 300);
	ok(map.mask + 1 >= 600);
	ok(map.mask + 1 <= 2048);
	nodemap_fini(&map);
	ok(!map.slots);
}

TAP_TEST(nodemap_put__twice)
{
	struct nodemap map = {0};

	is_int(nodemap_put(&map, 0xffffffff, &things[0]), 0);
	is_int(nodemap_put(&map, 0xffffffff, &things[1]), -EEXIST);
	ok(nodemap_get(&map, 0xffffffff) == &things[0]);
	is_int(map.count, 1);
	nodemap_fini(&map);
}

TAP_TEST(nodemap_remove__gives_memory_back)
{
	struct nodemap map = {0};
	uint32_t node;

	for (node = 0; node < 500; node++)
		is_int(nodemap_put(&map, node, &things[node]), 0);
	for (node = 1; node < 500; node++)
		ok(nodemap_remove(&map, node) == &things[node]);
	ok(map.mask + 1 <= 16);
	ok(nodemap_get(&map, 0) == &things[0]);
	nodemap_fini(&map);
}

TAP_TEST(nodemap_next__visits_each_once)
{
	struct nodemap map = {0};
	char seen[MODEL_NODES] = {0};
	uint32_t cursor = 0, node;
	char *thing;

	ok(!nodemap_next(&map, &cursor));
	for (node = 0; node < 100; node++)
		is_int(nodemap_put(&map, node * 7919u, &things[node]), 0);
	for (cursor = 0; (thing = nodemap_next(&map, &cursor));)
		seen[thing - things]++;
	for (node = 0; node < 100; node++)
		is_int(seen[node], 1);
	nodemap_fini(&map);
}

/* Few slots and node numbers that collide on purpose, so that chains wrap around the end. */
TAP_TEST(nodemap_remove__random_use_against_an_array)
{
	struct nodemap map = {0};
	uint64_t state = tap_seed();
	uint32_t step, node, count = 0;
	char *model[MODEL_NODES] = {0};

	for (step = 0; step < 200000; step++) {
		uint32_t range = step / 20000 % 2 ? 12 : MODEL_NODES;
		uint32_t i = tap_rand(&state) % range;

		node = i << 26 | i; /* few home slots */
		if (tap_rand(&state) % 2) {
			int rc = nodemap_put(&map, node, &things[i]);

			is_int(rc, model[i] ? -EEXIST : 0);
			count += !rc;
			model[i] = &things[i];
		} else {
			ok(nodemap_remove(&map, node) == model[i]);
			count -= !!model[i];
			model[i] = NULL;
		}
		is_int(map.count, count);
		i = tap_rand(&state) % range;
		ok(nodemap_get(&map, i << 26 | i) == model[i]);
	}
	nodemap_fini(&map);
}
