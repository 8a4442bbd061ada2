// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_isend: Open MPI's calls that send: what leaves at once, what waits, and when PM is polled
 * between two sends.
 */
#include <errno.h>
#include <string.h>

#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#include "ompi/constants.h"

#define DEST 3
#define TAG 9
#define STANDARD MCA_PML_BASE_SEND_STANDARD
#define SYNCHRONOUS MCA_PML_BASE_SEND_SYNCHRONOUS
#define EAGER ((size_t)FAKE_MTU - sizeof(struct envelope))

static struct ompi_communicator_t *comm;
static struct mtl_pm_peer *peer;
static struct opal_convertor_t c;
static struct mtl_pm_request req, second;
static struct ompi_request_t ompi, second_ompi;
static char data[1 << 20];

static void begin(const char *device, size_t length)
{
	comm = fake_open_comm(device);
	/* tests before have waited, and other programs may have had the core meanwhile */
	mtl_pm.idle = (struct idle){0};
	peer = mtl_pm_peer_of_node(DEST);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 31 + i / 253);
	fake_pack_bytes(&c, data, length);
	fake_prepare_request(&req, &ompi);
	fake_prepare_request(&second, &second_ompi);
	ompi.req_status.MPI_ERROR = 77;
}

static void finish(void)
{
	mtl_pm_let_go();
	OBJ_DESTRUCT(&c);
	fake_close_comm(comm);
}

static int isend(mca_pml_base_send_mode_t mode)
{
	return mtl_pm_isend(NULL, comm, DEST, TAG, &c, mode, false, &req.super);
}

static void isend_another(void)
{
	is_int(mtl_pm_isend(NULL, comm, DEST, TAG + 1, &c, STANDARD, false, &second.super),
	       OMPI_SUCCESS);
}

static int send_blocking(mca_pml_base_send_mode_t mode)
{
	return mtl_pm_blocking_send(NULL, comm, DEST, TAG, &c, mode);
}

/* The oldest datagram is the whole message, which is forgotten. */
static void has_left(size_t length)
{
	const struct envelope e = {.kind_context = envelope_pack(ENVELOPE_EAGER, FAKE_CONTEXT),
				   .source = FAKE_SELF,
				   .tag = TAG};

	fake_sent_data(DEST, &e, sizeof(e), data, length);
}

TAP_TEST(isend__a_short_message_is_complete_at_once)
{
	/*
	 * Around what is gathered here, what PM puts behind the envelope, and the longest datagram.
	 */
	static const size_t lengths[] = {0, 1, 40, 41, 2024, 2025, EAGER};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		begin("shmem", lengths[i]);
		is_int(isend(STANDARD), OMPI_SUCCESS);
		has_left(lengths[i]);
		is_int(fake_mpi.n_callbacks, 1);
		is_int(ompi.req_status.MPI_ERROR, MPI_SUCCESS);
		ok(!mtl_pm.burst);
		finish();
	}
}

TAP_TEST(isend__longer_than_a_datagram)
{
	begin("shmem", EAGER + 1);
	is_int(isend(STANDARD), OMPI_SUCCESS);
	is_int(fake_mpi.n_callbacks, 1);
	must(fake_sent() != NULL);
	is_int(envelope_kind(fake_sent()->bytes), ENVELOPE_FIRST);
	finish();
}

TAP_TEST(isend__nobody_can_reach_the_rank)
{
	begin("udp", 5);
	fake_make_foreign(DEST);
	is_int(isend(STANDARD), OMPI_ERR_UNREACH);
	is_int(send_blocking(STANDARD), OMPI_ERR_UNREACH);
	is_str(fake_mpi.said, "other mpirun: here\nother mpirun: here\n");
	is_int(fake_mpi.n_callbacks, 0);
	ok(!fake_sent());
	finish();
}

TAP_TEST(isend__waits_for_room_and_keeps_the_order)
{
	begin("shmem", 5);
	fake.send_buffers = 0;
	is_int(isend(STANDARD), OMPI_SUCCESS);
	is_int(fake_mpi.n_callbacks, 0);
	ok(peer->is_busy);
	/* There is room now, but the first has not left. */
	fake.send_buffers = 10;
	isend_another();
	is_int(fake_mpi.n_callbacks, 0);
	ok(!fake_sent());
	is_int(mtl_pm_push_sends(peer), 2);
	has_left(5);
	must(fake_sent() != NULL);
	is_int(((const struct envelope *)fake_sent()->bytes)->tag, TAG + 1);
	finish();
	is_int(fake_mpi.n_callbacks, 2);
}

TAP_TEST(isend__a_synchronous_one_waits_for_its_match)
{
	struct envelope_control ack = {.kind = ENVELOPE_ACK};

	begin("shmem", 5);
	is_int(isend(SYNCHRONOUS), OMPI_SUCCESS);
	is_int(fake_mpi.n_callbacks, 0);
	must(fake_sent() != NULL);
	is_int(envelope_kind(fake_sent()->bytes), ENVELOPE_EAGER_SYNC);
	ack.id = req.send.id;
	mtl_pm_on_ack(&ack, peer);
	ok(fake_completed() == &req);
	finish();
}

TAP_TEST(isend__data_that_are_not_in_one_piece)
{
	struct opal_datatype_t *type = fake_vector(10, 8, 16);

	begin("shmem", 5);
	OBJ_DESTRUCT(&c);
	fake_pack(&c, type, 1, data);
	is_int(isend(STANDARD), OMPI_SUCCESS);
	is_int(fake_mpi.n_callbacks, 1);
	must(fake_sent() != NULL);
	is_int(fake_sent()->size, sizeof(struct envelope) + 80);
	for (size_t i = 0; i < 10; i++)
		is_mem(fake_sent()->bytes + sizeof(struct envelope) + 8 * i, data + 16 * i, 8);
	finish();
	opal_datatype_destroy(&type);
}

TAP_TEST(isend__a_burst_to_one_peer_is_held)
{
	begin("udp", 5);
	is_int(isend(STANDARD), OMPI_SUCCESS);
	is_int(fake_mpi.n_callbacks, 1);
	isend_another();
	is_int(fake_mpi.n_callbacks, 1);
	must(fake_sent() != NULL);
	ok(!fake_sent()->is_corked);
	fake_drop();
	must(fake_sent() != NULL);
	ok(fake_sent()->is_corked);
	/* A blocking send is none of it. */
	is_int(send_blocking(STANDARD), OMPI_SUCCESS);
	ok(!mtl_pm.burst && !mtl_pm.is_corked);
	is_int(fake_mpi.n_callbacks, 2);
	finish();
}

TAP_TEST(isend__polls_at_times)
{
	const size_t weight = sizeof(struct mtl_pm_message) + 1000;
	size_t n = 0;

	begin("shmem", 1000);
	while (!fake.polls && n++ < 2000)
		isend(STANDARD);
	is_int(n, 262144 / weight + 1);
	is_int(mtl_pm.deaf_bytes, 0);
	while (fake.polls == 1 && n++ < 2000)
		is_int(send_blocking(STANDARD), OMPI_SUCCESS);
	is_int(n, 2 * (262144 / weight + 1));
	finish();
}

TAP_TEST(isend__polls_while_receivers_read)
{
	begin("udp", sizeof(data));
	is_int(isend(STANDARD), OMPI_SUCCESS);
	is_int(mtl_pm.exposed, 1);
	/* The announcement and its head are no reason; the bytes are. */
	is_int(fake.polls, 1);
	mtl_pm.exposed = 2;
	OBJ_DESTRUCT(&c);
	fake_pack_bytes(&c, data, 5);
	isend_another();
	is_int(fake.polls, 2);
	mtl_pm.exposed = 1;
	isend_another();
	is_int(fake.polls, 2);
	mtl_pm_peer_died(DEST, "");
	finish();
}

TAP_TEST(isend__not_between_announcements_within_this_host)
{
	begin("shmem", sizeof(data));
	peer->announced = 254;
	is_int(isend(STANDARD), OMPI_SUCCESS);
	is_int(peer->announced, 255);
	is_int(fake.polls, 0);
	/* There are so many that their ends have to be taken. */
	isend_another();
	is_int(fake.polls, 1);
	mtl_pm_peer_died(DEST, "");
	finish();
}

TAP_TEST(blocking_send__a_short_message_needs_no_progress)
{
	begin("udp", EAGER);
	is_int(send_blocking(STANDARD), OMPI_SUCCESS);
	has_left(EAGER);
	is_int(fake_mpi.progress_calls, 0);
	ok(TAILQ_EMPTY(&peer->sends));
	finish();
}

/* Open MPI polls: PM has room again at the third time. */
static void make_room(void)
{
	if (fake_mpi.progress_calls == 3)
		fake.send_buffers = 1000;
	mtl_pm_progress();
}

TAP_TEST(blocking_send__waits_for_room)
{
	begin("udp", 5);
	fake.send_buffers = 0;
	fake_mpi.on_progress = make_room;
	is_int(send_blocking(STANDARD), OMPI_SUCCESS);
	is_int(fake_mpi.progress_calls, 3);
	has_left(5);
	finish();
}

static void make_room_at_last(void)
{
	if (fake.polls == 50)
		fake.send_buffers = 1000;
}

/* Callbacks of others could wait for what its caller holds. */
TAP_TEST(blocking_send__a_short_one_waits_by_our_own_progress)
{
	begin("udp", 5);
	fake.send_buffers = 0;
	fake.on_poll = make_room_at_last;
	is_int(send_blocking(STANDARD), OMPI_SUCCESS);
	is_int(fake_mpi.progress_calls, 0);
	ok(fake.polls >= 50);
	has_left(5);
	finish();
}

static void die(void)
{
	mtl_pm_peer_died(DEST, "");
	mtl_pm_progress();
}

TAP_TEST(blocking_send__a_peer_dies)
{
	begin("udp", sizeof(data));
	fake_mpi.on_progress = die;
	is_int(send_blocking(STANDARD), MPI_ERR_OTHER);
	is_int(mtl_pm.exposed, 0);
	/* The next one fails at once. */
	is_int(send_blocking(SYNCHRONOUS), MPI_ERR_OTHER);
	finish();
}

static void match(void)
{
	struct envelope_control ack = {.kind = ENVELOPE_ACK};

	ack.id = ((const struct envelope_sync *)fake_sent()->bytes)->id;
	mtl_pm_on_ack(&ack, peer);
	mtl_pm_progress();
}

TAP_TEST(blocking_send__a_synchronous_one_waits_for_its_match)
{
	begin("udp", 5);
	fake_mpi.on_progress = match;
	is_int(send_blocking(SYNCHRONOUS), OMPI_SUCCESS);
	is_int(fake_mpi.progress_calls, 1);
	finish();
}
