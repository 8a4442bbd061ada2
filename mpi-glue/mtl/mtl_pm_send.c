/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_send - the sending side of every protocol of envelope.h.
 *
 * Short messages go out in one datagram at once, without a request where MPI allows it. All others,
 * and those PM has no room for, wait in the peer's list, so that messages to one peer are handed
 * over in the order MPI saw them.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_parts.h"

#include "opal/runtime/opal_progress.h"
#include "ompi/constants.h"
#include "pmcore/util/copy.h"

#include <errno.h>
#include <string.h>

/* DATA datagrams per call and message: others must have their turn. At MTU 1500 one segmented message takes so many. */
#define STREAM_BURST 44
/* Bytes sent between two polls, at most: a receiver that holds too much may have asked us to keep our data. */
#define DEAF_BYTES (256 << 10)
/* A message of a burst that is announced counts as so many: a receiver that reads some of them is served meanwhile. */
#define ANNOUNCED_BYTES (16 << 10)
/* Announcements to one process of this host without a poll, at most: their ends have to be taken. */
#define ANNOUNCED_MAX 256

/* A message that is cheaper to gather here than to reserve room for: it fits two cells of shared memory. */
struct short_message {
	struct envelope e;
	char data[40];
};

static inline int post_short(const struct mtl_pm_peer *peer, uint32_t context, int32_t rank,
			     int32_t tag, const char *data, size_t length)
{
	struct short_message m;

	m.e.kind_context = envelope_pack(ENVELOPE_EAGER, context);
	m.e.source = rank;
	m.e.tag = tag;
	m.e.pad = 0;
	copy_bytes(m.data, data, length);
	return pmPost(mtl_pm.ctx, peer->node, &m, sizeof(m.e) + length);
}

/* The same for one that is not gathered here: PM puts the envelope in front of it. */
static int post_with_head(const struct mtl_pm_peer *peer, uint32_t context, int32_t rank,
			  int32_t tag, const char *data, size_t length)
{
	const struct envelope e = {
		.kind_context = envelope_pack(ENVELOPE_EAGER, context), .source = rank, .tag = tag};
	size_t done;

	return pmPostRow(mtl_pm.ctx, peer->node, &e, sizeof(e), data, length, length, &done);
}

static int send_eager(struct mtl_pm_send *s)
{
	struct envelope e;

	if (s->data && s->length <= sizeof(((struct short_message *)0)->data))
		return post_short(s->peer, s->context, s->rank, s->tag, s->data, s->length);
	if (s->data && s->length <= s->peer->post_limit)
		return post_with_head(s->peer, s->context, s->rank, s->tag, s->data, s->length);
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
 * The window to a peer may be smaller than a message in many parts, or than a burst that is not held. PM gives
 * out the rest as acks come, at our polls: so the program stays in its MPI_Wait until then, or the receiver
 * would wait for its next one.
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

/* Others run on our core: seen by our yields, or known to Open MPI, whose launcher counted ranks and cores. */
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
	} else if (is_eager(s)) {
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

/* The next part of a stream; true: some of it has left. The head may have brought all that is wanted, or more. */
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

static void init(struct mtl_pm_request *req, struct mtl_pm_peer *peer,
		 struct ompi_communicator_t *comm, int tag, struct opal_convertor_t *convertor,
		 mca_pml_base_send_mode_t mode)
{
	struct mtl_pm_send *s = &req->send;

	req->is_receive = false;
	req->is_long = false;
	s->peer = peer;
	s->source = convertor;
	s->data = mtl_pm_data_of(convertor);
	s->has_layout = !s->data && mtl_pm_begin_layout(convertor, &s->walk);
	s->length = convertor->local_size;
	s->sent = 0;
	s->head = 0;
	s->wanted = 0;
	s->id = 0;
	s->context = mtl_pm_context_id(comm);
	s->rank = comm->c_my_rank;
	s->tag = tag;
	s->is_sync = mode == MCA_PML_BASE_SEND_SYNCHRONOUS;
	s->is_in_burst = false;
	s->is_announced = false;
	s->is_answered = false;
	s->is_exposed = false;
	s->list = NULL;
}

static void submit(struct mtl_pm_send *s)
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

/* A program may send for long before it waits for anything, which is when Open MPI polls. */
static inline void poll_at_times(size_t length)
{
	if ((mtl_pm.deaf_bytes += sizeof(struct mtl_pm_message) + length) > DEAF_BYTES)
		mtl_pm_poll_in_burst();
}

/*
 * Receivers in this host need no service to read. A poll between two announcements would read all that they have
 * announced, while they wait for what we have not announced yet.
 */
static bool is_announced_here(const struct mtl_pm_peer *peer, size_t length)
{
	return peer->ways && length >= WAYS_MIN && peer->announced < ANNOUNCED_MAX &&
	       ((ssize_t)length > peer->middle_limit || mtl_pm_is_read_by(peer, length));
}

/* After the start of a send that the program does not wait for. */
static void poll_between(const struct mtl_pm_peer *peer, size_t length, bool is_in_burst)
{
	if (is_announced_here(peer, length))
		return;
	/* receivers that read the first of many long messages are served while the others start */
	if (is_in_burst)
		poll_at_times(ANNOUNCED_BYTES);
	else if (mtl_pm.exposed > 1)
		mtl_pm_poll_in_burst();
	else
		poll_at_times(length);
}

/* Sends the whole message now, without a request, if nothing stands in the way. */
static inline bool try_at_once(struct mtl_pm_peer *peer, struct ompi_communicator_t *comm, int tag,
			       const char *data, size_t length)
{
	struct envelope *e;
	pmDesc desc;

	if (OPAL_UNLIKELY((ssize_t)length > peer->eager_limit || !data ||
			  !TAILQ_EMPTY(&peer->sends)))
		return false;
	if (OPAL_LIKELY(length <= sizeof(((struct short_message *)0)->data)))
		return !post_short(peer, mtl_pm_context_id(comm), comm->c_my_rank, tag, data,
				   length);
	if (length <= peer->post_limit)
		return !post_with_head(peer, mtl_pm_context_id(comm), comm->c_my_rank, tag, data,
				       length);
	if (peer->ways && length >= WAYS_MIN)
		return false;
	if (OPAL_UNLIKELY(pmGetSendBuffer(mtl_pm.ctx, peer->node, sizeof(*e) + length, (void **)&e,
					  &desc)))
		return false;
	e->kind_context = envelope_pack(ENVELOPE_EAGER, mtl_pm_context_id(comm));
	e->source = comm->c_my_rank;
	e->tag = tag;
	e->pad = 0;
	copy_bytes(e + 1, data, length);
	return pmSend(mtl_pm.ctx, desc) == 0;
}

/* The same with a request, which is complete then. A burst would hold the message. */
static inline bool isend_at_once(struct mtl_pm_request *req, struct mtl_pm_peer *peer,
				 struct ompi_communicator_t *comm, int tag,
				 const struct opal_convertor_t *convertor,
				 mca_pml_base_send_mode_t mode)
{
	if (peer->gathers || mtl_pm.burst || mode == MCA_PML_BASE_SEND_SYNCHRONOUS ||
	    !try_at_once(peer, comm, tag, mtl_pm_data_of(convertor), convertor->local_size))
		return false;
	/* a program may still ask to cancel it */
	req->is_receive = false;
	req->is_long = false;
	req->super.ompi_req->req_status.MPI_ERROR = MPI_SUCCESS;
	mtl_pm_complete(req);
	return true;
}

int mtl_pm_isend(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest,
		 int tag, struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode,
		 bool blocking, mca_mtl_request_t *mtl_request)
{
	struct mtl_pm_request *req = (struct mtl_pm_request *)mtl_request;
	struct mtl_pm_peer *peer;
	size_t length;
	bool is_parked, is_in_burst = false;

	mtl_pm_enter();
	peer = mtl_pm_peer_of(comm, dest);
	if (!peer) {
		mtl_pm_leave();
		return OMPI_ERR_UNREACH;
	}
	length = convertor->local_size;
	if (!isend_at_once(req, peer, comm, tag, convertor, mode)) {
		init(req, peer, comm, tag, convertor, mode);
		if (peer->gathers || mtl_pm.burst)
			is_in_burst = mtl_pm_join_burst(peer, length, req->send.data, mode);
		req->send.is_in_burst = is_in_burst;
		mtl_pm_mark_long(req, length);
		submit(&req->send);
	}
	poll_between(peer, length, is_in_burst);
	is_parked = mtl_pm_tell_thread(length);
	mtl_pm_leave_and_unpark(is_parked);
	return OMPI_SUCCESS;
}

static void blocking_send_ended(struct mca_mtl_request_t *mtl_request)
{
	struct mtl_pm_request *req = (struct mtl_pm_request *)mtl_request;

	__atomic_store_n(&req->is_ended, true, __ATOMIC_RELEASE);
}

static int send_and_wait(struct mtl_pm_peer *peer, struct ompi_communicator_t *comm, int tag,
			 struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode)
{
	struct mtl_pm_request req = {.super.completion_callback = blocking_send_ended};

	init(&req, peer, comm, tag, convertor, mode);
	submit(&req.send);
	mtl_pm_leave();
	while (!__atomic_load_n(&req.is_ended, __ATOMIC_ACQUIRE))
		opal_progress();
	return req.error ? MPI_ERR_OTHER : OMPI_SUCCESS;
}

int mtl_pm_blocking_send(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm,
			 int dest, int tag, struct opal_convertor_t *convertor,
			 mca_pml_base_send_mode_t mode)
{
	struct mtl_pm_peer *peer;

	mtl_pm_enter();
	peer = mtl_pm_peer_of(comm, dest);
	if (OPAL_UNLIKELY(!peer)) {
		mtl_pm_leave();
		return OMPI_ERR_UNREACH;
	}
	mtl_pm_let_go();
	poll_at_times(convertor->local_size);
	if (OPAL_LIKELY(mode != MCA_PML_BASE_SEND_SYNCHRONOUS &&
			try_at_once(peer, comm, tag, mtl_pm_data_of(convertor),
				    convertor->local_size))) {
		mtl_pm_leave();
		return OMPI_SUCCESS;
	}
	return send_and_wait(peer, comm, tag, convertor, mode);
}

/* The send a peer's number stands for, if it is one that goes to that peer and waits for an answer. */
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
