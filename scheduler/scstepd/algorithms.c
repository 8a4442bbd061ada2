// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scstepd/algorithms.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* From the directory of this program, installed and in the build tree. */
#define RULES "../share/openscore/collectives.rules"

#define CHOICE "OMPI_MCA_coll_tuned_"

static bool is(const struct env *env, const char *name, const char *value)
{
	const char *found = env_get(env, name);

	return found && !strcmp(found, value);
}

/* Whatever of coll/tuned it is: rules would win over a forced algorithm. */
static bool has_choice(const struct env *env)
{
	for (size_t i = 0; i < env->n; i++)
		if (!strncmp(env->v[i], CHOICE, strlen(CHOICE)))
			return true;
	return false;
}

void algorithms_put(struct env *env, const char *rules)
{
	if (!rules || !is(env, "OMPI_MCA_mtl", "pm") || is(env, "SCORE_COLLECTIVES", "default") ||
	    has_choice(env))
		return;
	env_put(env, CHOICE "use_dynamic_rules=1");
	env_putf(env, CHOICE "dynamic_rules_filename=%s", rules);
}

const char *algorithms_rules(void)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof(RULES) - 1);

	if (n <= 0)
		return NULL;
	path[n] = 0;
	strcpy(strrchr(path, '/') + 1, RULES);
	return access(path, R_OK) ? NULL : path;
}
