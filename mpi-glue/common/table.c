// SPDX-License-Identifier: BSD-3-Clause
/*
 * table - open addressing with linear probing and backward-shift deletion (no tombstones, so a
 * table that lives as long as the job never degrades). Knows nothing of what it keeps.
 */
#include "mpi-glue/common/table.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_SLOTS = 8 };

static void place(struct table *t, uint32_t key, void *value)
{
	uint32_t i = key & t->mask;

	while (t->slots[i].value)
		i = (i + 1) & t->mask;
	t->slots[i].key = key;
	t->slots[i].value = value;
	t->count++;
}

static int grow(struct table *t)
{
	uint32_t slots = t->slots ? (t->mask + 1) * 2 : FIRST_SLOTS;
	struct table bigger = {.mask = slots - 1};

	bigger.slots = calloc(slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; t->slots && i <= t->mask; i++) {
		if (t->slots[i].value)
			place(&bigger, t->slots[i].key, t->slots[i].value);
	}
	free(t->slots);
	*t = bigger;
	return 0;
}

int table_put(struct table *t, uint32_t key, void *value)
{
	if (!t->slots || (t->count + 1) * 2 > t->mask + 1) {
		int rc = grow(t);

		if (rc)
			return rc;
	}
	place(t, key, value);
	return 0;
}

void *table_take(struct table *t, uint32_t key)
{
	uint32_t i = key & t->mask;
	void *value;

	if (!t->slots)
		return NULL;
	while (t->slots[i].value && t->slots[i].key != key)
		i = (i + 1) & t->mask;
	value = t->slots[i].value;
	if (!value)
		return NULL;

	/* Close the hole with every later entry of the run whose home is not behind the hole. */
	for (uint32_t j = (i + 1) & t->mask; t->slots[j].value; j = (j + 1) & t->mask) {
		uint32_t home = t->slots[j].key & t->mask;

		if (((j - home) & t->mask) >= ((j - i) & t->mask)) {
			t->slots[i] = t->slots[j];
			i = j;
		}
	}
	t->slots[i].value = NULL;
	t->count--;
	return value;
}

void table_fini(struct table *t)
{
	free(t->slots);
	*t = (struct table){0};
}
