// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_irecv: a receive takes the message that waits for it, whole or half there, or is posted.
 */
#include <errno.h>
#include <string.h>

#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#include "ompi/constants.h"
#include "ompi/message/message.h"

#define SOURCE 2
#define TAG 9

static struct ompi_communicator_t *comm;
static struct mtl_pm_peer *peer;
static struct match_context *matching;
static struct opal_convertor_t c;
static char data[1000];

/* As pml/cm has them: the request lies behind its status. */
static struct {
	struct ompi_request_t ompi;
	struct mtl_pm_request req;
} r;

static void begin(size_t room)
{
	comm = fake_open_comm("udp");
	peer = mtl_pm_peer_of_node(SOURCE);
	matching = mtl_pm_matching(comm);
	memset(data, 0, sizeof(data));
	fake_pack_bytes(&c, data, 0);
	OBJ_DESTRUCT(&c);
	fake_unpack(&c, &opal_datatype_uint1, room, data);
	fake_prepare_request(&r.req, &r.ompi);
}

static void finish(void)
{
	OBJ_DESTRUCT(&c);
	fake_close_comm(comm);
}

static int irecv(int source, int tag)
{
	return mtl_pm_irecv(NULL, comm, source, tag, &c, &r.req.super);
}

/* A message of @size bytes, of which these have come. */
static struct mtl_pm_message *hold(size_t size, const char *bytes)
{
	const struct envelope e = {.source = SOURCE, .tag = TAG};
	struct mtl_pm_message *m = mtl_pm_hold(matching, &e, peer, size, size);

	m->got = strlen(bytes);
	memcpy(m->data, bytes, m->got);
	return m;
}

TAP_TEST(irecv__takes_a_message_that_waits)
{
	begin(100);
	hold(5, "hello");
	is_int(irecv(SOURCE, TAG), OMPI_SUCCESS);
	is_int(fake_mpi.n_callbacks, 1);
	is_str(data, "hello");
	is_int(r.ompi.req_status._ucount, 5);
	is_int(r.ompi.req_status.MPI_SOURCE, SOURCE);
	is_int(r.ompi.req_status.MPI_TAG, TAG);
	is_int(mtl_pm.unexpected_bytes, 0);
	ok(!match_has_messages(matching));
	finish();
}

TAP_TEST(irecv__no_bytes_and_too_many)
{
	begin(0);
	hold(0, "");
	is_int(irecv(MATCH_ANY_SOURCE, MATCH_ANY_TAG), OMPI_SUCCESS);
	is_int(fake_mpi.n_callbacks, 1);
	is_int(r.ompi.req_status.MPI_ERROR, MPI_SUCCESS);
	finish();
	begin(3);
	hold(5, "hello");
	is_int(irecv(SOURCE, TAG), OMPI_SUCCESS);
	is_int(fake_mpi.n_callbacks, 1);
	is_int(r.ompi.req_status.MPI_ERROR, MPI_ERR_TRUNCATE);
	is_mem(data, "hel\0", 4);
	finish();
}

TAP_TEST(irecv__is_posted_where_none_waits)
{
	begin(100);
	hold(5, "hello");
	is_int(irecv(SOURCE, TAG + 1), OMPI_SUCCESS);
	is_int(fake_mpi.n_callbacks, 0);
	ok(match_arrive(matching, SOURCE, TAG + 1) == &r.req.receive.match);
	finish();
}

TAP_TEST(irecv__the_other_half_is_still_to_come)
{
	struct mtl_pm_message *m;

	begin(100);
	m = hold(5, "hel");
	is_int(irecv(SOURCE, TAG), OMPI_SUCCESS);
	is_int(fake_mpi.n_callbacks, 0);
	ok(m->claimed == &r.req && r.req.receive.has_head_due);
	mtl_pm_message_free(m);
	finish();
}

TAP_TEST(irecv__a_synchronous_sender_is_told)
{
	begin(100);
	hold(5, "hello")->remote = 77;
	is_int(irecv(SOURCE, TAG), OMPI_SUCCESS);
	fake_sent_control(SOURCE, ENVELOPE_ACK, 77);
	is_int(fake_mpi.n_callbacks, 1);
	finish();
}

TAP_TEST(irecv__asks_for_a_message_that_was_announced)
{
	const struct envelope e = {.source = SOURCE, .tag = TAG};
	struct mtl_pm_message *m;

	begin(1000);
	m = mtl_pm_hold(matching, &e, peer, 1000, 0);
	m->is_rts = true;
	m->remote = 55;
	memset(&m->handle, 0, sizeof(m->handle));
	is_int(irecv(SOURCE, TAG), OMPI_SUCCESS);
	is_int(fake_mpi.n_callbacks, 0);
	must(fake_sent() != NULL);
	is_int(((const struct envelope_pull *)fake_sent()->bytes)->wanted, 1000);
	fake_sent_control(SOURCE, ENVELOPE_PULL, 55);
	mtl_pm_peer_died(SOURCE, "");
	finish();
}

TAP_TEST(irecv__a_dead_peer_but_not_for_its_messages)
{
	begin(100);
	peer->is_dead = true;
	mtl_pm.deaths = 1;
	is_int(irecv(SOURCE, TAG), MPI_ERR_OTHER);
	ok(!match_arrive(matching, SOURCE, TAG));
	hold(5, "hello");
	is_int(irecv(SOURCE, TAG), OMPI_SUCCESS);
	is_int(fake_mpi.n_callbacks, 1);
	/* Others can still serve a receive from any source. */
	is_int(irecv(MATCH_ANY_SOURCE, TAG), OMPI_SUCCESS);
	ok(match_arrive(matching, SOURCE + 1, TAG) == &r.req.receive.match);
	finish();
}

TAP_TEST(irecv__a_blocking_one_polls_for_a_while)
{
	static struct {
		struct mtl_pm_request req;
		struct ompi_request_t ompi;
	} blocking;

	begin(100);
	is_int(irecv(SOURCE, TAG + 1), OMPI_SUCCESS);
	is_int(fake.polls, 0);
	fake_prepare_request(&blocking.req, &blocking.ompi);
	is_int(mtl_pm_irecv(NULL, comm, SOURCE, TAG, &c, &blocking.req.super), OMPI_SUCCESS);
	is_int(fake.polls, 256);
	ok(match_cancel(&blocking.req.receive.match));
	/* Others need our core. */
	mtl_pm.idle.is_shared = true;
	is_int(mtl_pm_irecv(NULL, comm, SOURCE, TAG, &c, &blocking.req.super), OMPI_SUCCESS);
	is_int(fake.polls, 256);
	mtl_pm.idle.is_shared = false;
	finish();
}

TAP_TEST(imrecv__the_message_of_a_matched_probe)
{
	struct ompi_message_t *message = NULL;
	int is_matched = 0;

	begin(100);
	is_int(ompi_message_init(), OMPI_SUCCESS);
	hold(5, "hello");
	is_int(mtl_pm_improbe(NULL, comm, SOURCE, TAG, &is_matched, &message, MPI_STATUS_IGNORE),
	       OMPI_SUCCESS);
	must(is_matched);
	is_int(mtl_pm_imrecv(NULL, &c, &message, &r.req.super), OMPI_SUCCESS);
	ok(message == MPI_MESSAGE_NULL);
	is_int(fake_mpi.n_callbacks, 1);
	is_str(data, "hello");
	is_int(mtl_pm.unexpected_bytes, 0);
	finish();
}
