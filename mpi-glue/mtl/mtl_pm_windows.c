/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_windows - which of Open MPI 4.1's components serve one-sided communication, where neither the user nor the
 * administrator has chosen. Of those osc/pt2pt alone goes over an MTL, and so between hosts; Debian switches it off.
 * osc/rdma cannot make a window between hosts over PM, and within a host its data are wrong at times. Open MPI 5 has no
 * osc/pt2pt, and nothing is chosen there.
 */
#include "mpi-glue/mtl/mtl_pm.h"

#if OMPI_MAJOR_VERSION < 5

#include "ompi/runtime/mpiruntime.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/installdirs/installdirs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "OMPI_MCA_osc"
#define CHOICE "^ucx,rdma"

static bool is_ours; /* the variable in the environment */

/* A list of what is left out, in the file of the whole machine, is a distribution's. */
static bool is_of_distribution(const char *value, const char *file)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/openmpi-mca-params.conf", opal_install_dirs.sysconfdir);
	return value && *value == '^' && file && !strcmp(file, path);
}

/* Open MPI has not asked for the value yet, so we do, and forget it again. */
static bool is_chosen(void)
{
	static char *value; /* Open MPI writes it until we deregister */
	mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
	const char *file = NULL;
	bool result;
	int index = mca_base_var_register("ompi", "osc", NULL, NULL, NULL, MCA_BASE_VAR_TYPE_STRING,
					  NULL, 0, MCA_BASE_VAR_FLAG_SETTABLE, OPAL_INFO_LVL_2,
					  MCA_BASE_VAR_SCOPE_ALL_EQ, &value);

	if (index < 0 || mca_base_var_get_value(index, NULL, &source, &file) != OPAL_SUCCESS)
		return true;
	result = source != MCA_BASE_VAR_SOURCE_DEFAULT &&
		 !(source == MCA_BASE_VAR_SOURCE_FILE && is_of_distribution(value, file));
	mca_base_var_deregister(index);
	return result;
}

void mtl_pm_windows_choose(void)
{
	/* osc/pt2pt refuses programs whose threads call MPI at the same time */
	if (!ompi_mpi_thread_multiple && !is_chosen())
		is_ours = setenv(VARIABLE, CHOICE, 0) == 0;
}

void mtl_pm_windows_chosen(void)
{
	if (is_ours)
		unsetenv(VARIABLE);
	is_ours = false;
}

#else

void mtl_pm_windows_choose(void)
{
}

void mtl_pm_windows_chosen(void)
{
}

#endif
