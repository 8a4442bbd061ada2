// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_irecv - Open MPI's calls that receive: a receive takes a message that waits for it, or is
 * posted.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"

#include "ompi/constants.h"
#include "ompi/message/message.h"

static void init(struct mtl_pm_request *req, struct opal_convertor_t *convertor)
{
	struct mtl_pm_receive *r = &req->receive;

	req->is_receive = true;
	req->is_long = false;
	r->target = convertor;
	r->data = mtl_pm_room_of(convertor);
	r->has_layout = !r->data && mtl_pm_begin_layout(convertor, &r->walk);
	r->room = convertor->local_size;
	r->got = 0;
	r->id = 0;
	r->peer = NULL;
	r->has_head_due = false;
	r->has_rest_due = false;
	r->has_way = false;
	r->is_pulled = false;
	r->error = 0;
}

/* A receive takes a message that was waiting for it. */
static void take(struct mtl_pm_request *req, struct mtl_pm_message *m)
{
	struct mtl_pm_receive *r = &req->receive;

	mtl_pm_receive_matched(r, m->match.source, m->match.tag, m->size);
	r->has_head_due = true;
	if (m->is_rts)
		mtl_pm_fetch(r, m->peer, m->remote, &m->handle, m->head, m->size, 0);
	else if (m->remote)
		mtl_pm_note_control(m->peer, ENVELOPE_ACK, m->remote, 0);
	if (m->got < m->head) {
		m->claimed = req;
		return;
	}
	mtl_pm_receive_head(r, m->data, m->head);
	mtl_pm_message_free(m);
}

/*
 * pml/cm's blocking receive lies on the stack, its request below the status part; elsewhere the
 * status part comes first. A hint only: wrong, it costs time.
 */
static bool is_blocking(const struct mtl_pm_request *req)
{
	return (uintptr_t)req < (uintptr_t)req->super.ompi_req;
}

/* The request was never posted. */
static int forget(struct mtl_pm_request *req, int error)
{
	mtl_pm.n_long -= req->is_long;
	req->is_long = false;
	return error;
}

int mtl_pm_irecv(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int src,
		 int tag, struct opal_convertor_t *convertor, mca_mtl_request_t *mtl_request)
{
	struct mtl_pm_request *req = (struct mtl_pm_request *)mtl_request;
	struct match_context *matching = mtl_pm_matching(comm);
	struct match_entry *e;
	int rc = OMPI_SUCCESS;
	bool is_parked;

	mtl_pm_enter();
	init(req, convertor);
	if (!is_blocking(req))
		mtl_pm_mark_long(req, req->receive.room);
	e = match_has_messages(matching) ? match_claim(matching, src, tag) : NULL;
	if (e) {
		take(req, mtl_pm_message_of_match(e));
	} else if (OPAL_UNLIKELY(mtl_pm.deaths) && mtl_pm_rank_is_dead(comm, src)) {
		rc = forget(req, MPI_ERR_OTHER);
	} else {
		req->receive.match.source = src;
		req->receive.match.tag = tag;
		if (OPAL_UNLIKELY(match_post(matching, &req->receive.match)))
			rc = forget(req, OMPI_ERR_OUT_OF_RESOURCE);
		if (is_blocking(req) && !mtl_pm.has_lock && !mtl_pm.idle.is_shared) {
			mtl_pm_linger(req->super.ompi_req);
			return rc;
		}
	}
	is_parked = req->is_long && mtl_pm_tell_thread(req->receive.room);
	mtl_pm_leave_and_unpark(is_parked);
	return rc;
}

int mtl_pm_imrecv(struct mca_mtl_base_module_t *mtl, struct opal_convertor_t *convertor,
		  struct ompi_message_t **message, mca_mtl_request_t *mtl_request)
{
	struct mtl_pm_request *req = (struct mtl_pm_request *)mtl_request;
	struct mtl_pm_message *m = (*message)->req_ptr;
	size_t room;
	bool is_parked;

	mtl_pm_enter();
	init(req, convertor);
	mtl_pm_mark_long(req, req->receive.room);
	room = req->receive.room;
	take(req, m);
	is_parked = mtl_pm_tell_thread(room);
	mtl_pm_leave_and_unpark(is_parked);
	ompi_message_return(*message);
	*message = MPI_MESSAGE_NULL;
	return OMPI_SUCCESS;
}
