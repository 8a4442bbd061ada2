// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_module - Open MPI's news about processes and communicators. Owns the module object.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"

#include "ompi/constants.h"

#include <limits.h>
#include <stdlib.h>

struct mtl_pm mtl_pm = {
	.super =
		{
			.mtl_max_contextid = ENVELOPE_CONTEXT_MAX,
			.mtl_max_tag = INT_MAX,
			.mtl_request_size =
				sizeof(struct mtl_pm_request) - sizeof(struct mca_mtl_request_t),
			.mtl_add_procs = mtl_pm_add_procs,
			.mtl_del_procs = mtl_pm_del_procs,
			.mtl_finalize = mtl_pm_finalize,
			.mtl_send = mtl_pm_blocking_send,
			.mtl_isend = mtl_pm_isend,
			.mtl_irecv = mtl_pm_irecv,
			.mtl_iprobe = mtl_pm_iprobe,
			.mtl_imrecv = mtl_pm_imrecv,
			.mtl_improbe = mtl_pm_improbe,
			.mtl_cancel = mtl_pm_cancel,
			.mtl_add_comm = mtl_pm_add_comm,
			.mtl_del_comm = mtl_pm_del_comm,
		},
	.ctx = PM_CONTEXT_NONE,
};

/* Peers are made at first contact; a job of any size costs nothing here. */
int mtl_pm_add_procs(struct mca_mtl_base_module_t *mtl, size_t nprocs, struct ompi_proc_t **procs)
{
	return OMPI_SUCCESS;
}

/* The peer stays in our table: late control messages may still come from its node. */
int mtl_pm_del_procs(struct mca_mtl_base_module_t *mtl, size_t nprocs, struct ompi_proc_t **procs)
{
	for (size_t i = 0; i < nprocs; i++)
		procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL] = NULL;
	return OMPI_SUCCESS;
}

int mtl_pm_add_comm(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm)
{
	struct mtl_pm_comm *c = malloc(sizeof(*c));

	if (!c)
		return OMPI_ERR_OUT_OF_RESOURCE;
	mtl_pm_enter();
	c->comm = comm;
	mtl_pm.is_used = true;
	/* Messages of faster processes may have made it already. */
	c->matching = match_context(&mtl_pm.match, mtl_pm_context_id(comm));
	if (c->matching)
		TAILQ_INSERT_TAIL(&mtl_pm.comms, c, link);
	mtl_pm_leave();
	if (!c->matching) {
		free(c);
		return OMPI_ERR_OUT_OF_RESOURCE;
	}
	comm->c_pml_comm = (void *)c;
	return OMPI_SUCCESS;
}

/* Only messages nobody has received can be left: receives on a freed communicator have ended. */
static void drop_entry(void *arg, struct match_entry *e, bool is_message)
{
	if (is_message)
		mtl_pm_message_drop(mtl_pm_message_of_match(e));
}

int mtl_pm_del_comm(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm)
{
	struct mtl_pm_comm *c = (struct mtl_pm_comm *)comm->c_pml_comm;

	if (!c)
		return OMPI_SUCCESS;
	mtl_pm_enter();
	TAILQ_REMOVE(&mtl_pm.comms, c, link);
	match_drop_context(&mtl_pm.match, c->matching->id, drop_entry, NULL);
	mtl_pm_leave();
	comm->c_pml_comm = NULL;
	free(c);
	return OMPI_SUCCESS;
}

int mtl_pm_finalize(struct mca_mtl_base_module_t *mtl)
{
	if (mtl_pm.ctx == PM_CONTEXT_NONE)
		return OMPI_SUCCESS;
	/* Without communicators pml/cm was only tried, not chosen: nothing to part from. */
	if (mtl_pm.is_used)
		mtl_pm_part();
	mtl_pm.is_used = false;
	mtl_pm_close();
	return OMPI_SUCCESS;
}
