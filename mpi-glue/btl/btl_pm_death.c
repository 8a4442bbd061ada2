// SPDX-License-Identifier: BSD-3-Clause
/* btl_pm_death - the end of an endpoint: its process has died, or we close. */
#include "mpi-glue/btl/btl_pm.h"
#include "mpi-glue/common/job.h"

#include <stdio.h>
#include <stdlib.h>

/* Between two looks. Networks are believed when they say three times within 10 s: it is gone. */
#define WATCH_NS 1000000000ull

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
	/* Open MPI takes it as a format */
	for (char *c = text; *c; c++)
		if (*c == '%')
			*c = '?';
	if (btl_pm.on_error)
		btl_pm.on_error(&btl_pm.super, MCA_BTL_ERROR_FLAGS_FATAL, e->proc, text);
	else
		ompi_rte_abort(1, text);
}

void btl_pm_on_death(pmNode node)
{
	struct mca_btl_base_endpoint_t *e = table_get(&btl_pm.endpoints, node);
	const char *why = pmLastError();
	char text[400];

	if (!e || e->is_dead)
		return;
	snprintf(text, sizeof(text), "%s", *why ? why : "its process is gone");
	bury(e);
	if (btl_pm.is_closing || e->has_left)
		return;
	OPAL_THREAD_UNLOCK(&btl_pm.lock);
	end_job(e, text);
	OPAL_THREAD_LOCK(&btl_pm.lock);
}

static void probe_all(void)
{
	for (uint32_t i = 0; btl_pm.endpoints.slots && i <= btl_pm.endpoints.mask; i++) {
		struct mca_btl_base_endpoint_t *e = btl_pm.endpoints.slots[i].value;

		if (e && e->proc && !e->is_dead)
			(void)pmProbeNode(btl_pm.ctx, e->node);
	}
}

void btl_pm_watch(uint64_t now_ns)
{
	if (now_ns < btl_pm.watch_ns || btl_pm.is_closing)
		return;
	/* the first time nobody has been silent yet */
	if (btl_pm.watch_ns)
		probe_all();
	btl_pm.watch_ns = now_ns + WATCH_NS;
}
