// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_send: the answers of receivers: they have read a message, or ask for it, or are no honest
 * peers.
 */
#include <errno.h>
#include <string.h>

#include "tests/unit/mpi-glue/mtl/announced.h"

TAP_TEST(on_ack__the_receiver_could_not_read)
{
	announced_begin();
	announced_submit();
	announced_answer(announced_take_rts().id, true, announced_peer);
	announced_has_ended(MPI_ERR_OTHER);
	is_str(fake_mpi.said, "failed: here\n");
	announced_finish();
}

TAP_TEST(on_ack__before_the_head_is_out)
{
	announced_begin();
	fake.send_buffers = 5;
	announced_submit();
	announced_answer(announced.req.send.id, false, announced_peer);
	/* The receiver waits for the whole head that was announced. */
	ok(!fake_completed());
	announced_answer(announced.req.send.id, true, announced_peer);
	is_int(mtl_pm.damaged, 1);
	fake.send_buffers = 100;
	mtl_pm_push_sends(announced_peer);
	announced_take_rts();
	is_int(announced_take(ENVELOPE_MORE, FAKE_MTU - sizeof(struct envelope_rts)),
	       ANNOUNCED_HEAD);
	announced_has_ended(MPI_SUCCESS);
	announced_finish();
}

TAP_TEST(on_ack__for_one_that_has_not_left)
{
	announced_begin();
	fake.send_buffers = 0;
	announced.req.send.length = 5;
	announced.req.send.is_sync = true;
	announced_submit();
	announced_answer(announced.req.send.id, false, announced_peer);
	is_int(mtl_pm.damaged, 1);
	fake.send_buffers = 1;
	mtl_pm_push_sends(announced_peer);
	ok(!fake_completed());
	announced_answer(announced.req.send.id, false, announced_peer);
	announced_has_ended(MPI_SUCCESS);
	announced_finish();
}

TAP_TEST(on_ack__numbers_that_no_honest_peer_names)
{
	uint64_t id;

	announced_begin();
	announced_submit();
	id = announced_take_rts().id;
	announced_answer(id + 1, false, announced_peer);
	announced_answer(0, false, announced_peer);
	announced_answer(id, false, mtl_pm_peer_of_node(ANNOUNCED_NODE - 1));
	is_int(mtl_pm.damaged, 3);
	ok(!fake_completed());
	announced_answer(id, false, announced_peer);
	announced_has_ended(MPI_SUCCESS);
	announced_answer(id, false, announced_peer);
	announced_pull(id, ANNOUNCED_SIZE);
	is_int(mtl_pm.damaged, 5);
	ok(!fake_completed());
	announced_finish();
}

TAP_TEST(on_pull__a_stream_goes_on_behind_the_head)
{
	size_t at = ANNOUNCED_HEAD;
	int calls = 0;

	announced_begin();
	announced_submit();
	announced_take_rts();
	announced_take(ENVELOPE_MORE, FAKE_MTU - sizeof(struct envelope_rts));
	announced_pull(announced.req.send.id, ANNOUNCED_SIZE + 1000);
	for (; at < ANNOUNCED_SIZE && calls < 20; calls++) {
		size_t before = at;

		at = announced_take(ENVELOPE_DATA, at);
		/* Others have their turn after 44 datagrams. */
		if (at < ANNOUNCED_SIZE)
			is_int(at - before, 44 * (FAKE_MTU - MORE));
		mtl_pm_push_sends(announced_peer);
	}
	is_int(at, ANNOUNCED_SIZE);
	is_int(calls, 6);
	announced_has_ended(MPI_SUCCESS);
	ok(TAILQ_EMPTY(&announced_peer->streams));
	announced_finish();
}

TAP_TEST(on_pull__less_than_the_head_brought)
{
	announced_begin();
	announced_submit();
	while (fake_sent())
		fake_drop();
	announced_pull(announced.req.send.id, 1000);
	ok(!fake_sent());
	announced_has_ended(MPI_SUCCESS);
	announced_finish();
}

TAP_TEST(on_pull__before_the_head_is_out)
{
	announced_begin();
	fake.send_buffers = 5;
	announced_submit();
	announced_pull(announced.req.send.id, ANNOUNCED_HEAD + 10);
	ok(!fake_completed());
	fake.send_buffers = 100;
	mtl_pm_push_sends(announced_peer);
	announced_take_rts();
	is_int(announced_take(ENVELOPE_MORE, FAKE_MTU - sizeof(struct envelope_rts)),
	       ANNOUNCED_HEAD);
	is_int(announced_take(ENVELOPE_DATA, ANNOUNCED_HEAD), ANNOUNCED_HEAD + 10);
	announced_has_ended(MPI_SUCCESS);
	announced_finish();
}

TAP_TEST(on_pull__pm_stops_in_the_stream)
{
	announced_begin();
	announced_submit();
	while (fake_sent())
		fake_drop();
	fake.send_buffers = 2;
	announced_pull(announced.req.send.id, ANNOUNCED_HEAD + 3 * (FAKE_MTU - MORE));
	ok(!fake_completed() && announced_peer->is_busy);
	is_int(mtl_pm_push_sends(announced_peer), 0);
	fake.send_buffers = 100;
	is_int(mtl_pm_push_sends(announced_peer), 1);
	is_int(announced_take(ENVELOPE_DATA, ANNOUNCED_HEAD),
	       ANNOUNCED_HEAD + 3 * (FAKE_MTU - MORE));
	announced_has_ended(MPI_SUCCESS);
	announced_finish();
}

TAP_TEST(on_pull__the_peer_dies_meanwhile)
{
	announced_begin();
	announced_submit();
	fake.send_buffers = 2;
	announced_pull(announced.req.send.id, ANNOUNCED_SIZE);
	fake.send_error = EPIPE;
	mtl_pm_push_sends(announced_peer);
	announced_has_ended(MPI_ERR_OTHER);
	ok(TAILQ_EMPTY(&announced_peer->streams));
	announced_finish();
}

TAP_TEST(push_sends__each_stream_has_its_turn)
{
	static struct fake_send other;

	announced_begin();
	announced_submit();
	fake_prepare_send(&other, announced_peer, announced_data, ANNOUNCED_SIZE);
	mtl_pm_submit(&other.req.send);
	fake.send_buffers = 0;
	announced_pull(announced.req.send.id, ANNOUNCED_SIZE);
	announced_pull(other.req.send.id, ANNOUNCED_SIZE);
	fake.send_buffers = INT32_MAX;
	is_int(mtl_pm_push_sends(announced_peer), 2);
	is_int(announced.req.send.sent, ANNOUNCED_HEAD + 44 * (FAKE_MTU - MORE));
	is_int(other.req.send.sent, 44 * (FAKE_MTU - MORE));
	for (int i = 0; i < 6; i++)
		mtl_pm_push_sends(announced_peer);
	ok(fake_completed() == &announced.req && fake_completed() == &other.req);
	announced_finish();
}

TAP_TEST(sync__a_short_one_is_over_with_its_ack)
{
	struct envelope_sync e;

	announced_begin();
	announced.req.send.length = 5;
	announced.req.send.is_sync = true;
	announced_submit();
	must(fake_sent() != NULL);
	memcpy(&e, fake_sent()->bytes, sizeof(e));
	is_int(envelope_kind(&e), ENVELOPE_EAGER_SYNC);
	is_int(e.id, announced.req.send.id);
	is_mem(fake_sent()->bytes + sizeof(e), announced_data, 5);
	fake_drop();
	ok(!fake_completed() && TAILQ_EMPTY(&announced_peer->sends));
	/* It was not announced: nothing of it can be asked for. */
	announced_pull(e.id, 5);
	is_int(mtl_pm.damaged, 1);
	ok(!fake_sent() && !fake_completed());
	announced_answer(e.id, false, announced_peer);
	announced_has_ended(MPI_SUCCESS);
	announced_finish();
}

TAP_TEST(sync__one_datagram_or_an_announcement)
{
	size_t longest = FAKE_MTU - sizeof(struct envelope_sync);

	for (size_t length = longest; length <= longest + 1; length++) {
		announced_begin();
		announced.req.send.length = length;
		announced.req.send.is_sync = true;
		announced_submit();
		must(fake_sent() != NULL);
		is_int(envelope_kind(fake_sent()->bytes),
		       length > longest ? ENVELOPE_RTS : ENVELOPE_EAGER_SYNC);
		announced_answer(announced.req.send.id, false, announced_peer);
		announced_has_ended(MPI_SUCCESS);
		announced_finish();
	}
}
