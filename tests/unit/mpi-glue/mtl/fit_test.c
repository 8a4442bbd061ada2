// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_fit: which Open MPI is the one the component was built for, and which rank says so if it
 * is not.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#include "opal/mca/base/mca_base_var.h"

static const char *version; /* what the library says of itself */
static const char *list;    /* the user's choice of MTLs; NULL: none */
static char *told;          /* on standard error */

/* ---- of Open MPI itself: the program's own functions come before those of its libraries ---- */

int MPI_Get_library_version(char *text, int *length)
{
	snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "%s", version);
	*length = (int)strlen(text);
	return MPI_SUCCESS;
}

int mca_base_var_find(const char *project, const char *framework, const char *component,
		      const char *name)
{
	return !strcmp(project, "ompi") && !strcmp(framework, "mtl") ? 7 : -1;
}

int mca_base_var_get_value(int index, const void *value, mca_base_var_source_t *source,
			   const char **file)
{
	is_int(index, 7);
	*(const char *const **)(uintptr_t)value = &list;
	return OPAL_SUCCESS;
}

/* ---- */

static char ours[64]; /* a version that fits */

static void begin(void)
{
	snprintf(ours, sizeof(ours), "Open MPI v%d.%d.99, package: some", OMPI_MAJOR_VERSION,
		 OMPI_MINOR_VERSION);
	version = ours;
	list = "pm";
	unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
	unsetenv("SCORE_LOCAL_RANK");
}

static bool fits(void)
{
	FILE *real = stderr;
	size_t size;
	bool it_does;

	free(told);
	stderr = open_memstream(&told, &size);
	it_does = mtl_pm_fits();
	fclose(stderr);
	stderr = real;
	return it_does;
}

TAP_TEST(fits__any_release_of_the_same_series)
{
	begin();
	ok(fits());
	is_str(told, "");
	snprintf(ours, sizeof(ours), "Open MPI v%d.%d.0rc1", OMPI_MAJOR_VERSION,
		 OMPI_MINOR_VERSION);
	ok(fits());
}

TAP_TEST(fits__no_other_version)
{
	begin();
	version = "Open MPI v99.1.2, package: some, ident: 99.1.2";
	ok(!fits());
	ok(strstr(told, " and stays out of Open MPI v99.1.2: install or build ") != NULL);
	ok(!strstr(told, "another configuration"));
	/* The numbers of the one that it was built for. */
	snprintf(ours, sizeof(ours), " for Open MPI v%d.%d ", OMPI_MAJOR_VERSION,
		 OMPI_MINOR_VERSION);
	ok(strstr(told, ours) != NULL);
	snprintf(ours, sizeof(ours), "Open MPI v%d.%d.0", OMPI_MAJOR_VERSION,
		 OMPI_MINOR_VERSION + 1);
	version = ours;
	ok(!fits());
	version = "Another MPI 4.1";
	ok(!fits());
	ok(strstr(told, " stays out of Another MPI 4.1: ") != NULL);
}

/* With structures of another size. */
static bool fits_with(opal_class_t *class)
{
	bool it_does;

	class->cls_sizeof += 8;
	it_does = fits();
	class->cls_sizeof -= 8;
	return it_does;
}

TAP_TEST(fits__no_other_configuration)
{
	begin();
	ok(!fits_with(&ompi_communicator_t_class));
	ok(strstr(told, " was built for another configuration of Open MPI v") != NULL);
	ok(!fits_with(&ompi_request_t_class));
	ok(!fits_with(&ompi_proc_t_class));
	ok(!fits_with(&opal_convertor_t_class));
	ok(fits());
}

static bool is_told(void)
{
	ok(!fits());
	return *told;
}

TAP_TEST(fits__one_rank_of_a_host_speaks)
{
	begin();
	version = "Open MPI v99.1.2";
	ok(is_told());
	setenv("OMPI_COMM_WORLD_LOCAL_RANK", "0", 1);
	ok(is_told());
	setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
	ok(!is_told());
	setenv("SCORE_LOCAL_RANK", "0", 1);
	ok(!is_told());
	unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
	ok(is_told());
	setenv("SCORE_LOCAL_RANK", "10", 1);
	ok(!is_told());
}

TAP_TEST(fits__nothing_is_said_where_nobody_wants_it)
{
	begin();
	version = "Open MPI v99.1.2";
	list = "ofi,pm";
	ok(is_told());
	list = NULL;
	ok(!is_told());
	list = "^pm";
	ok(!is_told());
	list = "ofi,pmx";
	ok(!is_told());
}
