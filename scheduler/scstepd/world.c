// SPDX-License-Identifier: BSD-3-Clause
/*
 * world - arithmetic of ranks, hosts and programs, and the decoding of OP_WORLD.
 */
#include "scheduler/scstepd/world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/ops.h"

static void free_words(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

static void world_free(struct world *world)
{
	if (!world)
		return;
	for (size_t i = 0; world->is_spawned && i < world->n_apps; i++) {
		free_words(world->apps[i].argv);
		free_words(world->apps[i].env);
		free(world->apps[i].cwd);
	}
	if (world->is_spawned)
		free(world->apps);
	free(world->hosts);
	free(world);
}

static struct world *world_new(const struct worlds *worlds, uint32_t number)
{
	struct world *world = calloc(1, sizeof(*world));

	if (!world)
		return NULL;
	world->number = number;
	world->n_hosts = worlds->order->n_hosts;
	world->hosts = calloc(world->n_hosts, sizeof(*world->hosts));
	if (!world->hosts) {
		free(world);
		return NULL;
	}
	/*
	 * The job's number in the upper half, the world's in the lower. Open MPI 4.1 takes such a
	 * name as it is for its own 32-bit number (rankenv.c) where it would make a hash of any
	 * other. The names of its files in /dev/shm and the node numbers of PM do so too. 0 is the
	 * daemons' in either half.
	 */
	snprintf(world->nspace, sizeof(world->nspace), "%" PRIu32,
		 (uint32_t)(worlds->order->id % 65535 + 1) << 16 | (number + 1));
	return world;
}

/* Ranks of all worlds below @number on a host. */
static uint32_t ranks_before(const struct worlds *worlds, size_t host, uint32_t number)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < number && i < worlds->n; i++)
		if (worlds->all[i])
			n += worlds->all[i]->hosts[host].ranks;
	return n;
}

static int keep(struct worlds *worlds, struct world *world)
{
	struct world **more;

	if (world->number >= worlds->n) {
		more = realloc(worlds->all, (world->number + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + worlds->n, 0, (world->number + 1 - worlds->n) * sizeof(*more));
		worlds->all = more;
		worlds->n = world->number + 1;
	}
	worlds->all[world->number] = world;
	return 0;
}

int worlds_init(struct worlds *worlds, const struct order *order)
{
	struct world *world;

	*worlds = (struct worlds){.order = order};
	world = world_new(worlds, 0);
	if (!world)
		return -ENOMEM;
	for (size_t i = 0; i < order->n_hosts; i++) {
		world->hosts[i].first = order->hosts[i].first;
		world->hosts[i].ranks = order->hosts[i].ranks;
	}
	world->n_ranks = order->job->ranks;
	world->apps = order->job->apps;
	world->n_apps = order->job->n_apps;
	if (keep(worlds, world)) {
		world_free(world);
		return -ENOMEM;
	}
	return 0;
}

void worlds_fini(struct worlds *worlds)
{
	for (size_t i = 0; i < worlds->n; i++)
		world_free(worlds->all[i]);
	free(worlds->all);
	*worlds = (struct worlds){0};
}

struct world *worlds_get(const struct worlds *worlds, uint64_t number)
{
	return number < worlds->n ? worlds->all[number] : NULL;
}

struct world *worlds_find(const struct worlds *worlds, const char *nspace)
{
	for (size_t i = 0; i < worlds->n; i++)
		if (worlds->all[i] && !strcmp(worlds->all[i]->nspace, nspace))
			return worlds->all[i];
	return NULL;
}

size_t world_host_of(const struct world *world, uint32_t rank)
{
	size_t low = 0, high = world->n_hosts - 1;

	/*
	 * The last host whose first rank is not above; hosts without ranks share theirs with the
	 * next.
	 */
	while (low < high) {
		size_t middle = (low + high + 1) / 2;

		if (world->hosts[middle].first <= rank)
			low = middle;
		else
			high = middle - 1;
	}
	while (low > 0 && !world->hosts[low].ranks)
		low--;
	return low;
}

size_t world_app_of(const struct world *world, uint32_t rank, uint32_t *ret_rank,
		    uint32_t *ret_first)
{
	uint32_t first = 0;
	size_t i;

	for (i = 0; i + 1 < world->n_apps && rank >= first + world->apps[i].ranks; i++)
		first += world->apps[i].ranks;
	if (ret_rank)
		*ret_rank = rank - first;
	if (ret_first)
		*ret_first = first;
	return i;
}

static int refuse(char *why, size_t why_size, const char *what)
{
	snprintf(why, why_size, "%s", what);
	return -EINVAL;
}

/* Ranks that all programs want together, 0 = something is wrong. */
static uint64_t count_ranks(const json_t *apps)
{
	uint64_t n = 0;
	size_t i;
	json_t *app;

	json_array_foreach(apps, i, app) {
		json_int_t ranks = json_integer_value(json_object_get(app, "ranks"));

		if (ranks < 1 || ranks > WORLD_RANKS_MAX)
			return 0;
		n += (uint64_t)ranks;
	}
	return n > WORLD_RANKS_MAX ? 0 : n;
}

int world_plan(const struct worlds *worlds, const json_t *apps, uint32_t parent_world,
	       uint32_t parent_rank, json_t **ret, char *why, size_t why_size)
{
	size_t n_hosts = worlds->order->n_hosts;
	uint64_t n = count_ranks(apps);
	uint32_t *here, *load;
	json_t *hosts;

	if (!n)
		return refuse(why, why_size, "spawn: no processes are asked for, or too many");
	if (worlds->n >= WORLDS_MAX) {
		snprintf(why, why_size, "spawn: a job can do that %d times", WORLDS_MAX - 1);
		return -ENOSPC;
	}
	here = calloc(2 * n_hosts, sizeof(*here));
	hosts = json_array();
	if (!here || !hosts) {
		free(here);
		json_decref(hosts);
		return -ENOMEM;
	}
	load = here + n_hosts;
	for (size_t i = 0; i < n_hosts; i++)
		load[i] = ranks_before(worlds, i, (uint32_t)worlds->n);
	/* One after another to the host with the least for each of its cores. */
	for (uint64_t rank = 0; rank < n; rank++) {
		size_t best = 0;

		for (size_t i = 1; i < n_hosts; i++) {
			uint64_t mine = load[i] * (worlds->order->hosts[best].n_cores + 1);
			uint64_t its = load[best] * (worlds->order->hosts[i].n_cores + 1);

			if (mine < its)
				best = i;
		}
		load[best]++;
		here[best]++;
	}
	for (size_t i = 0; i < n_hosts; i++)
		json_array_append_new(hosts, json_integer(here[i]));
	free(here);
	*ret = json_pack("{s:s, s:i, s:i, s:i, s:O, s:o}", "op", OP_WORLD, "world", (int)worlds->n,
			 "parent_world", (int)parent_world, "parent_rank", (int)parent_rank, "apps",
			 apps, "hosts", hosts);
	return *ret ? 0 : -ENOMEM;
}

static char **decode_words(const json_t *from)
{
	size_t n = json_array_size(from);
	char **words = calloc(n + 1, sizeof(*words));

	for (size_t i = 0; words && i < n; i++) {
		const char *word = json_string_value(json_array_get(from, i));

		words[i] = word ? strdup(word) : NULL;
		if (!words[i]) {
			free_words(words);
			return NULL;
		}
	}
	return words;
}

static int decode_apps(struct world *world, const json_t *from)
{
	size_t i;
	json_t *app;

	world->apps = calloc(json_array_size(from), sizeof(*world->apps));
	if (!world->apps)
		return -ENOMEM;
	json_array_foreach(from, i, app) {
		struct job_app *to = &world->apps[world->n_apps++];
		const char *cwd = json_string_value(json_object_get(app, "cwd"));

		to->argv = decode_words(json_object_get(app, "argv"));
		to->env = decode_words(json_object_get(app, "env"));
		to->cwd = cwd ? strdup(cwd) : NULL;
		to->ranks = (uint32_t)json_integer_value(json_object_get(app, "ranks"));
		if (!to->argv || !to->env || !to->argv[0] || (cwd && !to->cwd))
			return -EINVAL;
	}
	return 0;
}

static int decode_hosts(const struct worlds *worlds, struct world *world, const json_t *from)
{
	uint64_t n = 0;

	if (json_array_size(from) != world->n_hosts)
		return -EINVAL;
	for (size_t i = 0; i < world->n_hosts; i++) {
		json_int_t ranks = json_integer_value(json_array_get(from, i));

		if (ranks < 0 || ranks > WORLD_RANKS_MAX)
			return -EINVAL;
		world->hosts[i].first = (uint32_t)n;
		world->hosts[i].ranks = (uint32_t)ranks;
		world->hosts[i].before = ranks_before(worlds, i, world->number);
		n += (uint64_t)ranks;
	}
	world->n_ranks = (uint32_t)n;
	return n && n <= WORLD_RANKS_MAX ? 0 : -EINVAL;
}

int world_add(struct worlds *worlds, const json_t *told, struct world **ret, char *why,
	      size_t why_size)
{
	json_int_t number = json_integer_value(json_object_get(told, "world"));
	json_int_t parent = json_integer_value(json_object_get(told, "parent_world"));
	json_int_t rank = json_integer_value(json_object_get(told, "parent_rank"));
	const json_t *apps = json_object_get(told, "apps");
	struct world *world;
	int rc;

	if (number < 1 || number >= WORLDS_MAX || worlds_get(worlds, (uint64_t)number) ||
	    parent < 0 || !worlds_get(worlds, (uint64_t)parent) || rank < 0 ||
	    rank >= worlds_get(worlds, (uint64_t)parent)->n_ranks || !count_ranks(apps) ||
	    json_array_size(apps) > JOB_APPS_MAX)
		return refuse(why, why_size, "spawn: a message of the leader makes no sense");
	world = world_new(worlds, (uint32_t)number);
	if (!world)
		return -ENOMEM;
	world->is_spawned = true;
	world->parent_world = (uint32_t)parent;
	world->parent_rank = (uint32_t)rank;
	rc = decode_apps(world, apps);
	if (!rc)
		rc = decode_hosts(worlds, world, json_object_get(told, "hosts"));
	if (!rc && world->n_ranks != count_ranks(apps))
		rc = -EINVAL;
	if (!rc)
		rc = keep(worlds, world);
	if (rc) {
		world_free(world);
		snprintf(why, why_size, "spawn: %s", strerror(-rc));
		return rc;
	}
	*ret = world;
	return 0;
}
