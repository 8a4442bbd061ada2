// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_burst: which messages of a burst are announced, so that their receiver reads them. */
#include <errno.h>

#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define NODE 3
#define STREAM 131072
#define STANDARD MCA_PML_BASE_SEND_STANDARD

static struct mtl_pm_peer *peer;

static void begin(void)
{
	fake_open("udp");
	fake.stream = 0;
	fake.long_read = STREAM;
	peer = mtl_pm_peer_of_node(NODE);
}

static void finish(void)
{
	mtl_pm_let_go();
	fake_close();
}

static bool join(size_t length)
{
	return mtl_pm_join_burst(peer, length, true, STANDARD);
}

/* The calls of the burst took no time, whatever else this machine had to do. */
static void be_quick(void)
{
	mtl_pm.held_bytes = UINT32_MAX;
}

TAP_TEST(join_burst__many_bytes_are_announced_where_a_stream_leads)
{
	begin();
	for (int i = 0; i < 15; i++)
		ok(!join(16384));
	/* 256 KiB are reached. */
	ok(join(16384));
	ok(join(8193) && !join(8192));
	ok(!mtl_pm_join_burst(peer, 16384, false, STANDARD));
	/* An announcement of a message that fills system calls alone is not held. */
	ok(join(131072) && mtl_pm.is_corked);
	ok(join(131073) && !mtl_pm.is_corked);
	/* The next burst knows that it will have as many. */
	mtl_pm_end_burst();
	ok(!join(16384));
	ok(join(16384));
	finish();
}

TAP_TEST(join_burst__short_bursts_are_forgotten_by_and_by)
{
	int bursts = 0;

	begin();
	peer->burst_bytes = 1 << 20;
	do {
		be_quick();
		mtl_pm_let_go();
		join(10000);
	} while (join(10000) && ++bursts < 100);
	/*
	 * A quarter of the difference to 20000 less each time: 264085 bytes for the sixth, 203064
	 * for the next.
	 */
	is_int(bursts, 6);
	finish();
}

/* A burst of so many bytes that it would be announced: is it? */
static bool is_announced(void)
{
	bool is;

	peer->burst_bytes = 1 << 20;
	join(16384);
	is = join(16384);
	be_quick();
	mtl_pm_end_burst();
	return is;
}

TAP_TEST(join_burst__without_a_stream_one_of_64_is_announced)
{
	begin();
	fake.stream = ENOBUFS;
	for (int i = 0; i < 130; i++)
		if (!okf(is_announced() == (i % 64 == 0), "burst %d", i))
			break;
	finish();
}

/* Messages until one is announced. */
static int unannounced(void)
{
	int n = 0;

	while (!is_announced() && n < 3000)
		n++;
	return n;
}

TAP_TEST(on_unread__nothing_is_announced_for_a_while)
{
	begin();
	is_int(unannounced(), 0);
	mtl_pm_on_unread(peer);
	is_int(unannounced(), 512);
	/* It has not read that one either. */
	mtl_pm_on_unread(peer);
	mtl_pm_on_unread(peer);
	is_int(unannounced(), 2048);
	mtl_pm_on_unread(peer);
	mtl_pm_on_read(peer);
	is_int(unannounced(), 512);
	mtl_pm_on_unread(peer);
	is_int(peer->unannounced, 512);
	finish();
}
