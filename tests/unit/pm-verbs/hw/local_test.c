// SPDX-License-Identifier: BSD-3-Clause
/*
 * The program's memory in one-sided operations: registered once, anew when its pages are others,
 * and within bounds.
 */
#include "pm-verbs/hw/local.h"
#include "tests/unit/pm-verbs/links.h"
#include "tests/unit/pm-verbs/unmapping.h"

#define OPS (&pm_verbs_ops)
#define KIB 1024
#define REGION (5u * 1024 * KIB)
#define LEN (256 * KIB)

static uint8_t region[REGION];
static uint64_t rkey;

static struct pmv_link *link_of(int node)
{
	return pmv_of(nodes[node].link);
}

static const struct regcache_count *counted(int node)
{
	return pinned_count(link_of(node)->rails[0].pinned);
}

static uint8_t *map(size_t len)
{
	uint8_t *memory = (uint8_t *)unmapping_map(len);

	memset(memory, 1, len);
	return memory;
}

/* Nodes that know a region of the last one. False: nothing is kept here, which is said. */
static bool begin(int n, const char *options)
{
	static uint8_t first[8];

	fake_begin(1);
	if (!ok(links_open(n, options)) ||
	    !ok(!region_add(nodes[n - 1].regions, region, sizeof(region), &rkey)) ||
	    !is_int(links_rma(0, n - 1, false, rkey, 0, first, sizeof(first)), 0))
		return false;
	if (!link_of(0)->local_why[0])
		return true;
	tap_skip("%s", link_of(0)->local_why);
	links_close();
	return false;
}

/* To the region and back: whether the right bytes moved. */
static bool goes_through(uint8_t *memory, size_t len, uint64_t seed)
{
	links_fill(memory, len, seed);
	if (!is_int(links_rma(0, 1, true, rkey, 0, memory, len), 0) ||
	    !ok(links_is_filled(region, len, seed)))
		return false;
	links_fill(region, len, seed + 1);
	return is_int(links_rma(0, 1, false, rkey, 0, memory, len), 0) &&
	       ok(links_is_filled(memory, len, seed + 1));
}

TAP_TEST(pmv_local_share__limits_and_rails)
{
	const uint64_t mib = 1024 * KIB;

	/* asked for */
	is_int(pmv_local_share(64 * mib, 8 * mib, 1000 * mib, 9, 2), 32 * mib);
	/* a quarter of the memory, for all processes */
	is_int(pmv_local_share(0, UINT64_MAX, 1600 * mib, 4, 1), 100 * mib);
	is_int(pmv_local_share(0, UINT64_MAX, 1600 * mib, 0, 4), 100 * mib);
	/* half of what may be locked */
	is_int(pmv_local_share(0, 8 * mib, 1600 * mib, 1, 1), 4 * mib);
	is_int(pmv_local_share(0, 64 * KIB, 1600 * mib, 1, 8), 256 * KIB);
}

TAP_TEST(write__one_buffer_is_registered_once)
{
	uint8_t *memory = map(LEN);
	char dump[2000];
	long calls;

	if (!begin(2, NULL))
		return;
	ok(goes_through(memory, LEN, 0));
	calls = fake.calls[FAKE_REG_MR];
	for (uint64_t i = 1; i <= 10; i++)
		ok(goes_through(memory, LEN, 7 * i));
	/* and any part of it */
	ok(goes_through(memory + 4097, 1000, 100));
	is_int(fake.calls[FAKE_REG_MR], calls);
	is_int(counted(0)->hits, 23);
	is_int(nodes[0].stats.pinned_hits, 23);
	is_int(nodes[0].stats.pinned_misses, counted(0)->misses);
	is_int(nodes[0].stats.pinned_evictions, 0);
	must(OPS->dump(nodes[0].link, dump, sizeof(dump)) < (int)sizeof(dump));
	ok(strstr(dump, " 23 hits, 2 misses, 0 evictions") != NULL);
	links_close();
	munmap(memory, LEN);
}

static void check_anew(void (*replace)(char *addr, size_t len))
{
	uint8_t *memory = map(LEN);
	long calls;

	if (!begin(2, NULL))
		return;
	ok(goes_through(memory, LEN, 0));
	for (uint64_t i = 1; i < 5; i++) {
		/* all of it, or a page in the midst */
		uint8_t *at = i & 1 ? memory : memory + 9 * 4096;
		size_t len = i & 1 ? LEN : 4096;

		calls = fake.calls[FAKE_REG_MR];
		replace((char *)at, len);
		fake_replaced(at, len);
		ok(goes_through(memory, LEN, 10 * i));
		is_int(fake.calls[FAKE_REG_MR], calls + 1);
		is_int(fake.stale, 0);
	}
	links_close();
	munmap(memory, LEN);
}

TAP_TEST(write__memory_unmapped_and_mapped_anew)
{
	check_anew(unmapping_munmap);
}

TAP_TEST(write__memory_mapped_over)
{
	check_anew(unmapping_map_over);
}

TAP_TEST(write__memory_discarded)
{
	check_anew(unmapping_dontneed);
}

/* The registration of unmapped memory is dropped without another operation. */
TAP_TEST(receive__lets_go_of_what_was_unmapped)
{
	uint8_t *memory = map(LEN);
	uint32_t before;

	if (!begin(2, NULL))
		return;
	before = counted(0)->entries;
	ok(goes_through(memory, LEN, 0));
	is_int(counted(0)->entries, before + 1);
	munmap(memory, LEN);
	/* the reader may note it a moment later */
	for (int i = 0; i < 1000000 && counted(0)->entries > before; i++)
		links_turn(1);
	is_int(counted(0)->entries, before);
	links_close();
}

TAP_TEST(write__of_readonly_memory)
{
	uint8_t *memory = map(4 * LEN);

	if (!begin(2, NULL))
		return;
	links_fill(memory, LEN, 3);
	fake_fail(FAKE_REG_MR, 1, EFAULT);
	is_int(links_rma(0, 1, true, rkey, 0, memory, LEN), 0);
	ok(links_is_filled(region, LEN, 3));
	/* it may not be written to */
	fake_fail(FAKE_REG_MR, 1, EFAULT);
	is_int(links_rma(0, 1, false, rkey, 0, memory, LEN), -EFAULT);
	fake_fail(FAKE_REG_MR, 1, EACCES);
	is_int(links_rma(0, 1, true, rkey, 0, memory + LEN, LEN), 0);
	is_int(nodes[0].peer[1]->epoch, 1);
	links_close();
	munmap(memory, 4 * LEN);
}

static void fail_once(int nth, int error)
{
	uint8_t *memory = map(4 * LEN);
	bool is_failed = false;

	if (!begin(2, "verbs.pinned=1M"))
		return;
	fake_fail(FAKE_REG_MR, nth, error);
	for (uint32_t i = 0; i < 8; i++) {
		int err = links_rma(0, 1, i & 1, rkey, 0, memory + i / 2 * LEN, LEN - i);

		okf(!err || err == -error || err == -ENOMEM, "%u: %d", i, err);
		ok(!err || !is_failed);
		is_failed |= err != 0;
	}
	links_close();
	munmap(memory, 4 * LEN);
}

TAP_TEST(write__each_registration_fails_once)
{
	static const int errors[] = {EIO, ENOMEM, EFAULT, EAGAIN};

	for (int e = 0; e < 4; e++)
		for (int nth = 1; nth <= 8; nth++)
			fail_once(nth, errors[e]);
}

/*
 * Parts that are registered one after the other, and operations that wait for each other's memory.
 */
TAP_TEST(read__many_at_once_within_the_bound)
{
	enum { MANY = 12, EACH = 700 * KIB };
	uint8_t *memory = map((size_t)MANY * EACH);
	uint32_t op[MANY];
	uint64_t key;

	if (!begin(3, "verbs.pinned=1M"))
		return;
	links_fill(region, sizeof(region), 5);
	must(!region_add(nodes[1].regions, region, sizeof(region), &key));
	for (uint32_t i = 0; i < MANY; i++)
		must(!OPS->read(nodes[0].link, nodes[0].peer[1 + i % 2], i % 2 ? rkey : key,
				i * 4096, memory + (size_t)i * EACH, EACH, &op[i]));
	for (uint32_t i = 0; i < MANY; i++) {
		int err = -EAGAIN;

		for (int turn = 0; turn < TURNS && err == -EAGAIN; turn++) {
			links_turn(1);
			err = OPS->rma_done(nodes[0].link, op[i]);
		}
		is_int(err, 0);
		ok(!memcmp(memory + (size_t)i * EACH, region + i * 4096, EACH));
	}
	okf(counted(0)->bytes_max <= 1024 * KIB, "%llu bytes",
	    (unsigned long long)counted(0)->bytes_max);
	ok(nodes[0].stats.pinned_evictions > 0);
	is_int(link_of(0)->n_holding, 0);
	links_close();
	munmap(memory, (size_t)MANY * EACH);
}

TAP_TEST(read__more_than_may_be_locked)
{
	uint8_t *memory = map(REGION);

	if (!begin(2, "verbs.pinned=64M"))
		return;
	fake.lockable = fake.locked + 1024 * KIB;
	ok(goes_through(memory, REGION, 1));
	/* nothing at all, and nobody who would give some back */
	links_turn(100);
	is_int(OPS->quiesce(nodes[0].link), 0);
	OPS->resume(nodes[0].link);
	fake.lockable = fake.locked;
	is_int(links_rma(0, 1, false, rkey, 0, memory, LEN), -ENOMEM);
	fake.lockable = 0;
	ok(goes_through(memory, LEN, 2));
	links_close();
	munmap(memory, REGION);
}

/* Cached registrations in no use make room for a region that another node asks for. */
TAP_TEST(asked__at_the_lock_limit)
{
	uint8_t *memory = map(LEN), *theirs = map(LEN), local[100] = {0};
	uint64_t key;

	if (!begin(2, NULL))
		return;
	ok(goes_through(memory, LEN, 1));
	must(!region_add(nodes[0].regions, theirs, LEN, &key));
	links_fill(theirs, LEN, 8);
	fake.lockable = fake.locked + 2 * 4096;
	is_int(links_rma(1, 0, false, key, 0, local, sizeof(local)), 0);
	ok(links_is_filled(local, sizeof(local), 8));
	is_int(counted(0)->entries, 0);
	links_close();
	munmap(memory, LEN);
	munmap(theirs, LEN);
}

TAP_TEST(quiesce__lets_go_of_memory)
{
	uint8_t *memory = map(LEN);

	if (!begin(2, NULL))
		return;
	ok(goes_through(memory, LEN, 1));
	ok(counted(0)->entries > 0);
	links_turn(100);
	is_int(OPS->quiesce(nodes[0].link), 0);
	is_int(counted(0)->entries, 0);
	OPS->resume(nodes[0].link);
	ok(goes_through(memory, LEN, 2));
	links_close();
	munmap(memory, LEN);
}

TAP_TEST(close__operations_under_way)
{
	uint8_t *memory = map(REGION);
	uint32_t op;

	if (!begin(2, "verbs.pinned=1M"))
		return;
	fake.is_held = true;
	/* the third waits for memory */
	for (uint32_t i = 0; i < 3; i++)
		must(!OPS->read(nodes[0].link, nodes[0].peer[1], rkey, 0,
				memory + i * 1000ull * KIB, 900 * KIB, &op));
	ok(link_of(0)->is_short);
	is_int(link_of(0)->n_holding, 2);
	links_close();
	munmap(memory, REGION);
}

/* A process that is told nothing of unmapped memory keeps nothing, and says why. */
static int use_unnoticed(void *arg)
{
	uint8_t *memory = map(LEN);
	char dump[2000];
	long calls;

	if (!unmapping_refuse_userfaultfd())
		return 77;
	fake_begin(1);
	if (!links_open(2, NULL) || region_add(nodes[1].regions, region, sizeof(region), &rkey) ||
	    !goes_through(memory, LEN, 1))
		return 1;
	calls = fake.calls[FAKE_REG_MR];
	if (!goes_through(memory, LEN, 2) || fake.calls[FAKE_REG_MR] != calls + 2)
		return 2;
	if (counted(0)->entries)
		return 3;
	OPS->dump(nodes[0].link, dump, sizeof(dump));
	if (!strstr(dump, "each operation registers for itself: no notice of unmapped memory: "
			  "userfaultfd"))
		return 4;
	links_close();
	return tap_has_failed() ? 5 : 0;
}

TAP_TEST(open__without_notice_of_unmapped_memory)
{
	int code = unmapping_fork(use_unnoticed, NULL);

	if (code == 77)
		tap_skip("no system call can be refused here");
	else
		is_int(code, 0);
}
