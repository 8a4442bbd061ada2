// SPDX-License-Identifier: BSD-3-Clause
/*
 * meet - a table of meetings by kind, set and serial number. A meeting is complete at a host when
 * its own ranks and every child with ranks of the set below it have brought their part.
 */
#include "scheduler/scstepd/meet.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/ops.h"

struct wish { /* a local part whose end is awaited */
	struct wish *next;
	uint64_t serial;
	meet_done *done;
	void *arg;
};

struct meeting {
	struct meeting *next;
	uint64_t serial;
	uint32_t missing; /* parts to come */
	bool was_here;    /* own part is in */
	bool child_was[TREE_FANOUT];
	char *data;
	size_t size;
	int error;
};

struct circle { /* one kind and set */
	struct circle *next;
	char *op, *set;
	uint64_t joined; /* meetings our ranks joined */
	uint64_t told;   /* meetings whose end was told */
	bool is_here;    /* we have ranks of it */
	bool is_below[TREE_FANOUT];
	uint32_t parts; /* of a meeting: own and children's */
	struct meeting *open;
	struct wish *wishes, **last_wish;
};

enum { BUCKETS = 1024 };

struct meet {
	const struct worlds *worlds;
	size_t here;
	struct tree *tree;
	size_t n_open;
	struct circle *buckets[BUCKETS];
};

struct meet *meet_open(const struct worlds *worlds, size_t here, struct tree *tree)
{
	struct meet *meet = calloc(1, sizeof(*meet));

	if (meet) {
		meet->worlds = worlds;
		meet->here = here;
		meet->tree = tree;
	}
	return meet;
}

static void circle_free(struct circle *circle)
{
	while (circle->open) {
		struct meeting *meeting = circle->open;

		circle->open = meeting->next;
		free(meeting->data);
		free(meeting);
	}
	while (circle->wishes) {
		struct wish *wish = circle->wishes;

		circle->wishes = wish->next;
		free(wish);
	}
	free(circle->op);
	free(circle->set);
	free(circle);
}

void meet_close(struct meet *meet)
{
	for (size_t i = 0; meet && i < BUCKETS; i++)
		while (meet->buckets[i]) {
			struct circle *circle = meet->buckets[i];

			meet->buckets[i] = circle->next;
			circle_free(circle);
		}
	free(meet);
}

static int by_world_and_rank(const void *left, const void *right)
{
	const struct meet_rank *a = left, *b = right;

	if (a->world != b->world)
		return a->world < b->world ? -1 : 1;
	/* All of a world stands before single ranks of it. */
	return (a->rank + 1 > b->rank + 1) - (a->rank + 1 < b->rank + 1);
}

char *meet_set(const struct worlds *worlds, struct meet_rank *ranks, size_t n)
{
	char *text = NULL;
	size_t size = 0, i = 0;
	FILE *out;

	for (i = 0; i < n; i++) {
		const struct world *world = worlds_get(worlds, ranks[i].world);

		if (!world ||
		    (ranks[i].rank != MEET_ALL_RANKS && ranks[i].rank >= world->n_ranks)) {
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
		bool is_all = ranks[i].rank == MEET_ALL_RANKS;
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

	if (strlen(at) > MEET_SET_MAX)
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
static int place(const struct meet *meet, struct circle *circle)
{
	size_t n = meet->worlds->order->n_hosts;
	bool *is_in = calloc(n, sizeof(*is_in));
	int rc;

	if (!is_in)
		return -ENOMEM;
	rc = read_set(meet->worlds, circle->set, is_in);
	circle->is_here = is_in[meet->here];
	for (size_t i = 0; i < n; i++) {
		size_t child = i;

		if (!is_in[i] || i == meet->here)
			continue;
		while (child > meet->here && tree_parent(child) != meet->here)
			child = tree_parent(child);
		if (child > meet->here)
			circle->is_below[child - tree_first_child(meet->here)] = true;
	}
	free(is_in);
	circle->parts = circle->is_here;
	for (size_t i = 0; i < TREE_FANOUT; i++)
		circle->parts += circle->is_below[i];
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

static int find_circle(struct meet *meet, const char *op, const char *set, struct circle **ret)
{
	struct circle **bucket = &meet->buckets[bucket_of(op, set)], *circle;
	int rc;

	for (circle = *bucket; circle; circle = circle->next)
		if (!strcmp(circle->set, set) && !strcmp(circle->op, op)) {
			*ret = circle;
			return 0;
		}
	circle = calloc(1, sizeof(*circle));
	if (!circle)
		return -ENOMEM;
	circle->last_wish = &circle->wishes;
	circle->op = strdup(op);
	circle->set = strdup(set);
	rc = circle->op && circle->set ? place(meet, circle) : -ENOMEM;
	if (rc) {
		circle_free(circle);
		return rc;
	}
	circle->next = *bucket;
	*bucket = *ret = circle;
	return 0;
}

static int find_meeting(struct meet *meet, struct circle *circle, uint64_t serial,
			struct meeting **ret)
{
	struct meeting *meeting;

	for (meeting = circle->open; meeting; meeting = meeting->next)
		if (meeting->serial == serial) {
			*ret = meeting;
			return 0;
		}
	if (meet->n_open >= MEET_OPEN_MAX)
		return -ENOSPC;
	meeting = calloc(1, sizeof(*meeting));
	if (!meeting)
		return -ENOMEM;
	meeting->serial = serial;
	meeting->missing = circle->parts;
	meeting->next = circle->open;
	circle->open = meeting;
	meet->n_open++;
	*ret = meeting;
	return 0;
}

static void add_data(struct meeting *meeting, const void *data, size_t size)
{
	char *more;

	if (!size || meeting->error)
		return;
	more = meeting->size + size > MEET_DATA_MAX ? NULL
						    : realloc(meeting->data, meeting->size + size);
	if (!more) {
		meeting->error = meeting->size + size > MEET_DATA_MAX ? EMSGSIZE : ENOMEM;
		return;
	}
	memcpy(more + meeting->size, data, size);
	meeting->data = more;
	meeting->size += size;
}

/* One more part is in; with the last one it goes up, or from the root to all. */
static int part_came(struct meet *meet, struct circle *circle, struct meeting *meeting)
{
	struct meeting **at = &circle->open;
	json_t *head;
	int rc;

	if (--meeting->missing)
		return 0;
	while (*at != meeting)
		at = &(*at)->next;
	*at = meeting->next;
	meet->n_open--;
	head = json_pack("{s:s, s:s, s:s, s:I, s:i}", "op", meet->here ? circle->op : OP_FENCED,
			 "kind", circle->op, "set", circle->set, "serial",
			 (json_int_t)meeting->serial, "error", meeting->error);
	if (meeting->error)
		meeting->size = 0;
	if (!head)
		rc = -ENOMEM;
	else if (meet->here)
		rc = tree_send_up(meet->tree, head, meeting->data, meeting->size);
	else
		rc = tree_send(meet->tree, TREE_ALL, head, meeting->data, meeting->size);
	free(meeting->data);
	free(meeting);
	return rc;
}

int meet_join(struct meet *meet, const char *op, const char *set, const void *data, size_t size,
	      meet_done *done, void *arg)
{
	struct circle *circle;
	struct meeting *meeting;
	struct wish *wish;
	int rc = find_circle(meet, op, set, &circle);

	if (!rc && !circle->is_here)
		rc = -EINVAL;
	if (!rc)
		rc = find_meeting(meet, circle, circle->joined, &meeting);
	if (rc)
		return rc;
	wish = calloc(1, sizeof(*wish));
	if (!wish)
		return -ENOMEM;
	*wish = (struct wish){.serial = circle->joined++, .done = done, .arg = arg};
	*circle->last_wish = wish;
	circle->last_wish = &wish->next;
	meeting->was_here = true;
	add_data(meeting, data, size);
	return part_came(meet, circle, meeting);
}

int meet_combine(struct meet *meet, const char *op, size_t child, const json_t *head,
		 const char *body, size_t size)
{
	const char *set = json_string_value(json_object_get(head, "set"));
	const json_t *serial = json_object_get(head, "serial");
	int error = (int)json_integer_value(json_object_get(head, "error"));
	size_t slot = child - tree_first_child(meet->here);
	struct circle *circle;
	struct meeting *meeting;
	int rc;

	if (!set || !json_is_integer(serial) || slot >= TREE_FANOUT)
		return -EPROTO;
	rc = find_circle(meet, op, set, &circle);
	if (!rc && (!circle->is_below[slot] || (uint64_t)json_integer_value(serial) < circle->told))
		rc = -EPROTO;
	if (!rc)
		rc = find_meeting(meet, circle, (uint64_t)json_integer_value(serial), &meeting);
	if (rc)
		return rc;
	if (meeting->child_was[slot])
		return -EPROTO;
	meeting->child_was[slot] = true;
	add_data(meeting, body, size);
	if (error > 0)
		meeting->error = error;
	return part_came(meet, circle, meeting);
}

int meet_told(struct meet *meet, const json_t *head, const char *body, size_t size)
{
	const char *op = json_string_value(json_object_get(head, "kind"));
	const char *set = json_string_value(json_object_get(head, "set"));
	uint64_t serial = (uint64_t)json_integer_value(json_object_get(head, "serial"));
	int error = (int)json_integer_value(json_object_get(head, "error"));
	struct circle *circle;
	struct wish *wish;
	int rc;

	if (!op || !set)
		return -EPROTO;
	rc = find_circle(meet, op, set, &circle);
	if (rc)
		return rc;
	circle->told = serial + 1;
	wish = circle->wishes;
	if (!circle->is_here)
		return 0;
	if (!wish || wish->serial != serial)
		return -EPROTO;
	circle->wishes = wish->next;
	if (!circle->wishes)
		circle->last_wish = &circle->wishes;
	wish->done(error, body, size, wish->arg);
	free(wish);
	return 0;
}
