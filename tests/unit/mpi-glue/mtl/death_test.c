// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_death: a dead peer's operations all end with an error, once, and nobody else's do. */
#include <string.h>

#include "mpi-glue/mtl/mtl_pm_context.h"
#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#define DEAD 2
#define ALIVE 3
#define TAG 9

static struct ompi_communicator_t *comm;
static struct mtl_pm_peer *peer;
static struct fake_receive r, other;
static struct fake_send s;

static void begin(void)
{
	comm = fake_open_comm("udp");
	peer = mtl_pm_peer_of_node(DEAD);
}

static void die(void)
{
	mtl_pm_peer_died(DEAD, "it does not answer");
	ok(peer->is_dead);
}

static void has_failed(const struct mtl_pm_request *req)
{
	ok(fake_completed() == req);
	is_int(req->super.ompi_req->req_status.MPI_ERROR, MPI_ERR_OTHER);
}

TAP_TEST(peer_died__people_are_told_once)
{
	begin();
	die();
	is_str(fake_mpi.said, "peer died: here\n");
	is_int(mtl_pm.deaths, 1);
	die();
	is_str(fake_mpi.said, "peer died: here\n");
	fake_close_comm(comm);
}

static struct mtl_pm_peer *died;

static void on_death(struct mtl_pm_peer *dead, const char *why)
{
	is_str(why, "it does not answer");
	died = dead;
}

/* ... who tells people where messages do not go by mtl/pm. */
TAP_TEST(peer_died__btl_is_told)
{
	static const struct mtl_pm_client client = {.died = on_death};

	for (int is_used = 0; is_used < 2; is_used++) {
		begin();
		died = NULL;
		mtl_pm.client = &client;
		mtl_pm.is_used = is_used;
		die();
		ok(died == peer);
		is_str(fake_mpi.said, is_used ? "peer died: here\n" : "");
		mtl_pm.client = NULL;
		fake_close_comm(comm);
	}
}

TAP_TEST(peer_died__one_that_never_wrote)
{
	begin();
	mtl_pm_peer_died(ALIVE, "");
	ok(mtl_pm_peer_of_node(ALIVE)->is_dead && !peer->is_dead);
	fake_close_comm(comm);
}

TAP_TEST(peer_died__receives_posted_for_it)
{
	begin();
	fake_post(&r, DEAD, TAG, 10);
	fake_post(&other, ALIVE, TAG, 10);
	die();
	has_failed(&r.req);
	ok(!fake_completed());
	ok(match_arrive(match_context(&mtl_pm.match, FAKE_CONTEXT), ALIVE, TAG) ==
	   &other.req.receive.match);
	fake_close_comm(comm);
}

TAP_TEST(peer_died__a_receive_from_any_source_stays)
{
	begin();
	fake_post(&r, MATCH_ANY_SOURCE, TAG, 10);
	die();
	ok(!fake_completed());
	ok(match_arrive(match_context(&mtl_pm.match, FAKE_CONTEXT), ALIVE, TAG) ==
	   &r.req.receive.match);
	fake_close_comm(comm);
}

TAP_TEST(peer_died__sends_that_wait_for_room)
{
	static struct fake_send second;

	begin();
	fake.send_buffers = 0;
	fake_prepare_send(&s, peer, "abc", 3);
	fake_prepare_send(&second, peer, "def", 3);
	mtl_pm_submit(&s.req.send);
	mtl_pm_submit(&second.req.send);
	die();
	has_failed(&s.req);
	has_failed(&second.req);
	ok(TAILQ_EMPTY(&peer->sends) && !fake_completed());
	fake_close_comm(comm);
}

TAP_TEST(peer_died__sends_that_wait_for_its_answer)
{
	static char data[1 << 20];
	static struct fake_send kept;

	begin();
	fake_prepare_send(&s, peer, data, sizeof(data));
	mtl_pm_submit(&s.req.send);
	fake_prepare_send(&kept, mtl_pm_peer_of_node(ALIVE), data, sizeof(data));
	mtl_pm_submit(&kept.req.send);
	is_int(mtl_pm.exposed, 2);
	die();
	has_failed(&s.req);
	ok(!fake_completed());
	/* Its memory is nobody's to read any more. */
	is_int(fake.unlocks, 1);
	is_int(mtl_pm.exposed, 1);
	ok(!ids_get(&mtl_pm.ids, s.req.send.id));
	ok(ids_get(&mtl_pm.ids, kept.req.send.id) == &kept.req);
	fake_close_comm(comm);
}

TAP_TEST(peer_died__a_stream_to_it)
{
	begin();
	fake_prepare_send(&s, peer, "abc", 3);
	s.req.send.list = &peer->streams;
	TAILQ_INSERT_TAIL(&peer->streams, &s.req.send, link);
	die();
	has_failed(&s.req);
	ok(TAILQ_EMPTY(&peer->streams));
	fake_close_comm(comm);
}

TAP_TEST(peer_died__sends_that_pm_may_still_hold)
{
	begin();
	fake_prepare_send(&s, peer, "abc", 3);
	STAILQ_INSERT_TAIL(&peer->gathered, &s.req, done);
	die();
	has_failed(&s.req);
	ok(STAILQ_EMPTY(&peer->gathered));
	fake_close_comm(comm);
}

TAP_TEST(peer_died__control_messages_are_forgotten)
{
	begin();
	fake.send_buffers = 0;
	mtl_pm_note_control(peer, ENVELOPE_ACK, 7, 0);
	ok(!STAILQ_EMPTY(&peer->notes));
	fake.send_error = EPIPE;
	die();
	ok(STAILQ_EMPTY(&peer->notes));
	fake_close_comm(comm);
}

TAP_TEST(peer_died__a_receive_it_streams_to)
{
	begin();
	fake_prepare(&r, 10);
	r.req.receive.peer = peer;
	r.req.receive.has_rest_due = true;
	mtl_pm.n_fetches = 1;
	r.req.receive.id = ids_add(&mtl_pm.ids, &r.req);
	fake_prepare(&other, 10);
	other.req.receive.peer = mtl_pm_peer_of_node(ALIVE);
	other.req.receive.id = ids_add(&mtl_pm.ids, &other.req);
	die();
	has_failed(&r.req);
	ok(!fake_completed());
	is_int(mtl_pm.n_fetches, 0);
	fake_close_comm(comm);
}

TAP_TEST(peer_died__a_receive_that_is_half_filled)
{
	begin();
	fake_prepare(&r, 10);
	r.req.receive.peer = peer;
	r.req.receive.has_head_due = true;
	peer->filling = &r.req;
	die();
	has_failed(&r.req);
	ok(!peer->filling);
	fake_close_comm(comm);
}

/* A message of which three of ten bytes have come. */
static struct mtl_pm_message *half(void)
{
	const struct envelope e = {.source = DEAD, .tag = TAG};

	peer->open = mtl_pm_hold(match_context(&mtl_pm.match, FAKE_CONTEXT), &e, peer, 10, 10);
	peer->open->got = 3;
	return peer->open;
}

TAP_TEST(peer_died__a_message_that_is_half_there)
{
	begin();
	half();
	die();
	ok(!peer->open);
	ok(!match_peek(match_context(&mtl_pm.match, FAKE_CONTEXT), DEAD, TAG));
	is_int(mtl_pm.unexpected_bytes, 0);
	fake_close_comm(comm);
}

TAP_TEST(peer_died__a_receive_that_waits_for_the_other_half)
{
	struct mtl_pm_message *m;

	begin();
	m = half();
	ok(match_claim(match_context(&mtl_pm.match, FAKE_CONTEXT), DEAD, TAG) == &m->match);
	fake_prepare(&r, 10);
	r.req.receive.peer = peer;
	r.req.receive.has_head_due = true;
	m->claimed = &r.req;
	die();
	has_failed(&r.req);
	is_int(mtl_pm.unexpected_bytes, 0);
	fake_close_comm(comm);
}

TAP_TEST(peer_died__a_whole_message_can_still_be_received)
{
	const struct envelope e = {.source = DEAD, .tag = TAG};
	struct mtl_pm_message *m;

	begin();
	m = mtl_pm_hold(match_context(&mtl_pm.match, FAKE_CONTEXT), &e, peer, 10, 10);
	die();
	ok(match_peek(match_context(&mtl_pm.match, FAKE_CONTEXT), DEAD, TAG) == &m->match);
	fake_close_comm(comm);
}
