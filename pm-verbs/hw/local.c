// SPDX-License-Identifier: BSD-3-Clause
/*
 * local - the program's memory at this end of one-sided operations. A registration belongs to a
 * rail, so each rail keeps its own (pinned.h), all rails together up to verbs.pinned. An operation
 * on more than half of its rail's share, or on more than the lock limit still allows, gets a part
 * of its range at a time.
 */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pm-verbs/hw/local.h"

#define RANGES 4096              /* registered at once per rail */
#define PART_MIN (128ull << 10)  /* bytes: so much is tried before there is no memory */
#define SHARE_MIN (2 * PART_MIN) /* bytes, of a rail */

static int reg(void *arg, void *addr, size_t len, int access, void **ret_mr)
{
	const struct pmv_rail *rail = arg;
	struct pmv_registration registration;
	int err = verbs_register(rail->v, rail->pd, addr, len, access, &registration);

	if (!err)
		*ret_mr = registration.mr;
	return err;
}

static int dereg(void *arg, void *mr)
{
	const struct pmv_rail *rail = arg;

	return -rail->v->dereg_mr(mr);
}

static const struct regcache_ops ops = {.reg = reg, .dereg = dereg};

uint64_t pmv_local_share(uint64_t asked, uint64_t lock_limit, uint64_t memory, uint32_t processes,
			 uint32_t n_rails)
{
	uint64_t all = asked;

	if (!all)
		all = memory / 4 / (processes ? processes : 1);
	/* the other half is for queues, message buffers and the regions of pmMLock */
	if (!asked && lock_limit / 2 < all)
		all = lock_limit / 2;
	return all / n_rails < SHARE_MIN ? SHARE_MIN : all / n_rails;
}

int pmv_local_open(struct pmv_link *link)
{
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
	struct regcache_limits limits = {.entries = RANGES, .page_bytes = page};
	struct rlimit lock = {RLIM_INFINITY, RLIM_INFINITY};

	getrlimit(RLIMIT_MEMLOCK, &lock);
	limits.bytes = pmv_local_share(link->env.conf->verbs_pinned,
				       lock.rlim_cur == RLIM_INFINITY ? UINT64_MAX : lock.rlim_cur,
				       memory, link->env.local, link->n_rails);
	link->local_share = limits.bytes;
	for (uint32_t i = 0; i < link->n_rails; i++) {
		struct pmv_rail *rail = &link->rails[i];
		int err = pinned_open(&ops, rail, &limits, link->local_why, sizeof(link->local_why),
				      &rail->pinned);

		if (err)
			return err;
	}
	return 0;
}

bool pmv_local_flush(struct pmv_link *link)
{
	bool is_any = false;

	for (uint32_t i = 0; i < link->n_rails; i++) {
		struct pinned *pinned = link->rails[i].pinned;
		uint32_t before = pinned_count(pinned)->entries;

		pinned_flush(pinned);
		is_any |= pinned_count(pinned)->entries < before;
	}
	return is_any;
}

void pmv_local_rest(struct pmv_link *link)
{
	for (uint32_t i = 0; i < link->n_rails; i++)
		pinned_rest(link->rails[i].pinned);
}

int pmv_register(struct pmv_link *link, const struct pmv_rail *rail, void *addr, uint64_t len,
		 int access, struct pmv_registration *ret)
{
	int err = verbs_register(link->v, rail->pd, addr, len, access, ret);

	if (err == -ENOMEM && pmv_local_flush(link))
		err = verbs_register(link->v, rail->pd, addr, len, access, ret);
	return err;
}

static void count(struct pmv_link *link)
{
	uint64_t hits = 0, misses = 0, evictions = 0;

	for (uint32_t i = 0; i < link->n_rails; i++) {
		const struct regcache_count *c = pinned_count(link->rails[i].pinned);

		hits += c->hits;
		misses += c->misses + c->bypasses;
		evictions += c->evictions;
	}
	link->stats->pinned_hits = hits;
	link->stats->pinned_misses = misses;
	link->stats->pinned_evictions = evictions;
}

static int get(struct pinned *pinned, uint8_t *addr, size_t len, bool is_source,
	       struct regcache_entry **ret_entry)
{
	int err = pinned_get(pinned, addr, len, IBV_ACCESS_LOCAL_WRITE, ret_entry);

	/* the pages themselves are read-only */
	if (is_source && (err == -EFAULT || err == -EACCES))
		err = pinned_get(pinned, addr, len, 0, ret_entry);
	return err;
}

/*
 * The part of @len bytes that is registered, at most @most: parts end with a page, so that they
 * share none.
 */
static size_t part_of(const uint8_t *addr, uint64_t len, uint64_t most)
{
	uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;

	return len <= most ? len : (((uintptr_t)addr + most) & ~mask) - (uintptr_t)addr;
}

int pmv_local_get(struct pmv_link *link, struct pmv_rail *rail, uint8_t *addr, uint64_t len,
		  bool is_source, struct regcache_entry **ret_entry)
{
	uint64_t most = len < link->local_share / 2 ? len : link->local_share / 2;
	int err;

	for (;;) {
		err = get(rail->pinned, addr, part_of(addr, len, most), is_source, ret_entry);
		if (err != -ENOMEM)
			break;
		/* on this rail all that is not in use has gone already */
		if (pmv_local_flush(link))
			continue;
		if (most < 2 * PART_MIN)
			break;
		most /= 2;
	}
	count(link);
	return err;
}

void pmv_local_dump(const struct pmv_link *link, struct text *text)
{
	for (uint32_t i = 0; i < link->n_rails; i++) {
		const struct regcache_count *c = pinned_count(link->rails[i].pinned);

		text_add(
			text,
			"  rail %u: %u ranges of memory registered, %llu of %llu KiB; %llu hits, "
			"%llu misses, %llu evictions, %llu given back by the program, %llu kept by "
			"the device\n",
			i, c->entries, (unsigned long long)c->bytes >> 10,
			(unsigned long long)link->local_share >> 10, (unsigned long long)c->hits,
			(unsigned long long)(c->misses + c->bypasses),
			(unsigned long long)c->evictions, (unsigned long long)c->invalidated,
			(unsigned long long)c->refused);
	}
	if (link->local_why[0])
		text_add(text, "  each operation registers for itself: %s\n", link->local_why);
}
