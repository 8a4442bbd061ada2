// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_component: its parameters and their bounds, and when it offers itself to Open MPI.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#include "ompi/mca/pml/base/base.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/util/show_help.h"

#define KEY "0123456789abcdef-fedcba9876543210"
#define VARIABLE "OMPI_MCA_orte_precondition_transports"

static struct {
	bool is_other; /* ... Open MPI than the one the component was built for */
	/* the user's value of one parameter; NULL: none */
	const char *name;
	long long value;
	int registered;
	int choices;          /* looks for a choice for windows */
	char directory[4096]; /* in which Open MPI looks for help texts too */
} mpi;

/* ---- of Open MPI itself: the program's own functions come before those of its libraries ---- */

int MPI_Get_library_version(char *text, int *length)
{
	*length = snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "Open MPI v%d.%d.1",
			   mpi.is_other ? 99 : OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION);
	return MPI_SUCCESS;
}

int mca_base_component_var_register(const mca_base_component_t *component, const char *name,
				    const char *text, mca_base_var_type_t type,
				    mca_base_var_enum_t *enumerator, int bind,
				    mca_base_var_flag_t flags, mca_base_var_info_lvl_t level,
				    mca_base_var_scope_t scope, void *storage)
{
	ok(component == &mca_mtl_pm_component.mtl_version);
	ok(strlen(text) > 0);
	mpi.registered++;
	if (!mpi.name || strcmp(name, mpi.name))
		return 0;
	if (type == MCA_BASE_VAR_TYPE_INT)
		*(int *)storage = (int)mpi.value;
	else if (type == MCA_BASE_VAR_TYPE_LONG)
		*(long *)storage = (long)mpi.value;
	else if (is_int(type, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG))
		*(unsigned long long *)storage = (unsigned long long)mpi.value;
	return 0;
}

int opal_show_help_add_dir(const char *directory)
{
	snprintf(mpi.directory, sizeof(mpi.directory), "%s", directory);
	return OPAL_SUCCESS;
}

/* Of an Open MPI without any list: nobody wants the component. */
int mca_base_var_find(const char *project, const char *framework, const char *component,
		      const char *name)
{
	return -1;
}

#if OMPI_MAJOR_VERSION < 5
#define WINDOWS "OMPI_MCA_osc" /* the choice for them, in the environment until it is read */
#define INDEX 7

bool mca_base_framework_is_registered(struct mca_base_framework_t *framework)
{
	return false;
}

/* Nobody has chosen. */
int mca_base_var_register(const char *project, const char *framework, const char *name,
			  const char *variable, const char *text, mca_base_var_type_t type,
			  mca_base_var_enum_t *enumerator, int bind, mca_base_var_flag_t flags,
			  mca_base_var_info_lvl_t level, mca_base_var_scope_t scope, void *storage)
{
	*(const char **)storage = NULL;
	return INDEX;
}

int mca_base_var_deregister(int index)
{
	return OPAL_SUCCESS;
}

int mca_base_var_get_value(int index, const void *value, mca_base_var_source_t *source,
			   const char **file)
{
	is_int(index, INDEX);
	*source = MCA_BASE_VAR_SOURCE_DEFAULT;
	return OPAL_SUCCESS;
}
#else
#include "ompi/mca/bml/base/base.h"

static int window_starts; /* of the transports of windows */

int mca_bml_base_init(bool wants_progress_threads, bool wants_threads)
{
	is_int(fake.opens, 0);
	window_starts++;
	return OMPI_SUCCESS;
}
#endif

/* ---- */

static const mca_base_component_t *const component = &mca_mtl_pm_component.mtl_version;

static void begin(const char *mtls, const char *pmls)
{
	memset(&mpi, 0, sizeof(mpi));
	fake_reset("udp");
	fake_start();
	ompi_mtl_base_framework.framework_selection = (char *)(uintptr_t)mtls;
	ompi_pml_base_framework.framework_selection = (char *)(uintptr_t)pmls;
	mtl_pm.is_named = mtl_pm.is_used = false;
	mtl_pm.priority = mtl_pm.read_limit = -77;
	setenv(VARIABLE, KEY, 1);
	unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
	unsetenv("OMPI_MCA_osc");
	ompi_process_info.num_procs = 1;
	ompi_process_info.num_local_peers = 0;
}

/* As Open MPI does, with the user's value of a parameter. */
static void register_with(const char *name, long long value)
{
	mpi.name = name;
	mpi.value = value;
	is_int(component->mca_register_component_params(), OMPI_SUCCESS);
}

static void open_component(void)
{
	register_with(NULL, 0);
	is_int(component->mca_open_component(), OMPI_SUCCESS);
}

TAP_TEST(component__is_an_mtl_named_pm)
{
	is_str(component->mca_type_name, "mtl");
	is_str(component->mca_component_name, "pm");
	is_int(mca_mtl_pm_component.mtl_data.param_field, MCA_BASE_METADATA_PARAM_NONE);
}

TAP_TEST(register__values_without_a_user)
{
	begin("pm", NULL);
	mtl_pm.progress_thread = 0;
	register_with(NULL, 0);
	is_int(mpi.registered, 9);
	is_int(mtl_pm.priority, 100);
	is_int(mtl_pm.middle_limit, -1);
	is_int(mtl_pm.pull_limit, -1);
	is_int(mtl_pm.head_limit, -1);
	is_int(mtl_pm.unexpected_limit, 64 << 20);
	is_int(mtl_pm.read_limit, 32);
	is_int(mtl_pm.keep_memory, 64 << 20);
	is_int(mtl_pm.batch_threads, 1);
	is_int(mtl_pm.progress_thread, 0);
}

TAP_TEST(register__values_of_the_user)
{
	begin("pm", NULL);
	register_with("priority", 7);
	is_int(mtl_pm.priority, 7);
	register_with("middle_limit", 1000);
	is_int(mtl_pm.middle_limit, 1000);
	register_with("pull_limit", 0);
	is_int(mtl_pm.pull_limit, 0);
	register_with("head_limit", 4096);
	is_int(mtl_pm.head_limit, 4096);
	register_with("unexpected_limit", 1);
	is_int(mtl_pm.unexpected_limit, 1);
	register_with("read_limit", 5);
	is_int(mtl_pm.read_limit, 5);
	register_with("keep_memory", 0);
	is_int(mtl_pm.keep_memory, 0);
	register_with("batch_threads", 0);
	is_int(mtl_pm.batch_threads, 0);
	register_with("progress_thread", -1);
	is_int(mtl_pm.progress_thread, -1);
	mtl_pm.progress_thread = 0;
}

TAP_TEST(register__values_without_sense)
{
	begin("pm", NULL);
	register_with("middle_limit", ENVELOPE_FIRST_MAX);
	is_int(mtl_pm.middle_limit, ENVELOPE_FIRST_MAX);
	/* Longer ones have no number in FIRST. */
	register_with("middle_limit", ENVELOPE_FIRST_MAX + 1ll);
	is_int(mtl_pm.middle_limit, ENVELOPE_FIRST_MAX);
	register_with("middle_limit", LONG_MAX);
	is_int(mtl_pm.middle_limit, ENVELOPE_FIRST_MAX);
	/* With none at all a receive would wait for ever. */
	register_with("read_limit", 0);
	is_int(mtl_pm.read_limit, 1);
	register_with("read_limit", -1);
	is_int(mtl_pm.read_limit, INT_MAX);
}

/* The module that Open MPI gets from the component; NULL: none. */
static mca_base_module_t *offer(int *ret_priority)
{
	mca_base_module_t *module = (mca_base_module_t *)component;
	int rc;

	*ret_priority = 77;
	rc = component->mca_query_component(&module, ret_priority);
	is_int(rc, module ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE);
	return module;
}

static bool is_ours(const mca_base_module_t *module)
{
	return module == (const mca_base_module_t *)&mtl_pm.super;
}

TAP_TEST(query__named_by_the_user)
{
	static const char *const lists[] = {"pm", "ofi,pm", "pm,ofi"};
	int priority;

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		begin(lists[i], NULL);
		open_component();
		ok(is_ours(offer(&priority)));
		is_int(priority, 100);
	}
	begin("pm", "cm");
	open_component();
	mtl_pm.priority = 7;
	ok(is_ours(offer(&priority)));
	is_int(priority, 7);
}

TAP_TEST(query__not_named)
{
	static const char *const lists[] = {NULL, "", "ofi", "^pm", "pmx"};
	int priority;

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		begin(lists[i], NULL);
		open_component();
		ok(!offer(&priority));
		is_int(priority, -1);
		begin(lists[i], "^cm");
		open_component();
		ok(!offer(&priority));
		/* Whoever wants pml/cm takes any MTL, and others before ours. */
		begin(lists[i], "cm");
		open_component();
		ok(is_ours(offer(&priority)));
		is_int(priority, 1);
	}
}

TAP_TEST(query__an_open_mpi_that_it_does_not_fit)
{
	int priority;

	begin("pm", "cm");
	mpi.is_other = true;
	open_component();
	is_int(mpi.registered, 0);
	is_str(mpi.directory, "");
	ok(!mtl_pm.is_named);
	ok(!offer(&priority));
	is_int(priority, -1);
	is_int(component->mca_close_component(), OMPI_SUCCESS);
}

TAP_TEST(open__help_texts_lie_beside_the_component)
{
	char path[4096], *slash;
	Dl_info info;

	begin("pm", NULL);
	open_component();
	must(dladdr(component, &info) && strlen(info.dli_fname) < sizeof(path));
	strcpy(path, info.dli_fname);
	slash = strrchr(path, '/');
	must(slash != NULL);
	*slash = '\0';
	is_str(mpi.directory, path);
}

static mca_mtl_base_module_t *init(bool has_threads)
{
#if OMPI_MAJOR_VERSION >= 5
	bool knows_accelerators = true;
	mca_mtl_base_module_t *module =
		mca_mtl_pm_component.mtl_init(false, has_threads, &knows_accelerators);

	ok(!knows_accelerators);
	return module;
#else
	return mca_mtl_pm_component.mtl_init(false, has_threads);
#endif
}

TAP_TEST(init__opens_the_module)
{
	for (int has_threads = 0; has_threads < 2; has_threads++) {
		begin("pm", NULL);
		open_component();
		mtl_pm.progress_thread = -1;
		ok(init(has_threads) == &mtl_pm.super);
		is_int(fake.opens, 1);
		is_int(mtl_pm.gate != 0, has_threads);
		is_int(mtl_pm_finalize(&mtl_pm.super), OMPI_SUCCESS);
		mtl_pm.gate = 0;
	}
}

TAP_TEST(init__without_pm_there_is_no_module)
{
	begin("pm", NULL);
	open_component();
	fake.open_error = EACCES;
	ok(!init(false));
	is_str(fake_mpi.said, "unusable: here\n");
}

#if OMPI_MAJOR_VERSION < 5
TAP_TEST(open__chooses_for_windows_if_the_user_wants_the_component)
{
	begin("pm", NULL);
	open_component();
	ok(getenv(WINDOWS) != NULL);
	/* Programs that are started do not see it. */
	is_int(component->mca_close_component(), OMPI_SUCCESS);
	ok(!getenv(WINDOWS));
	begin(NULL, "cm");
	open_component();
	ok(!getenv(WINDOWS));
}

TAP_TEST(init__the_choice_for_windows_has_been_read)
{
	begin("pm", NULL);
	open_component();
	fake.open_error = EACCES;
	ok(!init(false));
	ok(!getenv(WINDOWS));
}
#else
TAP_TEST(init__opens_the_transports_of_windows_before_addresses_are_exchanged)
{
	begin("pm", NULL);
	open_component();
	window_starts = 0;
	ok(init(false) != NULL);
	is_int(window_starts, 1);
	is_int(mtl_pm_finalize(&mtl_pm.super), OMPI_SUCCESS);
}
#endif
