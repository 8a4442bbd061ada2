// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of bound.c: how fast it grows, how far it gives way, and what a port with a short queue
 * loses under it.
 */
#include "pm-udp/stream/bound.h"

#include "tests/harness/tap.h"

#define KIB 1024u

/* All that may be under way comes, @n times. */
static void rounds(struct pmt_bound *b, int n)
{
	for (int i = 0; i < n; i++)
		pmt_bound_arrived(b, b->round, false);
}

TAP_TEST(bound__grows_by_half_at_the_start)
{
	struct pmt_bound b;

	pmt_bound_init(&b, 2);
	is_int((long)b.bytes, 256l * KIB);
	pmt_bound_arrived(&b, 255ul * KIB, false);
	is_int((long)b.bytes, 256l * KIB);
	pmt_bound_arrived(&b, KIB, false);
	is_int((long)b.bytes, 384l * KIB);
	rounds(&b, 100);
	is_int((long)b.bytes, (long)PMT_BOUND_MOST);
}

TAP_TEST(bound__gives_way_to_a_loss_once)
{
	struct pmt_bound b;

	pmt_bound_init(&b, 1);
	rounds(&b, 4);
	is_int((long)b.bytes, 648l * KIB);
	pmt_bound_arrived(&b, KIB, true);
	is_int((long)b.bytes, 324l * KIB);
	/* asked for before */
	pmt_bound_arrived(&b, 300ul * KIB, true);
	pmt_bound_arrived(&b, 300ul * KIB, true);
	is_int((long)b.bytes, 324l * KIB);
	pmt_bound_arrived(&b, 48ul * KIB, false);
	is_int((long)b.bytes, 324l * KIB);
	pmt_bound_arrived(&b, 768ul * KIB, false);
	ok(b.bytes > 324ul * KIB && b.bytes < 340ul * KIB);
	/* after calm it is near, so it gives way by less */
	pmt_bound_arrived(&b, KIB, true);
	ok(b.bytes > 240ul * KIB && b.bytes < 260ul * KIB);
}

TAP_TEST(bound__has_a_least_and_comes_back)
{
	struct pmt_bound b;

	pmt_bound_init(&b, 1);
	for (int i = 0; i < 1000; i++)
		pmt_bound_arrived(&b, KIB, true);
	is_int((long)b.bytes, 32l * KIB);
	rounds(&b, 200);
	is_int((long)b.bytes, (long)PMT_BOUND_MOST);
}

/*
 * A port that loses a packet whenever more is under way than its queue holds, judged after every 16
 * KiB.
 */
TAP_TEST(bound__of_a_port_with_a_short_queue)
{
	const uint64_t queue = 100ul * KIB;
	uint64_t sum = 0, over = 0, n = 0;
	struct pmt_bound b;

	pmt_bound_init(&b, 1);
	for (int i = 0; i < 100000; i++) {
		pmt_bound_arrived(&b, 16ul * KIB, b.bytes > queue);
		if (i < 1000)
			continue;
		n++;
		sum += b.bytes;
		over += b.bytes > queue;
	}
	okf(sum / n > queue * 3 / 4, "%lu bytes under way", (unsigned long)(sum / n));
	okf(over * 200 < n, "above the queue %lu of %lu times", (unsigned long)over,
	    (unsigned long)n);
}
