// SPDX-License-Identifier: BSD-3-Clause
/* btl_pm_death - the end of an endpoint: its process has died, or we close. */
#include "mpi-glue/btl/btl_pm.h"
#include "mpi-glue/common/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	const struct table *peers = &mtl_pm.peers;

	for (uint32_t i = 0; peers->slots && i <= peers->mask; i++) {
		struct mtl_pm_peer *peer = peers->slots[i].value;
		struct mca_btl_base_endpoint_t *e = peer ? peer->of_client : NULL;

		if (!e)
			continue;
		bury(e);
		free(e->why);
		free(e);
		peer->of_client = NULL;
	}
}

void btl_pm_on_death(struct mtl_pm_peer *peer, const char *why)
{
	struct mca_btl_base_endpoint_t *e = peer->of_client;

	if (!e || e->is_dead)
		return;
	bury(e);
	if (btl_pm.is_closing || e->has_left)
		return;
	e->why = strdup(*why ? why : "its process is gone");
	btl_pm.died = e;
	mtl_pm.is_client_due = true;
}

/* The others of the job would wait for it for ever. */
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

void btl_pm_tell_death(void)
{
	struct mca_btl_base_endpoint_t *e;
	char *why = NULL;

	mtl_pm_enter();
	e = btl_pm.died;
	btl_pm.died = NULL;
	if (e) {
		why = e->why;
		e->why = NULL;
	}
	mtl_pm_leave();
	if (e)
		end_job(e, why ? why : "its process is gone");
	free(why);
}

static void probe_all(void)
{
	const struct table *peers = &mtl_pm.peers;

	for (uint32_t i = 0; peers->slots && i <= peers->mask; i++) {
		const struct mtl_pm_peer *peer = peers->slots[i].value;
		const struct mca_btl_base_endpoint_t *e = peer ? peer->of_client : NULL;

		if (e && e->proc && !e->is_dead)
			(void)pmProbeNode(mtl_pm.ctx, e->node);
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
