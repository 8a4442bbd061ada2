// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_note: control messages leave at once, or in order when there is room, and none to the
 * dead.
 */
#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define NODE 3

static int count_free(void)
{
	const struct mtl_pm_note *note;
	int n = 0;

	STAILQ_FOREACH(note, &mtl_pm.free_notes, link)
		n++;
	return n;
}

TAP_TEST(note_control__leaves_at_once)
{
	struct mtl_pm_peer *peer;
	const struct envelope_control *m;

	fake_open("udp");
	peer = mtl_pm_peer_of_node(NODE);
	mtl_pm_note_control(peer, ENVELOPE_FIN, 77, 5);
	must(fake_sent() != NULL);
	m = (const void *)fake_sent()->bytes;
	is_int(fake_sent()->size, sizeof(*m));
	/* The wire knows that there was an error, not which. */
	is_int(m->error, 1);
	fake_sent_control(NODE, ENVELOPE_FIN, 77);
	mtl_pm_note_control(peer, ENVELOPE_ACK, 78, 0);
	m = (const void *)fake_sent()->bytes;
	is_int(m->error, 0);
	ok(!peer->is_busy && STAILQ_EMPTY(&peer->notes));
	fake_close();
}

TAP_TEST(note__waits_for_room_in_order)
{
	struct mtl_pm_peer *peer;

	fake_open("udp");
	peer = mtl_pm_peer_of_node(NODE);
	fake.send_buffers = 0;
	mtl_pm_note_control(peer, ENVELOPE_ACK, 1, 0);
	ok(peer->is_busy);
	fake.send_buffers = 2;
	/* There is room now, but nobody overtakes. */
	mtl_pm_note_control(peer, ENVELOPE_FIN, 2, 0);
	mtl_pm_note_control(peer, ENVELOPE_ACK, 3, 0);
	ok(!fake_sent());
	is_int(mtl_pm_push_notes(peer), 2);
	fake_sent_control(NODE, ENVELOPE_ACK, 1);
	fake_sent_control(NODE, ENVELOPE_FIN, 2);
	ok(!fake_sent());
	is_int(count_free(), 2);
	fake.send_buffers = 2;
	is_int(mtl_pm_push_notes(peer), 1);
	fake_sent_control(NODE, ENVELOPE_ACK, 3);
	is_int(mtl_pm_push_notes(peer), 0);
	/* Memory of those that have gone is used again. */
	fake.send_buffers = 0;
	mtl_pm_note_control(peer, ENVELOPE_ACK, 4, 0);
	is_int(count_free(), 2);
	fake_close();
}

TAP_TEST(note__a_pull_is_whole)
{
	struct envelope_pull pull = {
		.base = {.kind = ENVELOPE_PULL, .id = 4}, .reply = 5, .wanted = 6};
	struct mtl_pm_peer *peer;

	fake_open("udp");
	peer = mtl_pm_peer_of_node(NODE);
	fake.send_buffers = 0;
	mtl_pm_note(peer, &pull, sizeof(pull));
	fake.send_buffers = 1;
	is_int(mtl_pm_push_notes(peer), 1);
	must(fake_sent() && fake_sent()->size == sizeof(pull));
	is_mem(fake_sent()->bytes, &pull, sizeof(pull));
	fake_close();
}

TAP_TEST(note__to_a_dead_peer)
{
	struct mtl_pm_peer *peer;

	fake_open("udp");
	peer = mtl_pm_peer_of_node(NODE);
	fake.send_buffers = 0;
	mtl_pm_note_control(peer, ENVELOPE_ACK, 1, 0);
	peer->is_dead = true;
	mtl_pm_note_control(peer, ENVELOPE_ACK, 2, 0);
	fake.send_buffers = 9;
	is_int(mtl_pm_push_notes(peer), 1);
	ok(!fake_sent());
	ok(STAILQ_EMPTY(&peer->notes));
	fake_close();
}
