/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table - a hash table from 32-bit numbers to pointers.
 *
 * Owns the slots, never what the pointers point at. The number itself is the hash: context ids,
 * ranks and node numbers are nearly dense, so a look-up is one load in practice. An empty table
 * owns no memory. No locks: the caller's lock covers it.
 */
#ifndef MPI_GLUE_TABLE_H
#define MPI_GLUE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table_slot {
	uint32_t key; /* meaningful when value is set */
	void *value;  /* NULL: free slot */
};

struct table {
	struct table_slot *slots; /* mask + 1 of them; NULL while nothing was ever put */
	uint32_t mask;            /* number of slots - 1, a power of two minus one */
	uint32_t count;           /* slots in use; at most half of them */
};

/* The pointer kept under @key, NULL if none. */
static inline void *table_get(const struct table *t, uint32_t key)
{
	if (!t->slots)
		return NULL;
	for (uint32_t i = key & t->mask; t->slots[i].value; i = (i + 1) & t->mask) {
		if (t->slots[i].key == key)
			return t->slots[i].value;
	}
	return NULL;
}

/* Keeps @value (not NULL) under @key, which must be absent. 0 or -ENOMEM. */
int table_put(struct table *t, uint32_t key, void *value);

/* Takes @key out; returns what was kept, NULL if absent. */
void *table_take(struct table *t, uint32_t key);

/* Frees the slots; the table is empty and usable afterwards. */
void table_fini(struct table *t);

#endif
