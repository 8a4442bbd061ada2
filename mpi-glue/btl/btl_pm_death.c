// SPDX-License-Identifier: BSD-3-Clause
/* btl_pm_death - the end of an endpoint: its process has died, or we close. */
#include "mpi-glue/btl/btl_pm.h"
#include "mpi-glue/common/job.h"

#include <stdio.h>
#include <stdlib.h>

static void bury(struct mca_btl_base_endpoint_t *e)
{
	e->is_dead = true;
	btl_pm_drop_sends(e);
	btl_pm_drop_answers(e);
	btl_pm_drop_operations(e);
	free(e->parts);
	e->parts = NULL;
}

void btl_pm_bury_all(void)
{
	for (uint32_t i = 0; btl_pm.endpoints.slots && i <= btl_pm.endpoints.mask; i++) {
		struct mca_btl_base_endpoint_t *e = btl_pm.endpoints.slots[i].value;

		if (!e)
			continue;
		bury(e);
		free(e);
	}
	table_fini(&btl_pm.endpoints);
}

/* The others of the job would wait for it for ever, so the job ends, with a sentence. */
static void end_job(struct mca_btl_base_endpoint_t *e, const char *why)
{
	char text[512];

	snprintf(text, sizeof(text), "btl/pm: rank %u: %s", job_node_rank(e->node), why);
	if (btl_pm.on_error)
		btl_pm.on_error(&btl_pm.super, MCA_BTL_ERROR_FLAGS_FATAL, e->proc, text);
	else
		mtl_pm_fatal("%s", text);
}

void btl_pm_on_death(pmNode node)
{
	struct mca_btl_base_endpoint_t *e = btl_pm_endpoint(node);
	const char *why = pmLastError();
	char text[400];

	if (!e || e->is_dead)
		return;
	snprintf(text, sizeof(text), "%s", *why ? why : "its process is gone");
	bury(e);
	OPAL_THREAD_UNLOCK(&btl_pm.lock);
	end_job(e, text);
	OPAL_THREAD_LOCK(&btl_pm.lock);
}
