// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_progress: what a round takes from PM and in which order, what is kept for the program, and
 * who is handed over later. Calls of waiting programs are tried in progress_wait_test.c.
 */
#include <errno.h>
#include <string.h>

#include "tests/harness/stillclock.h"
#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#define NODE 3
#define STRANGER 2
#define SOURCE 2
#define TAG 9
#define ROUND 64 /* datagrams of one call */

static struct ompi_communicator_t *comm;
static struct fake_receive r, second;

/* Datagrams that arrive, which must stay until PM has them back. */
static union {
	struct envelope eager;
	struct envelope_sync sync;
	struct envelope_first first;
	struct envelope_control control;
	char bytes[64];
} all[FAKE_ROWS];
static size_t n_datagrams;

static void begin(void)
{
	comm = fake_open_comm("udp");
	mtl_pm_peer_of_node(NODE);
	memset(all, 0, sizeof(all));
	n_datagrams = 0;
	mtl_pm.is_helping = false;
}

static void finish(void)
{
	mtl_pm.is_helping = false;
	fake_close_comm(comm);
}

static void post(struct fake_receive *receive, size_t room)
{
	fake_post(receive, SOURCE, TAG, room);
	receive->ompi.req_status.MPI_ERROR = MPI_ERR_UNKNOWN;
}

/* A datagram of a header of @head bytes, which is still to be filled in, and data. */
static struct iovec datagram(enum envelope_kind kind, size_t head, const char *data)
{
	size_t i = n_datagrams++ % FAKE_ROWS;

	all[i].eager = (struct envelope){
		.kind_context = envelope_pack(kind, FAKE_CONTEXT), .source = SOURCE, .tag = TAG};
	if (kind == ENVELOPE_MORE)
		all[i].control = (struct envelope_control){.kind = kind};
	memcpy(all[i].bytes + head, data, strlen(data));
	return (struct iovec){.iov_base = &all[i], .iov_len = head + strlen(data)};
}

static struct iovec eager(const char *data)
{
	return datagram(ENVELOPE_EAGER, sizeof(struct envelope), data);
}

static void arrive(pmNode node, struct iovec part)
{
	fake_arrive(node, &part, 1);
}

static void has_received(const struct fake_receive *receive, const char *data)
{
	ok(fake_completed() == &receive->req);
	is_str(receive->data, data);
	is_int(receive->ompi.req_status.MPI_SOURCE, SOURCE);
	is_int(receive->ompi.req_status.MPI_TAG, TAG);
	is_int(receive->ompi.req_status.MPI_ERROR, MPI_SUCCESS);
	is_int(receive->ompi.req_status._ucount, strlen(data));
}

/* ---- a message of the source of the one before: the short way ---- */

/* The communicator and the source are known from here on. */
static void receive_one(void)
{
	post(&r, 16);
	arrive(NODE, eager("first"));
	is_int(mtl_pm_poll(), 1);
	has_received(&r, "first");
}

TAP_TEST(poll__another_message_of_the_source)
{
	begin();
	receive_one();
	post(&r, 16);
	post(&second, 16);
	arrive(NODE, eager("abc"));
	arrive(NODE, eager("defg"));
	is_int(mtl_pm_poll(), 2);
	has_received(&r, "abc");
	has_received(&second, "defg");
	finish();
}

TAP_TEST(poll__another_message_without_a_receive)
{
	begin();
	receive_one();
	arrive(NODE, eager("abc"));
	is_int(mtl_pm_poll(), 1);
	ok(match_peek(mtl_pm_matching(comm), SOURCE, TAG) != NULL);
	finish();
}

TAP_TEST(poll__another_message_that_is_too_long)
{
	begin();
	receive_one();
	post(&r, 3);
	arrive(NODE, eager("hello"));
	is_int(mtl_pm_poll(), 1);
	ok(fake_completed() == &r.req);
	is_int(r.ompi.req_status.MPI_ERROR, MPI_ERR_TRUNCATE);
	is_int(r.ompi.req_status._ucount, 3);
	is_mem(r.data, "hel\0", 4);
	finish();
}

TAP_TEST(poll__another_message_into_memory_in_pieces)
{
	struct opal_datatype_t *type = fake_vector(2, 2, 4);
	struct opal_convertor_t target;
	char data[8] = "........";

	begin();
	receive_one();
	post(&r, 4);
	fake_unpack(&target, type, 1, data);
	r.req.receive.data = NULL;
	r.req.receive.target = &target;
	arrive(NODE, eager("abcd"));
	is_int(mtl_pm_poll(), 1);
	ok(fake_completed() == &r.req);
	is_mem(data, "ab..cd..", 8);
	OBJ_DESTRUCT(&target);
	opal_datatype_destroy(&type);
	finish();
}

TAP_TEST(poll__another_message_that_is_synchronous)
{
	struct iovec part;

	begin();
	receive_one();
	post(&r, 16);
	part = datagram(ENVELOPE_EAGER_SYNC, sizeof(struct envelope_sync), "abc");
	((struct envelope_sync *)part.iov_base)->id = 77;
	arrive(NODE, part);
	is_int(mtl_pm_poll(), 1);
	has_received(&r, "abc");
	fake_sent_control(NODE, ENVELOPE_ACK, 77);
	finish();
}

TAP_TEST(poll__another_message_behind_a_pad)
{
	struct iovec part;

	begin();
	receive_one();
	post(&r, 16);
	part = eager("....abc");
	envelope_set_pad(part.iov_base, 4);
	arrive(NODE, part);
	is_int(mtl_pm_poll(), 1);
	has_received(&r, "abc");
	finish();
}

TAP_TEST(poll__another_message_that_is_cut)
{
	struct iovec part;

	begin();
	receive_one();
	post(&r, 16);
	part = eager("");
	part.iov_len--;
	arrive(NODE, part);
	is_int(mtl_pm_poll(), 1);
	ok(!fake_completed());
	is_int(mtl_pm.damaged, 1);
	ok(match_cancel(&r.req.receive.match));
	finish();
}

/* ---- rows ---- */

TAP_TEST(poll__short_messages_and_parts_of_a_longer_one_in_a_row)
{
	static struct fake_receive third;
	struct iovec parts[5];

	begin();
	post(&r, 16);
	post(&second, 16);
	post(&third, 16);
	parts[0] = eager("one");
	parts[1] = datagram(ENVELOPE_FIRST, sizeof(struct envelope_first), "abc");
	((struct envelope_first *)parts[1].iov_base)->size = 9;
	parts[2] = datagram(ENVELOPE_MORE, sizeof(struct envelope_control), "def");
	parts[3] = datagram(ENVELOPE_MORE, sizeof(struct envelope_control), "ghi");
	parts[4] = eager("three");
	fake_arrive(NODE, parts, 5);
	is_int(mtl_pm_poll(), 5);
	has_received(&r, "one");
	has_received(&second, "abcdefghi");
	has_received(&third, "three");
	is_int(mtl_pm.damaged, 0);
	finish();
}

static pmDesc lent_at[8]; /* at each look: what PM has not been given back */

static void note_lent(void)
{
	if (fake.polls <= 8)
		lent_at[fake.polls - 1] = fake.lent;
}

TAP_TEST(poll__pm_has_its_buffer_back_before_the_next_look)
{
	begin();
	post(&r, 16);
	arrive(NODE, eager("abc"));
	arrive(NODE, eager("def"));
	fake.on_poll = note_lent;
	is_int(mtl_pm_poll(), 2);
	is_int(fake.polls, 3);
	for (int i = 0; i < 3; i++)
		is_int(lent_at[i], 0);
	is_int(fake.lent, 0);
	has_received(&r, "abc");
	/* Once each. */
	is_int(mtl_pm_poll(), 0);
	finish();
}

TAP_TEST(poll__open_mpi_has_its_turn_in_between)
{
	begin();
	for (int i = 0; i < ROUND + 6; i++)
		arrive(NODE, eager("x"));
	is_int(mtl_pm_poll(), ROUND);
	is_int(fake.n_taken, ROUND);
	is_int(mtl_pm_poll(), 6);
	finish();
}

/* ---- what PM says in place of a message ---- */

TAP_TEST(poll__a_peer_was_found_dead)
{
	begin();
	post(&r, 16);
	fake_arrive_error(STRANGER, EPIPE);
	arrive(NODE, eager("abc"));
	is_int(mtl_pm_poll(), 2);
	is_str(fake_mpi.said, "peer died: here\n");
	ok(mtl_pm_peer_of_node(STRANGER)->is_dead);
	/* That was its last receive. Messages of others come none the less. */
	ok(fake_completed() == &r.req);
	is_int(r.ompi.req_status.MPI_ERROR, MPI_ERR_OTHER);
	ok(match_peek(mtl_pm_matching(comm), SOURCE, TAG) != NULL);
	finish();
}

static void poll_once(void)
{
	mtl_pm_poll();
}

TAP_TEST(poll__pm_fails)
{
	begin();
	fake_arrive_error(NODE, EIO);
	ok(fake_ends_job(poll_once));
	is_str(fake_mpi.why, "mtl/pm: PM failed while receiving: fake");
	finish();
}

/* ---- the progress thread polls ---- */

TAP_TEST(poll__the_thread_takes_what_peers_have_sent)
{
	begin();
	mtl_pm.is_helping = true;
	post(&r, 16);
	arrive(NODE, eager("abc"));
	is_int(mtl_pm_poll(), 1);
	ok(!mtl_pm.kept.is_full);
	has_received(&r, "abc");
	finish();
}

TAP_TEST(poll__the_thread_keeps_what_a_stranger_has_sent)
{
	struct iovec parts[2];

	begin();
	post(&r, 16);
	post(&second, 16);
	parts[0] = eager("abc");
	parts[1] = eager("def");
	fake_arrive(STRANGER, parts, 2);
	arrive(NODE, eager("behind it"));
	mtl_pm.is_helping = true;
	is_int(mtl_pm_poll(), 0);
	ok(mtl_pm.kept.is_full);
	/* Nothing overtakes it, and PM has to wait for its buffer. */
	is_int(fake.n_taken, 1);
	ok(fake.lent != 0);
	ok(!table_get(&mtl_pm.peers, STRANGER) && !fake_completed());
	mtl_pm.is_helping = false;
	is_int(mtl_pm_poll(), 2);
	has_received(&r, "abc");
	has_received(&second, "def");
	ok(match_peek(mtl_pm_matching(comm), SOURCE, TAG) != NULL);
	ok(!mtl_pm.kept.is_full && !fake.lent);
	is_int(mtl_pm_poll(), 0);
	finish();
}

TAP_TEST(poll__the_thread_keeps_the_news_of_a_death)
{
	begin();
	post(&r, 16);
	fake_arrive_error(STRANGER, EPIPE);
	arrive(NODE, eager("behind it"));
	mtl_pm.is_helping = true;
	is_int(mtl_pm_poll(), 0);
	is_int(fake.n_taken, 1);
	is_str(fake_mpi.said, "");
	is_str(mtl_pm.kept.why, "fake");
	ok(!fake_completed());
	mtl_pm.is_helping = false;
	is_int(mtl_pm_poll(), 2);
	is_str(fake_mpi.said, "peer died: here\n");
	ok(fake_completed() == &r.req);
	finish();
}

TAP_TEST(poll__the_thread_keeps_what_people_must_be_told)
{
	begin();
	mtl_pm.is_helping = true;
	mtl_pm_show_failure(NODE, "send to", EIO);
	is_str(fake_mpi.said, "");
	mtl_pm.is_helping = false;
	is_int(mtl_pm_poll(), 1);
	is_str(fake_mpi.said, "failed: here\n");
	is_int(mtl_pm_poll(), 0);
	is_str(fake_mpi.said, "failed: here\n");
	finish();
}

static void fail_meanwhile(void)
{
	if (fake.polls == 1)
		mtl_pm_show_failure(NODE, "send to", EIO);
}

TAP_TEST(poll__the_thread_takes_no_more_behind_such_news)
{
	begin();
	arrive(NODE, eager("abc"));
	arrive(NODE, eager("def"));
	mtl_pm.is_helping = true;
	fake.on_poll = fail_meanwhile;
	is_int(mtl_pm_poll(), 1);
	is_int(fake.n_taken, 1);
	mtl_pm.is_helping = false;
	is_int(mtl_pm_poll(), 2);
	is_int(fake.n_taken, 2);
	is_str(fake_mpi.said, "failed: here\n");
	finish();
}

/* ---- what PM had no room for ---- */

TAP_TEST(poll__retries_until_all_is_handed_over)
{
	struct mtl_pm_peer *peer;

	begin();
	peer = mtl_pm_peer_of_node(NODE);
	fake.send_buffers = 0;
	mtl_pm_note_control(peer, ENVELOPE_ACK, 1, 0);
	mtl_pm_note_control(peer, ENVELOPE_ACK, 2, 0);
	is_int(mtl_pm_poll(), 0);
	fake.send_buffers = 1;
	is_int(mtl_pm_poll(), 1);
	fake_sent_control(NODE, ENVELOPE_ACK, 1);
	ok(peer->is_busy && TAILQ_FIRST(&mtl_pm.busy) == peer);
	fake.send_buffers = 1;
	is_int(mtl_pm_poll(), 1);
	fake_sent_control(NODE, ENVELOPE_ACK, 2);
	ok(!peer->is_busy && TAILQ_EMPTY(&mtl_pm.busy));
	finish();
}

/* Is the peer still to be retried, with this alone? */
static void stays_busy(struct mtl_pm_peer *peer, const char *what)
{
	mtl_pm_peer_busy(peer);
	is_int(mtl_pm_poll(), 0);
	okf(peer->is_busy && TAILQ_FIRST(&mtl_pm.busy) == peer, "%s", what);
}

TAP_TEST(poll__each_thing_keeps_a_peer_busy)
{
	static struct fake_send s;
	struct mtl_pm_peer *peer;

	begin();
	peer = mtl_pm_peer_of_node(NODE);
	fake.send_buffers = 0;
	fake.send_out = ENOBUFS;
	fake_prepare_send(&s, peer, "abc", 3);
	s.req.send.list = &peer->sends;
	TAILQ_INSERT_TAIL(&peer->sends, &s.req.send, link);
	stays_busy(peer, "a send");
	TAILQ_REMOVE(&peer->sends, &s.req.send, link);
	s.req.send.list = &peer->streams;
	s.req.send.wanted = 3;
	TAILQ_INSERT_TAIL(&peer->streams, &s.req.send, link);
	stays_busy(peer, "a stream");
	TAILQ_REMOVE(&peer->streams, &s.req.send, link);
	STAILQ_INSERT_TAIL(&peer->gathered, &s.req, done);
	stays_busy(peer, "a gathered send");
	STAILQ_REMOVE_HEAD(&peer->gathered, done);
	is_int(mtl_pm_poll(), 0);
	ok(!peer->is_busy);
	finish();
}

TAP_TEST(poll__looks_after_reads)
{
	const pmHandle handle = {.word = {1}};

	begin();
	fake_prepare(&r, 1000);
	mtl_pm_receive_matched(&r.req.receive, SOURCE, TAG, 1000);
	mtl_pm_fetch(&r.req.receive, mtl_pm_peer_of_node(NODE), 55, &handle, 0, 1000, 0);
	is_int(fake.n_reads, 1);
	is_int(mtl_pm_poll(), 0);
	fake.reads[0].rc = 0;
	is_int(mtl_pm_poll(), 1);
	ok(fake_completed() == &r.req);
	fake_sent_control(NODE, ENVELOPE_FIN, 55);
	finish();
}

/* ---- bursts ---- */

static void open_burst(void)
{
	mtl_pm.burst = mtl_pm_peer_of_node(NODE);
	mtl_pm.is_corked = true;
	mtl_pm.deaf_bytes = 1000;
}

TAP_TEST(poll__ends_a_burst)
{
	begin();
	open_burst();
	mtl_pm_poll();
	is_int(fake.uncorks, 1);
	ok(!mtl_pm.burst);
	is_int(mtl_pm.deaf_bytes, 0);
	finish();
}

static void is_paused(void)
{
	is_int(fake.uncorks, 1);
	ok(!mtl_pm.burst);
}

TAP_TEST(poll_in_burst__the_burst_goes_on)
{
	begin();
	open_burst();
	fake.on_poll = is_paused;
	mtl_pm.has_held = true;
	mtl_pm.held_ns = stillclock_ns;
	mtl_pm.n_burst = 5;
	mtl_pm.burst_bytes = 5000;
	stillclock_ns += 1000;
	mtl_pm_poll_in_burst();
	is_int(fake.polls, 1);
	/* The calls that follow are timed from here on. It is remembered when it is over. */
	ok(mtl_pm.has_held);
	is_int(mtl_pm.held_ns, stillclock_ns);
	is_int(mtl_pm_peer_of_node(NODE)->burst_bytes, 0);
	ok(mtl_pm.burst == mtl_pm_peer_of_node(NODE));
	mtl_pm.burst = NULL;
	mtl_pm.has_held = false;
	finish();
}
