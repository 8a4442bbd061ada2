// SPDX-License-Identifier: BSD-3-Clause
/*
 * world: where ranks are, and worlds that are told by another host.
 */
#include "scheduler/scstepd/world.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scstepd/small_order.h"

TAP_TEST(worlds_init__ranks_of_the_order)
{
	struct small_order small;
	struct worlds worlds;
	struct world *world;
	uint32_t in_app, first;

	small_order_init(&small, 3, 4);
	is_int(worlds_init(&worlds, &small.order), 0);
	world = worlds_get(&worlds, 0);
	is_int(world->n_ranks, 12);
	for (uint32_t rank = 0; rank < 12; rank++)
		is_int(world_host_of(world, rank), rank / 4);
	is_int(world_app_of(world, 10, &in_app, &first), 0);
	is_int(in_app, 10);
	is_int(world_app_of(world, 11, &in_app, &first), 1);
	is_int(in_app, 0);
	is_int(first, 11);
	/* 70000 modulo 65535, plus 1, above 1. */
	is_str(world->nspace, "292683777");
	ok(worlds_find(&worlds, world->nspace) == world);
	ok(!worlds_find(&worlds, "1"));
	ok(!worlds_get(&worlds, 1));
	worlds_fini(&worlds);
	small_order_fini(&small);
}

static json_t *two_apps(int first, int second)
{
	return json_pack("[{s:[s], s:[], s:i}, {s:[ss], s:[s], s:s, s:i}]", "argv", "a", "env",
			 "ranks", first, "argv", "b", "-x", "env", "A=1", "cwd", "/tmp", "ranks",
			 second);
}

TAP_TEST(world_plan__to_the_emptiest_hosts)
{
	struct small_order small;
	struct worlds root, other;
	struct world *world, *same;
	json_t *apps = two_apps(3, 2), *told;
	char why[200];

	small_order_init(&small, 3, 2);
	/* The second host has room. */
	small.order.hosts[1].n_cores = 20;
	worlds_init(&root, &small.order);
	worlds_init(&other, &small.order);
	is_int(world_plan(&root, apps, 0, 4, &told, why, sizeof(why)), 0);
	is_int(world_add(&root, told, &world, why, sizeof(why)), 0);
	is_int(world_add(&other, told, &same, why, sizeof(why)), 0);
	is_int(world->number, 1);
	is_int(world->n_ranks, 5);
	is_int(world->hosts[0].ranks, 0);
	is_int(world->hosts[1].ranks, 5);
	is_int(world->hosts[1].before, 2);
	is_int(world->hosts[2].ranks, 0);
	is_int(same->hosts[1].ranks, 5);
	for (uint32_t rank = 0; rank < 5; rank++)
		is_int(world_host_of(same, rank), 1);
	is_int(same->parent_rank, 4);
	is_str(same->apps[1].argv[1], "-x");
	is_str(same->apps[1].cwd, "/tmp");
	is_str(same->nspace, world->nspace);
	/* The number is taken. */
	is_int(world_add(&other, told, &same, why, sizeof(why)), -EINVAL);
	json_decref(told);
	json_decref(apps);
	worlds_fini(&root);
	worlds_fini(&other);
	small_order_fini(&small);
}

TAP_TEST(world_plan__nothing_or_too_much)
{
	static const int wrong[][2] = {{0, 1}, {-1, 2}, {1 << 20, 1}, {1, 1 << 30}};
	struct small_order small;
	struct worlds worlds;
	json_t *told = NULL;
	char why[200];

	small_order_init(&small, 2, 2);
	worlds_init(&worlds, &small.order);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		json_t *apps = two_apps(wrong[i][0], wrong[i][1]);

		is_int(world_plan(&worlds, apps, 0, 0, &told, why, sizeof(why)), -EINVAL);
		ok(strstr(why, "spawn"));
		json_decref(apps);
	}
	is_int(world_plan(&worlds, NULL, 0, 0, &told, why, sizeof(why)), -EINVAL);
	ok(!told);
	worlds_fini(&worlds);
	small_order_fini(&small);
}

TAP_TEST(world_add__lies)
{
	static const char *const lies[] = {
		"{}",
		"{\"world\":0}",
		"{\"world\":1, \"parent_world\":7, \"parent_rank\":0}",
		"{\"world\":1, \"parent_world\":0, \"parent_rank\":4, \"apps\":[{\"argv\":[\"a\"],"
		"\"env\":[],\"ranks\":1}], \"hosts\":[1,0]}",
		"{\"world\":1, \"parent_world\":0, \"parent_rank\":0, \"apps\":[{\"argv\":[\"a\"],"
		"\"env\":[],\"ranks\":1}], \"hosts\":[1]}",
		"{\"world\":1, \"parent_world\":0, \"parent_rank\":0, \"apps\":[{\"argv\":[\"a\"],"
		"\"env\":[],\"ranks\":1}], \"hosts\":[1,1]}",
		"{\"world\":1, \"parent_world\":0, \"parent_rank\":0, \"apps\":[{\"argv\":[\"a\"],"
		"\"env\":[],\"ranks\":1}], \"hosts\":[2,-1]}",
		"{\"world\":1, \"parent_world\":0, \"parent_rank\":0, \"apps\":[{\"argv\":[],"
		"\"env\":[],\"ranks\":1}], \"hosts\":[1,0]}",
		"{\"world\":1, \"parent_world\":0, \"parent_rank\":0, \"apps\":[{\"argv\":[7],"
		"\"env\":[],\"ranks\":1}], \"hosts\":[1,0]}",
		"{\"world\":99999, \"parent_world\":0, \"parent_rank\":0}",
	};
	struct small_order small;
	struct worlds worlds;
	struct world *world = NULL;
	char why[200];

	small_order_init(&small, 2, 2);
	worlds_init(&worlds, &small.order);
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		json_t *told = json_loads(lies[i], 0, NULL);

		must(told);
		okf(world_add(&worlds, told, &world, why, sizeof(why)) < 0, "%s", lies[i]);
		json_decref(told);
	}
	ok(!world);
	worlds_fini(&worlds);
	small_order_fini(&small);
}
