// SPDX-License-Identifier: BSD-3-Clause
/*
 * collective - a table of collectives by kind, set and serial number. A collective is complete at a
 * host when its own ranks and every child with ranks of the set below it have brought their part.
 */
#include "scheduler/scstepd/collective.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/ops.h"

struct waiter { /* a local part whose end is awaited */
	struct waiter *next;
	uint64_t serial;
	collective_done *done;
	void *arg;
};

struct collective {
	struct collective *next;
	uint64_t serial;
	uint32_t missing; /* parts to come */
	bool was_here;    /* own part is in */
	bool child_was[TREE_FANOUT];
	char *data;
	size_t size;
	int error;
};

struct series { /* one kind and set */
	struct series *next;
	char *op, *set;
	uint64_t joined; /* collectives our ranks joined */
	uint64_t told;   /* collectives whose end was told */
	bool is_here;    /* we have ranks of it */
	bool is_below[TREE_FANOUT];
	uint32_t parts; /* of a collective: own and children's */
	struct collective *open;
	struct waiter *waiters, **last_waiter;
};

enum { BUCKETS = 1024 };

struct collectives {
	const struct worlds *worlds;
	size_t here;
	struct tree *tree;
	size_t n_open;
	struct series *buckets[BUCKETS];
};

struct collectives *collective_open(const struct worlds *worlds, size_t here, struct tree *tree)
{
	struct collectives *collectives = calloc(1, sizeof(*collectives));

	if (collectives) {
		collectives->worlds = worlds;
		collectives->here = here;
		collectives->tree = tree;
	}
	return collectives;
}

static void series_free(struct series *series)
{
	while (series->open) {
		struct collective *collective = series->open;

		series->open = collective->next;
		free(collective->data);
		free(collective);
	}
	while (series->waiters) {
		struct waiter *waiter = series->waiters;

		series->waiters = waiter->next;
		free(waiter);
	}
	free(series->op);
	free(series->set);
	free(series);
}

void collective_close(struct collectives *collectives)
{
	for (size_t i = 0; collectives && i < BUCKETS; i++)
		while (collectives->buckets[i]) {
			struct series *series = collectives->buckets[i];

			collectives->buckets[i] = series->next;
			series_free(series);
		}
	free(collectives);
}

static int by_world_and_rank(const void *left, const void *right)
{
	const struct collective_rank *a = left, *b = right;

	if (a->world != b->world)
		return a->world < b->world ? -1 : 1;
	/* All of a world stands before single ranks of it. */
	return (a->rank + 1 > b->rank + 1) - (a->rank + 1 < b->rank + 1);
}

char *collective_set(const struct worlds *worlds, struct collective_rank *ranks, size_t n)
{
	char *text = NULL;
	size_t size = 0, i = 0;
	FILE *out;

	for (i = 0; i < n; i++) {
		const struct world *world = worlds_get(worlds, ranks[i].world);

		if (!world ||
		    (ranks[i].rank != COLLECTIVE_ALL_RANKS && ranks[i].rank >= world->n_ranks)) {
			errno = EINVAL;
			return NULL;
		}
	}
	qsort(ranks, n, sizeof(*ranks), by_world_and_rank);
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	for (i = 0; i < n;) {
		uint32_t number = ranks[i].world;
		uint32_t all = worlds_get(worlds, number)->n_ranks;
		bool is_all = ranks[i].rank == COLLECTIVE_ALL_RANKS;
		uint32_t first, last;

		fprintf(out, "%s%u", i ? ";" : "", number);
		for (bool is_first = true; i < n && ranks[i].world == number; is_first = false) {
			first = last = ranks[i].rank;
			for (i++; i < n && ranks[i].world == number && ranks[i].rank <= last + 1;
			     i++)
				last = ranks[i].rank;
			if (is_all || (first == 0 && last + 1 == all))
				continue;
			fprintf(out, first == last ? "%c%u" : "%c%u-%u", is_first ? ':' : ',',
				first, last);
		}
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Marks every host that has ranks first..last of a world. */
static void mark_hosts(const struct world *world, uint32_t first, uint32_t last, bool *is_in)
{
	size_t to = world_host_of(world, last);

	for (size_t i = world_host_of(world, first); i <= to; i++)
		if (world->hosts[i].ranks)
			is_in[i] = true;
}

static bool take_number(const char **at, uint32_t *ret)
{
	char *end;
	unsigned long value = strtoul(*at, &end, 10);

	if (**at < '0' || **at > '9' || value > WORLD_RANKS_MAX)
		return false;
	*at = end;
	*ret = (uint32_t)value;
	return true;
}

/* The text of a set comes from other hosts, too. */
static int read_set(const struct worlds *worlds, const char *at, bool *is_in)
{
	uint32_t number, first, last;

	if (strlen(at) > COLLECTIVE_SET_MAX)
		return -EINVAL;
	do {
		const struct world *world;

		if (!take_number(&at, &number))
			return -EINVAL;
		world = worlds_get(worlds, number);
		if (!world)
			return -EINVAL;
		if (*at != ':') {
			mark_hosts(world, 0, world->n_ranks - 1, is_in);
			continue;
		}
		do {
			at++;
			if (!take_number(&at, &first))
				return -EINVAL;
			last = first;
			if (*at == '-' && (at++, !take_number(&at, &last)))
				return -EINVAL;
			if (first > last || last >= world->n_ranks)
				return -EINVAL;
			mark_hosts(world, first, last, is_in);
		} while (*at == ',');
	} while (*at == ';' && at++);
	return *at ? -EINVAL : 0;
}

/* Which of the set's hosts are here and below which child. */
static int place(const struct collectives *collectives, struct series *series)
{
	size_t n = collectives->worlds->order->n_hosts;
	bool *is_in = calloc(n, sizeof(*is_in));
	int rc;

	if (!is_in)
		return -ENOMEM;
	rc = read_set(collectives->worlds, series->set, is_in);
	series->is_here = is_in[collectives->here];
	for (size_t i = 0; i < n; i++) {
		size_t child = i;

		if (!is_in[i] || i == collectives->here)
			continue;
		while (child > collectives->here && tree_parent(child) != collectives->here)
			child = tree_parent(child);
		if (child > collectives->here)
			series->is_below[child - tree_first_child(collectives->here)] = true;
	}
	free(is_in);
	series->parts = series->is_here;
	for (size_t i = 0; i < TREE_FANOUT; i++)
		series->parts += series->is_below[i];
	return rc;
}

static size_t bucket_of(const char *op, const char *set)
{
	size_t hash = 5381;

	for (; *op; op++)
		hash = hash * 33 ^ (unsigned char)*op;
	for (; *set; set++)
		hash = hash * 33 ^ (unsigned char)*set;
	return hash % BUCKETS;
}

static int find_circle(struct collectives *collectives, const char *op, const char *set,
		       struct series **ret)
{
	struct series **bucket = &collectives->buckets[bucket_of(op, set)], *series;
	int rc;

	for (series = *bucket; series; series = series->next)
		if (!strcmp(series->set, set) && !strcmp(series->op, op)) {
			*ret = series;
			return 0;
		}
	series = calloc(1, sizeof(*series));
	if (!series)
		return -ENOMEM;
	series->last_waiter = &series->waiters;
	series->op = strdup(op);
	series->set = strdup(set);
	rc = series->op && series->set ? place(collectives, series) : -ENOMEM;
	if (rc) {
		series_free(series);
		return rc;
	}
	series->next = *bucket;
	*bucket = *ret = series;
	return 0;
}

static int find_collective(struct collectives *collectives, struct series *series, uint64_t serial,
			   struct collective **ret)
{
	struct collective *collective;

	for (collective = series->open; collective; collective = collective->next)
		if (collective->serial == serial) {
			*ret = collective;
			return 0;
		}
	if (collectives->n_open >= COLLECTIVE_OPEN_MAX)
		return -ENOSPC;
	collective = calloc(1, sizeof(*collective));
	if (!collective)
		return -ENOMEM;
	collective->serial = serial;
	collective->missing = series->parts;
	collective->next = series->open;
	series->open = collective;
	collectives->n_open++;
	*ret = collective;
	return 0;
}

static void add_data(struct collective *collective, const void *data, size_t size)
{
	char *more;

	if (!size || collective->error)
		return;
	more = collective->size + size > COLLECTIVE_DATA_MAX
		       ? NULL
		       : realloc(collective->data, collective->size + size);
	if (!more) {
		collective->error = collective->size + size > COLLECTIVE_DATA_MAX ? EMSGSIZE
										  : ENOMEM;
		return;
	}
	memcpy(more + collective->size, data, size);
	collective->data = more;
	collective->size += size;
}

/* One more part is in; with the last one it goes up, or from the root to all. */
static int part_came(struct collectives *collectives, struct series *series,
		     struct collective *collective)
{
	struct collective **at = &series->open;
	json_t *head;
	int rc;

	if (--collective->missing)
		return 0;
	while (*at != collective)
		at = &(*at)->next;
	*at = collective->next;
	collectives->n_open--;
	head = json_pack("{s:s, s:s, s:s, s:I, s:i}", "op",
			 collectives->here ? series->op : OP_FENCED, "kind", series->op, "set",
			 series->set, "serial", (json_int_t)collective->serial, "error",
			 collective->error);
	if (collective->error)
		collective->size = 0;
	if (!head)
		rc = -ENOMEM;
	else if (collectives->here)
		rc = tree_send_up(collectives->tree, head, collective->data, collective->size);
	else
		rc = tree_send(collectives->tree, TREE_ALL, head, collective->data,
			       collective->size);
	free(collective->data);
	free(collective);
	return rc;
}

int collective_join(struct collectives *collectives, const char *op, const char *set,
		    const void *data, size_t size, collective_done *done, void *arg)
{
	struct series *series;
	struct collective *collective;
	struct waiter *waiter;
	int rc = find_circle(collectives, op, set, &series);

	if (!rc && !series->is_here)
		rc = -EINVAL;
	if (!rc)
		rc = find_collective(collectives, series, series->joined, &collective);
	if (rc)
		return rc;
	waiter = calloc(1, sizeof(*waiter));
	if (!waiter)
		return -ENOMEM;
	*waiter = (struct waiter){.serial = series->joined++, .done = done, .arg = arg};
	*series->last_waiter = waiter;
	series->last_waiter = &waiter->next;
	collective->was_here = true;
	add_data(collective, data, size);
	return part_came(collectives, series, collective);
}

int collective_combine(struct collectives *collectives, const char *op, size_t child,
		       const json_t *head, const char *body, size_t size)
{
	const char *set = json_string_value(json_object_get(head, "set"));
	const json_t *serial = json_object_get(head, "serial");
	int error = (int)json_integer_value(json_object_get(head, "error"));
	size_t slot = child - tree_first_child(collectives->here);
	struct series *series;
	struct collective *collective;
	int rc;

	if (!set || !json_is_integer(serial) || slot >= TREE_FANOUT)
		return -EPROTO;
	rc = find_circle(collectives, op, set, &series);
	if (!rc && (!series->is_below[slot] || (uint64_t)json_integer_value(serial) < series->told))
		rc = -EPROTO;
	if (!rc)
		rc = find_collective(collectives, series, (uint64_t)json_integer_value(serial),
				     &collective);
	if (rc)
		return rc;
	if (collective->child_was[slot])
		return -EPROTO;
	collective->child_was[slot] = true;
	add_data(collective, body, size);
	if (error > 0)
		collective->error = error;
	return part_came(collectives, series, collective);
}

int collective_told(struct collectives *collectives, const json_t *head, const char *body,
		    size_t size)
{
	const char *op = json_string_value(json_object_get(head, "kind"));
	const char *set = json_string_value(json_object_get(head, "set"));
	uint64_t serial = (uint64_t)json_integer_value(json_object_get(head, "serial"));
	int error = (int)json_integer_value(json_object_get(head, "error"));
	struct series *series;
	struct waiter *waiter;
	int rc;

	if (!op || !set)
		return -EPROTO;
	rc = find_circle(collectives, op, set, &series);
	if (rc)
		return rc;
	series->told = serial + 1;
	waiter = series->waiters;
	if (!series->is_here)
		return 0;
	if (!waiter || waiter->serial != serial)
		return -EPROTO;
	series->waiters = waiter->next;
	if (!series->waiters)
		series->last_waiter = &series->waiters;
	waiter->done(error, body, size, waiter->arg);
	free(waiter);
	return 0;
}
