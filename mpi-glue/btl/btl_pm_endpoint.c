// SPDX-License-Identifier: BSD-3-Clause
/*
 * btl_pm_endpoint - one struct per process that we talk with: made when Open MPI names it, or when
 * it writes to us before. Owns the module object, whose lists they are in.
 */
#include "mpi-glue/btl/btl_pm.h"
#include "mpi-glue/common/job.h"

#include <errno.h>
#include <stdlib.h>

struct btl_pm btl_pm = {.ctx = PM_CONTEXT_NONE};

static int address_of(const opal_process_name_t *name, void **ret_address, size_t *ret_len)
{
	int rc;

	*ret_address = NULL;
	*ret_len = 0;
	OPAL_MODEX_RECV(rc, &mca_btl_pm_component.btl_version, name, ret_address, ret_len);
	return rc == OPAL_SUCCESS && *ret_address ? 0 : EHOSTUNREACH;
}

int btl_pm_resolve(void *arg, pmNode node, const void **ret_addr, size_t *ret_len)
{
	opal_process_name_t name = mtl_pm_name_of_node(node);
	void *address;
	int rc = address_of(&name, &address, ret_len);

	if (rc)
		return rc;
	free(btl_pm.resolved);
	btl_pm.resolved = address;
	*ret_addr = address;
	return 0;
}

struct mca_btl_base_endpoint_t *btl_pm_endpoint(pmNode node)
{
	struct mca_btl_base_endpoint_t *e = table_get(&btl_pm.endpoints, node);
	size_t mtu;

	if (e)
		return e;
	if (pmGetMtu(btl_pm.ctx, node, &mtu))
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e || table_put(&btl_pm.endpoints, node, e)) {
		free(e);
		return NULL;
	}
	e->node = node;
	e->mtu = mtu;
	STAILQ_INIT(&e->sends);
	STAILQ_INIT(&e->waiting);
	STAILQ_INIT(&e->answers);
	return e;
}

/* NULL: no way leads there, or it does not use btl/pm. */
static struct mca_btl_base_endpoint_t *endpoint_of(opal_proc_t *proc)
{
	const opal_process_name_t *name = &proc->proc_name;
	struct mca_btl_base_endpoint_t *e;
	void *address;
	size_t len;
	uint32_t node;

	if (mtl_pm_is_foreign(name->jobid) ||
	    job_node(mtl_pm_local_job(name->jobid), name->vpid, &node) ||
	    address_of(name, &address, &len))
		return NULL;
	free(address);
	e = btl_pm_endpoint(node | JOB_SECOND);
	if (e) {
		e->proc = proc;
		e->has_left = false;
	}
	return e;
}

int btl_pm_add_procs(mca_btl_base_module_t *btl, size_t n, opal_proc_t **procs,
		     struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
	OPAL_THREAD_LOCK(&btl_pm.lock);
	for (size_t i = 0; i < n; i++) {
		endpoints[i] = endpoint_of(procs[i]);
		if (endpoints[i] && reachable)
			opal_bitmap_set_bit(reachable, (int)i);
	}
	OPAL_THREAD_UNLOCK(&btl_pm.lock);
	return OPAL_SUCCESS;
}

/* It stays in our table: late messages may still come from its node. */
int btl_pm_del_procs(mca_btl_base_module_t *btl, size_t n, opal_proc_t **procs,
		     struct mca_btl_base_endpoint_t **endpoints)
{
	OPAL_THREAD_LOCK(&btl_pm.lock);
	for (size_t i = 0; i < n; i++) {
		if (!endpoints[i])
			continue;
		endpoints[i]->proc = NULL;
		endpoints[i]->has_left = true;
	}
	OPAL_THREAD_UNLOCK(&btl_pm.lock);
	return OPAL_SUCCESS;
}

void btl_pm_endpoint_busy(struct mca_btl_base_endpoint_t *e)
{
	if (e->is_busy)
		return;
	e->is_busy = true;
	TAILQ_INSERT_TAIL(&btl_pm.busy, e, busy);
}

void btl_pm_no_memory(void)
{
	static char text[] = "btl/pm: no memory for a message; run fewer ranks on this host";

	ompi_rte_abort(1, text);
	abort();
}
