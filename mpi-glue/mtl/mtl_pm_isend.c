// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_isend - Open MPI's calls that send. A short message leaves in one datagram at once,
 * without a request where MPI allows it. Between two sends PM is polled at times, as a program may
 * send for long before it waits.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"
#include "mpi-glue/mtl/mtl_pm_orders.h"
#include "mpi-glue/mtl/mtl_pm_short.h"
#include "mpi-glue/mtl/mtl_pm_suspend.h"

#include "opal/runtime/opal_progress.h"
#include "ompi/constants.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/copy.h"

/*
 * Bytes sent between two polls, at most: a receiver that holds too much may have asked us to keep
 * our data.
 */
#define DEAF_BYTES (256 << 10)
/*
 * A message of a burst that is announced counts as so many: a receiver that reads some of them is
 * served meanwhile.
 */
#define ANNOUNCED_BYTES (16 << 10)
/*
 * Announcements to one process of this host without a poll, at most: their ends have to be taken.
 */
#define ANNOUNCED_MAX 256
/* A blocking send of so many bytes that waits for room leaves other parts of Open MPI alone. */
#define OWN_WAIT_BYTES 4096u
#define OWN_WAIT_NS 100000000u

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

/* A rank that only sends short messages never waits, and Open MPI makes no progress for it. */
static inline void look_at_orders(void)
{
	if (OPAL_UNLIKELY(mtl_pm_order_is_due()))
		mtl_pm_suspend();
}

/* A program may send for long before it waits for anything, which is when Open MPI polls. */
static inline void poll_at_times(size_t length)
{
	if ((mtl_pm.deaf_bytes += sizeof(struct mtl_pm_message) + length) > DEAF_BYTES)
		mtl_pm_poll_in_burst();
}

/*
 * Receivers in this host need no service to read. A poll between two announcements would read all
 * that they have announced, while they wait for what we have not announced yet.
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
	if (OPAL_LIKELY(length <= sizeof(((struct mtl_pm_short *)0)->data)))
		return !mtl_pm_post_short(peer, mtl_pm_context_id(comm), comm->c_my_rank, tag, data,
					  length);
	if (length <= peer->post_limit)
		return !mtl_pm_post_with_head(peer, mtl_pm_context_id(comm), comm->c_my_rank, tag,
					      data, length);
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

	look_at_orders();
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
		mtl_pm_submit(&req->send);
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

/*
 * A short message waits for room, by our own progress for a while: osc/pt2pt sends so in a
 * callback, under a lock for which the callbacks that opal_progress would call wait for ever.
 */
static int send_and_wait(struct mtl_pm_peer *peer, struct ompi_communicator_t *comm, int tag,
			 struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode)
{
	struct mtl_pm_request req = {.super.completion_callback = blocking_send_ended};
	bool is_own = convertor->local_size <= OWN_WAIT_BYTES &&
		      mode != MCA_PML_BASE_SEND_SYNCHRONOUS;
	uint64_t began_ns = 0;

	init(&req, peer, comm, tag, convertor, mode);
	mtl_pm_submit(&req.send);
	mtl_pm_leave();
	while (!__atomic_load_n(&req.is_ended, __ATOMIC_ACQUIRE)) {
		if (is_own && !began_ns)
			began_ns = clock_monotonic_ns();
		is_own = is_own && clock_monotonic_ns() - began_ns < OWN_WAIT_NS;
		if (is_own)
			mtl_pm_progress();
		else
			opal_progress();
	}
	return req.error ? MPI_ERR_OTHER : OMPI_SUCCESS;
}

int mtl_pm_blocking_send(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm,
			 int dest, int tag, struct opal_convertor_t *convertor,
			 mca_pml_base_send_mode_t mode)
{
	struct mtl_pm_peer *peer;

	look_at_orders();
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
