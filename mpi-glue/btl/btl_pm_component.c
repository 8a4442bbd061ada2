// SPDX-License-Identifier: BSD-3-Clause
/* btl_pm_component - how Open MPI finds, asks and starts the BTL, and what it says of itself. */
#include "mpi-glue/btl/btl_pm.h"
#include "mpi-glue/common/names.h"
#include "mpi-glue/mtl/mtl_pm_windows.h"

#include "opal/mca/base/base.h"

#include <stdlib.h>

static bool fits; /* the component and the Open MPI that has loaded it */

/* Messages of all tags are delivered: Open MPI's table of callbacks tells to whom. */
static int take_tag(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
		    mca_btl_base_module_recv_cb_fn_t call, void *data)
{
	return OPAL_SUCCESS;
}

static int take_error_handler(mca_btl_base_module_t *btl, mca_btl_base_module_error_cb_fn_t call)
{
	btl_pm.on_error = call;
	return OPAL_SUCCESS;
}

static void set_functions(mca_btl_base_module_t *m)
{
	m->btl_component = &mca_btl_pm_component;
	m->btl_add_procs = btl_pm_add_procs;
	m->btl_del_procs = btl_pm_del_procs;
	m->btl_register = take_tag;
	m->btl_register_error = take_error_handler;
	m->btl_finalize = btl_pm_finalize;
	m->btl_alloc = btl_pm_alloc;
	m->btl_free = btl_pm_free;
	m->btl_prepare_src = btl_pm_prepare_src;
	m->btl_send = btl_pm_send;
	m->btl_sendi = btl_pm_sendi;
	m->btl_put = btl_pm_put;
	m->btl_get = btl_pm_get;
	m->btl_atomic_op = btl_pm_atomic_op;
	m->btl_atomic_fop = btl_pm_atomic_fop;
	m->btl_atomic_cswap = btl_pm_atomic_cswap;
	m->btl_register_mem = btl_pm_register_mem;
	m->btl_deregister_mem = btl_pm_deregister_mem;
}

static size_t at_most(size_t value, size_t limit)
{
	return value < limit ? value : limit;
}

static int component_register(void)
{
	mca_btl_base_module_t *m = &btl_pm.super;

	fits = mtl_pm_register();
	if (!fits)
		return OPAL_SUCCESS;
	set_functions(m);
	/* above btl/tcp, below what is inside a host only */
	m->btl_exclusivity = MCA_BTL_EXCLUSIVITY_LOW + 200;
	m->btl_eager_limit = 16 << 10;
	m->btl_rndv_eager_limit = 16 << 10;
	m->btl_max_send_size = BTL_PM_SEND_MAX;
	m->btl_rdma_pipeline_send_length = 64 << 10;
	m->btl_rdma_pipeline_frag_size = 1 << 20;
	m->btl_min_rdma_pipeline_size = 128 << 10;
	/*
	 * GLOB stands here too: osc/rdma looks for it in these flags only. Ranks of a host then
	 * reach a window's state, and memory that they share, by the processor's own atomics.
	 */
	m->btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_RDMA | MCA_BTL_FLAGS_ATOMIC_OPS |
		       MCA_BTL_FLAGS_ATOMIC_FOPS | BTL_PM_FLAG_REMOTE_COMPLETION |
		       MCA_BTL_ATOMIC_SUPPORTS_GLOB;
	m->btl_atomic_flags = MCA_BTL_ATOMIC_SUPPORTS_ADD | MCA_BTL_ATOMIC_SUPPORTS_AND |
			      MCA_BTL_ATOMIC_SUPPORTS_OR | MCA_BTL_ATOMIC_SUPPORTS_XOR |
			      MCA_BTL_ATOMIC_SUPPORTS_SWAP | MCA_BTL_ATOMIC_SUPPORTS_32BIT |
			      MCA_BTL_ATOMIC_SUPPORTS_CSWAP | MCA_BTL_ATOMIC_SUPPORTS_GLOB;
	m->btl_registration_handle_size = sizeof(mca_btl_base_registration_handle_t);
	m->btl_put_limit = m->btl_get_limit = SIZE_MAX;
	m->btl_put_alignment = m->btl_get_alignment = 0;
	m->btl_put_local_registration_threshold = SIZE_MAX;
	m->btl_get_local_registration_threshold = SIZE_MAX;
	m->btl_bandwidth = 1000;
	m->btl_latency = 5;
	mca_btl_base_param_register(&mca_btl_pm_component.btl_version, m);
	/* the user may have set others: Open MPI would ask for longer descriptors for ever */
	m->btl_eager_limit = at_most(m->btl_eager_limit, BTL_PM_SEND_MAX);
	m->btl_rndv_eager_limit = at_most(m->btl_rndv_eager_limit, BTL_PM_SEND_MAX);
	m->btl_max_send_size = at_most(m->btl_max_send_size, BTL_PM_SEND_MAX);
	return OPAL_SUCCESS;
}

/* Named by the user; or with mtl/pm, for windows that nothing else serves over PM. */
static bool is_wanted(void)
{
	const char *list = opal_btl_base_framework.framework_selection;

	return names_include(list, "pm") ||
	       (names_allow(list, "pm") && mtl_pm_windows_by_btl() && mtl_pm_is_asked_for());
}

static mca_btl_base_module_t **component_init(int *ret_n, bool enable_progress_threads,
					      bool enable_mpi_threads)
{
	mca_btl_base_module_t **modules;

	*ret_n = 0;
	if (!fits || !is_wanted() || btl_pm_open(enable_mpi_threads) != OPAL_SUCCESS)
		return NULL;
	modules = malloc(sizeof(*modules));
	if (!modules) {
		btl_pm_finalize(&btl_pm.super);
		return NULL;
	}
	*modules = &btl_pm.super;
	*ret_n = 1;
	return modules;
}

mca_btl_base_component_3_0_0_t mca_btl_pm_component = {
	.btl_version =
		{
			BTL_PM_BASE_VERSION,
			.mca_component_name = "pm",
			MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
			.mca_register_component_params = component_register,
		},
	.btl_data = {MCA_BASE_METADATA_PARAM_NONE},
	.btl_init = component_init,
};
