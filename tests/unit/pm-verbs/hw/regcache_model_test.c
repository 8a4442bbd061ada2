// SPDX-License-Identifier: BSD-3-Clause
/*
 * regcache against a plain list of what is registered: what is found, what is replaced, which goes
 * first, what is counted; with random failures. Addresses are numbers.
 */
#include "pm-verbs/hw/regcache.h"

#include "tests/unit/pm-verbs/fakereg.h"

/* Page @n as an address. */
#define AT(n) ((void *)((uintptr_t)(n)*FAKE_PAGE))
#define PAGES(n) ((size_t)(n)*FAKE_PAGE)

#define MODEL_PAGES 48
#define MODEL_MAX 64
#define HELD 12

struct model_entry {
	struct fake_mr *mr;
	uint64_t age; /* of its last use */
	uint32_t refs;
	bool is_cached; /* may be found */
};

struct model {
	struct regcache *cache;
	struct fake *fake;
	struct model_entry entries[MODEL_MAX]; /* mr NULL = free */
	struct regcache_entry *held[HELD];
	uint64_t epoch[MODEL_PAGES]; /* how often a page was replaced */
	uint64_t now;
	uint64_t rand;
	uintptr_t start, end; /* what is being asked for, in bytes; end 0 = nothing */
};

static struct model_entry *model_find(struct model *model, const struct fake_mr *mr)
{
	for (unsigned int i = 0; i < MODEL_MAX; i++)
		if (model->entries[i].mr == mr)
			return &model->entries[i];
	return NULL;
}

static bool is_related(const struct model *model, const struct fake_mr *mr)
{
	return (mr->start >= model->start && mr->end <= model->end) ||
	       (mr->start <= model->start && mr->end >= model->end);
}

/* One goes: nobody uses it, and if it could have stayed it is the one unused for longest. */
static void model_gone(void *arg, const struct fake_mr *mr, bool is_refused)
{
	struct model *model = arg;
	struct model_entry *gone = model_find(model, mr);

	if (!okf(gone != NULL, "unknown"))
		return;
	okf(!gone->refs, "in use");
	if (gone->is_cached && model->end && !is_related(model, mr))
		for (unsigned int i = 0; i < MODEL_MAX; i++) {
			const struct model_entry *other = &model->entries[i];

			okf(!other->mr || !other->is_cached || other->refs ||
				    other->age >= gone->age,
			    "an older one stays");
		}
	gone->is_cached = false;
	if (!is_refused)
		gone->mr = NULL;
}

static bool model_covers(const struct model *model, int access)
{
	for (unsigned int i = 0; i < MODEL_MAX; i++) {
		const struct model_entry *e = &model->entries[i];

		if (e->mr && e->is_cached && e->mr->start <= model->start &&
		    e->mr->end >= model->end && !(access & ~e->mr->access))
			return true;
	}
	return false;
}

/* Cached entries inside or around the new one are replaced by it: they can't be found any more. */
static void model_replace(struct model *model, const struct fake_mr *mr)
{
	for (unsigned int i = 0; i < MODEL_MAX; i++) {
		struct model_entry *e = &model->entries[i];

		if (e->mr && e->mr != mr && e->is_cached && is_related(model, e->mr))
			e->is_cached = false;
	}
}

/* The device's view of the pages is the program's. */
static void model_check_fresh(const struct model *model, const struct fake_mr *mr)
{
	for (uintptr_t at = model->start; at < model->end; at += FAKE_PAGE)
		is_int(mr->words[(at - mr->start) / FAKE_PAGE], model->epoch[at / FAKE_PAGE]);
}

static void model_get(struct model *model, struct regcache_entry **ret_held)
{
	uint64_t first = tap_rand(&model->rand) % MODEL_PAGES;
	uint64_t n = 1 + tap_rand(&model->rand) % 8;
	int access = 1 + (int)(tap_rand(&model->rand) % 3), rc;
	bool is_fresh = !(tap_rand(&model->rand) % 16), is_hit;
	struct regcache_entry *entry = NULL;
	uint32_t n_reg = model->fake->n_reg;
	struct model_entry *e;

	if (n > MODEL_PAGES - first)
		n = MODEL_PAGES - first;
	model->start = PAGES(first);
	model->end = PAGES(first + n);
	is_hit = !is_fresh && model_covers(model, access);
	rc = (is_fresh ? regcache_get_fresh : regcache_get)(model->cache, (char *)AT(first) + 1,
							    PAGES(n) - 1, access, &entry);
	is_int(model->fake->n_reg - n_reg, is_hit || rc ? 0 : 1);
	if (rc) {
		okf(!is_hit && (rc == -ENOBUFS || rc == -ENOMEM || rc == -EIO), "%d", rc);
		ok(!entry);
		return;
	}
	*ret_held = entry;
	e = model_find(model, entry->mr);
	if (!is_hit) {
		is_int(e != NULL, false);
		e = model_find(model, NULL);
		*e = (struct model_entry){.mr = entry->mr, .is_cached = entry->is_indexed};
		for (uintptr_t at = entry->start; at < entry->end; at += FAKE_PAGE)
			e->mr->words[(at - entry->start) / FAKE_PAGE] =
				model->epoch[at / FAKE_PAGE];
		okf(!(is_fresh && e->is_cached), "a fresh one can be found");
		if (e->is_cached)
			model_replace(model, entry->mr);
	}
	if (!ok(e))
		return;
	e->refs++;
	is_int(e->refs, entry->refs);
	okf(e->mr->start <= model->start && e->mr->end >= model->end, "covers");
	okf(!(access & ~e->mr->access), "access");
	model_check_fresh(model, e->mr);
}

static void model_put(struct model *model, struct regcache_entry *entry)
{
	struct model_entry *e = model_find(model, entry->mr);

	if (!ok(e))
		return;
	e->refs--;
	e->age = ++model->now;
	regcache_put(model->cache, entry);
}

static void model_invalidate(struct model *model)
{
	uint64_t first = tap_rand(&model->rand) % MODEL_PAGES;
	uint64_t n = 1 + tap_rand(&model->rand) % 6;
	uint32_t want = 0;

	for (uint64_t page = first; page < first + n && page < MODEL_PAGES; page++)
		model->epoch[page]++;
	for (unsigned int i = 0; i < MODEL_MAX; i++) {
		struct model_entry *e = &model->entries[i];

		if (e->mr && e->is_cached && e->mr->start < PAGES(first + n) &&
		    e->mr->end > PAGES(first)) {
			e->is_cached = false;
			want++;
		}
	}
	is_int(regcache_invalidate(model->cache, PAGES(first), PAGES(n)), want);
}

static void model_check(const struct model *model, const struct regcache_limits *limits)
{
	const struct regcache_count *count = regcache_count(model->cache);

	is_int(count->bytes, model->fake->bytes);
	is_int(count->entries, model->fake->n_live);
	okf(count->bytes <= limits->bytes && count->entries <= limits->entries, "bound");
}

static void model_step(struct model *model)
{
	uint64_t what = tap_rand(&model->rand) % 100;
	struct regcache_entry **held = &model->held[tap_rand(&model->rand) % HELD];
	struct fake *fake = model->fake;

	fake->is_transient = !(tap_rand(&model->rand) % 32);
	fake->reg_fails_in = tap_rand(&model->rand) % 32 ? -1 : 0;
	fake->reg_error = tap_rand(&model->rand) % 2 ? -ENOMEM : -EIO;
	fake->dereg_fails_in = tap_rand(&model->rand) % 32 ? -1 : 0;
	model->end = 0;
	if (what < 8)
		model_invalidate(model);
	else if (*held) {
		model_put(model, *held);
		*held = NULL;
	} else
		model_get(model, held);
}

TAP_TEST(regcache__against_a_plain_list)
{
	struct regcache_limits limits = {PAGES(60), 16, FAKE_PAGE};
	struct fake fake = FAKE_INIT;
	struct model model = {.fake = &fake, .rand = tap_seed()};
	const struct regcache_count *count;

	fake.told = model_gone;
	fake.arg = &model;
	fake.room = PAGES(55);
	must(!regcache_create(&fake_ops, &fake, &limits, &model.cache));
	count = regcache_count(model.cache);
	for (int i = 0; i < 200000 && !tap_has_failed(); i++) {
		model_step(&model);
		model_check(&model, &limits);
	}
	okf(count->hits > 1000 && count->misses > 1000 && count->evictions > 1000 &&
		    count->replaced > 1000 && count->invalidated > 1000 && count->shortages > 100 &&
		    count->refused > 100 && count->transients > 100,
	    "everything happens");
	model.end = 0;
	fake.dereg_fails_in = -1;
	for (unsigned int i = 0; i < HELD; i++)
		if (model.held[i])
			model_put(&model, model.held[i]);
	is_int(regcache_destroy(model.cache), 0);
	is_int(fake.n_live, 0);
	is_int(fake.bytes, 0);
}
