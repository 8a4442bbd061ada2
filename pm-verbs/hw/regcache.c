// SPDX-License-Identifier: BSD-3-Clause
/*
 * regcache - an array of ranges ordered by address, and the idle entries in order of their last
 * use.
 *
 * No range of the array lies inside another: what a new one covers is dropped, and what is covered
 * is a hit. So starts and ends ascend together, and both questions (who covers this range, who
 * touches it) are a binary search and a short walk. tsearch(3) knows neither neighbours nor ranges;
 * a tree would save moving the array's tail, which is nothing beside the registration that comes
 * with it. Ranges may overlap: slices of one array that share a page are registered once each,
 * where joining them would register the array anew for each slice.
 */
#include "pm-verbs/hw/regcache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct slot {
	uintptr_t start, end; /* those of the entry, here to be near */
	struct regcache_entry *entry;
};

struct regcache {
	const struct regcache_ops *ops;
	void *arg; /* of the ops */
	struct regcache_limits limits;
	struct slot *slots; /* ordered by start and by end */
	uint32_t n_slots, room;
	struct regcache_entry *oldest, *newest; /* idle ones, NULL = none */
	struct regcache_entry *stuck;           /* dereg refused these, NULL = none */
	struct regcache_count count;
};

/* The memory that an operation asks for, in whole pages. */
struct want {
	uintptr_t start, end;
	int access;
};

int regcache_create(const struct regcache_ops *ops, void *arg, const struct regcache_limits *limits,
		    struct regcache **ret_cache)
{
	struct regcache *cache;
	uint32_t page = limits->page_bytes;

	if (!limits->bytes || !limits->entries || !page || page & (page - 1))
		return -EINVAL;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return -ENOMEM;
	cache->ops = ops;
	cache->arg = arg;
	cache->limits = *limits;
	*ret_cache = cache;
	return 0;
}

const struct regcache_count *regcache_count(const struct regcache *cache)
{
	return &cache->count;
}

/*
 * --- idle entries, oldest use first
 * ----------------------------------------------------------------
 */

static void idle_add(struct regcache *cache, struct regcache_entry *entry)
{
	entry->prev = cache->newest;
	entry->next = NULL;
	if (cache->newest)
		cache->newest->next = entry;
	else
		cache->oldest = entry;
	cache->newest = entry;
}

static void idle_remove(struct regcache *cache, struct regcache_entry *entry)
{
	if (entry->prev)
		entry->prev->next = entry->next;
	else
		cache->oldest = entry->next;
	if (entry->next)
		entry->next->prev = entry->prev;
	else
		cache->newest = entry->prev;
	entry->prev = entry->next = NULL;
}

/*
 * --- the end of an entry
 * --------------------------------------------------------------------------
 */

static int try_deregister(struct regcache *cache, struct regcache_entry *entry)
{
	int rc = cache->ops->dereg(cache->arg, entry->mr);

	if (rc) {
		cache->count.refused++;
		return rc;
	}
	cache->count.bytes -= entry->end - entry->start;
	cache->count.entries--;
	free(entry);
	return 0;
}

/* Of an entry that nobody uses and nothing leads to. */
static void deregister(struct regcache *cache, struct regcache_entry *entry)
{
	if (!try_deregister(cache, entry))
		return;
	entry->next = cache->stuck;
	cache->stuck = entry;
}

static void retry_stuck(struct regcache *cache)
{
	struct regcache_entry *entry = cache->stuck;

	while (entry) {
		struct regcache_entry *next = entry->next;

		if (try_deregister(cache, entry))
			return; /* still in that mood */
		cache->stuck = next;
		entry = next;
	}
}

/* An entry that has just left the array. */
static void doom(struct regcache *cache, struct regcache_entry *entry)
{
	entry->is_indexed = false;
	if (entry->refs)
		return; /* its last user sees to it */
	idle_remove(cache, entry);
	deregister(cache, entry);
}

/*
 * --- the array
 * ------------------------------------------------------------------------------------
 */

/* The first slot that ends above @addr; n_slots if none does. */
static uint32_t first_above(const struct regcache *cache, uintptr_t addr)
{
	uint32_t low = 0, high = cache->n_slots;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (cache->slots[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Drops slots [first, last). */
static void drop(struct regcache *cache, uint32_t first, uint32_t last)
{
	while (first < last) {
		struct regcache_entry *entry = cache->slots[--last].entry;

		cache->n_slots--;
		memmove(&cache->slots[last], &cache->slots[last + 1],
			(cache->n_slots - last) * sizeof(*cache->slots));
		doom(cache, entry);
	}
}

/*
 * An entry that covers the pages and has the access, or NULL. Then @want gets the access of those
 * that cover them as well, so that the new one does what they did.
 */
static struct regcache_entry *find(const struct regcache *cache, struct want *want)
{
	/* from the first that reaches our end on, those that begin no later than we do */
	uint32_t i = first_above(cache, want->end - 1);
	int access = want->access;

	for (; i < cache->n_slots && cache->slots[i].start <= want->start; i++) {
		struct regcache_entry *entry = cache->slots[i].entry;

		if (!(want->access & ~entry->access))
			return entry;
		access |= entry->access;
	}
	want->access = access;
	return NULL;
}

/* The access of what lies inside @want: it is to be replaced as well. */
static void add_inner_access(const struct regcache *cache, struct want *want)
{
	for (uint32_t i = first_above(cache, want->start);
	     i < cache->n_slots && cache->slots[i].end <= want->end; i++)
		if (cache->slots[i].start >= want->start)
			want->access |= cache->slots[i].entry->access;
}

static int reserve_slot(struct regcache *cache)
{
	uint32_t room = cache->room ? 2 * cache->room : 16;
	struct slot *slots;

	if (cache->n_slots < cache->room)
		return 0;
	slots = realloc(cache->slots, room * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	cache->slots = slots;
	cache->room = room;
	return 0;
}

/* Drops what @entry covers and what covers it: it has the access of all of them. */
static void drop_replaced(struct regcache *cache, const struct regcache_entry *entry)
{
	uint32_t i = first_above(cache, entry->start);

	while (i < cache->n_slots && cache->slots[i].start < entry->end) {
		const struct slot *slot = &cache->slots[i];
		bool is_inside = slot->start >= entry->start && slot->end <= entry->end;
		bool is_around = slot->start <= entry->start && slot->end >= entry->end;

		if (is_inside || is_around) {
			cache->count.replaced++;
			drop(cache, i, i + 1);
		} else {
			i++;
		}
	}
}

/* There must be room for a slot. */
static void insert(struct regcache *cache, struct regcache_entry *entry)
{
	uint32_t i;

	drop_replaced(cache, entry);
	i = first_above(cache, entry->end);
	memmove(&cache->slots[i + 1], &cache->slots[i],
		(cache->n_slots - i) * sizeof(*cache->slots));
	cache->slots[i] = (struct slot){entry->start, entry->end, entry};
	cache->n_slots++;
	entry->is_indexed = true;
}

static void drop_entry(struct regcache *cache, struct regcache_entry *entry)
{
	/* ends differ, so its slot is the only one that ends there */
	uint32_t i = first_above(cache, entry->end - 1);

	assert(cache->slots[i].entry == entry);
	drop(cache, i, i + 1);
}

uint32_t regcache_invalidate(struct regcache *cache, uintptr_t addr, size_t len)
{
	uintptr_t end = len > UINTPTR_MAX - addr ? UINTPTR_MAX : addr + len;
	uint32_t first = first_above(cache, addr), last = first;

	if (!len)
		return 0;
	while (last < cache->n_slots && cache->slots[last].start < end)
		last++;
	cache->count.invalidated += last - first;
	drop(cache, first, last);
	return last - first;
}

uint32_t regcache_flush(struct regcache *cache)
{
	return regcache_invalidate(cache, 0, UINTPTR_MAX);
}

/*
 * --- registering
 * -----------------------------------------------------------------------------------
 */

/* Gives up idle entries, oldest first, until @bytes are free. Whether any were. */
static bool evict(struct regcache *cache, uint64_t bytes)
{
	uint64_t before = cache->count.bytes;
	bool is_any = false;

	while (cache->oldest && before - cache->count.bytes < bytes) {
		cache->count.evictions++;
		drop_entry(cache, cache->oldest);
		is_any = true;
	}
	return is_any;
}

static int make_room(struct regcache *cache, uint64_t bytes)
{
	const struct regcache_limits *limits = &cache->limits;
	struct regcache_count *count = &cache->count;

	if (bytes > limits->bytes)
		return -E2BIG;
	while (count->bytes + bytes > limits->bytes || count->entries >= limits->entries)
		if (!evict(cache, 1))
			return -ENOBUFS;
	return 0;
}

/* reg, again and again while it lacks memory and there is something to give up. */
static int register_pages(struct regcache *cache, struct regcache_entry *entry)
{
	size_t len = entry->end - entry->start;

	for (;;) {
		int rc = cache->ops->reg(cache->arg, (void *)entry->start, len, entry->access,
					 &entry->mr);

		if (rc != -ENOMEM)
			return rc;
		cache->count.shortages++;
		if (!evict(cache, len))
			return rc;
	}
}

static void account(struct regcache *cache, const struct regcache_entry *entry)
{
	struct regcache_count *count = &cache->count;

	count->bytes += entry->end - entry->start;
	count->entries++;
	if (count->bytes > count->bytes_max)
		count->bytes_max = count->bytes;
	if (count->entries > count->entries_max)
		count->entries_max = count->entries;
}

/* A new registration, in use once and not to be found. 0, REGCACHE_TRANSIENT or -errno. */
static int make(struct regcache *cache, const struct want *want, struct regcache_entry **ret_entry)
{
	struct regcache_entry *entry;
	int rc;

	retry_stuck(cache);
	rc = make_room(cache, want->end - want->start);
	if (rc)
		return rc;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->start = want->start;
	entry->end = want->end;
	entry->access = want->access;
	entry->refs = 1;
	rc = register_pages(cache, entry);
	if (rc < 0) {
		free(entry);
		return rc;
	}
	account(cache, entry);
	*ret_entry = entry;
	return rc;
}

static int whole_pages(const struct regcache *cache, const void *addr, size_t len, int access,
		       struct want *ret_want)
{
	uintptr_t mask = cache->limits.page_bytes - 1;
	uintptr_t start = (uintptr_t)addr;

	if (!len || start > UINTPTR_MAX - mask || len > UINTPTR_MAX - mask - start)
		return -EINVAL;
	ret_want->start = start & ~mask;
	ret_want->end = (start + len + mask) & ~mask;
	ret_want->access = access;
	return 0;
}

static void use(struct regcache *cache, struct regcache_entry *entry)
{
	if (!entry->refs++)
		idle_remove(cache, entry);
}

/* @access is what is needed, @want->access what there is already on its pages besides. */
static int make_findable(struct regcache *cache, struct want *want, int access,
			 struct regcache_entry **ret_entry)
{
	struct regcache_entry *entry;
	int rc;

	add_inner_access(cache, want);
	rc = make(cache, want, &entry);
	if (rc < 0 && want->access != access) {
		/* the pages may differ in what they allow */
		want->access = access;
		rc = make(cache, want, &entry);
		if (!rc)
			rc = REGCACHE_TRANSIENT;
	}
	if (rc < 0)
		return rc;
	if (!rc && !reserve_slot(cache))
		insert(cache, entry);
	else
		cache->count.transients++;
	*ret_entry = entry;
	return 0;
}

int regcache_get(struct regcache *cache, const void *addr, size_t len, int access,
		 struct regcache_entry **ret_entry)
{
	struct regcache_entry *entry;
	struct want want;
	int rc = whole_pages(cache, addr, len, access, &want);

	if (rc)
		return rc;
	entry = find(cache, &want);
	if (entry) {
		cache->count.hits++;
		use(cache, entry);
		*ret_entry = entry;
		return 0;
	}
	cache->count.misses++;
	return make_findable(cache, &want, access, ret_entry);
}

int regcache_get_fresh(struct regcache *cache, const void *addr, size_t len, int access,
		       struct regcache_entry **ret_entry)
{
	struct want want;
	int rc = whole_pages(cache, addr, len, access, &want);

	if (rc)
		return rc;
	cache->count.bypasses++;
	rc = make(cache, &want, ret_entry);
	return rc < 0 ? rc : 0;
}

void regcache_put(struct regcache *cache, struct regcache_entry *entry)
{
	assert(entry->refs > 0);
	if (--entry->refs)
		return;
	if (entry->is_indexed)
		idle_add(cache, entry);
	else
		deregister(cache, entry);
}

uint32_t regcache_destroy(struct regcache *cache)
{
	uint32_t n_left = 0;

	if (!cache)
		return 0;
	regcache_flush(cache);
	for (struct regcache_entry *entry = cache->stuck, *next; entry; entry = next) {
		next = entry->next;
		if (!try_deregister(cache, entry))
			continue;
		free(entry);
		n_left++;
	}
	assert(cache->count.entries == n_left);
	free(cache->slots);
	free(cache);
	return n_left;
}
