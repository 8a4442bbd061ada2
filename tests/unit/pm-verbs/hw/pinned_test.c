// SPDX-License-Identifier: BSD-3-Clause
/*
 * pinned: what is lent was registered for the pages that are there now, whatever the program did to
 * them. A stand-in registration remembers the first word of each page; so a stale one is seen by
 * its words.
 */
#include "pm-verbs/hw/pinned.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "tests/unit/pm-verbs/fakereg.h"
#include "tests/unit/pm-verbs/unmapping.h"

#define LEN (16 * (size_t)FAKE_PAGE)
#define ACCESS 1

static const struct regcache_limits limits = {.bytes = 1ull << 32,
					      .entries = 1000,
					      .page_bytes = FAKE_PAGE};
static char why[256];
static uint64_t stamp; /* the last one given to a page */

/* Each page's first word becomes one that was not there before. */
static void write_stamps(char *addr, size_t len)
{
	for (size_t at = 0; at < len; at += FAKE_PAGE)
		*(volatile uint64_t *)(addr + at) = ++stamp;
}

static bool has_stamps(const struct fake_mr *mr, const char *addr, size_t len)
{
	for (size_t at = 0; at < len; at += FAKE_PAGE)
		if (mr->words[((uintptr_t)addr + at - mr->start) / FAKE_PAGE] !=
		    *(const volatile uint64_t *)(addr + at))
			return false;
	return true;
}

static struct pinned *open_pinned(struct fake *fake)
{
	struct pinned *pinned = NULL;

	*fake = (struct fake)FAKE_INIT;
	fake->is_reading = true;
	is_int(pinned_open(&fake_ops, fake, &limits, why, sizeof(why), &pinned), 0);
	if (why[0]) {
		tap_skip("%s", why);
		pinned_close(pinned);
		return NULL;
	}
	return pinned;
}

static void close_pinned(struct pinned *pinned, struct fake *fake)
{
	is_int(pinned_close(pinned), 0);
	is_int(fake->n_live, 0);
}

static struct regcache_entry *get(struct pinned *pinned, char *addr, size_t len)
{
	struct regcache_entry *entry = NULL;

	is_int(pinned_get(pinned, addr, len, ACCESS, &entry), 0);
	return entry;
}

static void visit(struct pinned *pinned, char *addr, size_t len)
{
	struct regcache_entry *entry = get(pinned, addr, len);

	if (!entry)
		return;
	okf(has_stamps(entry->mr, addr, len), "stale");
	pinned_put(pinned, entry);
}

/* The reader may note what it has read a moment after munmap has returned. */
static void turn_until_gone(struct pinned *pinned, const struct fake *fake)
{
	for (int i = 0; i < 1000000 && fake->n_live; i++) {
		pinned_turn(pinned);
		sched_yield();
	}
	is_int(fake->n_live, 0);
}

static char *map(size_t len)
{
	char *addr = unmapping_map(len);

	write_stamps(addr, len);
	return addr;
}

/* Each way, of all pages and of one in the midst, by this thread or another. */
static void replace(void (*do_it)(char *addr, size_t len), char *addr, size_t len, bool is_other)
{
	struct unmapping job = {.do_it = do_it, .addr = addr, .len = len};
	pthread_t thread;

	if (!is_other) {
		do_it(addr, len);
		return;
	}
	must(!pthread_create(&thread, NULL, unmapping_thread, &job));
	pthread_join(thread, NULL);
}

static void check_replaced(void (*do_it)(char *addr, size_t len))
{
	struct fake fake;
	struct pinned *pinned = open_pinned(&fake);

	if (!pinned)
		return;
	for (int way = 0; way < 4; way++) {
		char *memory = map(LEN), *at = way & 1 ? memory + 5 * FAKE_PAGE : memory;
		size_t len = way & 1 ? FAKE_PAGE : LEN;
		uint32_t n_reg;

		visit(pinned, memory, LEN);
		n_reg = fake.n_reg;
		visit(pinned, memory, LEN);
		is_int(fake.n_reg, n_reg);
		replace(do_it, at, len, way & 2);
		write_stamps(at, len);
		visit(pinned, memory, LEN);
		is_int(fake.n_reg, n_reg + 1);
		is_int(fake.n_live, 1);
		is_int(munmap(memory, LEN), 0);
		turn_until_gone(pinned, &fake);
	}
	close_pinned(pinned, &fake);
}

TAP_TEST(pinned_get__after_munmap)
{
	check_replaced(unmapping_munmap);
}

TAP_TEST(pinned_get__mapped_over)
{
	check_replaced(unmapping_map_over);
}

TAP_TEST(pinned_get__moved_away)
{
	check_replaced(unmapping_move_away);
}

TAP_TEST(pinned_get__pages_moved)
{
	check_replaced(unmapping_move_pages);
}

TAP_TEST(pinned_get__moved_over)
{
	check_replaced(unmapping_move_over);
}

TAP_TEST(pinned_get__dontneed)
{
	check_replaced(unmapping_dontneed);
}

TAP_TEST(pinned_get__madvise_free)
{
	check_replaced(unmapping_free);
}

TAP_TEST(pinned_get__brk_shrunk)
{
	struct fake fake;
	struct pinned *pinned = open_pinned(&fake);
	char *heap = sbrk(LEN + FAKE_PAGE), *memory;

	if (!pinned)
		return;
	memory = (char *)(((uintptr_t)heap + FAKE_PAGE - 1) & ~(uintptr_t)(FAKE_PAGE - 1));
	write_stamps(memory, LEN);
	visit(pinned, memory, LEN);
	sbrk(-(intptr_t)(LEN + FAKE_PAGE));
	must(sbrk(LEN + FAKE_PAGE) == heap);
	write_stamps(memory, LEN);
	visit(pinned, memory, LEN);
	is_int(fake.n_reg, 2);
	sbrk(-(intptr_t)(LEN + FAKE_PAGE));
	close_pinned(pinned, &fake);
}

/* A sanitizer's free() keeps the memory. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TAP_TEST(pinned_get__freed_and_allocated_anew)
{
	struct fake fake;
	struct pinned *pinned = open_pinned(&fake);
	char *block, *first, *memory;

	if (!pinned)
		return;
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	block = first = malloc(1 << 20);
	memory = (char *)(((uintptr_t)block + FAKE_PAGE - 1) & ~(uintptr_t)(FAKE_PAGE - 1));
	for (int i = 0; i < 20; i++) {
		write_stamps(memory, LEN);
		visit(pinned, memory, LEN);
		is_int(fake.n_reg, i + 1);
		free(block);
		turn_until_gone(pinned, &fake);
		block = malloc(1 << 20);
		okf(block == first, "the same address comes again");
	}
	free(block);
	close_pinned(pinned, &fake);
}
#endif

TAP_TEST(pinned_get__in_use_while_it_goes)
{
	struct fake fake;
	struct pinned *pinned = open_pinned(&fake);
	struct regcache_entry *entry;
	char *memory = map(LEN);

	if (!pinned)
		return;
	entry = get(pinned, memory, LEN);
	unmapping_munmap(memory, LEN);
	write_stamps(memory, LEN);
	visit(pinned, memory, LEN);
	is_int(fake.n_live, 2);
	pinned_put(pinned, entry);
	is_int(fake.n_live, 1);
	pinned_flush(pinned);
	is_int(fake.n_live, 0);
	close_pinned(pinned, &fake);
	munmap(memory, LEN);
}

TAP_TEST(pinned_get__several_contexts)
{
	struct fake fakes[3];
	struct pinned *pinned[3];
	char *memory = map(LEN);

	for (int i = 0; i < 3; i++) {
		pinned[i] = open_pinned(&fakes[i]);
		if (!pinned[i])
			return;
		visit(pinned[i], memory, LEN);
	}
	unmapping_munmap(memory, LEN);
	write_stamps(memory, LEN);
	for (int i = 0; i < 3; i++) {
		visit(pinned[i], memory, LEN);
		is_int(fakes[i].n_reg, 2);
		close_pinned(pinned[i], &fakes[i]);
	}
	munmap(memory, LEN);
}

/* The other end of shared memory can be cut off by others. */
TAP_TEST(pinned_get__shared_memory_is_not_kept)
{
	struct fake fake;
	struct pinned *pinned = open_pinned(&fake);
	char *memory = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (!pinned)
		return;
	for (uint32_t i = 1; i <= 3; i++) {
		write_stamps(memory, LEN);
		visit(pinned, memory, LEN);
		is_int(fake.n_reg, i);
		is_int(fake.n_live, 0);
	}
	is_int(pinned_count(pinned)->transients, 3);
	close_pinned(pinned, &fake);
	munmap(memory, LEN);
}

/*
 * --- children
 * ------------------------------------------------------------------------------------------
 */

struct family {
	struct pinned *pinned;
	struct fake *fake;
	char *memory;
};

/*
 * Registrations that a child inherits belong to the parent: the child uses none of them, and keeps
 * none of its own.
 */
static int be_child(void *arg)
{
	const struct family *family = arg;
	struct regcache_entry *entry = NULL;

	for (uint32_t i = 1; i <= 3; i++) {
		if (pinned_get(family->pinned, family->memory, LEN, ACCESS, &entry))
			return 1;
		if (pinned_count(family->pinned)->bypasses != i || family->fake->n_live != 2)
			return 2;
		pinned_put(family->pinned, entry);
	}
	munmap(family->memory, LEN);
	pinned_turn(family->pinned);
	return pinned_close(family->pinned) ? 3 : 0;
}

TAP_TEST(pinned_get__in_a_child)
{
	struct fake fake;
	struct pinned *pinned = open_pinned(&fake);
	struct family family = {.pinned = pinned, .fake = &fake, .memory = map(LEN)};

	if (!pinned)
		return;
	visit(pinned, family.memory, LEN);
	is_int(unmapping_fork(be_child, &family), 0);
	/* the parent's is as it was */
	visit(pinned, family.memory, LEN);
	is_int(fake.n_reg, 1);
	close_pinned(pinned, &fake);
	munmap(family.memory, LEN);
}

/*
 * --- without any notice
 * ----------------------------------------------------------------------------------
 */

static int be_refused(void *arg)
{
	struct fake fake = FAKE_INIT;
	struct regcache_entry *entry = NULL;
	struct pinned *pinned;
	char *memory = map(LEN);

	if (!unmapping_refuse_userfaultfd())
		return 1;
	if (pinned_open(&fake_ops, &fake, &limits, why, sizeof(why), &pinned) || !why[0])
		return 2;
	for (uint32_t i = 1; i <= 3; i++) {
		if (pinned_get(pinned, memory, LEN, ACCESS, &entry) || fake.n_reg != i)
			return 3;
		pinned_put(pinned, entry);
		if (fake.n_live)
			return 4;
	}
	pinned_turn(pinned);
	return pinned_close(pinned) ? 5 : 0;
}

TAP_TEST(pinned_open__refused_nothing_is_kept)
{
	is_int(unmapping_fork(be_refused, NULL), 0);
}

/*
 * --- all at once
 * ------------------------------------------------------------------------------------------
 */

#define ROUNDS 5000

/* Memory on its way to the thread that unmaps it, NULL = none. */
struct handover {
	char *_Atomic memory;
};

static void *unmap_what_comes(void *arg)
{
	struct handover *to = arg;

	for (int i = 0; i < ROUNDS; i++) {
		char *memory;

		while (!(memory = atomic_exchange(&to->memory, NULL)))
			sched_yield();
		munmap(memory, FAKE_PAGE);
	}
	return NULL;
}

/* As soon as the kernel gives the address away again. */
static char *map_when_free(char *addr)
{
	char *at;

	do {
		at = mmap(addr, FAKE_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	} while (at == MAP_FAILED && errno == EEXIST);
	okf(at == addr, "%p", (void *)at);
	write_stamps(at, FAKE_PAGE);
	return at;
}

/* One thread unmaps; the other maps at the same address before munmap has returned. */
TAP_TEST(pinned_get__address_comes_again_before_munmap_returns)
{
	struct fake fake;
	struct pinned *pinned = open_pinned(&fake);
	struct handover handover = {NULL};
	const struct regcache_count *count;
	char *memory = map(FAKE_PAGE);
	pthread_t thread;

	if (!pinned)
		return;
	count = pinned_count(pinned);
	must(!pthread_create(&thread, NULL, unmap_what_comes, &handover));
	for (int i = 0; i < ROUNDS; i++) {
		visit(pinned, memory, FAKE_PAGE);
		handover.memory = memory;
		memory = map_when_free(memory);
	}
	pthread_join(thread, NULL);
	tap_diag("%llu of %d times a change was under way", (unsigned long long)count->bypasses,
		 ROUNDS);
	is_int(count->hits, 0);
	close_pinned(pinned, &fake);
	munmap(memory, FAKE_PAGE);
}

/*
 * --- what it costs: told, not judged
 * ---------------------------------------------------------------------
 */

#define TIMES 301

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void tell(const char *what, double *us)
{
	qsort(us, TIMES, sizeof(*us), compare);
	tap_diag("%-38s %7.2f us, middle half %.2f..%.2f", what, us[TIMES / 2], us[TIMES / 4],
		 us[TIMES * 3 / 4]);
}

/* mapping, touching, @get if any, unmapping */
static void time_munmap(struct pinned *pinned, size_t len, double *ret_munmap, double *ret_get)
{
	for (int i = 0; i < TIMES; i++) {
		char *memory = map(len);
		double begin = now_us();

		if (pinned)
			visit(pinned, memory, len);
		ret_get[i] = now_us() - begin;
		begin = now_us();
		munmap(memory, len);
		ret_munmap[i] = now_us() - begin;
	}
}

TAP_TEST(pinned__cost)
{
	static const size_t sizes[] = {FAKE_PAGE, 64 * FAKE_PAGE};
	static double unmap[TIMES], first[TIMES], again[TIMES];
	struct fake fake;
	struct pinned *pinned = open_pinned(&fake);
	char *memory = map(LEN), what[64];

	if (!pinned)
		return;
	for (int i = 0; i < 2; i++) {
		time_munmap(NULL, sizes[i], unmap, first);
		snprintf(what, sizeof(what), "munmap of %zu KiB, never registered", sizes[i] >> 10);
		tell(what, unmap);
		time_munmap(pinned, sizes[i], unmap, first);
		snprintf(what, sizeof(what), "munmap of %zu KiB, registered", sizes[i] >> 10);
		tell(what, unmap);
		snprintf(what, sizeof(what), "get and put of %zu KiB, a miss", sizes[i] >> 10);
		tell(what, first);
	}
	for (int i = 0; i < TIMES; i++) {
		double begin = now_us();

		pinned_put(pinned, get(pinned, memory, LEN));
		again[i] = now_us() - begin;
	}
	tell("get and put, a hit", again);
	is_int(pinned_count(pinned)->hits, TIMES - 1);
	close_pinned(pinned, &fake);
	munmap(memory, LEN);
}
