/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * regcache - registrations of user memory that are kept for the next operation on the same pages.
 * Owns which ranges are registered, who uses them and which goes first when the bound is reached.
 * It registers through two callbacks and knows no verbs, thread or clock; who unmaps memory is told
 * to it by regcache_invalidate. One thread at a time.
 *
 *     get --> in use --put--> idle --get--> in use        found by address
 *               |               |
 *               | invalidated, replaced by a wider one, or never kept at all
 *               v               v
 *            doomed --put--> deregistered                 never found again
 */
#ifndef PM_VERBS_HW_REGCACHE_H
#define PM_VERBS_HW_REGCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result of regcache_ops.reg for a registration that must serve no other operation. */
#define REGCACHE_TRANSIENT 1

struct regcache_ops {
	/*
	 * Registers whole pages. 0, REGCACHE_TRANSIENT or -errno; at -ENOMEM idle registrations are
	 * given up and it is called again.
	 */
	int (*reg)(void *arg, void *addr, size_t len, int access, void **ret_mr);
	/* 0 or -errno: then the registration lives on, and this is called for it again later. */
	int (*dereg)(void *arg, void *mr);
};

struct regcache_limits {
	uint64_t bytes;      /* registered at once, those in use included */
	uint32_t entries;    /* the same, counted */
	uint32_t page_bytes; /* a power of two */
};

/* A registration in use. */
struct regcache_entry {
	void *mr;             /* what reg gave */
	uintptr_t start, end; /* whole pages */
	int access;           /* bits, as given to reg */

	uint32_t refs;                      /* 0 = idle; this and the rest are the cache's own */
	bool is_indexed;                    /* it can be found */
	struct regcache_entry *prev, *next; /* idle: by age; stuck: next only */
};

struct regcache_count {
	uint64_t hits, misses;         /* regcache_get found one, had to register */
	uint64_t bypasses;             /* regcache_get_fresh */
	uint64_t transients;           /* misses whose registration could not be kept */
	uint64_t evictions;            /* idle ones that went to make room */
	uint64_t shortages;            /* -ENOMEM of reg */
	uint64_t replaced;             /* went because a later one does all they did */
	uint64_t invalidated;          /* went because of their memory */
	uint64_t refused;              /* -errno of dereg */
	uint64_t bytes, bytes_max;     /* registered now, and the most so far */
	uint32_t entries, entries_max; /* the same, counted */
};

struct regcache;

/* 0; -EINVAL: a limit is 0 or the page size no power of two; -ENOMEM. */
int regcache_create(const struct regcache_ops *ops, void *arg, const struct regcache_limits *limits,
		    struct regcache **ret_cache);
/* Nothing may be in use any more. Returns how many registrations dereg refused to the end: 0. */
uint32_t regcache_destroy(struct regcache *cache);

/*
 * A registration of all pages of [addr, addr + len) with at least these access bits, in use until
 * regcache_put. -EINVAL: no such range; -E2BIG: more than the limit, do it in parts; -ENOBUFS: the
 * limit is reached by what is in use; -ENOMEM: so says reg, or malloc; else what reg said.
 */
int regcache_get(struct regcache *cache, const void *addr, size_t len, int access,
		 struct regcache_entry **ret_entry);
/* The same, registered now and for this use only: when what is known may be out of date. */
int regcache_get_fresh(struct regcache *cache, const void *addr, size_t len, int access,
		       struct regcache_entry **ret_entry);
void regcache_put(struct regcache *cache, struct regcache_entry *entry);

/*
 * These addresses have or will have other pages: what touches them is found no more, and goes now
 * or with its last user. Returns how many that were.
 */
uint32_t regcache_invalidate(struct regcache *cache, uintptr_t addr, size_t len);
/* The same for all. */
uint32_t regcache_flush(struct regcache *cache);

const struct regcache_count *regcache_count(const struct regcache *cache);

#endif
