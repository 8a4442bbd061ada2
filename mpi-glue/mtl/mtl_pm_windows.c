// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_windows - which of Open MPI's components serve one-sided communication, where neither the
 * user nor the administrator has chosen. Of those of 4.1 osc/pt2pt goes over an MTL; Debian has
 * switched it off. It refuses programs whose threads call MPI at the same time, and Open MPI 5 has
 * none. In both cases it is osc/rdma over btl/pm.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_windows.h"

#include "opal/mca/base/mca_base_var.h"

int mtl_pm_read_early(const char *framework, const char *component, const char *name, char **value)
{
	return mca_base_var_register("ompi", framework, component, name, NULL,
				     MCA_BASE_VAR_TYPE_STRING, NULL, 0, MCA_BASE_VAR_FLAG_SETTABLE,
				     OPAL_INFO_LVL_2, MCA_BASE_VAR_SCOPE_ALL_EQ, value);
}

#if OMPI_MAJOR_VERSION < 5

#include "ompi/mca/osc/base/base.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/mca/installdirs/installdirs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A parameter of Open MPI that we choose. */
struct parameter {
	const char *component, *name; /* NULL: the list of components */
	const char *variable, *value;
	bool is_ours; /* the variable in the environment */
};

static struct parameter by_messages = {.variable = "OMPI_MCA_osc", .value = "^ucx,rdma"};
static struct parameter by_btl = {.component = "rdma",
				  .name = "btls",
				  .variable = "OMPI_MCA_osc_rdma_btls",
				  .value = "pm"};

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
 * Open MPI has not read the parameter yet: we do, forget it again, and tell another value by the
 * environment.
 */
static void choose_before(struct parameter *c)
{
	static char *value; /* Open MPI's until we deregister */
	int index = mtl_pm_read_early("osc", c->component, c->name, &value);
	bool is_free = !is_chosen(index, value);

	if (index >= 0)
		mca_base_var_deregister(index);
	if (is_free)
		c->is_ours = setenv(c->variable, c->value, 0) == 0;
}

/*
 * A tool has called MPI_T_init_thread: the parameters have been read and all components are loaded,
 * but none is chosen.
 */
static void choose_after(const struct parameter *c)
{
	int index = mca_base_var_find("ompi", "osc", c->component, c->name);

	if (!is_chosen(index, c->name ? NULL : ompi_osc_base_framework.framework_selection))
		mca_base_var_set_value(index, c->value, strlen(c->value) + 1,
				       MCA_BASE_VAR_SOURCE_SET, NULL);
}

/* osc/pt2pt refuses programs whose threads call MPI at the same time. */
bool mtl_pm_windows_by_btl(void)
{
	return ompi_mpi_thread_multiple;
}

void mtl_pm_windows_choose(void)
{
	struct parameter *c = mtl_pm_windows_by_btl() ? &by_btl : &by_messages;

	if (mca_base_framework_is_registered(&ompi_osc_base_framework))
		choose_after(c);
	else
		choose_before(c);
}

void mtl_pm_windows_start(void)
{
	mtl_pm_windows_chosen();
}

static void take_back(struct parameter *c)
{
	if (c->is_ours)
		unsetenv(c->variable);
	c->is_ours = false;
}

void mtl_pm_windows_chosen(void)
{
	take_back(&by_messages);
	take_back(&by_btl);
}

#else

#include "ompi/mca/bml/base/base.h"
#include "ompi/runtime/mpiruntime.h"

bool mtl_pm_windows_by_btl(void)
{
	return true;
}

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
