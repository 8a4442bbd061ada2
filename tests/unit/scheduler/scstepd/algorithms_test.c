// SPDX-License-Identifier: BSD-3-Clause
/* collectives: which jobs get the rules. */
#include "scheduler/scstepd/algorithms.h"

#include <stdio.h>
#include <string.h>

#include "tests/harness/tap.h"

#define FILE_NAME "OMPI_MCA_coll_tuned_dynamic_rules_filename"
#define SWITCH "OMPI_MCA_coll_tuned_use_dynamic_rules"

/* The rules' file after @rules are put into an environment of @variables, NULL-terminated. */
static const char *named(const char *rules, const char *const *variables)
{
	static char text[256];
	struct env env = {0};
	const char *file;

	for (; *variables; variables++)
		env_put(&env, *variables);
	algorithms_put(&env, rules);
	file = env_get(&env, FILE_NAME);
	snprintf(text, sizeof(text), "%s %s", file ? file : "none",
		 env_get(&env, SWITCH) ? env_get(&env, SWITCH) : "unset");
	env_fini(&env);
	return text;
}

#define NAMED(rules, ...) named(rules, (const char *const[]){__VA_ARGS__, NULL})

TAP_TEST(collectives_put__over_pm)
{
	is_str(NAMED("/r", "OMPI_MCA_mtl=pm"), "/r 1");
	is_str(NAMED("/r", "OMPI_MCA_mtl=pm", "OMPI_MCA_pml=cm"), "/r 1");
}

TAP_TEST(collectives_put__over_another_transport)
{
	is_str(NAMED("/r", "OMPI_MCA_btl=tcp,self"), "none unset");
	is_str(NAMED("/r", "OMPI_MCA_mtl=ofi"), "none unset");
}

TAP_TEST(collectives_put__without_a_file)
{
	is_str(NAMED(NULL, "OMPI_MCA_mtl=pm"), "none unset");
}

TAP_TEST(collectives_put__switched_off)
{
	is_str(NAMED("/r", "OMPI_MCA_mtl=pm", "SCORE_COLLECTIVES=default"), "none unset");
	is_str(NAMED("/r", "OMPI_MCA_mtl=pm", "SCORE_COLLECTIVES=tuned"), "/r 1");
}

TAP_TEST(collectives_put__the_users_choice_stays)
{
	is_str(NAMED("/r", "OMPI_MCA_mtl=pm", SWITCH "=0"), "none 0");
	is_str(NAMED("/r", "OMPI_MCA_mtl=pm", SWITCH "=1", FILE_NAME "=/mine"), "/mine 1");
	is_str(NAMED("/r", "OMPI_MCA_mtl=pm", SWITCH "=1", "OMPI_MCA_coll_tuned_bcast_algorithm=6"),
	       "none 1");
}
