// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scstepd/moved.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/proto/order.h"
#include "scheduler/scstepd/bind.h"
#include "scheduler/scstepd/ranks.h"

/*
 * Its ranks, cores and key stay those of its image. The old names and addresses stay in memory, as
 * others point to them.
 */
static const char *take_hosts(struct order *order, const json_t *from)
{
	struct order *now;
	char why[200];

	if (order_decode(&now, from, why, sizeof(why)))
		return "scnoded's order makes no sense";
	if (now->n_hosts != order->n_hosts) {
		order_free(now);
		return "the order has another number of hosts than the image";
	}
	for (size_t h = 0; h < order->n_hosts; h++) {
		order->hosts[h].name = now->hosts[h].name;
		order->hosts[h].address = now->hosts[h].address;
		now->hosts[h].name = now->hosts[h].address = NULL;
	}
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

static void bind_again(struct step *step)
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
	const char *why = take_hosts(step->order, json_object_get(head, "order"));

	if (why)
		return why;
	for (size_t i = 0; i < ranks_count(step->ranks); i++) {
		struct rank *rank = ranks_at(step->ranks, i);

		rank->host_pid = find_host_pid(pairs, rank->pid);
	}
	bind_again(step);
	return NULL;
}
