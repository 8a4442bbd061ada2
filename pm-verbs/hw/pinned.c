// SPDX-License-Identifier: BSD-3-Clause
/*
 * pinned - asks `unmap` before each look into the cache, and has memory watched before it is
 * registered.
 */
#include "pm-verbs/hw/pinned.h"

#include <errno.h>
#include <stdlib.h>

#include "pm-verbs/hw/unmap.h"

struct pinned {
	struct regcache *cache;
	struct unmap_watch *watch; /* NULL: nothing is noticed, so nothing is kept */
	bool is_telling;           /* it can be had; NULL only for a rest */
	const struct regcache_ops *ops;
	void *arg; /* of the ops */
};

static int reg(void *arg, void *addr, size_t len, int access, void **ret_mr)
{
	struct pinned *pinned = arg;
	bool is_watched = pinned->watch && !unmap_add(pinned->watch, addr, len);
	int rc = pinned->ops->reg(pinned->arg, addr, len, access, ret_mr);

	if (rc)
		return rc;
	if (!is_watched || !unmap_is_told_all(pinned->watch, addr, len))
		return REGCACHE_TRANSIENT;
	return 0;
}

static int dereg(void *arg, void *mr)
{
	struct pinned *pinned = arg;

	return pinned->ops->dereg(pinned->arg, mr);
}

static const struct regcache_ops watching = {.reg = reg, .dereg = dereg};

int pinned_open(const struct regcache_ops *ops, void *arg, const struct regcache_limits *limits,
		char *ret_why, size_t why_len, struct pinned **ret_pinned)
{
	struct pinned *pinned = calloc(1, sizeof(*pinned));
	int rc;

	if (!pinned)
		return -ENOMEM;
	pinned->ops = ops;
	pinned->arg = arg;
	rc = regcache_create(&watching, pinned, limits, &pinned->cache);
	if (rc) {
		free(pinned);
		return rc;
	}
	if (why_len > 0)
		ret_why[0] = '\0';
	if (unmap_open(ret_why, why_len, &pinned->watch))
		pinned->watch = NULL;
	pinned->is_telling = pinned->watch != NULL;
	*ret_pinned = pinned;
	return 0;
}

uint32_t pinned_close(struct pinned *pinned)
{
	uint32_t n_left;

	if (!pinned)
		return 0;
	n_left = regcache_destroy(pinned->cache);
	unmap_close(pinned->watch);
	free(pinned);
	return n_left;
}

static void forget(void *arg, uintptr_t addr, size_t len)
{
	struct pinned *pinned = arg;

	regcache_invalidate(pinned->cache, addr, len);
}

static void wake(struct pinned *pinned)
{
	char why[160];

	if (pinned->is_telling && !pinned->watch && unmap_open(why, sizeof(why), &pinned->watch))
		pinned->watch = NULL;
}

int pinned_get(struct pinned *pinned, void *addr, size_t len, int access,
	       struct regcache_entry **ret_entry)
{
	wake(pinned);
	if (pinned->watch && unmap_poll(pinned->watch, forget, pinned))
		return regcache_get(pinned->cache, addr, len, access, ret_entry);
	return regcache_get_fresh(pinned->cache, addr, len, access, ret_entry);
}

void pinned_put(struct pinned *pinned, struct regcache_entry *entry)
{
	regcache_put(pinned->cache, entry);
}

void pinned_turn(struct pinned *pinned)
{
	if (pinned->watch && unmap_has_news(pinned->watch))
		unmap_poll(pinned->watch, forget, pinned);
}

void pinned_flush(struct pinned *pinned)
{
	regcache_flush(pinned->cache);
}

void pinned_rest(struct pinned *pinned)
{
	regcache_flush(pinned->cache);
	unmap_close(pinned->watch);
	pinned->watch = NULL;
}

const struct regcache_count *pinned_count(const struct pinned *pinned)
{
	return regcache_count(pinned->cache);
}
