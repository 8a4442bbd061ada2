// SPDX-License-Identifier: BSD-3-Clause
/*
 * region - the table of exported memory. A key is a slot number and a tag that only a holder of the
 * handle can know: the tags are SipHash-2-4 of a counter under the table's seed, so that keys seen
 * tell nothing about others. Refuses to know who asks.
 */
#include "pmcore/util/region.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

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

static uint64_t rotate(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

/* SipHash-2-4 of one 64-bit word (Aumasson, Bernstein 2012). */
static uint64_t sip_hash(uint64_t key0, uint64_t key1, uint64_t word)
{
	const uint64_t words[2] = {word, 8ull << 56};
	uint64_t v[4] = {key0 ^ 0x736f6d6570736575ull, key1 ^ 0x646f72616e646f6dull,
			 key0 ^ 0x6c7967656e657261ull, key1 ^ 0x7465646279746573ull};
	int i;

	for (i = 0; i < 2; i++) {
		v[3] ^= words[i];
		sip_round(v);
		sip_round(v);
		v[0] ^= words[i];
	}
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

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
	uint64_t tag;

	do {
		tag = sip_hash(table->seed, rotate(table->seed, 29) ^ 0x9e3779b97f4a7c15ull,
			       ++table->counter) &
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

int region_find_writable(const struct region_table *table, uint64_t rkey, uint64_t offset,
			 uint64_t len, void **ret_addr)
{
	const struct region *region = find(table, rkey);

	if (!region || region->is_readonly)
		return -EACCES;
	return region_find(table, rkey, offset, len, ret_addr);
}
