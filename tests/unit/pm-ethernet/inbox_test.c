// SPDX-License-Identifier: BSD-3-Clause
#include "pm-ethernet/inbox.h"

#include <errno.h>

#include "tests/unit/pm-ethernet/inboxrig.h"

static struct eth_inbox inbox;
static struct inboxrig kernel;
static uint8_t frame[INBOX_BYTES];

/* The next frame is one of @length bytes @fill, and passed; false: it is not. */
static bool takes(uint32_t length, uint8_t fill)
{
	uint32_t got = 0;
	uint64_t next = 0;
	const uint8_t *at = eth_inbox_next(&inbox, &got, &next);

	if (!ok(at) || !is_int(got, length))
		return false;
	is_int(at[0], fill);
	is_int(at[length - 1], fill);
	eth_inbox_pass(&inbox, next);
	return true;
}

static bool is_empty(void)
{
	uint32_t length;
	uint64_t next;

	return !eth_inbox_next(&inbox, &length, &next);
}

static void put(uint32_t room, uint32_t bits, uint8_t fill, uint32_t length)
{
	memset(frame, fill, sizeof(frame));
	inboxrig_put(&kernel, room, bits, frame, length);
}

TAP_TEST(eth_inbox_next__in_order)
{
	kernel = inboxrig_open(&inbox);
	ok(is_empty());
	ok(!eth_inbox_is_pending(&inbox));
	put(120, 0, 'a', 80);
	put(248, 0, 'b', 240);
	put(120, 0, 'c', 112);
	ok(eth_inbox_is_pending(&inbox));
	takes(80, 'a');
	takes(240, 'b');
	takes(112, 'c');
	ok(is_empty());
	ok(!eth_inbox_is_pending(&inbox));
	inboxrig_close(&kernel, &inbox);
}

TAP_TEST(eth_inbox_next__one_that_is_being_written_holds_up_the_next)
{
	kernel = inboxrig_open(&inbox);
	put(120, INBOX_BUSY, 'a', 80);
	put(120, 0, 'b', 80);
	ok(is_empty());
	ok(eth_inbox_is_pending(&inbox));
	inboxrig_head(&kernel, 0, 120);
	takes(80, 'a');
	takes(80, 'b');
	inboxrig_close(&kernel, &inbox);
}

TAP_TEST(eth_inbox_next__discarded_ones_are_passed_over)
{
	kernel = inboxrig_open(&inbox);
	put(120, INBOX_DISCARD, 'a', 80);
	put(248, INBOX_DISCARD, 'b', 80);
	put(120, 0, 'c', 80);
	put(120, INBOX_DISCARD, 'd', 80);
	takes(80, 'c');
	ok(is_empty());
	ok(!eth_inbox_is_pending(&inbox));
	is_int((long long)inbox.strange, 0);
	inboxrig_close(&kernel, &inbox);
}

/* Many times around, with records that lie across the end. */
TAP_TEST(eth_inbox_next__around_the_ring)
{
	static const uint32_t rooms[] = {120, 248, 504, 1016, 100};
	uint64_t rand = tap_seed();

	kernel = inboxrig_open(&inbox);
	for (uint32_t i = 0; i < 1000 && !tap_has_failed(); i++) {
		uint32_t room = rooms[tap_rand(&rand) % 5];
		uint32_t length = 1 + (uint32_t)(tap_rand(&rand) % (room - 8));

		put(room, 0, (uint8_t)i, length);
		ok(*kernel.producer - (*kernel.consumer & ~7ull) <= INBOX_BYTES);
		takes(length, (uint8_t)i);
	}
	inboxrig_close(&kernel, &inbox);
}

/* No program of ours writes them, but nothing may be read beyond the record. */
TAP_TEST(eth_inbox_next__lengths_that_can_not_be)
{
	kernel = inboxrig_open(&inbox);
	put(120, 0, 'a', 113);
	put(120, 0, 'b', UINT32_MAX);
	inboxrig_head(&kernel, *kernel.producer, 4);
	*kernel.producer += 16;
	put(120, 0, 'c', 112);
	takes(112, 'c');
	is_int((long long)inbox.strange, 3);
	inboxrig_close(&kernel, &inbox);
}

TAP_TEST(eth_inbox_pass__gives_back_several_at_once)
{
	kernel = inboxrig_open(&inbox);
	for (int i = 0; i < 4; i++) {
		put(120, 0, 'a', 80);
		is_int((long long)*kernel.consumer, 0);
		takes(80, 'a');
	}
	is_int((long long)*kernel.consumer, 4 * 128);
	put(120, 0, 'b', 80);
	takes(80, 'b');
	is_int((long long)*kernel.consumer, 4 * 128);
	eth_inbox_release(&inbox);
	is_int((long long)*kernel.consumer, 5 * 128);
	inboxrig_close(&kernel, &inbox);
}

TAP_TEST(eth_inbox_sleep__is_seen_at_the_position)
{
	kernel = inboxrig_open(&inbox);
	put(120, 0, 'a', 80);
	takes(80, 'a');
	eth_inbox_sleep(&inbox);
	is_int((long long)*kernel.consumer, 128 | ETH_INBOX_SLEEPS);
	put(120, 0, 'b', 80);
	ok(eth_inbox_is_pending(&inbox));
	eth_inbox_awake(&inbox);
	is_int((long long)*kernel.consumer, 128);
	takes(80, 'b');
	inboxrig_close(&kernel, &inbox);
}

TAP_TEST(eth_inbox_open__no_ring)
{
	struct eth_inbox none = {.fd = -1};

	is_int(eth_inbox_open(-1, INBOX_BYTES, &none), -EBADF);
	eth_inbox_close(&none);
}
