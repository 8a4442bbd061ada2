// SPDX-License-Identifier: BSD-3-Clause
/*
 * region - the table of exported memory. A key is a slot number and a tag that only a holder of the
 * handle can know. The tags are SipHash-2-4 of a counter under the table's seed, so that keys seen
 * tell nothing about others. Refuses to know who asks.
 */
#include "pmcore/util/region.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "pmcore/util/siphash.h"

#define SLOT_BITS 20
#define SLOT_MASK ((1u << SLOT_BITS) - 1)
#define NO_SLOT UINT32_MAX

struct region {
	uint64_t rkey;      /* 0 = free */
	char *addr;         /* NULL when free */
	uint64_t len;       /* bytes */
	uint32_t next_free; /* slot number while free, NO_SLOT at the end */
	bool is_readonly;   /* nobody may write through the key */
};

struct region_table {
	struct region *slots;
	uint32_t n_slots;    /* allocated */
	uint32_t first_free; /* slot number, NO_SLOT = none */
	uint64_t seed;       /* secret of the tags */
	uint64_t counter;    /* keys made so far */
};

struct region_table *region_table_create(uint64_t seed)
{
	struct region_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->seed = seed;
	table->first_free = NO_SLOT;
	return table;
}

void region_table_destroy(struct region_table *table)
{
	if (!table)
		return;
	free(table->slots);
	free(table);
}

static int grow(struct region_table *table)
{
	uint32_t n = table->n_slots ? table->n_slots * 2 : 16;
	struct region *slots;
	uint32_t i;

	if (n > SLOT_MASK + 1)
		return -ENOMEM;
	slots = realloc(table->slots, n * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (i = table->n_slots; i < n; i++)
		slots[i] = (struct region){.next_free = i + 1 < n ? i + 1 : NO_SLOT};
	table->first_free = table->n_slots;
	table->slots = slots;
	table->n_slots = n;
	return 0;
}

/* A key for slot @slot that was not used before; never 0. */
static uint64_t make_key(struct region_table *table, uint32_t slot)
{
	/* the seed is half a key; the other half is made of it */
	uint64_t half = (table->seed << 29 | table->seed >> 35) ^ 0x9e3779b97f4a7c15ull;
	uint64_t tag;

	do {
		table->counter++;
		tag = siphash(table->seed, half, &table->counter, sizeof(table->counter)) &
		      ~(uint64_t)SLOT_MASK;
	} while (!tag);
	return tag | slot;
}

static int add(struct region_table *table, void *addr, uint64_t len, bool is_readonly,
	       uint64_t *ret_rkey)
{
	struct region *region;
	uint32_t slot;
	int rc;

	if (!len || len > UINTPTR_MAX - (uintptr_t)addr)
		return -EINVAL;
	if (table->first_free == NO_SLOT) {
		rc = grow(table);
		if (rc)
			return rc;
	}
	slot = table->first_free;
	region = &table->slots[slot];
	table->first_free = region->next_free;
	region->rkey = make_key(table, slot);
	region->addr = addr;
	region->len = len;
	region->is_readonly = is_readonly;
	*ret_rkey = region->rkey;
	return 0;
}

int region_add(struct region_table *table, void *addr, uint64_t len, uint64_t *ret_rkey)
{
	return add(table, addr, len, false, ret_rkey);
}

int region_add_readonly(struct region_table *table, const void *addr, uint64_t len,
			uint64_t *ret_rkey)
{
	return add(table, (void *)(uintptr_t)addr, len, true, ret_rkey);
}

static struct region *find(const struct region_table *table, uint64_t rkey)
{
	uint32_t slot = rkey & SLOT_MASK;

	if (!rkey || slot >= table->n_slots || table->slots[slot].rkey != rkey)
		return NULL;
	return &table->slots[slot];
}

int region_remove(struct region_table *table, uint64_t rkey, void **ret_addr, uint64_t *ret_len)
{
	struct region *region = find(table, rkey);

	if (!region)
		return -ENOENT;
	*ret_addr = region->addr;
	*ret_len = region->len;
	*region = (struct region){.next_free = table->first_free};
	table->first_free = rkey & SLOT_MASK;
	return 0;
}

int region_find(const struct region_table *table, uint64_t rkey, uint64_t offset, uint64_t len,
		void **ret_addr)
{
	const struct region *region = find(table, rkey);

	if (!region || offset > region->len || len > region->len - offset)
		return -EACCES;
	*ret_addr = region->addr + offset;
	return 0;
}

int region_whole(const struct region_table *table, uint64_t rkey, void **ret_addr,
		 uint64_t *ret_len, bool *ret_is_readonly)
{
	const struct region *region = find(table, rkey);

	if (!region)
		return -EACCES;
	*ret_addr = region->addr;
	*ret_len = region->len;
	*ret_is_readonly = region->is_readonly;
	return 0;
}

void region_each(const struct region_table *table,
		 void (*fn)(void *arg, uint64_t rkey, void *addr, uint64_t len), void *arg)
{
	for (uint32_t i = 0; i < table->n_slots; i++)
		if (table->slots[i].rkey)
			fn(arg, table->slots[i].rkey, table->slots[i].addr, table->slots[i].len);
}

int region_find_writable(const struct region_table *table, uint64_t rkey, uint64_t offset,
			 uint64_t len, void **ret_addr)
{
	const struct region *region = find(table, rkey);

	if (!region || region->is_readonly)
		return -EACCES;
	return region_find(table, rkey, offset, len, ret_addr);
}
