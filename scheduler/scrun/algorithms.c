// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/algorithms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define HOME "HOME="
#define FILE_BELOW_HOME ".openmpi/mca-params.conf"
#define PARAMETERS "coll_tuned_"

static FILE *open_parameters(char *const *environment)
{
	char *path;
	FILE *in;

	while (*environment && strncmp(*environment, HOME, strlen(HOME)))
		environment++;
	if (!*environment ||
	    asprintf(&path, "%s/" FILE_BELOW_HOME, *environment + strlen(HOME)) < 0)
		return NULL;
	in = fopen(path, "re");
	free(path);
	return in;
}

bool algorithms_are_chosen(char *const *environment)
{
	FILE *in = open_parameters(environment);
	bool is_chosen = false;
	char *line = NULL;
	size_t room = 0;

	while (in && !is_chosen && getline(&line, &room, in) >= 0)
		is_chosen = !strncmp(line + strspn(line, " \t"), PARAMETERS, strlen(PARAMETERS));
	free(line);
	if (in)
		fclose(in);
	return is_chosen;
}
