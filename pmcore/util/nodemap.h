/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodemap - hash table from node number to a pointer. Memory is proportional to the entries, never
 * to the size of the job. Lookup is inline: it is on the path of every message.
 */
#ifndef PM_UTIL_NODEMAP_H
#define PM_UTIL_NODEMAP_H

#include <stddef.h>
#include <stdint.h>

struct nodemap_slot {
	void *value; /* NULL = empty */
	uint32_t node;
};

struct nodemap {
	struct nodemap_slot *slots; /* NULL until the first entry; linear probing, load <= 1/2 */
	uint32_t mask;              /* slots - 1 */
	uint32_t count;             /* entries */
};

static inline uint32_t nodemap_hash(uint32_t node)
{
	/* Fibonacci hashing (Knuth, TAOCP 3, 6.4) spreads dense and strided node numbers alike */
	return (node * 2654435769u) >> 7;
}

/* The value of @node, or NULL. */
static inline void *nodemap_get(const struct nodemap *map, uint32_t node)
{
	if (!map->slots)
		return NULL;
	for (uint32_t i = nodemap_hash(node) & map->mask; map->slots[i].value;
	     i = (i + 1) & map->mask)
		if (map->slots[i].node == node)
			return map->slots[i].value;
	return NULL;
}

/* Adds an entry; @value not NULL. -EEXIST, -ENOMEM. */
int nodemap_put(struct nodemap *map, uint32_t node, void *value);
/* Removes and returns the value, or NULL. */
void *nodemap_remove(struct nodemap *map, uint32_t node);
/* Next entry after *@cursor (start with 0) or NULL at the end. Do not change the map meanwhile. */
void *nodemap_next(const struct nodemap *map, uint32_t *cursor);
void nodemap_fini(struct nodemap *map);

#endif
