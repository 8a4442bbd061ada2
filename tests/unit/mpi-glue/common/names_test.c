// SPDX-License-Identifier: BSD-3-Clause
/* names: whole names only, and lists that exclude. */
#include "mpi-glue/common/names.h"
#include "tests/harness/tap.h"

TAP_TEST(names_include__whole_names_only)
{
	ok(names_include("pm", "pm"));
	ok(names_include("ofi,pm", "pm"));
	ok(names_include("pm,ofi", "pm"));
	ok(names_include("psm2,pm,ofi", "pm"));
	ok(!names_include("pmx,xpm", "pm"));
	ok(!names_include("p", "pm"));
	ok(!names_include("ofi,", "pm"));
}

TAP_TEST(names_include__none_and_all_but)
{
	ok(!names_include(NULL, "pm"));
	ok(!names_include("", "pm"));
	ok(!names_include("^pm", "pm"));
	ok(!names_include("^ofi,pm", "pm"));
}

TAP_TEST(names_allow__what_is_not_left_out)
{
	ok(names_allow(NULL, "pm"));
	ok(names_allow("", "pm"));
	ok(names_allow("ofi,pm", "pm"));
	ok(names_allow("^ofi", "pm"));
	ok(names_allow("^pmx", "pm"));
	ok(!names_allow("ofi", "pm"));
	ok(!names_allow("^pm", "pm"));
	ok(!names_allow("^ofi,pm", "pm"));
}
