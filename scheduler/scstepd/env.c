// SPDX-License-Identifier: BSD-3-Clause
/*
 * env - a plain array; environments are small.
 */
#include "scheduler/scstepd/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char **find(const struct env *env, const char *name, size_t length)
{
	for (size_t i = 0; i < env->n; i++)
		if (!strncmp(env->v[i], name, length) && env->v[i][length] == '=')
			return &env->v[i];
	return NULL;
}

/* Takes @entry. */
static void take(struct env *env, char *entry)
{
	char **at;

	if (!entry) {
		env->is_broken = true;
		return;
	}
	at = find(env, entry, strcspn(entry, "="));
	if (at) {
		free(*at);
		*at = entry;
		return;
	}
	if (env->n + 2 > env->room) {
		size_t room = env->room ? 2 * env->room : 64;
		char **more = realloc(env->v, room * sizeof(*more));

		if (!more) {
			env->is_broken = true;
			free(entry);
			return;
		}
		env->v = more;
		env->room = room;
	}
	env->v[env->n++] = entry;
	env->v[env->n] = NULL;
}

void env_put(struct env *env, const char *entry)
{
	take(env, strdup(entry));
}

void env_putf(struct env *env, const char *format, ...)
{
	char *entry;
	va_list args;

	va_start(args, format);
	if (vasprintf(&entry, format, args) < 0)
		entry = NULL;
	va_end(args);
	take(env, entry);
}

void env_put_all(struct env *env, char *const *entries)
{
	for (size_t i = 0; entries && entries[i]; i++)
		if (strchr(entries[i], '='))
			env_put(env, entries[i]);
}

const char *env_get(const struct env *env, const char *name)
{
	char **at = find(env, name, strlen(name));

	return at ? *at + strlen(name) + 1 : NULL;
}

void env_fini(struct env *env)
{
	for (size_t i = 0; i < env->n; i++)
		free(env->v[i]);
	free(env->v);
	*env = (struct env){0};
}
