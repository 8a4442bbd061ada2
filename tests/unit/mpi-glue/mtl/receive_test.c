// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_receive: what the status says, and that a receive ends when both of its parts have. */
#include <errno.h>
#include <string.h>

#include "tests/unit/mpi-glue/mtl/fake_pm.h"

static struct fake_receive r;

static void begin(size_t room)
{
	fake_open("udp");
	fake_prepare(&r, room);
}

TAP_TEST(receive_matched__fits_or_is_cut)
{
	begin(10);
	mtl_pm_receive_matched(&r.req.receive, 4, 9, 10);
	is_int(r.ompi.req_status.MPI_SOURCE, 4);
	is_int(r.ompi.req_status.MPI_TAG, 9);
	is_int(r.ompi.req_status.MPI_ERROR, MPI_SUCCESS);
	is_int(r.ompi.req_status._ucount, 10);
	mtl_pm_receive_matched(&r.req.receive, 4, 9, 11);
	is_int(r.ompi.req_status.MPI_ERROR, MPI_ERR_TRUNCATE);
	is_int(r.ompi.req_status._ucount, 10);
	is_int(r.req.receive.wanted, 10);
	mtl_pm_receive_matched(&r.req.receive, 4, 9, 0);
	is_int(r.ompi.req_status.MPI_ERROR, MPI_SUCCESS);
	is_int(r.req.receive.wanted, 0);
	fake_close();
}

TAP_TEST(receive_head__no_byte_behind_the_room)
{
	begin(4);
	mtl_pm_receive_matched(&r.req.receive, 0, 0, 6);
	mtl_pm_receive_head(&r.req.receive, "abcdef", 6);
	is_mem(r.data, "abcd\0\0", 6);
	is_int(r.req.receive.got, 4);
	ok(fake_completed() == &r.req);
	fake_close();
}

TAP_TEST(receive__ends_with_the_later_of_head_and_rest)
{
	for (int is_head_first = 0; is_head_first < 2; is_head_first++) {
		begin(4);
		mtl_pm_receive_matched(&r.req.receive, 0, 0, 4);
		r.req.receive.has_head_due = r.req.receive.has_rest_due = true;
		mtl_pm.n_fetches = 1;
		if (is_head_first)
			mtl_pm_receive_head_done(&r.req.receive, 0);
		else
			mtl_pm_receive_rest_done(&r.req.receive, 0);
		ok(!fake_completed());
		if (is_head_first)
			mtl_pm_receive_rest_done(&r.req.receive, 0);
		else
			mtl_pm_receive_head_done(&r.req.receive, 0);
		ok(fake_completed() == &r.req);
		is_int(mtl_pm.n_fetches, 0);
		is_int(r.ompi.req_status.MPI_ERROR, MPI_SUCCESS);
		fake_close();
	}
}

TAP_TEST(receive__an_error_of_the_first_part_is_told_at_the_end)
{
	begin(4);
	mtl_pm_receive_matched(&r.req.receive, 0, 0, 4);
	r.req.receive.has_head_due = r.req.receive.has_rest_due = true;
	mtl_pm.n_fetches = 1;
	mtl_pm_receive_rest_done(&r.req.receive, EPIPE);
	ok(!fake_completed());
	mtl_pm_receive_head_done(&r.req.receive, 0);
	ok(fake_completed() == &r.req);
	is_int(r.ompi.req_status.MPI_ERROR, MPI_ERR_OTHER);
	fake_close();
}

TAP_TEST(receive_head_done__a_stream_that_brings_nothing_more)
{
	begin(4);
	mtl_pm_receive_matched(&r.req.receive, 0, 0, 4);
	r.req.receive.has_head_due = r.req.receive.has_rest_due = true;
	r.req.receive.is_pulled = true;
	mtl_pm.n_fetches = 1;
	r.req.receive.got = 3;
	mtl_pm_receive_head_done(&r.req.receive, 0);
	ok(!fake_completed());
	r.req.receive.got = 4;
	mtl_pm_receive_head_done(&r.req.receive, 0);
	ok(fake_completed() == &r.req);
	is_int(mtl_pm.n_fetches, 0);
	fake_close();
}

TAP_TEST(receive_finish__its_number_is_worth_nothing_any_more)
{
	uint64_t id;

	begin(4);
	id = r.req.receive.id = ids_add(&mtl_pm.ids, &r.req);
	mtl_pm.n_long = 1;
	r.req.is_long = true;
	mtl_pm_receive_finish(&r.req.receive, 0);
	ok(!ids_get(&mtl_pm.ids, id));
	is_int(mtl_pm.n_long, 0);
	ok(fake_completed() == &r.req);
	fake_close();
}
