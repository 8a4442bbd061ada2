// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_send: messages that leave unasked: by which datagrams, in which order, and what their
 * requests say.
 */
#include <errno.h>
#include <string.h>

#include "mpi-glue/mtl/mtl_pm_parts.h"
#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#define NODE 3
#define TAG 9
#define EAGER ((size_t)FAKE_MTU - sizeof(struct envelope))
#define MOST (1 << 20)

static struct fake_send s, second;
static struct mtl_pm_peer *peer;
static struct ompi_communicator_t *comm;
static char data[MOST], got[MOST];

static void begin(const char *device)
{
	comm = fake_open_comm(device);
	peer = mtl_pm_peer_of_node(NODE);
	for (size_t i = 0; i < MOST; i++)
		data[i] = (char)(i * 31 + i / 253);
	memset(got, 0, MOST);
}

static void submit(size_t length)
{
	fake_prepare_send(&s, peer, data, length);
	s.req.send.tag = TAG;
	s.req.send.rank = FAKE_SELF;
	mtl_pm_submit(&s.req.send);
}

/*
 * Takes the datagrams of one message, the first of which is of this kind; the bytes of data in
 * them.
 */
static size_t take(enum envelope_kind kind)
{
	const struct envelope *e;
	size_t size = 0;

	if (!ok(fake_sent() != NULL))
		return 0;
	e = (const void *)fake_sent()->bytes;
	is_int(envelope_context(e), FAKE_CONTEXT);
	is_int(e->source, FAKE_SELF);
	is_int(e->tag, TAG);
	for (; fake_sent(); kind = ENVELOPE_MORE) {
		int head = envelope_parse(fake_sent()->bytes, fake_sent()->size);

		if (!ok(head > 0) || !is_int(envelope_kind(fake_sent()->bytes), kind))
			break;
		memcpy(got + size, fake_sent()->bytes + head, fake_sent()->size - (size_t)head);
		size += fake_sent()->size - (size_t)head;
		fake_drop();
	}
	return size;
}

static void has_left(enum envelope_kind kind, size_t length)
{
	if (is_int(take(kind), length))
		is_mem(got, data, length);
	ok(fake_completed() == &s.req);
	is_int(s.ompi.req_status.MPI_ERROR, MPI_SUCCESS);
	ok(TAILQ_EMPTY(&peer->sends) && !s.req.send.list);
}

TAP_TEST(submit__one_datagram)
{
	/* Around what is gathered here, what PM puts behind the envelope, and the longest. */
	static const size_t lengths[] = {0, 1, 40, 41, 2024, 2025, 4000};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		begin("shmem");
		submit(lengths[i]);
		has_left(ENVELOPE_EAGER, lengths[i]);
		fake_close_comm(comm);
		begin("udp");
		submit(lengths[i]);
		has_left(ENVELOPE_EAGER, lengths[i]);
		fake_close_comm(comm);
	}
}

TAP_TEST(submit__one_datagram_or_several)
{
	begin("udp");
	submit(EAGER);
	has_left(ENVELOPE_EAGER, EAGER);
	submit(EAGER + 1);
	must(fake_sent() != NULL);
	is_int(((const struct envelope_first *)fake_sent()->bytes)->size, EAGER + 1);
	has_left(ENVELOPE_FIRST, EAGER + 1);
	submit(262144);
	has_left(ENVELOPE_FIRST, 262144);
	fake_close_comm(comm);
	begin("shmem");
	submit(65535);
	has_left(ENVELOPE_FIRST, 65535);
	fake_close_comm(comm);
}

TAP_TEST(submit__a_last_part_of_one_byte)
{
	static const char *const devices[] = {"udp", "shmem"};

	for (int i = 0; i < 2; i++) {
		size_t length;

		begin(devices[i]);
		length = mtl_pm_part_room(peer, sizeof(struct envelope_first)) +
			 2 * mtl_pm_part_room(peer, sizeof(struct envelope_control)) + 1;
		submit(length);
		has_left(ENVELOPE_FIRST, length);
		fake_close_comm(comm);
	}
}

TAP_TEST(submit__several_and_pm_stops_in_each_place)
{
	for (int stop = 0; stop < 6; stop++) {
		begin(stop % 2 ? "udp" : "shmem");
		fake.send_buffers = stop;
		submit(5 * EAGER);
		ok(!fake_completed());
		ok(peer->is_busy && s.req.send.list == &peer->sends);
		is_int(mtl_pm_push_sends(peer), 0);
		fake.send_buffers = 100;
		is_int(mtl_pm_push_sends(peer), 1);
		has_left(ENVELOPE_FIRST, 5 * EAGER);
		fake_close_comm(comm);
	}
}

TAP_TEST(submit__data_that_are_not_in_one_piece)
{
	struct opal_datatype_t *type = fake_vector(1000, 64, 128);
	struct opal_convertor_t c;
	size_t size;

	for (int has_layout = 0; has_layout < 2; has_layout++) {
		begin("udp");
		fake_pack(&c, type, 1, data);
		fake_prepare_send(&s, peer, NULL, 64000);
		s.req.send.tag = TAG;
		s.req.send.rank = FAKE_SELF;
		s.req.send.source = &c;
		s.req.send.has_layout = has_layout && mtl_pm_begin_layout(&c, &s.req.send.walk);
		fake.send_buffers = 3;
		mtl_pm_submit(&s.req.send);
		ok(!fake_completed());
		fake.send_buffers = 100;
		mtl_pm_push_sends(peer);
		size = take(ENVELOPE_FIRST);
		is_int(size, 64000);
		for (size_t i = 0; i < size; i += 64)
			is_mem(got + i, data + 2 * i, 64);
		ok(fake_completed() == &s.req);
		OBJ_DESTRUCT(&c);
		fake_close_comm(comm);
	}
	opal_datatype_destroy(&type);
}

TAP_TEST(submit__a_cork_around_the_parts_of_one_message)
{
	struct opal_datatype_t *type = fake_vector(1000, 64, 128);
	struct opal_convertor_t c;

	begin("udp");
	fake_pack(&c, type, 1, data);
	fake_prepare_send(&s, peer, NULL, 64000);
	s.req.send.source = &c;
	mtl_pm_submit(&s.req.send);
	must(fake_sent() != NULL);
	ok(fake_sent()->is_corked);
	is_int(fake.corks, 1);
	is_int(fake.uncorks, 1);
	ok(fake_completed() == &s.req);
	OBJ_DESTRUCT(&c);
	opal_datatype_destroy(&type);
	fake_close_comm(comm);
}

TAP_TEST(submit__behind_those_that_wait)
{
	begin("udp");
	fake.send_buffers = 0;
	submit(5);
	fake.send_buffers = 100;
	fake_prepare_send(&second, peer, "second", 6);
	mtl_pm_submit(&second.req.send);
	ok(!fake_sent() && !fake_completed());
	is_int(mtl_pm_push_sends(peer), 2);
	must(fake_sent() != NULL);
	is_mem(fake_sent()->bytes + sizeof(struct envelope), data, 5);
	fake_drop();
	must(fake_sent() != NULL);
	is_mem(fake_sent()->bytes + sizeof(struct envelope), "second", 6);
	ok(fake_completed() == &s.req && fake_completed() == &second.req);
	fake_close_comm(comm);
}

TAP_TEST(submit__a_dead_peer_and_a_failure)
{
	begin("udp");
	peer->is_dead = true;
	submit(5);
	ok(fake_completed() == &s.req);
	is_int(s.ompi.req_status.MPI_ERROR, MPI_ERR_OTHER);
	/* Of a death people have been told. */
	is_str(fake_mpi.said, "");
	peer->is_dead = false;
	fake.send_error = EHOSTUNREACH;
	submit(5);
	ok(fake_completed() == &s.req);
	is_int(s.ompi.req_status.MPI_ERROR, MPI_ERR_OTHER);
	is_str(fake_mpi.said, "failed: here\n");
	ok(!fake_sent() && TAILQ_EMPTY(&peer->sends));
	fake_close_comm(comm);
}

TAP_TEST(submit__longer_ones_unasked_where_others_run_on_our_core)
{
	begin("udp");
	mtl_pm.idle.is_shared = true;
	submit(262145);
	has_left(ENVELOPE_FIRST, 262145);
	mtl_pm.idle.is_shared = false;
	mtl_pm.yields_for_opal = true;
	submit(262145);
	has_left(ENVELOPE_FIRST, 262145);
	mtl_pm.yields_for_opal = false;
	submit(262145);
	ok(!fake_completed());
	fake_close_comm(comm);
}

TAP_TEST(send_finish__a_blocking_send_has_no_request_of_mpi)
{
	begin("udp");
	fake_prepare_send(&s, peer, data, 5);
	s.req.super.ompi_req = NULL;
	mtl_pm_send_finish(&s.req.send, EPIPE);
	is_int(s.req.error, EPIPE);
	ok(fake_completed() == &s.req);
	fake_close_comm(comm);
}

/* A send ends while PM may still hold it: is its request complete? */
static bool ends(size_t length, bool is_long)
{
	fake_prepare_send(&s, peer, data, length);
	s.req.is_long = is_long;
	mtl_pm.n_long = is_long;
	mtl_pm_send_finish(&s.req.send, 0);
	is_int(mtl_pm.n_long, 0);
	if (fake_completed() == &s.req)
		return true;
	ok(STAILQ_FIRST(&peer->gathered) == &s.req && peer->is_busy);
	STAILQ_INIT(&peer->gathered);
	return false;
}

TAP_TEST(send_finish__not_while_pm_holds_it)
{
	begin("udp");
	ok(ends(5, false) && ends(EAGER + 1, true));
	mtl_pm.is_corked = true;
	ok(!ends(5, true));
	mtl_pm.is_corked = false;
	fake.send_out = ENOBUFS;
	/*
	 * One in one part leaves by itself; of several parts, or a burst that is not held, some may
	 * wait for acks.
	 */
	ok(ends(EAGER, false) && !ends(EAGER + 1, true));
	peer->unheld = 1;
	ok(!ends(5, false));
	peer->gathers = false;
	ok(ends(5, false));
	fake_close_comm(comm);
}
