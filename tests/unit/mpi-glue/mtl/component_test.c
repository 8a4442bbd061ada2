// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_component: which selection lists ask for a component. */
#include "tests/unit/mpi-glue/mtl/fake_pm.h"

TAP_TEST(list_names__whole_words_only)
{
	ok(mtl_pm_list_names("pm", "pm"));
	ok(mtl_pm_list_names("ofi,pm", "pm"));
	ok(mtl_pm_list_names("pm,ofi", "pm"));
	ok(mtl_pm_list_names(",,pm,", "pm"));
	ok(!mtl_pm_list_names("pmx", "pm"));
	ok(!mtl_pm_list_names("p,m", "pm"));
	ok(!mtl_pm_list_names("xpm", "pm"));
	ok(!mtl_pm_list_names("p", "pm"));
	ok(!mtl_pm_list_names("", "pm"));
	ok(!mtl_pm_list_names(NULL, "pm"));
}

TAP_TEST(list_names__a_list_of_what_is_left_out_names_nothing)
{
	ok(!mtl_pm_list_names("^pm", "pm"));
	ok(!mtl_pm_list_names("^ofi,pm", "pm"));
}
