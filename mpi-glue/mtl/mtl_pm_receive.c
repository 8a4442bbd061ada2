// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_receive - receives from their match to their completion, and what Open MPI's status says.
 */
#include "mpi-glue/mtl/mtl_pm.h"

#include "ompi/constants.h"

#include <errno.h>

void mtl_pm_receive_finish(struct mtl_pm_receive *r, int error)
{
	struct mtl_pm_request *req = mtl_pm_request_of_receive(r);

	if (r->id)
		ids_take(&mtl_pm.ids, r->id);
	if (r->has_way)
		mtl_pm_way_over(r, error);
	if (OPAL_UNLIKELY(error)) {
		req->super.ompi_req->req_status.MPI_ERROR = MPI_ERR_OTHER;
		if (r->peer)
			mtl_pm_show_failure(r->peer->node, "receive from", error);
	}
	mtl_pm_complete(req);
}

static void part_done(struct mtl_pm_receive *r, int error)
{
	if (OPAL_UNLIKELY(error && !r->error))
		r->error = error;
	if (!r->has_head_due && !r->has_rest_due)
		mtl_pm_receive_finish(r, r->error);
}

static void end_fetch(struct mtl_pm_receive *r)
{
	mtl_pm.n_fetches -= r->has_rest_due;
	r->has_rest_due = false;
}

void mtl_pm_receive_head_done(struct mtl_pm_receive *r, int error)
{
	r->has_head_due = false;
	if (r->is_pulled && r->got >= r->wanted)
		end_fetch(r);
	part_done(r, error);
}

void mtl_pm_receive_rest_done(struct mtl_pm_receive *r, int error)
{
	end_fetch(r);
	part_done(r, error);
}

void mtl_pm_receive_matched(struct mtl_pm_receive *r, int32_t source, int32_t tag, size_t size)
{
	ompi_status_public_t *status = &mtl_pm_request_of_receive(r)->super.ompi_req->req_status;
	bool is_cut = size > r->room;

	r->wanted = is_cut ? r->room : size;
	status->MPI_SOURCE = source;
	status->MPI_TAG = tag;
	status->MPI_ERROR = is_cut ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
	status->_ucount = r->wanted;
}

void mtl_pm_receive_head(struct mtl_pm_receive *r, const void *data, size_t size)
{
	mtl_pm_unpack(r, data, size < r->wanted ? size : r->wanted);
	mtl_pm_receive_head_done(r, 0);
}
