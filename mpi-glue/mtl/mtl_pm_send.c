// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_send - the sending side of every protocol of envelope.h.
 *
 * Messages that do not leave at once (mtl_pm_isend.c) wait in the peer's list, so that messages to
 * one peer are handed over in the order MPI saw them.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_parts.h"
#include "mpi-glue/mtl/mtl_pm_short.h"

#include "ompi/constants.h"

#include <errno.h>
#include <string.h>

/*
 * DATA datagrams per call and message: others must have their turn. At MTU 1500 one segmented
 * message takes so many.
 */
#define STREAM_BURST 44

static int send_eager(struct mtl_pm_send *s)
{
	struct envelope e;

	if (s->data && s->length <= sizeof(((struct mtl_pm_short *)0)->data))
		return mtl_pm_post_short(s->peer, s->context, s->rank, s->tag, s->data, s->length);
	if (s->data && s->length <= s->peer->post_limit)
		return mtl_pm_post_with_head(s->peer, s->context, s->rank, s->tag, s->data,
					     s->length);
	mtl_pm_fill_envelope(&e, ENVELOPE_EAGER, s);
	return mtl_pm_send_part(s, &e, sizeof(e), s->length);
}

static int send_eager_sync(struct mtl_pm_send *s)
{
	struct envelope_sync e;

	if (mtl_pm_number_send(s))
		return ENOMEM;
	mtl_pm_fill_envelope(&e.base, ENVELOPE_EAGER_SYNC, s);
	e.id = s->id;
	return mtl_pm_send_part(s, &e, sizeof(e), s->length);
}

static int send_as_row(struct mtl_pm_send *s, const struct envelope_first *first, size_t most)
{
	const struct envelope_control more = {.kind = ENVELOPE_MORE};

	if (s->sent)
		return mtl_pm_send_row(s, &more, most - sizeof(more), s->length);
	return mtl_pm_send_whole_row(s, first, most - sizeof(*first), &more, most - sizeof(more));
}

static int send_as_parts(struct mtl_pm_send *s, const struct envelope_first *first, size_t most)
{
	const struct envelope_control more = {.kind = ENVELOPE_MORE};
	bool is_new = mtl_pm_begin_row(s->peer);
	int rc = 0;

	if (!s->sent)
		rc = mtl_pm_send_part(s, first, sizeof(*first),
				      mtl_pm_room_in(s->peer, most, sizeof(*first)));
	while (!rc && s->sent < s->length)
		rc = mtl_pm_send_part(s, &more, sizeof(more),
				      mtl_pm_room_in(s->peer, most, sizeof(more)));
	mtl_pm_end_row(is_new);
	return rc;
}

/* FIRST, then MORE until the end. */
static int send_middle(struct mtl_pm_send *s)
{
	size_t most = mtl_pm_datagram_of(s->peer, s->length);
	struct envelope_first first = {0};

	if (!s->sent) {
		mtl_pm_fill_envelope(&first.base, ENVELOPE_FIRST, s);
		first.size = (uint32_t)s->length;
		first.stamp = mtl_pm_way_stamp(s->peer, s->length);
	}
	return mtl_pm_is_row_possible(s) ? send_as_row(s, &first, most)
					 : send_as_parts(s, &first, most);
}

static bool fits(size_t length, ssize_t limit)
{
	return (ssize_t)length <= limit;
}

static void unlink_send(struct mtl_pm_send *s)
{
	if (s->list)
		TAILQ_REMOVE(s->list, s, link);
	s->list = NULL;
}

/*
 * The window to a peer may be smaller than a message in many parts, or than a burst that is not
 * held. PM gives out the rest as acks come, at our polls: so the program stays in its MPI_Wait
 * until then, or the receiver would wait for its next one.
 */
static bool is_held(const struct mtl_pm_send *s)
{
	bool is_one_of_many = s->length > (size_t)s->peer->eager_limit || s->peer->unheld;

	return s->peer->gathers && is_one_of_many &&
	       pmIsSendOut(mtl_pm.ctx, s->peer->node) == ENOBUFS;
}

void mtl_pm_send_finish(struct mtl_pm_send *s, int error)
{
	struct mtl_pm_request *req = mtl_pm_request_of_send(s);

	unlink_send(s);
	if (s->id)
		ids_take(&mtl_pm.ids, s->id);
	s->peer->announced -= s->is_announced;
	if (s->is_exposed) {
		pmMUnlock(mtl_pm.ctx, &s->handle);
		mtl_pm.exposed--;
	}
	if (OPAL_UNLIKELY(error))
		mtl_pm_show_failure(s->peer->node, "send to", error);
	if (req->super.ompi_req)
		req->super.ompi_req->req_status.MPI_ERROR = error ? MPI_ERR_OTHER : MPI_SUCCESS;
	else
		req->error = error;
	if (OPAL_UNLIKELY(mtl_pm.is_corked || is_held(s))) {
		mtl_pm.n_long -= req->is_long;
		req->is_long = false;
		STAILQ_INSERT_TAIL(&s->peer->gathered, req, done);
		mtl_pm_peer_busy(s->peer);
	} else {
		mtl_pm_complete(req);
	}
}

static void stream(struct mtl_pm_send *s)
{
	s->list = &s->peer->streams;
	TAILQ_INSERT_TAIL(&s->peer->streams, s, link);
	mtl_pm_peer_busy(s->peer);
}

/* The head is out: the receiver's answer goes on with the message. */
static void wait_for_answer(struct mtl_pm_send *s)
{
	unlink_send(s);
	if (!s->is_answered)
		return;
	if (s->wanted)
		stream(s);
	else
		mtl_pm_send_finish(s, s->answer);
}

static bool is_short_sync(const struct mtl_pm_send *s)
{
	return s->is_sync &&
	       fits(s->length + sizeof(struct envelope_sync) - sizeof(struct envelope),
		    s->peer->eager_limit);
}

/* Its receiver measures by which way such messages come faster. */
static bool has_ways(const struct mtl_pm_send *s)
{
	return s->peer->ways && s->data && s->length >= WAYS_MIN;
}

static bool is_eager(const struct mtl_pm_send *s)
{
	return !s->is_sync && !has_ways(s) && fits(s->length, s->peer->eager_limit);
}

/*
 * Others run on our core: seen by our yields, or known to Open MPI, whose launcher counted ranks
 * and cores.
 */
static bool is_core_shared(void)
{
	return mtl_pm.idle.is_shared || mtl_pm.yields_for_opal;
}

/* In one part or more. */
static bool is_unasked(const struct mtl_pm_send *s)
{
	const struct mtl_pm_peer *peer = s->peer;

	if (s->is_sync || (s->data && (s->is_in_burst || mtl_pm_is_read_by(peer, s->length))))
		return false;
	if (!s->data)
		return fits(s->length, peer->packed_limit);
	return fits(s->length, is_core_shared() ? peer->shared_limit : peer->middle_limit);
}

/* Hands the message over by the protocol that suits it. ENOBUFS: later; the send stays listed. */
static int advance(struct mtl_pm_send *s)
{
	const struct mtl_pm_peer *peer = s->peer;
	int rc;

	if (peer->is_dead) {
		rc = EPIPE;
	} else if (!s->is_announced && (s->sent || (!is_eager(s) && is_unasked(s)))) {
		rc = send_middle(s);
	} else if (!s->is_announced && is_eager(s)) {
		rc = send_eager(s);
	} else if (!s->is_announced && is_short_sync(s)) {
		rc = send_eager_sync(s);
		if (!rc) {
			/* ACK ends it. */
			s->sent = 0;
			unlink_send(s);
			return 0;
		}
	} else {
		rc = mtl_pm_announce(s);
		if (!rc) {
			wait_for_answer(s);
			return 0;
		}
	}
	if (rc != ENOBUFS)
		mtl_pm_send_finish(s, rc);
	return rc;
}

/*
 * The next part of a stream; true: some of it has left. The head may have brought all that is
 * wanted, or more.
 */
static bool push_stream(struct mtl_pm_send *s)
{
	struct envelope_control head = {.kind = ENVELOPE_DATA, .id = s->remote};
	size_t most = mtl_pm_part_room(s->peer, sizeof(head)), before = s->sent;
	bool is_row = mtl_pm_begin_row(s->peer), has_moved;
	int n = 0, rc = 0;

	if (s->sent < s->wanted && mtl_pm_is_row_possible(s)) {
		size_t left = s->wanted - s->sent, burst = STREAM_BURST * most;

		rc = mtl_pm_send_row(s, &head, most, s->sent + (left < burst ? left : burst));
	} else {
		for (; !rc && n < STREAM_BURST && s->sent < s->wanted; n++) {
			size_t left = s->wanted - s->sent;

			rc = mtl_pm_send_part(s, &head, sizeof(head), left < most ? left : most);
		}
	}
	has_moved = s->sent > before;
	mtl_pm_end_row(is_row);
	if ((rc && rc != ENOBUFS) || s->sent >= s->wanted)
		mtl_pm_send_finish(s, rc);
	return has_moved;
}

int mtl_pm_push_sends(struct mtl_pm_peer *peer)
{
	struct mtl_pm_send *s, *next;
	int n = 0;

	while ((s = TAILQ_FIRST(&peer->sends))) {
		if (advance(s) == ENOBUFS)
			break;
		n++;
	}
	for (s = TAILQ_FIRST(&peer->streams); s; s = next) {
		next = TAILQ_NEXT(s, link);
		n += push_stream(s);
	}
	return n;
}

void mtl_pm_submit(struct mtl_pm_send *s)
{
	struct mtl_pm_peer *peer = s->peer;
	bool is_first = TAILQ_EMPTY(&peer->sends);

	s->list = &peer->sends;
	TAILQ_INSERT_TAIL(&peer->sends, s, link);
	if (is_first)
		advance(s);
	if (!TAILQ_EMPTY(&peer->sends))
		mtl_pm_peer_busy(peer);
}

/*
 * The send a peer's number stands for, if it is one that goes to that peer and waits for an answer.
 */
static struct mtl_pm_send *find_send(uint64_t id, const struct mtl_pm_peer *peer)
{
	struct mtl_pm_request *req = ids_get(&mtl_pm.ids, id);
	struct mtl_pm_send *s = req && !req->is_receive ? &req->send : NULL;

	if (!s || s->peer != peer || s->is_answered || s->list == &peer->streams ||
	    (s->list && !s->is_announced)) {
		mtl_pm.damaged++;
		return NULL;
	}
	return s;
}

void mtl_pm_on_ack(const struct envelope_control *m, struct mtl_pm_peer *peer)
{
	struct mtl_pm_send *s = find_send(m->id, peer);

	if (!s)
		return;
	s->is_answered = true;
	s->answer = m->error ? EIO : 0;
	if (s->is_in_burst)
		mtl_pm_on_read(peer);
	if (!s->list)
		wait_for_answer(s);
}

void mtl_pm_on_pull(const struct envelope_pull *m, struct mtl_pm_peer *peer)
{
	struct mtl_pm_send *s = find_send(m->base.id, peer);

	if (!s)
		return;
	if (!s->is_announced) {
		mtl_pm.damaged++;
		return;
	}
	if (s->is_in_burst)
		mtl_pm_on_unread(peer);
	s->is_answered = true;
	s->answer = 0;
	s->remote = m->reply;
	s->wanted = m->wanted < s->length ? m->wanted : s->length;
	if (s->list)
		return;
	wait_for_answer(s);
	if (s->list)
		push_stream(s);
}
