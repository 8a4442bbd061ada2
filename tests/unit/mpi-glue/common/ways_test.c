// SPDX-License-Identifier: BSD-3-Clause
/*
 * ways: messages that are alone take the faster way, those of a burst one that fits what both
 * processes do.
 */
#include "mpi-glue/common/ways.h"
#include "tests/harness/tap.h"

#define SIZE 32768

static uint64_t now;

/* Announced at @since, and seen now or then. */
static enum way begin(struct ways *w, uint64_t since, bool is_both)
{
	return ways_begin(w, SIZE, since, since > now ? since : now, is_both);
}

/* So many messages, one by one, by the way they are told to take; how many were read. */
static uint32_t alone(struct ways *w, uint32_t n, uint64_t copy_ns, uint64_t read_ns)
{
	uint32_t reads = 0;

	while (n--) {
		enum way way = begin(w, now += 1000, true);

		reads += way == WAY_READ;
		ways_end(w, now += way == WAY_READ ? read_ns : copy_ns);
	}
	return reads;
}

/* A burst: all begun at once. How many are read. */
static uint32_t burst(struct ways *w, uint32_t n, bool is_both)
{
	uint64_t since = now += 1000;
	uint32_t reads = 0;

	for (uint32_t i = 0; i < n; i++) {
		reads += begin(w, since + i, is_both) == WAY_READ;
		ways_end(w, now += 500);
	}
	return reads;
}

TAP_TEST(ways_class__lengths)
{
	is_int(ways_class(WAYS_MIN), 0);
	is_int(ways_class(2 * WAYS_MIN - 1), 0);
	is_int(ways_class(2 * WAYS_MIN), 1);
	is_int(ways_class(SIZE_MAX), WAYS_CLASSES - 1);
}

TAP_TEST(ways_begin__alone_by_the_faster_way)
{
	struct ways w = {0}, other = {0};

	alone(&w, 100, 5000, 3000);
	okf(alone(&w, 1000, 5000, 3000) > 900, "reading is faster");
	alone(&other, 100, 3000, 5000);
	okf(alone(&other, 1000, 3000, 5000) < 100, "copying is faster");
}

TAP_TEST(ways_begin__a_burst)
{
	struct ways w = {0};

	alone(&w, 100, 5000, 3000);
	is_int(burst(&w, 10, false), 1); /* the first one seems to be alone */
	is_int(burst(&w, 10, false), 0);
	is_int(burst(&w, 10, true), 10);
	okf(alone(&w, 1000, 5000, 3000) > 900, "what was measured is not forgotten");
}

TAP_TEST(ways_begin__a_message_behind_one_that_has_not_come)
{
	struct ways w = {0};

	begin(&w, 1000, false);
	is_int(begin(&w, 5000, true), WAY_READ); /* of one burst, though begun later */
	ways_end(&w, 6000);
	ways_end(&w, 7000);
	is_int(w.open, 0);
	is_int(w.n, 2);
}

TAP_TEST(ways_note__tells_the_sender)
{
	struct ways w = {0};
	enum way way = WAY_COPY, next = WAY_COPY;
	uint32_t reads = 0, n = 0;

	for (int i = 0; i < 1000; i++) {
		ok(ways_note(&w, SIZE, now += 1000, way, &next));
		ways_end(&w, now += way == WAY_READ ? 3000 : 5000);
		reads += way == WAY_READ;
		n++;
		way = next;
	}
	okf(reads > 900, "%u of %u", reads, n);
	/* of a burst it tells nothing */
	ok(ways_note(&w, SIZE, now += 1000, way, &next));
	ok(!ways_note(&w, SIZE, now, way, &next));
	ways_end(&w, now += 100);
	ways_end(&w, now += 100);
	ok(!ways_note(&w, SIZE, now += 1000, way, &next));
}

TAP_TEST(ways_spoil__the_time_does_not_count)
{
	struct ways w = {0};

	for (int i = 0; i < 100; i++) {
		begin(&w, now += 1000, true);
		ways_spoil(&w);
		ways_end(&w, now += 10);
	}
	is_int(w.of[ways_class(SIZE)].of[WAY_COPY].n, 0);
	is_int(w.of[ways_class(SIZE)].of[WAY_READ].n, 0);
}

TAP_TEST(ways_note__a_message_behind_a_burst_counts_for_its_own_way)
{
	struct ways w = {0};
	enum way next;

	for (int i = 0; i < 20; i++) {
		burst(&w, 10, true);
		ways_note(&w, SIZE, now += 1000, WAY_COPY, &next);
		ways_end(&w, now += 5000);
	}
	burst(&w, 1, true);
	is_int(w.of[ways_class(SIZE)].of[WAY_READ].n, 0);
	is_int(w.of[ways_class(SIZE)].of[WAY_COPY].n, 20);
}

TAP_TEST(ways_begin__a_sender_that_computes)
{
	struct ways w = {0};
	uint32_t reads = 0;

	/* its copies wait for 3 ms, but for some that are faster than reads */
	for (int i = 0; i < 5000; i++) {
		enum way way = begin(&w, now += 1000, true);

		reads += way == WAY_READ;
		ways_end(&w, now += way == WAY_READ ? 5000 : i % 4 ? 3000000 : 3000);
	}
	okf(reads > 4900, "%u of 5000", reads);
	/* back again: copies are faster */
	okf(alone(&w, 10000, 3000, 5000) < 2000, "copied again");
}

TAP_TEST(ways_begin__a_sender_that_computes_behind_a_burst)
{
	struct ways w = {0};
	uint64_t since = now += 1000;

	for (int i = 0; i < 3; i++)
		begin(&w, since, false);
	for (int i = 0; i < 3; i++)
		ways_end(&w, now += 1000000);
	is_int(burst(&w, 10, false), 10);
}

/* It was announced long before we looked: the sender did not wait. */
TAP_TEST(ways_begin__a_receiver_that_computes)
{
	struct ways w = {0};
	uint64_t since = now += 1000;

	is_int(begin(&w, since, false), WAY_COPY);
	ways_end(&w, now += 5000);
	now += 3000000;
	is_int(ways_begin(&w, SIZE, since + 10000, now, false), WAY_COPY);
	ways_end(&w, now += 5000);
	is_int(w.away, 0);
}
