// SPDX-License-Identifier: BSD-3-Clause
/*
 * nodemap - growth, shrinking and removal of the hash table from node number to pointer; lookup is
 * inline in nodemap.h. Owns the slots, never the values. Refuses to know what a node is.
 */
#include "pmcore/util/nodemap.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define MIN_SLOTS 8u
#define MAX_SLOTS (1u << 31)

/* The slot of @node, or the empty one where it would go. */
static uint32_t find_slot(const struct nodemap *map, uint32_t node)
{
	uint32_t i = nodemap_hash(node) & map->mask;

	while (map->slots[i].value && map->slots[i].node != node)
		i = (i + 1) & map->mask;
	return i;
}

/* Moves all entries to a table of @n_slots. */
static int resize(struct nodemap *map, uint32_t n_slots)
{
	struct nodemap bigger = {.mask = n_slots - 1, .count = map->count};
	uint32_t i;

	bigger.slots = calloc(n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; map->slots && i <= map->mask; i++)
		if (map->slots[i].value)
			bigger.slots[find_slot(&bigger, map->slots[i].node)] = map->slots[i];
	free(map->slots);
	*map = bigger;
	return 0;
}

int nodemap_put(struct nodemap *map, uint32_t node, void *value)
{
	uint32_t slots = map->slots ? map->mask + 1 : 0;
	uint32_t i;
	int rc;

	assert(value);
	if (nodemap_get(map, node))
		return -EEXIST;
	if (map->count >= slots / 2) {
		if (slots == MAX_SLOTS)
			return -ENOMEM;
		rc = resize(map, slots ? slots * 2 : MIN_SLOTS);
		if (rc)
			return rc;
	}
	i = find_slot(map, node);
	map->slots[i].node = node;
	map->slots[i].value = value;
	map->count++;
	return 0;
}

/* Whether the entry in slot @at may move to the hole: its home is not between the two. */
static bool may_move(const struct nodemap *map, uint32_t hole, uint32_t at)
{
	uint32_t home = nodemap_hash(map->slots[at].node) & map->mask;

	return ((at - home) & map->mask) >= ((at - hole) & map->mask);
}

void *nodemap_remove(struct nodemap *map, uint32_t node)
{
	uint32_t hole, i;
	void *value;

	if (!map->slots)
		return NULL;
	hole = find_slot(map, node);
	value = map->slots[hole].value;
	if (!value)
		return NULL;
	/* Close the gap instead of leaving a tombstone (Knuth, TAOCP 3, 6.4, algorithm R) */
	for (i = (hole + 1) & map->mask; map->slots[i].value; i = (i + 1) & map->mask) {
		if (!may_move(map, hole, i))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole].value = NULL;
	map->count--;
	/* A table that can't be made smaller for want of memory is still a good one. */
	if (map->mask + 1 > MIN_SLOTS && map->count <= (map->mask + 1) / 8)
		(void)resize(map, (map->mask + 1) / 2);
	return value;
}

void *nodemap_next(const struct nodemap *map, uint32_t *cursor)
{
	while (map->slots && *cursor <= map->mask) {
		void *value = map->slots[(*cursor)++].value;

		if (value)
			return value;
	}
	return NULL;
}

void nodemap_fini(struct nodemap *map)
{
	free(map->slots);
	*map = (struct nodemap){0};
}
