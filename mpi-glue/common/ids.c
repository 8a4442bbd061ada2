// SPDX-License-Identifier: BSD-3-Clause
/*
 * ids - an array of slots with a free list; an id is the slot's index with its generation above.
 */
#include "mpi-glue/common/ids.h"

#include <stddef.h>
#include <stdlib.h>

enum { FIRST_SLOTS = 64 };

void ids_init(struct ids *t)
{
	*t = (struct ids){.free = IDS_END};
}

void ids_fini(struct ids *t)
{
	free(t->slots);
	ids_init(t);
}

static int grow(struct ids *t)
{
	uint32_t size = t->size ? t->size * 2 : FIRST_SLOTS;
	struct ids_slot *slots;

	if (size <= t->size)
		return -1;
	slots = realloc(t->slots, size * sizeof(*slots));
	if (!slots)
		return -1;
	for (uint32_t i = t->size; i < size; i++)
		slots[i] = (struct ids_slot){.generation = 1, .next_free = i + 1};
	slots[size - 1].next_free = t->free;
	t->free = t->size;
	t->slots = slots;
	t->size = size;
	return 0;
}

uint64_t ids_add(struct ids *t, void *object)
{
	struct ids_slot *slot;
	uint32_t index;

	if (t->free == IDS_END && grow(t))
		return 0;
	index = t->free;
	slot = &t->slots[index];
	t->free = slot->next_free;
	slot->object = object;
	t->used++;
	return (uint64_t)slot->generation << 32 | index;
}

void *ids_get(const struct ids *t, uint64_t id)
{
	uint32_t index = (uint32_t)id;

	if (index >= t->size || t->slots[index].generation != id >> 32)
		return NULL;
	return t->slots[index].object;
}

void *ids_take(struct ids *t, uint64_t id)
{
	void *object = ids_get(t, id);
	struct ids_slot *slot;

	if (!object)
		return NULL;
	slot = &t->slots[(uint32_t)id];
	slot->object = NULL;
	if (!++slot->generation)
		slot->generation = 1;
	slot->next_free = t->free;
	t->free = (uint32_t)id;
	t->used--;
	return object;
}
