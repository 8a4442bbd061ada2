// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_component - how Open MPI finds, asks and starts the MTL.
 *
 * Owns the component's parameters and the decision whether it offers itself. Knows nothing of
 * messages. Selection: pml/cm takes the priority of its MTL, and the highest pml wins. Named by the
 * user (`--mca mtl pm`), ours is above every other pml; not named, we stay out of the way.
 */
#include "mpi-glue/common/names.h"
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "mpi-glue/mtl/mtl_pm_windows.h"

#include "opal/mca/base/base.h"
#include "opal/util/show_help.h"
#include "ompi/mca/pml/base/base.h"

#include <limits.h>

/* An error instead would have Open MPI add that it has not found the component. */
static bool fits;

/* Below every other pml, for `--mca pml cm` without a word about the MTL. */
#define PRIORITY_UNNAMED 1

static void add_size_parameter(const char *name, const char *text, unsigned long long *value)
{
	mca_base_component_var_register(&mca_mtl_pm_component.mtl_version, name, text,
					MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, 0, 0,
					OPAL_INFO_LVL_5, MCA_BASE_VAR_SCOPE_READONLY, value);
}

static void add_limit_parameter(const char *name, const char *text, long *value)
{
	*value = -1;
	mca_base_component_var_register(&mca_mtl_pm_component.mtl_version, name, text,
					MCA_BASE_VAR_TYPE_LONG, NULL, 0, 0, OPAL_INFO_LVL_5,
					MCA_BASE_VAR_SCOPE_READONLY, value);
}

static void add_int_parameter(const char *name, const char *text, int *value)
{
	mca_base_component_var_register(&mca_mtl_pm_component.mtl_version, name, text,
					MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, OPAL_INFO_LVL_5,
					MCA_BASE_VAR_SCOPE_READONLY, value);
}

/* Also before Open MPI has read it, as it opens its BTLs first. */
static bool list_has(mca_base_framework_t *framework, const char *name,
		     bool (*has)(const char *list, const char *item), const char *item)
{
	static char *list; /* Open MPI's until we deregister */
	int index;
	bool it_has;

	if (mca_base_framework_is_registered(framework))
		return has(framework->framework_selection, item);
	index = mtl_pm_read_early(name, NULL, NULL, &list);
	it_has = index >= 0 && has(list, item);
	if (index >= 0)
		mca_base_var_deregister(index);
	return it_has;
}

bool mtl_pm_is_asked_for(void)
{
	return list_has(&ompi_mtl_base_framework, "mtl", names_include, "pm") &&
	       list_has(&ompi_pml_base_framework, "pml", names_allow, "cm");
}

/* Before Open MPI knows the list of MTLs mtl_pm_fits() is silent: people are told once. */
bool mtl_pm_register(void)
{
	if (!mtl_pm.is_registered)
		mca_mtl_pm_component.mtl_version.mca_register_component_params();
	return fits;
}

static int component_register(void)
{
	fits = mtl_pm_fits();
	mtl_pm.is_registered = true;
	if (!fits)
		return OMPI_SUCCESS;
	mtl_pm.priority = 100;
	add_int_parameter("priority", "Priority when pm is named in the mtl list",
			  &mtl_pm.priority);
	add_limit_parameter(
		"middle_limit",
		"Longest message in bytes sent at once in several datagrams; longer ones "
		"wait for the receiver (-1: by device)",
		&mtl_pm.middle_limit);
	if (mtl_pm.middle_limit > (long)ENVELOPE_FIRST_MAX)
		mtl_pm.middle_limit = ENVELOPE_FIRST_MAX;
	add_limit_parameter(
		"pull_limit",
		"Longest message in bytes that a receiver has streamed to it instead of "
		"reading the sender's memory (-1: by device)",
		&mtl_pm.pull_limit);
	add_limit_parameter(
		"head_limit",
		"Bytes of a longer message that are sent with its announcement, before the "
		"receiver asks for the rest (-1: by device)",
		&mtl_pm.head_limit);
	mtl_pm.unexpected_limit = 64ull << 20;
	add_size_parameter("unexpected_limit",
			   "Bytes of messages without a receive kept here before senders are told "
			   "to keep theirs",
			   &mtl_pm.unexpected_limit);
	mtl_pm.read_limit = 32;
	add_int_parameter("read_limit", "Long messages fetched from one rank at the same time",
			  &mtl_pm.read_limit);
	/* below 0 all that there is room for; none at all would wait for ever */
	if (mtl_pm.read_limit < 0)
		mtl_pm.read_limit = INT_MAX;
	else if (!mtl_pm.read_limit)
		mtl_pm.read_limit = 1;
	mtl_pm.keep_memory = 64ull << 20;
	add_size_parameter("keep_memory",
			   "Bytes of freed memory that stay with the process, for the next buffers "
			   "(0: the C library decides)",
			   &mtl_pm.keep_memory);
	mtl_pm.batch_threads = 1;
	add_int_parameter(
		"batch_threads",
		"1: if a rank has more threads than cores, its threads are scheduled as batch: "
		"they do not take the core from the thread that wakes them",
		&mtl_pm.batch_threads);
	add_int_parameter(
		"progress_thread",
		"While the program computes a thread sends lost packets again (0), moves long "
		"messages as well (1), or there is none (-1)",
		&mtl_pm.progress_thread);
	return OMPI_SUCCESS;
}

static int component_open(void)
{
	if (!fits)
		return OMPI_SUCCESS;
	mtl_pm_help_find();
	mtl_pm.is_named = names_include(ompi_mtl_base_framework.framework_selection, "pm");
	if (mtl_pm.is_named)
		mtl_pm_windows_choose();
	return OMPI_SUCCESS;
}

static int component_close(void)
{
	mtl_pm_windows_chosen();
	mtl_pm.is_registered = false;
	return OMPI_SUCCESS;
}

static bool is_wanted(void)
{
	return mtl_pm.is_named || names_include(ompi_pml_base_framework.framework_selection, "cm");
}

static int component_query(mca_base_module_t **module, int *priority)
{
	*module = NULL;
	*priority = -1;
	if (!fits || !is_wanted())
		return OMPI_ERR_NOT_AVAILABLE;
	*priority = mtl_pm.is_named ? mtl_pm.priority : PRIORITY_UNNAMED;
	*module = (mca_base_module_t *)&mtl_pm.super;
	return OMPI_SUCCESS;
}

static mca_mtl_base_module_t *start(bool wants_threads)
{
	mtl_pm_windows_start();
	return mtl_pm_open(wants_threads) == OMPI_SUCCESS ? &mtl_pm.super : NULL;
}

#if OMPI_MAJOR_VERSION >= 5
static mca_mtl_base_module_t *component_init(bool enable_progress_threads, bool enable_mpi_threads,
					     bool *accelerator_support)
{
	*accelerator_support = false;
	return start(enable_mpi_threads);
}
#else
static mca_mtl_base_module_t *component_init(bool enable_progress_threads, bool enable_mpi_threads)
{
	return start(enable_mpi_threads);
}
#endif

mca_mtl_base_component_2_0_0_t mca_mtl_pm_component = {
	.mtl_version =
		{
			MCA_MTL_BASE_VERSION_2_0_0,
			.mca_component_name = "pm",
			MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
			.mca_open_component = component_open,
			.mca_close_component = component_close,
			.mca_query_component = component_query,
			.mca_register_component_params = component_register,
		},
	.mtl_data = {MCA_BASE_METADATA_PARAM_NONE},
	.mtl_init = component_init,
};
