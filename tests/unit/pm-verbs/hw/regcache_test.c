// SPDX-License-Identifier: BSD-3-Clause
/* regcache: by hand, and with each call and allocation failing. Addresses are numbers. */
#include "pm-verbs/hw/regcache.h"

#include "tests/unit/pm-verbs/fakereg.h"

#define READ 1
#define WRITE 2

/* Page @n as an address. */
#define AT(n) ((void *)((uintptr_t)(n)*FAKE_PAGE))
#define PAGES(n) ((size_t)(n)*FAKE_PAGE)

static const struct regcache_limits wide = {.bytes = 1ull << 40,
					    .entries = 1000,
					    .page_bytes = FAKE_PAGE};

static struct regcache *create(struct fake *fake, const struct regcache_limits *limits)
{
	struct regcache *cache = NULL;

	is_int(regcache_create(&fake_ops, fake, limits, &cache), 0);
	return cache;
}

static void destroy(struct regcache *cache, struct fake *fake)
{
	is_int(regcache_destroy(cache), 0);
	is_int(fake->n_live, 0);
	is_int(fake->bytes, 0);
}

static struct regcache_entry *get(struct regcache *cache, void *addr, size_t len, int access)
{
	struct regcache_entry *entry = NULL;

	is_int(regcache_get(cache, addr, len, access, &entry), 0);
	return entry;
}

/* Gets and puts. */
static void visit(struct regcache *cache, unsigned int page, unsigned int n, int access)
{
	regcache_put(cache, get(cache, AT(page), PAGES(n), access));
}

TAP_TEST(regcache_create__nonsense_is_refused)
{
	struct regcache_limits limits = wide;
	struct regcache *cache = NULL;
	struct fake fake = FAKE_INIT;

	limits.bytes = 0;
	is_int(regcache_create(&fake_ops, &fake, &limits, &cache), -EINVAL);
	limits = wide;
	limits.entries = 0;
	is_int(regcache_create(&fake_ops, &fake, &limits, &cache), -EINVAL);
	limits = wide;
	limits.page_bytes = 4097;
	is_int(regcache_create(&fake_ops, &fake, &limits, &cache), -EINVAL);
	limits.page_bytes = 0;
	is_int(regcache_create(&fake_ops, &fake, &limits, &cache), -EINVAL);
	ok(!cache);
	is_int(regcache_destroy(NULL), 0);
}

TAP_TEST(regcache_get__no_range_is_refused)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);
	struct regcache_entry *entry = NULL;

	is_int(regcache_get(cache, AT(1), 0, READ, &entry), -EINVAL);
	is_int(regcache_get(cache, AT(1), SIZE_MAX, READ, &entry), -EINVAL);
	is_int(regcache_get(cache, (void *)UINTPTR_MAX, 1, READ, &entry), -EINVAL);
	is_int(regcache_get_fresh(cache, AT(1), 0, READ, &entry), -EINVAL);
	ok(!entry);
	is_int(fake.n_reg, 0);
	destroy(cache, &fake);
}

TAP_TEST(regcache_get__whole_pages_and_then_found)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);
	struct regcache_entry *a = get(cache, (char *)AT(1) + 100, FAKE_PAGE, READ), *b;

	is_int(a->start, PAGES(1));
	is_int(a->end, PAGES(3));
	is_int(a->access, READ);
	ok(a->mr == fake.live);
	b = get(cache, AT(2), FAKE_PAGE, READ);
	ok(a == b);
	is_int(fake.n_reg, 1);
	is_int(regcache_count(cache)->hits, 1);
	is_int(regcache_count(cache)->misses, 1);
	is_int(regcache_count(cache)->bytes, PAGES(2));
	regcache_put(cache, a);
	regcache_put(cache, b);
	is_int(fake.n_live, 1);
	/* one byte more on either side is another page */
	visit(cache, 1, 1, READ);
	visit(cache, 2, 1, READ);
	is_int(fake.n_reg, 1);
	visit(cache, 3, 1, READ);
	visit(cache, 0, 1, READ);
	is_int(fake.n_reg, 3);
	destroy(cache, &fake);
}

TAP_TEST(regcache_get__overlapping_ones_stand_side_by_side)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);

	for (unsigned int i = 0; i < 50; i++)
		visit(cache, 10 * i, 11, READ);
	is_int(fake.n_reg, 50);
	for (unsigned int i = 0; i < 50; i++)
		visit(cache, 10 * i, 11, READ);
	visit(cache, 10, 1, READ);
	is_int(fake.n_reg, 50);
	is_int(regcache_count(cache)->bytes, PAGES(11 * 50));
	destroy(cache, &fake);
}

TAP_TEST(regcache_get__a_growing_range_replaces_what_it_covers)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);
	struct regcache_entry *held;

	visit(cache, 12, 1, WRITE);
	for (unsigned int n = 1; n <= 10; n++)
		visit(cache, 10, n, READ);
	is_int(fake.n_reg, 11);
	is_int(fake.n_live, 1);
	is_int(fake.live->access, READ | WRITE);
	is_int(regcache_count(cache)->replaced, 10);
	held = get(cache, AT(10), PAGES(10), READ);
	visit(cache, 5, 20, READ);
	is_int(fake.n_live, 2);
	is_int(regcache_count(cache)->bytes, PAGES(30));
	regcache_put(cache, held);
	is_int(fake.n_live, 1);
	destroy(cache, &fake);
}

TAP_TEST(regcache_get__more_access_replaces)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);

	visit(cache, 10, 10, READ);
	visit(cache, 12, 2, WRITE);
	is_int(fake.n_live, 1);
	is_int(fake.live->access, READ | WRITE);
	is_int(fake.live->end, PAGES(14));
	visit(cache, 12, 2, READ);
	is_int(fake.n_reg, 2);
	destroy(cache, &fake);
}

/* Of two that cover the pages the one further away has the access. */
TAP_TEST(regcache_get__looks_at_all_that_cover)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);

	visit(cache, 0, 10, READ | WRITE);
	visit(cache, 2, 10, READ);
	is_int(fake.n_live, 2);
	visit(cache, 3, 5, WRITE);
	is_int(fake.n_reg, 2);
	destroy(cache, &fake);
}

/*
 * Access that was there already may not go for the wider range: then exactly what is asked, once.
 */
TAP_TEST(regcache_get__access_that_cannot_be_widened)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);
	struct regcache_entry *entry;

	visit(cache, 12, 1, WRITE);
	fake.reg_fails_in = 0;
	fake.reg_error = -EFAULT;
	entry = get(cache, AT(10), PAGES(5), READ);
	is_int(entry->access, READ);
	is_int(fake.n_live, 2);
	regcache_put(cache, entry);
	is_int(fake.n_live, 1);
	is_int(regcache_count(cache)->transients, 1);
	visit(cache, 12, 1, WRITE);
	is_int(fake.n_reg, 2);
	destroy(cache, &fake);
}

TAP_TEST(regcache_get__the_oldest_use_goes_first)
{
	struct regcache_limits limits = wide;
	struct fake fake = FAKE_INIT;
	struct regcache *cache;

	limits.entries = 3;
	cache = create(&fake, &limits);
	visit(cache, 10, 1, READ);
	visit(cache, 20, 1, READ);
	visit(cache, 30, 1, READ);
	visit(cache, 10, 1, READ);
	visit(cache, 40, 1, READ);
	is_int(regcache_count(cache)->evictions, 1);
	visit(cache, 10, 1, READ);
	visit(cache, 30, 1, READ);
	visit(cache, 40, 1, READ);
	is_int(fake.n_reg, 4);
	visit(cache, 20, 1, READ);
	is_int(fake.n_reg, 5);
	is_int(fake.n_live, 3);
	is_int(regcache_count(cache)->entries_max, 3);
	destroy(cache, &fake);
}

TAP_TEST(regcache_get__bound_of_bytes)
{
	struct regcache_limits limits = wide;
	struct regcache_entry *held, *entry = NULL;
	struct fake fake = FAKE_INIT;
	struct regcache *cache;

	limits.bytes = PAGES(10);
	cache = create(&fake, &limits);
	is_int(regcache_get(cache, AT(0), PAGES(11), READ, &entry), -E2BIG);
	held = get(cache, AT(0), PAGES(6), READ);
	visit(cache, 10, 2, READ);
	visit(cache, 20, 2, READ);
	is_int(fake.n_live, 3);
	visit(cache, 30, 3, READ);
	is_int(fake.n_live, 2);
	/* what is in use stays, so this can't be now */
	is_int(regcache_get(cache, AT(40), PAGES(5), READ, &entry), -ENOBUFS);
	is_int(regcache_get_fresh(cache, AT(40), PAGES(5), READ, &entry), -ENOBUFS);
	ok(!entry);
	regcache_put(cache, held);
	visit(cache, 40, 5, READ);
	is_int(regcache_count(cache)->bytes_max, PAGES(10));
	destroy(cache, &fake);
}

TAP_TEST(regcache_get__memory_lock_limit_makes_others_go)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);
	struct regcache_entry *held, *entry = NULL;

	fake.room = PAGES(10);
	held = get(cache, AT(0), PAGES(2), READ);
	visit(cache, 10, 4, READ);
	visit(cache, 20, 4, READ);
	visit(cache, 30, 6, READ);
	is_int(regcache_count(cache)->shortages, 1);
	is_int(regcache_count(cache)->evictions, 2);
	is_int(fake.n_live, 2);
	is_int(regcache_get(cache, AT(50), PAGES(9), READ, &entry), -ENOMEM);
	ok(!entry);
	is_int(fake.n_live, 1);
	regcache_put(cache, held);
	destroy(cache, &fake);
}

TAP_TEST(regcache_invalidate__what_it_touches)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);

	is_int(regcache_invalidate(cache, 0, SIZE_MAX), 0);
	visit(cache, 10, 4, READ);
	visit(cache, 13, 4, READ);
	visit(cache, 20, 4, READ);
	is_int(regcache_invalidate(cache, PAGES(8), PAGES(2)), 0);
	is_int(regcache_invalidate(cache, PAGES(17), PAGES(3)), 0);
	is_int(regcache_invalidate(cache, PAGES(10), 0), 0);
	is_int(regcache_invalidate(cache, PAGES(14) - 1, 1), 2);
	is_int(fake.n_live, 1);
	visit(cache, 13, 4, READ);
	is_int(fake.n_reg, 4);
	is_int(regcache_invalidate(cache, PAGES(23), SIZE_MAX), 1);
	is_int(regcache_flush(cache), 1);
	is_int(fake.n_live, 0);
	is_int(regcache_count(cache)->invalidated, 4);
	destroy(cache, &fake);
}

TAP_TEST(regcache_invalidate__in_use_goes_with_its_last_user)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);
	struct regcache_entry *a = get(cache, AT(1), PAGES(1), READ),
			      *b = get(cache, AT(1), PAGES(1), READ), *c;

	is_int(regcache_invalidate(cache, PAGES(1), 1), 1);
	is_int(regcache_invalidate(cache, PAGES(1), 1), 0);
	c = get(cache, AT(1), PAGES(1), READ);
	ok(c != a);
	is_int(fake.n_live, 2);
	regcache_put(cache, a);
	is_int(fake.n_live, 2);
	regcache_put(cache, b);
	is_int(fake.n_live, 1);
	regcache_put(cache, c);
	is_int(fake.n_live, 1);
	destroy(cache, &fake);
}

TAP_TEST(regcache_get_fresh__is_never_found)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);
	struct regcache_entry *entry = NULL;

	is_int(regcache_get_fresh(cache, AT(1), PAGES(1), READ, &entry), 0);
	visit(cache, 1, 1, READ);
	is_int(fake.n_live, 2);
	regcache_put(cache, entry);
	is_int(fake.n_live, 1);
	is_int(regcache_get_fresh(cache, AT(1), PAGES(1), READ, &entry), 0);
	is_int(fake.n_reg, 3);
	regcache_put(cache, entry);
	is_int(regcache_count(cache)->bypasses, 2);
	destroy(cache, &fake);
}

TAP_TEST(regcache_get__transient_is_never_found)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);

	fake.is_transient = true;
	visit(cache, 1, 1, READ);
	is_int(fake.n_live, 0);
	visit(cache, 1, 1, READ);
	is_int(fake.n_reg, 2);
	is_int(regcache_count(cache)->transients, 2);
	destroy(cache, &fake);
}

TAP_TEST(regcache__dereg_that_refuses_is_asked_again)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);

	visit(cache, 1, 1, READ);
	fake.dereg_fails_in = 0;
	is_int(regcache_flush(cache), 1);
	is_int(fake.n_live, 1);
	is_int(regcache_count(cache)->refused, 1);
	is_int(regcache_count(cache)->bytes, PAGES(1));
	/* its range is not found, and the next miss asks again */
	visit(cache, 1, 1, READ);
	is_int(fake.n_live, 1);
	is_int(fake.n_reg, 2);
	destroy(cache, &fake);
}

TAP_TEST(regcache_destroy__says_how_many_are_left)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);

	visit(cache, 1, 1, READ);
	visit(cache, 3, 1, READ);
	fake.dereg_fails_in = 0;
	regcache_invalidate(cache, PAGES(1), 1);
	fake.dereg_fails_in = 1;
	is_int(regcache_destroy(cache), 1);
	is_int(fake.n_live, 1);
	fake.dereg_fails_in = -1;
	is_int(fake_dereg(&fake, fake.live), 0);
}

/*
 * --- each call fails once
 * --------------------------------------------------------------------------
 */

/* Everything the cache does, small. Whether nothing failed. */
static bool exchange(struct fake *fake)
{
	struct regcache_limits limits = wide;
	struct regcache_entry *entry[8] = {NULL};
	struct regcache *cache;
	bool is_fine = true;

	limits.entries = 30;
	if (regcache_create(&fake_ops, fake, &limits, &cache))
		return false;
	for (unsigned int i = 0; i < 40; i++) {
		struct regcache_entry **e = &entry[i % 8];
		int access = i % 5 ? READ : WRITE;

		if (*e)
			regcache_put(cache, *e);
		*e = NULL;
		is_fine &= !regcache_get(cache, AT(5 * i), PAGES(1 + i % 9), access, e);
		if (i % 7 == 6)
			regcache_invalidate(cache, PAGES(5 * i - 10), PAGES(12));
		if (*e) {
			okf((*e)->start <= PAGES(5 * i) && (*e)->end >= PAGES(5 * i + 1 + i % 9),
			    "covers");
			okf(!(access & ~(*e)->access), "access");
		}
	}
	for (unsigned int i = 0; i < 8; i++)
		if (entry[i])
			regcache_put(cache, entry[i]);
	is_int(regcache_count(cache)->bytes, fake->bytes);
	is_int(regcache_count(cache)->entries, fake->n_live);
	is_fine &= !regcache_count(cache)->refused;
	is_int(regcache_destroy(cache), 0);
	is_int(fake->n_live, 0);
	return is_fine;
}

TAP_TEST(regcache__each_reg_fails_once)
{
	static const int errors[] = {-EIO, -EFAULT, -ENOMEM};

	for (unsigned int e = 0; e < 3; e++) {
		int n;

		for (n = 0; n < 1000; n++) {
			struct fake fake = FAKE_INIT;

			fake.reg_error = errors[e];
			fake.reg_fails_in = n;
			if (exchange(&fake) && fake.reg_fails_in >= 0)
				break;
		}
		okf(n >= 30 && n < 1000, "%d calls", n);
	}
}

TAP_TEST(regcache__each_dereg_fails_once)
{
	int n;

	for (n = 0; n < 1000; n++) {
		struct fake fake = FAKE_INIT;

		fake.dereg_fails_in = n;
		if (exchange(&fake) && fake.dereg_fails_in >= 0)
			break;
	}
	okf(n >= 30 && n < 1000, "%d calls", n);
}

/* A sanitizer brings its own allocator. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OWN_MALLOC 1
#endif
#endif

#ifndef HAS_OWN_MALLOC
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
static int fail_in = -1; /* allocations until one fails, -1 = never */

void *calloc(size_t n, size_t size)
{
	if (fail_in >= 0 && !fail_in--)
		return NULL;
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	if (fail_in >= 0 && !fail_in--)
		return NULL;
	return __libc_realloc(old, size);
}

TAP_TEST(regcache__each_allocation_fails_once)
{
	int n;

	for (n = 0; n < 1000; n++) {
		struct fake fake = FAKE_INIT;
		bool is_over;

		fail_in = n;
		exchange(&fake);
		is_over = fail_in >= 0;
		fail_in = -1;
		is_int(fake.n_live, 0);
		if (is_over)
			break;
	}
	okf(n >= 70 && n < 1000, "%d allocations", n);
}

/* An array that can't grow costs the hit, not the operation. */
TAP_TEST(regcache_get__array_cannot_grow)
{
	struct fake fake = FAKE_INIT;
	struct regcache *cache = create(&fake, &wide);
	struct regcache_entry *entry;

	fail_in = 2; /* the entry, the fake's own, the array */
	entry = get(cache, AT(1), PAGES(1), READ);
	fail_in = -1;
	must(entry);
	is_int(regcache_count(cache)->transients, 1);
	regcache_put(cache, entry);
	is_int(fake.n_live, 0);
	destroy(cache, &fake);
}
#endif
