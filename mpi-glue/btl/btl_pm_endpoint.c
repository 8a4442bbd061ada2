// SPDX-License-Identifier: BSD-3-Clause
/*
 * btl_pm_endpoint - one struct per process that we talk with: made when Open MPI names it, or when
 * it writes to us before. mtl/pm's peer leads to it. Owns the module object.
 */
#include "mpi-glue/btl/btl_pm.h"
#include "mpi-glue/common/job.h"

#include <stdlib.h>
#include <string.h>

struct btl_pm btl_pm;

/* The way to it: what it takes. */
static void look_at_way(struct mca_btl_base_endpoint_t *e)
{
	const char *device;

	e->mtu = e->peer->mtu;
	if (pmGetLongRead(mtl_pm.ctx, e->node, &e->pull_from))
		e->pull_from = 0;
	e->is_direct = !pmGetDeviceName(mtl_pm.ctx, e->node, &device) && !strcmp(device, "verbs");
}

void btl_pm_met_again(struct mtl_pm_peer *peer)
{
	btl_pm.watch_ns = 0;
	if (peer->of_client)
		look_at_way(peer->of_client);
}

struct mca_btl_base_endpoint_t *btl_pm_endpoint(struct mtl_pm_peer *peer)
{
	struct mca_btl_base_endpoint_t *e = peer->of_client;

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->peer = peer;
	e->node = peer->node;
	e->is_dead = peer->is_dead;
	look_at_way(e);
	STAILQ_INIT(&e->sends);
	STAILQ_INIT(&e->waiting);
	STAILQ_INIT(&e->answers);
	peer->of_client = e;
	return e;
}

/* Whether the process uses btl/pm. */
static bool is_present(const opal_process_name_t *name)
{
	void *bytes = NULL;
	size_t len = 0;
	int rc;

	OPAL_MODEX_RECV(rc, &mca_btl_pm_component.btl_version, name, &bytes, &len);
	free(bytes);
	return rc == OPAL_SUCCESS && len;
}

/* NULL: no way leads there, or it does not use btl/pm. */
static struct mca_btl_base_endpoint_t *endpoint_of(opal_proc_t *proc)
{
	const opal_process_name_t *name = &proc->proc_name;
	struct mca_btl_base_endpoint_t *e;
	struct mtl_pm_peer *peer;
	uint32_t node;

	if (mtl_pm_is_foreign(name->jobid) ||
	    job_node(mtl_pm_local_job(name->jobid), name->vpid, &node) || !is_present(name))
		return NULL;
	peer = mtl_pm_peer_of_node(node);
	e = peer ? btl_pm_endpoint(peer) : NULL;
	if (e) {
		e->proc = proc;
		e->has_left = false;
	}
	return e;
}

int btl_pm_add_procs(mca_btl_base_module_t *btl, size_t n, opal_proc_t **procs,
		     struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
	mtl_pm_enter();
	for (size_t i = 0; i < n; i++) {
		endpoints[i] = endpoint_of(procs[i]);
		if (endpoints[i] && reachable)
			opal_bitmap_set_bit(reachable, (int)i);
	}
	mtl_pm_leave();
	return OPAL_SUCCESS;
}

/* It stays in our table: late messages may still come from its node. */
int btl_pm_del_procs(mca_btl_base_module_t *btl, size_t n, opal_proc_t **procs,
		     struct mca_btl_base_endpoint_t **endpoints)
{
	mtl_pm_enter();
	for (size_t i = 0; i < n; i++) {
		if (!endpoints[i])
			continue;
		endpoints[i]->proc = NULL;
		endpoints[i]->has_left = true;
	}
	mtl_pm_leave();
	return OPAL_SUCCESS;
}

void btl_pm_endpoint_busy(struct mca_btl_base_endpoint_t *e)
{
	if (e->is_busy)
		return;
	e->is_busy = true;
	mtl_pm.has_client_work = true;
	TAILQ_INSERT_TAIL(&btl_pm.busy, e, busy);
}

void btl_pm_no_memory(void)
{
	static char text[] = "btl/pm: no memory for a message; run fewer ranks on this host";

	ompi_rte_abort(1, text);
	abort();
}
