// SPDX-License-Identifier: BSD-3-Clause
/* btl_pm_module - the BTL as a user of mtl/pm's context. */
#include "mpi-glue/btl/btl_pm.h"

#include <stdlib.h>

static const struct mtl_pm_client client = {
	.arrive = btl_pm_arrive,
	.poll = btl_pm_poll,
	.died = btl_pm_on_death,
	.progress = btl_pm_progress,
	.is_idle = btl_pm_is_idle,
	.met_again = btl_pm_met_again,
};

static void init_lists(void)
{
	TAILQ_INIT(&btl_pm.busy);
	TAILQ_INIT(&btl_pm.running);
	TAILQ_INIT(&btl_pm.pulls);
	STAILQ_INIT(&btl_pm.arrivals);
	STAILQ_INIT(&btl_pm.ended);
	STAILQ_INIT(&btl_pm.over);
	STAILQ_INIT(&btl_pm.free_small);
	STAILQ_INIT(&btl_pm.free_large);
	STAILQ_INIT(&btl_pm.free_operations);
	STAILQ_INIT(&btl_pm.free_batches);
	ids_init(&btl_pm.operations);
	ids_init(&btl_pm.regions);
}

/* The address was published. The others must know that btl/pm takes what they send as well. */
static int publish_presence(void)
{
	char here = 1;
	int rc;

	OPAL_MODEX_SEND(rc, MTL_PM_SCOPE_GLOBAL, &mca_btl_pm_component.btl_version, &here,
			sizeof(here));
	if (rc != OPAL_SUCCESS)
		opal_output(0, "btl/pm: %s: the launcher refused what it publishes (PMIx put)",
			    ompi_process_info.nodename);
	return rc;
}

int btl_pm_open(bool wants_threads)
{
	int rc;

	mtl_pm.tells_why = true;
	mtl_pm_help_find();
	rc = mtl_pm_open(wants_threads);
	if (rc != OMPI_SUCCESS)
		return rc;
	rc = publish_presence();
	if (rc != OPAL_SUCCESS) {
		mtl_pm_close();
		return rc;
	}
	init_lists();
	btl_pm.is_open = true;
	btl_pm.is_closing = false;
	btl_pm.died = NULL;
	btl_pm.watch_ns = 0;
	mtl_pm.client = &client;
	return OPAL_SUCCESS;
}

/*
 * The program has ended, and the others are gone or going. Nobody closes before all that was sent
 * has been acknowledged. The components of Open MPI that wanted callbacks may be unloaded already.
 */
int btl_pm_finalize(mca_btl_base_module_t *btl)
{
	if (!btl_pm.is_open)
		return OPAL_SUCCESS;
	btl_pm.is_closing = true;
	while (!TAILQ_EMPTY(&btl_pm.busy))
		mtl_pm_progress();
	mtl_pm_part();
	mtl_pm.client = NULL;
	mtl_pm.has_client_work = mtl_pm.is_client_due = mtl_pm.serves_client = false;
	btl_pm.is_open = false;
	btl_pm_bury_all();
	btl_pm_arrivals_free();
	mtl_pm_close();
	btl_pm_pulls_free();
	btl_pm_operations_free();
	btl_pm_descriptors_free();
	ids_fini(&btl_pm.operations);
	ids_fini(&btl_pm.regions);
	return OPAL_SUCCESS;
}
