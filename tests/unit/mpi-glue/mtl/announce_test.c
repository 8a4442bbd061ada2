// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_announce: the announcement of a message, whether its memory is offered, and the head that
 * goes along.
 */
#include <errno.h>

#include "tests/unit/mpi-glue/mtl/announced.h"

TAP_TEST(announce__memory_is_offered_and_a_head_goes_along)
{
	struct envelope_rts e;

	announced_begin();
	announced_submit();
	e = announced_take_rts();
	is_int(e.size, ANNOUNCED_SIZE);
	is_int(e.head, ANNOUNCED_HEAD);
	is_int(e.handle[0], (uintptr_t)announced_data);
	ok(fake.locked == announced_data);
	is_int(fake.locked_size, ANNOUNCED_SIZE);
	is_int(announced_take(ENVELOPE_MORE, FAKE_MTU - sizeof(e)), ANNOUNCED_HEAD);
	is_int(announced_peer->announced, 1);
	ok(!fake_completed() && !announced.req.send.list);
	announced_answer(e.id, false, announced_peer);
	announced_has_ended(MPI_SUCCESS);
	ok(!ids_get(&mtl_pm.ids, e.id));
	announced_finish();
}

TAP_TEST(announce__only_the_last_part_of_a_head_says_so)
{
	uint64_t last = 0;

	announced_begin();
	announced_submit();
	announced_take_rts();
	for (; fake_sent(); fake_drop()) {
		is_int(last, 0);
		last = ((const struct envelope_control *)fake_sent()->bytes)->id;
	}
	is_int(last, ENVELOPE_LAST);
	announced_answer(announced.req.send.id, false, announced_peer);
	announced_has_ended(MPI_SUCCESS);
	announced_finish();
}

TAP_TEST(announce__a_head_of_full_datagrams)
{
	announced_begin();
	announced_peer->head_limit = FAKE_MTU - sizeof(struct envelope_rts) + 3 * (FAKE_MTU - MORE);
	announced_submit();
	announced_take_rts();
	for (int i = 0; i < 3; i++, fake_drop()) {
		must(fake_sent() != NULL);
		is_int(fake_sent()->size, FAKE_MTU);
		is_int(((const struct envelope_control *)fake_sent()->bytes)->id,
		       i < 2 ? 0 : ENVELOPE_LAST);
	}
	ok(!fake_sent());
	announced_answer(announced.req.send.id, false, announced_peer);
	announced_has_ended(MPI_SUCCESS);
	announced_finish();
}

TAP_TEST(announce__no_head_while_another_is_under_way)
{
	announced_begin();
	announced_peer->announced = 1;
	announced_submit();
	is_int(announced_take_rts().head, 0);
	ok(!fake_sent());
	announced_peer->announced--;
	announced_answer(announced.req.send.id, false, announced_peer);
	announced_has_ended(MPI_SUCCESS);
	announced_finish();
}

TAP_TEST(announce__memory_that_pm_cannot_offer)
{
	announced_begin();
	fake.lock_error = ENOMEM;
	announced_submit();
	for (int i = 0; i < 4; i++)
		is_int(((const struct envelope_rts *)fake_sent()->bytes)->handle[i], 0);
	announced_answer(announced_take_rts().id, false, announced_peer);
	announced_has_ended(MPI_SUCCESS);
	is_int(fake.unlocks, 0);
	announced_finish();
}

TAP_TEST(announce__pm_stops_in_the_head)
{
	for (int stop = 0; stop < 33; stop += 4) {
		announced_begin();
		fake.send_buffers = stop;
		announced_submit();
		ok(announced.req.send.list == &announced_peer->sends && announced_peer->is_busy);
		fake.send_buffers = 100;
		mtl_pm_push_sends(announced_peer);
		is_int(announced_take_rts().head, ANNOUNCED_HEAD);
		is_int(announced_take(ENVELOPE_MORE, FAKE_MTU - sizeof(struct envelope_rts)),
		       ANNOUNCED_HEAD);
		is_int(fake.locks, 1);
		is_int(announced_peer->announced, 1);
		announced_answer(announced.req.send.id, false, announced_peer);
		announced_has_ended(MPI_SUCCESS);
		announced_finish();
	}
}
