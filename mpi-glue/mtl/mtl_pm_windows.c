// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_windows - which of Open MPI 4.1's components serve one-sided communication, where neither
 * the user nor the administrator has chosen. Of those osc/pt2pt alone goes over an MTL, and so
 * between hosts; Debian switches it off. osc/rdma cannot make a window between hosts over PM, and
 * within a host its data are wrong at times. Open MPI 5 has no osc/pt2pt. Its osc/rdma makes
 * windows of active messages, which its BTLs carry, tcp between hosts.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_windows.h"

#if OMPI_MAJOR_VERSION < 5

#include "ompi/mca/osc/base/base.h"
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

static bool is_chosen(int index, const char *value)
{
	mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
	const char *file = NULL;

	if (index < 0 || mca_base_var_get_value(index, NULL, &source, &file) != OPAL_SUCCESS)
		return true;
	return source != MCA_BASE_VAR_SOURCE_DEFAULT &&
	       !(source == MCA_BASE_VAR_SOURCE_FILE && is_of_distribution(value, file));
}

/*
 * Open MPI has not read the list yet: we do, forget it again, and tell another by the environment.
 */
static void choose_before(void)
{
	static char *value; /* Open MPI's until we deregister */
	int index = mca_base_var_register("ompi", "osc", NULL, NULL, NULL, MCA_BASE_VAR_TYPE_STRING,
					  NULL, 0, MCA_BASE_VAR_FLAG_SETTABLE, OPAL_INFO_LVL_2,
					  MCA_BASE_VAR_SCOPE_ALL_EQ, &value);
	bool is_free = !is_chosen(index, value);

	if (index >= 0)
		mca_base_var_deregister(index);
	if (is_free)
		is_ours = setenv(VARIABLE, CHOICE, 0) == 0;
}

/*
 * A tool has called MPI_T_init_thread: the list has been read and all components are loaded, but
 * none is chosen.
 */
static void choose_after(void)
{
	int index = mca_base_var_find("ompi", "osc", NULL, NULL);

	if (!is_chosen(index, ompi_osc_base_framework.framework_selection))
		mca_base_var_set_value(index, CHOICE, sizeof(CHOICE), MCA_BASE_VAR_SOURCE_SET,
				       NULL);
}

void mtl_pm_windows_choose(void)
{
	/* osc/pt2pt refuses programs whose threads call MPI at the same time */
	if (ompi_mpi_thread_multiple)
		return;
	if (mca_base_framework_is_registered(&ompi_osc_base_framework))
		choose_after();
	else
		choose_before();
}

void mtl_pm_windows_start(void)
{
	mtl_pm_windows_chosen();
}

void mtl_pm_windows_chosen(void)
{
	if (is_ours)
		unsetenv(VARIABLE);
	is_ours = false;
}

#else

#include "ompi/mca/bml/base/base.h"
#include "ompi/runtime/mpiruntime.h"

void mtl_pm_windows_choose(void)
{
}

/*
 * osc/rdma of 5.0 finds only BTLs that others have opened: pml/ob1 does, but is not asked where
 * pml/cm is named. Their addresses are exchanged with those of all others, so at the first window
 * it would be too late. If they cannot be opened, the first window says so.
 */
void mtl_pm_windows_start(void)
{
	mca_bml_base_init(false, ompi_mpi_thread_multiple);
}

void mtl_pm_windows_chosen(void)
{
}

#endif
