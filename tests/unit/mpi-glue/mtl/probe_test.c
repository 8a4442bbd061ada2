// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_probe: what a probe sees and leaves, what a matched probe takes, and which receives can be
 * taken back.
 */
#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#include <string.h>

#include "ompi/constants.h"
#include "ompi/message/message.h"

#define SOURCE 2
#define TAG 9

static struct ompi_communicator_t *comm;
static struct ompi_status_public_t status;
static struct ompi_message_t *message;
static int flag;

static struct mtl_pm_message *hold(int tag, size_t size)
{
	const struct envelope e = {.source = SOURCE, .tag = tag};

	return mtl_pm_hold(match_context(&mtl_pm.match, FAKE_CONTEXT), &e,
			   mtl_pm_peer_of_node(SOURCE), size, size);
}

static void begin(void)
{
	static bool has_messages;

	comm = fake_open_comm("udp");
	if (!has_messages)
		is_int(ompi_message_init(), OMPI_SUCCESS);
	has_messages = true;
	status = (struct ompi_status_public_t){.MPI_ERROR = 77, ._cancelled = 1};
	message = NULL;
	flag = 5;
}

static void hold_one(void)
{
	hold(TAG, 123);
}

TAP_TEST(iprobe__sees_a_message_and_leaves_it)
{
	begin();
	hold_one();
	for (int i = 0; i < 2; i++) {
		is_int(mtl_pm_iprobe(NULL, comm, MATCH_ANY_SOURCE, TAG, &flag, &status), 0);
		is_int(flag, 1);
		is_int(status.MPI_SOURCE, SOURCE);
		is_int(status.MPI_TAG, TAG);
		is_int(status._ucount, 123);
		is_int(status._cancelled, 0);
		/* That field is the caller's. */
		is_int(status.MPI_ERROR, 77);
	}
	is_int(fake_mpi.progress_calls, 0);
	is_int(mtl_pm_iprobe(NULL, comm, SOURCE, TAG, &flag, MPI_STATUS_IGNORE), 0);
	is_int(flag, 1);
	fake_close_comm(comm);
}

TAP_TEST(iprobe__the_oldest_of_those_that_fit)
{
	begin();
	hold(TAG + 1, 1);
	hold(TAG, 2);
	hold(TAG, 3);
	mtl_pm_iprobe(NULL, comm, SOURCE, TAG, &flag, &status);
	is_int(status._ucount, 2);
	mtl_pm_iprobe(NULL, comm, SOURCE, MATCH_ANY_TAG, &flag, &status);
	is_int(status._ucount, 1);
	fake_close_comm(comm);
}

TAP_TEST(iprobe__a_miss_lets_progress_run_once)
{
	begin();
	is_int(mtl_pm_iprobe(NULL, comm, SOURCE, TAG, &flag, &status), 0);
	is_int(flag, 0);
	is_int(fake_mpi.progress_calls, 1);
	is_int(status._cancelled, 1);
	fake_mpi.on_progress = hold_one;
	is_int(mtl_pm_iprobe(NULL, comm, SOURCE, TAG, &flag, &status), 0);
	is_int(flag, 1);
	is_int(fake_mpi.progress_calls, 2);
	fake_close_comm(comm);
}

TAP_TEST(iprobe__asks_for_a_peer_that_is_probed_in_vain)
{
	struct mtl_pm_peer *peer;

	begin();
	peer = mtl_pm_peer_of_node(SOURCE);
	mtl_pm_iprobe(NULL, comm, MATCH_ANY_SOURCE, TAG, &flag, &status);
	ok(!peer->is_probed);
	mtl_pm_iprobe(NULL, comm, SOURCE, TAG, &flag, &status);
	ok(peer->is_probed);
	fake_close_comm(comm);
}

TAP_TEST(iprobe__a_dead_peer_but_what_it_sent_before)
{
	begin();
	mtl_pm_peer_of_node(SOURCE)->is_dead = true;
	mtl_pm.deaths = 1;
	is_int(mtl_pm_iprobe(NULL, comm, SOURCE, TAG, &flag, &status), MPI_ERR_OTHER);
	is_int(flag, 0);
	is_int(mtl_pm_iprobe(NULL, comm, SOURCE + 1, TAG, &flag, &status), 0);
	is_int(mtl_pm_iprobe(NULL, comm, MATCH_ANY_SOURCE, TAG, &flag, &status), 0);
	hold_one();
	is_int(mtl_pm_iprobe(NULL, comm, SOURCE, TAG, &flag, &status), 0);
	is_int(flag, 1);
	fake_close_comm(comm);
}

TAP_TEST(improbe__takes_the_message)
{
	struct mtl_pm_message *held;

	begin();
	held = hold(TAG, 123);
	is_int(mtl_pm_improbe(NULL, comm, SOURCE, TAG, &flag, &message, &status), 0);
	is_int(flag, 1);
	must(message != NULL && message != MPI_MESSAGE_NULL);
	ok(message->req_ptr == held && message->comm == comm);
	is_int(message->peer, SOURCE);
	is_int(message->count, 123);
	is_int(status._ucount, 123);
	is_int(status.MPI_ERROR, 77);
	ompi_message_return(message);
	mtl_pm_message_free(held);
	/* Nobody else finds it. */
	is_int(mtl_pm_improbe(NULL, comm, SOURCE, TAG, &flag, &message, &status), 0);
	is_int(flag, 0);
	ok(message == MPI_MESSAGE_NULL);
	fake_close_comm(comm);
}

TAP_TEST(improbe__a_miss_lets_progress_run_once)
{
	begin();
	is_int(mtl_pm_improbe(NULL, comm, SOURCE, TAG, &flag, &message, &status), 0);
	is_int(flag, 0);
	is_int(fake_mpi.progress_calls, 1);
	fake_mpi.on_progress = hold_one;
	is_int(mtl_pm_improbe(NULL, comm, SOURCE, TAG, &flag, &message, &status), 0);
	is_int(flag, 1);
	must(message != MPI_MESSAGE_NULL);
	mtl_pm_message_free(message->req_ptr);
	ompi_message_return(message);
	fake_close_comm(comm);
}

TAP_TEST(improbe__a_dead_peer)
{
	begin();
	mtl_pm_peer_of_node(SOURCE)->is_dead = true;
	mtl_pm.deaths = 1;
	is_int(mtl_pm_improbe(NULL, comm, SOURCE, TAG, &flag, &message, &status), MPI_ERR_OTHER);
	is_int(flag, 0);
	ok(message == MPI_MESSAGE_NULL);
	is_int(mtl_pm_improbe(NULL, comm, MATCH_ANY_SOURCE, TAG, &flag, &message, &status), 0);
	fake_close_comm(comm);
}

TAP_TEST(cancel__a_receive_that_waits_and_no_other)
{
	static struct mtl_pm_request req;
	struct ompi_request_t ompi;
	struct match_context *c;

	begin();
	c = match_context(&mtl_pm.match, FAKE_CONTEXT);
	fake_prepare_request(&req, &ompi);
	req.is_receive = true;
	req.receive.match.source = SOURCE;
	req.receive.match.tag = TAG;
	is_int(match_post(c, &req.receive.match), 0);
	ompi.req_status._ucount = 5;
	is_int(mtl_pm_cancel(NULL, &req.super, 1), 0);
	is_int(ompi.req_status._cancelled, 1);
	is_int(ompi.req_status._ucount, 0);
	is_int(fake_mpi.n_callbacks, 1);
	ok(!match_arrive(c, SOURCE, TAG));
	/* It has met its message: that is taken. */
	ompi.req_status._cancelled = 0;
	is_int(match_post(c, &req.receive.match), 0);
	ok(match_arrive(c, SOURCE, TAG) == &req.receive.match);
	is_int(mtl_pm_cancel(NULL, &req.super, 1), 0);
	is_int(ompi.req_status._cancelled, 0);
	is_int(fake_mpi.n_callbacks, 1);
	fake_close_comm(comm);
}

TAP_TEST(cancel__a_send_is_left_to_complete)
{
	static struct mtl_pm_request req;
	struct ompi_request_t ompi;

	begin();
	fake_prepare_request(&req, &ompi);
	memset(&req.send, 1, sizeof(req.send));
	is_int(mtl_pm_cancel(NULL, &req.super, 1), 0);
	is_int(ompi.req_status._cancelled, 0);
	is_int(fake_mpi.n_callbacks, 0);
	fake_close_comm(comm);
}
