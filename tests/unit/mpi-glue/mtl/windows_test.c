// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_windows: whose choice of a component for one-sided communication counts more than ours. */
#include "mpi-glue/mtl/mtl_pm_windows.h"
#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/runtime/mpiruntime.h"

#if OMPI_MAJOR_VERSION < 5

#include "ompi/mca/osc/base/base.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/installdirs/installdirs.h"

#define VARIABLE "OMPI_MCA_osc"
#define BTLS "OMPI_MCA_osc_rdma_btls"
#define CHOICE "^ucx,rdma"
#define INDEX 7

static struct {
	bool is_read; /* Open MPI has read the list */
	const char *value;
	mca_base_var_source_t source;
	const char *file;
	int registered, error;
	char set[64]; /* what we have made of it */
} var;

/* ---- of Open MPI itself: the program's own functions come before those of its libraries ---- */

bool mca_base_framework_is_registered(struct mca_base_framework_t *framework)
{
	ok(framework == &ompi_osc_base_framework);
	return var.is_read;
}

int mca_base_var_register(const char *project, const char *framework, const char *component,
			  const char *name, const char *description, mca_base_var_type_t type,
			  mca_base_var_enum_t *enumerator, int bind, mca_base_var_flag_t flags,
			  mca_base_var_info_lvl_t level, mca_base_var_scope_t scope, void *storage)
{
	is_str(framework, "osc");
	if (var.error)
		return var.error;
	var.registered++;
	*(const char **)storage = var.value;
	return INDEX;
}

int mca_base_var_deregister(int index)
{
	is_int(index, INDEX);
	var.registered--;
	return OPAL_SUCCESS;
}

int mca_base_var_find(const char *project, const char *framework, const char *component,
		      const char *name)
{
	is_str(framework, "osc");
	return var.error ? var.error : INDEX;
}

int mca_base_var_get_value(int index, const void *value, mca_base_var_source_t *source,
			   const char **file)
{
	is_int(index, INDEX);
	*source = var.source;
	*file = var.file;
	return OPAL_SUCCESS;
}

int mca_base_var_set_value(int index, const void *value, size_t size, mca_base_var_source_t source,
			   const char *file)
{
	is_int(index, INDEX);
	is_int(source, MCA_BASE_VAR_SOURCE_SET);
	is_int(((const char *)value)[size - 1], '\0');
	strncat(var.set, value, sizeof(var.set) - 1);
	return OPAL_SUCCESS;
}

/* ---- */

static void begin(bool is_read, const char *value, mca_base_var_source_t source, const char *file)
{
	memset(&var, 0, sizeof(var));
	var.is_read = is_read;
	var.value = value;
	var.source = source;
	var.file = file;
	ompi_osc_base_framework.framework_selection = (char *)value;
	ompi_mpi_thread_multiple = false;
	unsetenv(VARIABLE);
}

/* The choice we have made, by the environment or in Open MPI's own list; "": nothing. */
static const char *choice(void)
{
	const char *text;

	mtl_pm_windows_choose();
	is_int(var.registered, 0);
	text = getenv(VARIABLE);
	return text ? text : var.set;
}

/* The same in both states of Open MPI. */
static void chooses(const char *want, const char *value, mca_base_var_source_t source,
		    const char *file)
{
	for (int is_read = 0; is_read < 2; is_read++) {
		begin(is_read, value, source, file);
		is_str(choice(), want);
		is_int(*var.set != '\0', is_read && *want);
		mtl_pm_windows_chosen();
		ok(!getenv(VARIABLE));
	}
}

TAP_TEST(choose__where_nobody_has)
{
	chooses(CHOICE, NULL, MCA_BASE_VAR_SOURCE_DEFAULT, NULL);
}

TAP_TEST(choose__not_against_the_user)
{
	chooses("", "rdma", MCA_BASE_VAR_SOURCE_ENV, NULL);
	chooses("", "^sm", MCA_BASE_VAR_SOURCE_COMMAND_LINE, NULL);
	chooses("", "^pt2pt", MCA_BASE_VAR_SOURCE_FILE, "/home/user/.openmpi/mca-params.conf");
}

TAP_TEST(choose__the_file_of_the_whole_machine)
{
	char file[4096];

	snprintf(file, sizeof(file), "%s/openmpi-mca-params.conf", opal_install_dirs.sysconfdir);
	/*
	 * A list of what is left out there is a distribution's; one of names, an administrator's.
	 */
	chooses(CHOICE, "^pt2pt", MCA_BASE_VAR_SOURCE_FILE, file);
	chooses("", "rdma", MCA_BASE_VAR_SOURCE_FILE, file);
	chooses("", NULL, MCA_BASE_VAR_SOURCE_FILE, file);
	chooses("", "^pt2pt", MCA_BASE_VAR_SOURCE_OVERRIDE, file);
}

TAP_TEST(choose__not_where_open_mpi_cannot_say)
{
	for (int is_read = 0; is_read < 2; is_read++) {
		begin(is_read, NULL, MCA_BASE_VAR_SOURCE_DEFAULT, NULL);
		var.error = OPAL_ERR_OUT_OF_RESOURCE;
		is_str(choice(), "");
	}
}

/* osc/pt2pt refuses them: osc/rdma is told to take btl/pm. */
TAP_TEST(choose__for_threads_that_call_at_the_same_time)
{
	for (int is_read = 0; is_read < 2; is_read++) {
		begin(is_read, NULL, MCA_BASE_VAR_SOURCE_DEFAULT, NULL);
		ompi_mpi_thread_multiple = true;
		is_str(choice(), is_read ? "pm" : "");
		is_str(is_read ? var.set : getenv(BTLS), "pm");
		mtl_pm_windows_chosen();
		ok(!getenv(BTLS));
		begin(is_read, "tcp", MCA_BASE_VAR_SOURCE_COMMAND_LINE, NULL);
		ompi_mpi_thread_multiple = true;
		is_str(choice(), "");
		ok(!*var.set && !getenv(BTLS));
	}
	ompi_mpi_thread_multiple = false;
}

TAP_TEST(chosen__programs_that_are_started_do_not_see_it)
{
	begin(false, NULL, MCA_BASE_VAR_SOURCE_DEFAULT, NULL);
	is_str(choice(), CHOICE);
	mtl_pm_windows_start();
	ok(!getenv(VARIABLE));
	/* A value that somebody has set since stays. */
	setenv(VARIABLE, "sm", 1);
	mtl_pm_windows_chosen();
	is_str(getenv(VARIABLE), "sm");
	unsetenv(VARIABLE);
}

#else

#include "ompi/mca/bml/base/base.h"

static int n_starts;
static bool has_threads;

/* Open MPI's own: the program's functions come before those of its libraries. */
int mca_bml_base_init(bool wants_progress_threads, bool wants_threads)
{
	ok(!wants_progress_threads);
	has_threads = wants_threads;
	n_starts++;
	return OMPI_SUCCESS;
}

TAP_TEST(start__opens_the_transports_of_windows)
{
	mtl_pm_windows_choose();
	is_int(n_starts, 0);
	ompi_mpi_thread_multiple = true;
	mtl_pm_windows_start();
	is_int(n_starts, 1);
	ok(has_threads);
	ompi_mpi_thread_multiple = false;
	mtl_pm_windows_chosen();
	is_int(n_starts, 1);
}

#endif
