// SPDX-License-Identifier: BSD-3-Clause
/* environment: what a job gets of the user's variables. */
#include <stdlib.h>
#include <string.h>

#include "scheduler/scrun/environment.h"
#include "tests/harness/tap.h"

static const char *const variables[] = {"HOME=/home/u",
					"SSH_AUTH_SOCK=/s",
					"PMIX_RANK=3",
					"PMIX_MCA_gds=hash",
					"PMIX_MCA_mca_base_component_path=/p",
					"OMPI_MCA_btl=tcp",
					"SHLVL=1",
					"OMPI_COMM_WORLD_RANK=0",
					"SLURM_JOB_ID=1",
					"FOO_A=1",
					"FOO_B=a=b",
					"TMPDIR=/t",
					"DISPLAY=:0",
					"LD_LIBRARY_PATH=/l",
					"odd",
					"=x",
					NULL};

/* As environ is declared. */
static char *const *const some = (char *const *)(uintptr_t)variables;

/* Joined by blanks; frees the list. */
static const char *join(char **list)
{
	static char text[1024];

	*text = 0;
	for (size_t i = 0; list && list[i]; i++) {
		strcat(text, i ? " " : "");
		strcat(text, list[i]);
		free(list[i]);
	}
	free(list);
	return text;
}

TAP_TEST(environment_of_job__without_what_is_bound)
{
	struct words none = {0};

	is_str(join(environment_of_job(some, &none)),
	       "HOME=/home/u PMIX_MCA_mca_base_component_path=/p OMPI_MCA_btl=tcp FOO_A=1 "
	       "FOO_B=a=b DISPLAY=:0 LD_LIBRARY_PATH=/l");
}

TAP_TEST(environment_of_job__without_patterns)
{
	const char *patterns[] = {"FOO_*", "DISPLAY"};
	struct words words = {patterns, 2};

	is_str(join(environment_of_job(some, &words)),
	       "HOME=/home/u PMIX_MCA_mca_base_component_path=/p OMPI_MCA_btl=tcp "
	       "LD_LIBRARY_PATH=/l");
}

TAP_TEST(environment_of_app__names_and_values)
{
	const char *list[] = {"A=1", "SSH_AUTH_SOCK", "FOO_*", "E="};
	struct words words = {list, 4};
	const char *missing;

	is_str(join(environment_of_app(some, &words, &missing)),
	       "SSH_AUTH_SOCK=/s FOO_A=1 FOO_B=a=b A=1 E=");
	ok(!missing);
}

TAP_TEST(environment_of_app__a_name_that_is_not_there)
{
	const char *list[] = {"NO_*", "NOPE"};
	struct words words = {list, 2};
	const char *missing;

	is_str(join(environment_of_app(some, &words, &missing)), "");
	is_str(missing, "NOPE");
}
