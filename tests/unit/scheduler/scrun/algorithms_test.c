// SPDX-License-Identifier: BSD-3-Clause
/* collectives: what a user's file of Open MPI's parameters says. */
#include "scheduler/scrun/algorithms.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/tap.h"

/* Whether a file of @text chooses; NULL: there is no file. */
static bool chosen(const char *text)
{
	char home[] = "/tmp/collectives-XXXXXX", variable[64], directory[64], path[96];
	char *environment[] = {(char[]){"A=1"}, variable, NULL};
	bool is_chosen;
	FILE *out;

	if (!mkdtemp(home))
		return !okf(false, "%s: cannot be made", home);
	snprintf(variable, sizeof(variable), "HOME=%s", home);
	snprintf(directory, sizeof(directory), "%s/.openmpi", home);
	snprintf(path, sizeof(path), "%s/mca-params.conf", directory);
	if (text && !mkdir(directory, 0700) && (out = fopen(path, "w"))) {
		fputs(text, out);
		fclose(out);
	}
	is_chosen = algorithms_are_chosen(environment);
	unlink(path);
	rmdir(directory);
	rmdir(home);
	return is_chosen;
}

TAP_TEST(collectives_are_chosen__no_file)
{
	char *none[] = {NULL};

	ok(!chosen(NULL));
	ok(!algorithms_are_chosen(none));
}

TAP_TEST(collectives_are_chosen__other_parameters)
{
	ok(!chosen("mtl = pm\n# coll_tuned_use_dynamic_rules = 1\n"));
}

TAP_TEST(collectives_are_chosen__parameters_of_coll_tuned)
{
	ok(chosen("mtl = pm\n  coll_tuned_use_dynamic_rules = 0\n"));
	ok(chosen("coll_tuned_bcast_algorithm=6"));
}
