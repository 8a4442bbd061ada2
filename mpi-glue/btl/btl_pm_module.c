// SPDX-License-Identifier: BSD-3-Clause
/* btl_pm_module - opening and closing the PM context. */
#include "mpi-glue/btl/btl_pm.h"
#include "mpi-glue/common/job.h"

#include "opal/runtime/opal_progress.h"

#include <errno.h>
#include <stdlib.h>

/* How long finalize waits for peers to acknowledge what was sent to them. */
#define QUIESCE_MS 10000

static void init_lists(void)
{
	TAILQ_INIT(&btl_pm.busy);
	TAILQ_INIT(&btl_pm.running);
	STAILQ_INIT(&btl_pm.ended);
	STAILQ_INIT(&btl_pm.over);
	STAILQ_INIT(&btl_pm.free_small);
	STAILQ_INIT(&btl_pm.free_large);
	STAILQ_INIT(&btl_pm.free_operations);
	ids_init(&btl_pm.operations);
	ids_init(&btl_pm.regions);
	OBJ_CONSTRUCT(&btl_pm.lock, opal_mutex_t);
}

static int say_unusable(const char *what, const char *why)
{
	opal_output(0, "btl/pm: %s: cannot %s: %s", ompi_process_info.nodename, what, why);
	return OPAL_ERR_NOT_AVAILABLE;
}

static int publish_address(void)
{
	char address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);
	int rc = pmGetAddress(btl_pm.ctx, address, &len);

	if (rc)
		return say_unusable("give its address", pmLastError());
	OPAL_MODEX_SEND(rc, MTL_PM_SCOPE_GLOBAL, &mca_btl_pm_component.btl_version, address, len);
	return rc == OPAL_SUCCESS
		       ? rc
		       : say_unusable("publish its address", "the launcher refused it (PMIx put)");
}

int btl_pm_open(void)
{
	struct pmOptions options = {
		.size = sizeof(options),
		.nodes = (uint32_t)ompi_process_info.num_procs,
		.local = ((uint32_t)ompi_process_info.num_local_peers + 1) * mtl_pm_contexts(),
		.resolver = btl_pm_resolve,
	};
	int rc;

	if (mtl_pm_find_key(&options.job_key))
		return say_unusable("find the job key", MTL_PM_NO_KEY);
	if (job_node(mtl_pm_local_job(OMPI_PROC_MY_NAME->jobid), OMPI_PROC_MY_NAME->vpid,
		     &options.self))
		return say_unusable("number its processes",
				    "at most 1048576 ranks per job and 2046 jobs per mpirun are "
				    "possible; start another mpirun");
	options.self |= JOB_SECOND;
	rc = pmOpenContext(&options, &btl_pm.ctx);
	if (rc) {
		const char *why = pmLastError();

		btl_pm.ctx = PM_CONTEXT_NONE;
		return say_unusable("open PM", *why ? why : pmErrorString(rc));
	}
	init_lists();
	btl_pm.is_closing = btl_pm.is_corked = false;
	btl_pm.watch_ns = 0;
	rc = publish_address();
	if (rc != OPAL_SUCCESS) {
		pmCloseContext(btl_pm.ctx);
		btl_pm.ctx = PM_CONTEXT_NONE;
		OBJ_DESTRUCT(&btl_pm.lock);
	}
	return rc;
}

/*
 * A process that closed cannot acknowledge any more, so nobody closes before all have been
 * acknowledged. The program has ended, and the others are gone or going.
 */
static void part_from_peers(void)
{
	volatile bool active = true;

	btl_pm.is_closing = true;
	while (!TAILQ_EMPTY(&btl_pm.busy))
		btl_pm_progress();
	if (pmQuiesce(btl_pm.ctx, QUIESCE_MS) == ETIMEDOUT)
		opal_output(0, "btl/pm: %s: peers have not acknowledged all messages for %d s",
			    ompi_process_info.nodename, QUIESCE_MS / 1000);
	pmResume(btl_pm.ctx);
	if (ompi_process_info.num_procs < 2 || mtl_pm_fence_start(&active))
		return;
	while (active) {
		btl_pm_progress();
		opal_progress();
	}
}

int btl_pm_finalize(mca_btl_base_module_t *btl)
{
	if (btl_pm.ctx == PM_CONTEXT_NONE)
		return OPAL_SUCCESS;
	part_from_peers();
	pmCloseContext(btl_pm.ctx);
	btl_pm.ctx = PM_CONTEXT_NONE;
	btl_pm_bury_all();
	btl_pm_operations_free();
	btl_pm_descriptors_free();
	ids_fini(&btl_pm.operations);
	ids_fini(&btl_pm.regions);
	free(btl_pm.resolved);
	btl_pm.resolved = NULL;
	OBJ_DESTRUCT(&btl_pm.lock);
	return OPAL_SUCCESS;
}
