// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_probe - looking at messages without receiving them, and taking receives back.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"

#include "opal/runtime/opal_progress.h"
#include "ompi/constants.h"
#include "ompi/message/message.h"

/* MPI_ERROR belongs to the caller: only calls that complete several requests may set it. */
static void tell(struct ompi_status_public_t *status, const struct mtl_pm_message *m)
{
	if (status == MPI_STATUS_IGNORE)
		return;
	status->MPI_SOURCE = m->match.source;
	status->MPI_TAG = m->match.tag;
	status->_ucount = m->size;
	status->_cancelled = 0;
}

/* Lock held: somebody waits for a message of that rank. Is it dead? */
static bool watch_rank(struct ompi_communicator_t *comm, int src)
{
	mtl_pm_watch_rank(comm, src);
	return OPAL_UNLIKELY(mtl_pm.deaths) && mtl_pm_rank_is_dead(comm, src);
}

/* One look; a miss lets progress run, so that a loop of probes sees what arrives. */
int mtl_pm_iprobe(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int src,
		  int tag, int *flag, struct ompi_status_public_t *status)
{
	for (int look = 0; look < 2; look++) {
		struct match_entry *e;
		bool is_dead = false;

		mtl_pm_enter();
		e = match_peek(mtl_pm_matching(comm), src, tag);
		if (e)
			tell(status, mtl_pm_message_of_match(e));
		else
			is_dead = watch_rank(comm, src);
		mtl_pm_leave();
		*flag = e != NULL;
		if (e)
			return OMPI_SUCCESS;
		if (is_dead)
			return MPI_ERR_OTHER;
		if (!look)
			opal_progress();
	}
	return OMPI_SUCCESS;
}

int mtl_pm_improbe(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int src,
		   int tag, int *matched, struct ompi_message_t **message,
		   struct ompi_status_public_t *status)
{
	struct ompi_message_t *handle = ompi_message_alloc();
	struct match_entry *e = NULL;
	bool is_dead = false;

	if (!handle)
		return OMPI_ERR_OUT_OF_RESOURCE;
	for (int look = 0; look < 2 && !e; look++) {
		if (look)
			opal_progress();
		mtl_pm_enter();
		e = match_claim(mtl_pm_matching(comm), src, tag);
		if (!e)
			is_dead = watch_rank(comm, src);
		mtl_pm_leave();
	}
	*matched = e != NULL;
	if (!e) {
		ompi_message_return(handle);
		*message = MPI_MESSAGE_NULL;
		return is_dead ? MPI_ERR_OTHER : OMPI_SUCCESS;
	}
	tell(status, mtl_pm_message_of_match(e));
	handle->comm = comm;
	handle->req_ptr = mtl_pm_message_of_match(e);
	handle->peer = e->source;
	handle->count = mtl_pm_message_of_match(e)->size;
	*message = handle;
	return OMPI_SUCCESS;
}

/* Receives that are still waiting are taken back. Sends are left to complete, as MPI allows. */
int mtl_pm_cancel(struct mca_mtl_base_module_t *mtl, mca_mtl_request_t *mtl_request, int flag)
{
	struct mtl_pm_request *req = (struct mtl_pm_request *)mtl_request;

	mtl_pm_enter();
	if (req->is_receive && match_cancel(&req->receive.match)) {
		ompi_status_public_t *status = &req->super.ompi_req->req_status;

		status->_cancelled = true;
		status->_ucount = 0;
		mtl_pm_receive_finish(&req->receive, 0);
	}
	mtl_pm_leave();
	return OMPI_SUCCESS;
}
