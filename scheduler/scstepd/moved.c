// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scstepd/moved.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/order.h"
#include "scheduler/scstepd/bind.h"
#include "scheduler/scstepd/memory_limit.h"
#include "scheduler/scstepd/ranks.h"
#include "scheduler/scstepd/standstill.h"

static void move_host(struct order_host *to, struct order_host *from)
{
	to->name = from->name;
	to->address = from->address;
	to->cores = from->cores;
	to->n_cores = from->n_cores;
	memcpy(to->at, from->at, sizeof(to->at));
	from->name = from->address = NULL;
	from->cores = NULL;
}

/*
 * Its ranks and key stay those of its image. Names and cores of before stay in memory, as others
 * point to them.
 */
static const char *take_hosts(struct order *order, const json_t *from, uint32_t *ret_incarnation)
{
	struct order *now;
	char why[200];

	if (order_decode(&now, from, why, sizeof(why)))
		return "scnoded's order makes no sense";
	if (now->n_hosts != order->n_hosts) {
		order_free(now);
		return "the order has another number of hosts than the image";
	}
	for (size_t h = 0; h < order->n_hosts; h++)
		move_host(&order->hosts[h], &now->hosts[h]);
	order->n_dims = now->n_dims;
	*ret_incarnation = now->incarnation;
	order_free(now);
	return NULL;
}

/* Every thread: a rank that ends meanwhile needs no core. */
static void bind_threads(pid_t pid, const unsigned long *mask, int bytes)
{
	char path[64];
	const struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)*entry->d_name))
			sched_setaffinity(atoi(entry->d_name), (size_t)bytes,
					  (const cpu_set_t *)mask);
	if (dir)
		closedir(dir);
}

static void bind_again(const struct step *step)
{
	for (size_t i = 0; i < ranks_count(step->ranks); i++) {
		const struct rank *rank = ranks_at(step->ranks, i);
		unsigned long *mask = NULL;
		int bytes;

		if (rank->has_ended)
			continue;
		bytes = bind_mask(step->bind, rank->slot, &mask);
		if (bytes > 0)
			bind_threads(rank->pid, mask, bytes);
		free(mask);
	}
}

/*
 * The old topology stays in memory, as PMIx's server has it. NULL, or why not, until the next call.
 */
static const char *take_cores(struct step *step, const json_t *host)
{
	static char why[512];
	const char *cpus = json_string_value(json_object_get(host, "cpus"));
	struct bind *bind = bind_open(step->order, cpus ? cpus : "", why, sizeof(why));

	if (!bind)
		return why;
	step->bind = bind;
	bind_again(step);
	return NULL;
}

static pid_t find_host_pid(const json_t *pairs, pid_t pid)
{
	const json_t *pair;
	size_t i;

	json_array_foreach(pairs, i, pair)
		if (json_integer_value(json_array_get(pair, 0)) == pid)
			return (pid_t)json_integer_value(json_array_get(pair, 1));
	return 0;
}

const char *moved_take(struct step *step, const json_t *head)
{
	const json_t *pairs = json_object_get(head, "pids");
	const char *devices = json_string_value(json_object_get(head, "devices"));
	uint32_t incarnation = 0;
	const char *why = take_hosts(step->order, json_object_get(head, "order"), &incarnation);

	if (why)
		return why;
	for (size_t i = 0; i < ranks_count(step->ranks); i++) {
		struct rank *rank = ranks_at(step->ranks, i);

		rank->host_pid = find_host_pid(pairs, rank->pid);
	}
	step->host = step->order->hosts[step->here].name;
	memory_limit_take(step, json_object_get(head, "memory"));
	if (standstill_moved(step->standstill, incarnation, devices))
		return "no memory for the devices of its ranks";
	return take_cores(step, json_object_get(head, "host"));
}
