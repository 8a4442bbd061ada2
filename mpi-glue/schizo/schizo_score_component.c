// SPDX-License-Identifier: BSD-3-Clause
/*
 * schizo/score - tells Open MPI 4.1 that scrun has started this process. Without it a process with
 * PMIx in its environment, but without mpirun's daemon, takes itself for alone. Open MPI 5 asks
 * PMIx and needs nothing.
 */
#include "orte_config.h"

#include "opal/mca/base/mca_base_framework.h"
#include "orte/constants.h"
#include "orte/mca/schizo/base/base.h"
#include "orte/mca/schizo/schizo.h"

#include <stdlib.h>

#define PRIORITY 80 /* above those that guess from PMIx alone */

/* Environment variables for Open MPI: set if the user has not set them, and unset at the end. */
static struct {
	const char *name, *value;
	bool is_ours;
} settings[] = {
	{"OMPI_MCA_ess", "pmi", false},                        /* names and modex come from PMIx */
	{"OMPI_MCA_hwloc_base_binding_policy", "none", false}, /* scstepd has bound us */
	{"OMPI_MCA_orte_externally_bound", "1", false},
};

#define N_SETTINGS (sizeof(settings) / sizeof(settings[0]))

static orte_schizo_launch_environ_t check_launch_environment(void)
{
	if (!getenv("SCORE_JOBID") || !getenv("PMIX_NAMESPACE"))
		return ORTE_SCHIZO_UNDETERMINED;
	for (size_t i = 0; i < N_SETTINGS; i++) {
		settings[i].is_ours = !getenv(settings[i].name);
		setenv(settings[i].name, settings[i].value, 0);
	}
	return ORTE_SCHIZO_DIRECT_LAUNCHED;
}

static void finalize(void)
{
	for (size_t i = 0; i < N_SETTINGS; i++)
		if (settings[i].is_ours)
			unsetenv(settings[i].name);
}

static orte_schizo_base_module_t module = {
	.check_launch_environment = check_launch_environment,
	.finalize = finalize,
};

static int query(mca_base_module_t **ret_module, int *ret_priority)
{
	*ret_module = (mca_base_module_t *)&module;
	*ret_priority = PRIORITY;
	return ORTE_SUCCESS;
}

orte_schizo_base_component_t mca_schizo_score_component = {
	.base_version =
		{
			MCA_SCHIZO_BASE_VERSION_1_0_0,
			.mca_component_name = "score",
			.mca_query_component = query,
		},
	.base_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
};
