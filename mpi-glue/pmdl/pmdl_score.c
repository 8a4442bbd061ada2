// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmdl/score - a component of PMIx 5 that keeps PMIx's own component path to PMIx.
 *
 * Debian configures that path in PMIx's parameter file. mpirun of Open MPI 5 also hands each
 * parameter of such a file on to its ranks if Open MPI knows the name. Open MPI would then look for
 * its own components there, and not where they are installed.
 */
#include <src/include/pmix_config.h>

#include <src/mca/base/pmix_mca_base_var.h>
#include <src/mca/base/pmix_mca_base_vari.h>
#include <src/mca/pmdl/pmdl.h>

#include <string.h>

#define PRIORITY 100 /* before pmdl/ompi, which takes what is for Open MPI */

/* Parameters that were taken off; PMIx goes on to use their texts. */
static pmix_list_t taken;

static pmix_status_t init(void)
{
	PMIX_CONSTRUCT(&taken, pmix_list_t);
	return PMIX_SUCCESS;
}

static void finalize(void)
{
	PMIX_LIST_DESTRUCT(&taken);
}

static void parse_file_envars(pmix_list_t *values)
{
	pmix_mca_base_var_file_value_t *value, *next;

	PMIX_LIST_FOREACH_SAFE(value, next, values, pmix_mca_base_var_file_value_t)
	{
		if (strcmp(value->mbvfv_var, "mca_base_component_path"))
			continue;
		pmix_list_remove_item(values, &value->super);
		pmix_list_append(&taken, &value->super);
	}
}

static char name[] = "score";
static pmix_pmdl_module_t module = {
	.name = name,
	.init = init,
	.finalize = finalize,
	.parse_file_envars = parse_file_envars,
};

static int query(pmix_mca_base_module_t **ret_module, int *ret_priority)
{
	*ret_module = (pmix_mca_base_module_t *)&module;
	*ret_priority = PRIORITY;
	return PMIX_SUCCESS;
}

pmix_pmdl_base_component_t pmix_mca_pmdl_score_component = {
	PMIX_PMDL_BASE_VERSION_1_0_0,
	.pmix_mca_component_name = "score",
	PMIX_MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
	.pmix_mca_query_component = query,
};
