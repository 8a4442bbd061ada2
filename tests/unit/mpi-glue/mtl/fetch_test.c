// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_fetch: announced messages are read, or asked for; what a sender may say of them, and their
 * order.
 */
#include <errno.h>
#include <string.h>

#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define NODE 3
#define REMOTE 99
#define SIZE 100000

static const pmHandle memory = {.word = {1}}, none;
static struct fake_receive r, second;

static struct mtl_pm_peer *begin(void)
{
	fake_open("udp");
	fake_prepare(&r, FAKE_ROOM);
	fake_prepare(&second, FAKE_ROOM);
	r.req.receive.wanted = second.req.receive.wanted = SIZE;
	return mtl_pm_peer_of_node(NODE);
}

static void fetch(struct fake_receive *which, struct mtl_pm_peer *peer, const pmHandle *handle,
		  size_t head)
{
	mtl_pm_fetch(&which->req.receive, peer, REMOTE, handle, head, SIZE, 0);
}

TAP_TEST(fetch__reads_into_the_receive)
{
	struct mtl_pm_peer *peer = begin();

	fetch(&r, peer, &memory, 0);
	must(fake.n_reads == 1);
	is_int(fake.reads[0].node, NODE);
	is_int(fake.reads[0].from, 0);
	is_int(fake.reads[0].size, SIZE);
	ok(fake.reads[0].to == r.data);
	is_int(mtl_pm_progress_reads(), 0);
	ok(!fake_completed() && !fake_sent());
	fake.reads[0].rc = 0;
	is_int(mtl_pm_progress_reads(), 1);
	fake_sent_control(NODE, ENVELOPE_FIN, REMOTE);
	ok(fake_completed() == &r.req);
	is_int(mtl_pm.n_fetches, 0);
	ok(TAILQ_EMPTY(&mtl_pm.readers));
	fake_close();
}

TAP_TEST(fetch__only_what_is_behind_the_head)
{
	struct mtl_pm_peer *peer = begin();

	fetch(&r, peer, &memory, 4000);
	must(fake.n_reads == 1);
	is_int(fake.reads[0].from, 4000);
	is_int(fake.reads[0].size, SIZE - 4000);
	ok(fake.reads[0].to == r.data + 4000);
	fake_close();
}

TAP_TEST(fetch__a_short_receive_has_all_in_the_head)
{
	struct mtl_pm_peer *peer = begin();

	r.req.receive.wanted = 4000;
	fetch(&r, peer, &memory, 4000);
	is_int(fake.n_reads, 0);
	fake_sent_control(NODE, ENVELOPE_FIN, REMOTE);
	ok(fake_completed() == &r.req);
	fake_close();
}

/*
 * Whether the rest is asked for when a packed head of 4000 bytes was announced for a receive of
 * @wanted.
 */
static bool is_pulled(size_t wanted)
{
	struct mtl_pm_peer *peer = begin();
	bool is;

	r.req.receive.wanted = wanted;
	fetch(&r, peer, &none, 4000);
	is = ((const struct envelope_control *)fake_sent()->bytes)->kind == ENVELOPE_PULL;
	fake_close();
	return is;
}

TAP_TEST(fetch__a_packed_head_may_be_shorter_than_announced)
{
	ok(!is_pulled(4000 - ENVELOPE_SLACK));
	ok(is_pulled(4000 - ENVELOPE_SLACK + 1));
}

TAP_TEST(fetch__fails)
{
	struct mtl_pm_peer *peer = begin();
	const struct envelope_control *m;

	fetch(&r, peer, &memory, 0);
	fake.reads[0].rc = EPIPE;
	is_int(mtl_pm_progress_reads(), 1);
	m = (const void *)fake_sent()->bytes;
	is_int(m->error, 1);
	fake_sent_control(NODE, ENVELOPE_FIN, REMOTE);
	ok(fake_completed() == &r.req);
	is_int(r.ompi.req_status.MPI_ERROR, MPI_ERR_OTHER);
	fake.read_error = EPIPE;
	fetch(&second, peer, &memory, 0);
	fake_sent_control(NODE, ENVELOPE_FIN, REMOTE);
	ok(fake_completed() == &second.req);
	fake_close();
}

TAP_TEST(fetch__waits_for_room_and_is_not_overtaken)
{
	struct mtl_pm_peer *peer = begin();

	mtl_pm.read_limit = 1;
	fetch(&r, peer, &memory, 0);
	fetch(&second, peer, &memory, 0);
	is_int(fake.n_reads, 1);
	ok(second.req.receive.is_waiting);
	is_int(mtl_pm_progress_reads(), 0);
	fake.reads[0].rc = 0;
	is_int(mtl_pm_progress_reads(), 2);
	is_int(fake.n_reads, 2);
	ok(fake.reads[1].to == second.data);
	ok(!second.req.receive.is_waiting && TAILQ_EMPTY(&mtl_pm.waiters));
	fake_close();
}

TAP_TEST(fetch__no_read_now)
{
	struct mtl_pm_peer *peer = begin();

	fake.read_error = ENOBUFS;
	fetch(&r, peer, &memory, 0);
	ok(r.req.receive.is_waiting && !fake_completed());
	fake.read_error = 0;
	/* There would be room, but the first has waited longer. */
	fetch(&second, peer, &memory, 0);
	is_int(fake.n_reads, 0);
	is_int(mtl_pm_progress_reads(), 2);
	ok(fake.reads[0].to == r.data && fake.reads[1].to == second.data);
	fake_close();
}

/* Asks for all of it; the number that DATA must name. */
static uint64_t pull(struct mtl_pm_peer *peer)
{
	const struct envelope_pull *m;
	uint64_t reply = 0;

	fetch(&r, peer, &none, 0);
	is_int(fake.n_reads, 0);
	if (!ok(fake_sent() != NULL))
		return 0;
	m = (const void *)fake_sent()->bytes;
	is_int(m->base.kind, ENVELOPE_PULL);
	is_int(m->base.id, REMOTE);
	is_int(m->wanted, SIZE);
	reply = m->reply;
	fake_drop();
	return reply;
}

static void data(const struct mtl_pm_peer *peer, uint64_t id, size_t size)
{
	static char bytes[SIZE + 1];

	memset(bytes, 'x', sizeof(bytes));
	mtl_pm_on_data(&(struct envelope_control){.kind = ENVELOPE_DATA, .id = id}, bytes, size,
		       peer);
}

TAP_TEST(on_data__a_stream_and_its_end)
{
	struct mtl_pm_peer *peer = begin();
	uint64_t id = pull(peer);

	data(peer, id, SIZE - 1);
	ok(!fake_completed());
	data(peer, id, 1);
	ok(fake_completed() == &r.req);
	is_int(r.data[SIZE - 1], 'x');
	is_int(r.data[SIZE], 0);
	is_int(mtl_pm.damaged, 0);
	/* The number is worth nothing any more. */
	data(peer, id, 1);
	is_int(mtl_pm.damaged, 1);
	fake_close();
}

TAP_TEST(on_data__of_no_honest_peer)
{
	struct mtl_pm_peer *peer = begin(), *other = mtl_pm_peer_of_node(NODE + 1);
	uint64_t id = pull(peer), sender;
	/* As large as a receive, so that only its kind tells that it is none. */
	struct mtl_pm_request send = {.is_receive = false,
				      .receive = {.peer = peer, .wanted = SIZE, .data = r.data}};

	sender = ids_add(&mtl_pm.ids, &send);
	data(peer, id + 1, 1);
	data(peer, 0, 1);
	data(peer, UINT64_MAX, 1);
	/* Another's receive, a send, and more than is wanted. */
	data(other, id, 1);
	data(peer, sender, 1);
	data(peer, id, SIZE + 1);
	is_int(mtl_pm.damaged, 6);
	is_int(r.req.receive.got, 0);
	data(peer, id, 1);
	data(peer, id, SIZE);
	is_int(mtl_pm.damaged, 7);
	is_int(r.req.receive.got, 1);
	fake_close();
}

TAP_TEST(fetch__from_a_dead_peer)
{
	struct mtl_pm_peer *peer = begin();

	peer->is_dead = true;
	fetch(&r, peer, &none, 0);
	ok(fake_completed() == &r.req);
	is_int(r.ompi.req_status.MPI_ERROR, MPI_ERR_OTHER);
	ok(!fake_sent());
	fake_close();
}
