// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_fit - whether the Open MPI that loads the component is the one it was built for.
 *
 * Uses nothing of Open MPI that changed since 4.1 and may change again: the names of its
 * parameters, its classes' sizes, and MPI itself. The component is linked so that whatever else it
 * uses need not be there while it is loaded (mk/rules.mk).
 */
#include "mpi-glue/common/names.h"
#include "mpi-glue/mtl/mtl_pm.h"

#include "opal/mca/base/mca_base_var.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "Open MPI v5.0.7, package: ..." up to the comma, and into it the numbers. */
static void find_version(char *text, unsigned *ret_major, unsigned *ret_minor)
{
	int length;

	MPI_Get_library_version(text, &length);
	text[strcspn(text, ",")] = '\0';
	if (sscanf(text, "Open MPI v%u.%u", ret_major, ret_minor) != 2)
		*ret_major = *ret_minor = 0;
}

/*
 * An Open MPI with other options of configure has the same numbers, but may have other structures.
 */
static bool has_our_sizes(void)
{
	return ompi_communicator_t_class.cls_sizeof == sizeof(ompi_communicator_t) &&
	       ompi_request_t_class.cls_sizeof == sizeof(ompi_request_t) &&
	       ompi_proc_t_class.cls_sizeof == sizeof(ompi_proc_t) &&
	       opal_convertor_t_class.cls_sizeof == sizeof(opal_convertor_t);
}

/* One of the ranks of a host speaks, and only if the user wants the component. */
static bool is_speaker(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
	int var = mca_base_var_find("ompi", "mtl", NULL, NULL);
	char *const *list = NULL;

	if (!rank)
		rank = getenv("SCORE_LOCAL_RANK");
	return (!rank || !strcmp(rank, "0")) && var >= 0 &&
	       mca_base_var_get_value(var, &list, NULL, NULL) == OPAL_SUCCESS && list &&
	       names_include(*list, "pm");
}

bool mtl_pm_fits(void)
{
	char loader[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	unsigned major, minor;
	bool is_other;
	Dl_info info;

	find_version(loader, &major, &minor);
	is_other = major != OMPI_MAJOR_VERSION || minor != OMPI_MINOR_VERSION;
	if (!is_other && has_our_sizes())
		return true;
	if (is_speaker() && dladdr(&mca_mtl_pm_component, &info))
		fprintf(stderr,
			"mtl/pm: %s was built for %sOpen MPI v%d.%d and stays out of %s: install "
			"or build the component for this Open MPI\n",
			info.dli_fname, is_other ? "" : "another configuration of ",
			OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, loader);
	return false;
}
