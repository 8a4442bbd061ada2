// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_way: which messages have ways, when the sender is asked for another, and the words of a
 * peer about them.
 */
#include <time.h>

#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define NODE 3

static struct fake_receive r;

static struct mtl_pm_peer *begin(const char *device)
{
	fake_open(device);
	fake_prepare(&r, FAKE_ROOM);
	return mtl_pm_peer_of_node(NODE);
}

TAP_TEST(way_stamp__for_long_messages_of_this_host)
{
	struct mtl_pm_peer *peer = begin("shmem");

	must(peer && peer->ways);
	is_int(mtl_pm_way_stamp(peer, WAYS_MIN - 1), 0);
	ok(mtl_pm_way_stamp(peer, WAYS_MIN) != 0);
	fake_close();
	peer = begin("udp");
	must(peer && !peer->ways);
	is_int(mtl_pm_way_stamp(peer, WAYS_MIN), 0);
	fake_close();
}

static void on_way(struct mtl_pm_peer *peer, enum envelope_kind kind, uint64_t class)
{
	mtl_pm_on_way(&(struct envelope_control){.kind = kind, .id = class}, peer);
}

TAP_TEST(on_way__classes_that_the_peer_reads)
{
	struct mtl_pm_peer *peer = begin("shmem");

	on_way(peer, ENVELOPE_READ, 0);
	on_way(peer, ENVELOPE_READ, WAYS_CLASSES - 1);
	is_int(peer->read_classes, 1 | 1 << (WAYS_CLASSES - 1));
	ok(mtl_pm_is_read_by(peer, WAYS_MIN));
	ok(!mtl_pm_is_read_by(peer, WAYS_MIN - 1));
	ok(!mtl_pm_is_read_by(peer, 2 * WAYS_MIN));
	on_way(peer, ENVELOPE_READ, 0);
	on_way(peer, ENVELOPE_COPY, 0);
	on_way(peer, ENVELOPE_COPY, 1);
	is_int(peer->read_classes, 1 << (WAYS_CLASSES - 1));
	is_int(mtl_pm.damaged, 0);
	/* Classes that are none, also such as would be one in 32 bits. */
	on_way(peer, ENVELOPE_READ, WAYS_CLASSES);
	on_way(peer, ENVELOPE_COPY, WAYS_CLASSES);
	on_way(peer, ENVELOPE_READ, UINT64_MAX);
	on_way(peer, ENVELOPE_READ, 1ull << 32);
	is_int(mtl_pm.damaged, 4);
	is_int(peer->read_classes, 1 << (WAYS_CLASSES - 1));
	fake_close();
}

TAP_TEST(way_is_read__messages_that_have_one_way)
{
	struct mtl_pm_peer *peer = begin("udp");

	ok(mtl_pm_way_is_read(&r.req.receive, peer, 1 << 20, 0));
	ok(!r.req.receive.has_way);
	fake_close();
	peer = begin("shmem");
	ok(mtl_pm_way_is_read(&r.req.receive, peer, WAYS_MIN - 1, 0));
	ok(!r.req.receive.has_way);
	ok(!fake_sent());
	fake_close();
}

TAP_TEST(way_is_read__unpacked_data_are_pulled_and_wanted_unasked)
{
	struct mtl_pm_peer *peer = begin("shmem");

	r.req.receive.data = NULL;
	ok(!mtl_pm_way_is_read(&r.req.receive, peer, WAYS_MIN, 0));
	ok(!r.req.receive.has_way);
	/* The sender was never asked to announce them. */
	ok(!fake_sent());
	peer->asked_classes = 1;
	ok(!mtl_pm_way_is_read(&r.req.receive, peer, WAYS_MIN, 0));
	fake_sent_control(NODE, ENVELOPE_COPY, 0);
	is_int(peer->asked_classes, 0);
	ok(!mtl_pm_way_is_read(&r.req.receive, peer, WAYS_MIN, 0));
	ok(!fake_sent());
	fake_close();
}

TAP_TEST(way_is_read__a_message_that_is_always_announced)
{
	struct mtl_pm_peer *peer = begin("shmem");
	size_t size = (size_t)peer->middle_limit + 1;

	(void)mtl_pm_way_is_read(&r.req.receive, peer, size, 0);
	ok(r.req.receive.has_way);
	is_int(r.req.receive.way_size, size);
	is_int(peer->ways->open, 1);
	/* The receiver has chosen, so the sender is asked for nothing. */
	ok(!fake_sent());
	r.req.receive.peer = peer;
	r.req.receive.wanted = size;
	mtl_pm_way_over(&r.req.receive, 0);
	ok(!r.req.receive.has_way);
	is_int(peer->ways->open, 0);
	ok(!peer->ways->is_spoiled);
	fake_close();
}

static bool is_spoiled_by(size_t wanted, int error)
{
	struct mtl_pm_peer *peer = begin("shmem");
	size_t size = (size_t)peer->middle_limit + 1;
	bool is_spoiled;

	(void)mtl_pm_way_is_read(&r.req.receive, peer, size, 0);
	r.req.receive.peer = peer;
	r.req.receive.wanted = size - wanted;
	mtl_pm_way_over(&r.req.receive, error);
	is_spoiled = peer->ways->is_spoiled;
	fake_close();
	return is_spoiled;
}

TAP_TEST(way_over__a_time_that_tells_nothing)
{
	ok(!is_spoiled_by(0, 0));
	ok(is_spoiled_by(0, 5));
	ok(is_spoiled_by(1, 0));
}

/*
 * One message that is alone, and took so long; whether the sender was asked for another way before
 * it came.
 */
static void one_message(struct mtl_pm_peer *peer, enum way way)
{
	fake_prepare(&r, FAKE_ROOM);
	r.req.receive.wanted = WAYS_MIN;
	mtl_pm_way_note(&r.req.receive, peer, WAYS_MIN, 0, way);
	ok(r.req.receive.has_way && r.req.receive.peer == peer);
	mtl_pm_way_over(&r.req.receive, 0);
}

TAP_TEST(way_note__asks_for_another_way_once_and_says_which)
{
	struct mtl_pm_peer *peer = begin("shmem");
	enum way way = WAY_COPY;
	int n_asked = 0;

	/*
	 * The receiver tries both ways, whatever the times are: the word comes within a few
	 * messages.
	 */
	for (int i = 0; i < 1000; i++) {
		one_message(peer, way);
		if (!fake_sent())
			continue;
		n_asked++;
		way = way == WAY_COPY ? WAY_READ : WAY_COPY;
		fake_sent_control(NODE, way == WAY_READ ? ENVELOPE_READ : ENVELOPE_COPY, 0);
		is_int(peer->asked_classes, way == WAY_READ);
		ok(!fake_sent());
	}
	ok(n_asked > 0);
	fake_close();
}

TAP_TEST(way_note__a_stamp_is_the_lower_half_of_the_clock)
{
	struct mtl_pm_peer *peer = begin("shmem");
	struct timespec now;
	uint64_t now_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	mtl_pm_way_note(&r.req.receive, peer, WAYS_MIN, (uint32_t)(now_ns - 1000000000u), WAY_COPY);
	/* It was begun a second ago: not in four seconds, nor in the future. */
	ok(peer->ways->since_ns >= now_ns - 1000000000u);
	ok(peer->ways->since_ns < now_ns);
	r.req.receive.wanted = WAYS_MIN;
	mtl_pm_way_over(&r.req.receive, 0);
	/* Four seconds ago the lower half was larger than it is now. */
	fake_prepare(&r, FAKE_ROOM);
	mtl_pm_way_note(&r.req.receive, peer, 4 * WAYS_MIN, (uint32_t)now_ns - UINT32_MAX / 8 * 7,
			WAY_COPY);
	ok(peer->ways->since_ns < now_ns);
	fake_close();
}
