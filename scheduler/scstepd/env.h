/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * env - an environment that is put together: a later "NAME=VALUE" replaces an earlier one. Owns its
 * strings. A failure is remembered and asked for once, at the end.
 */
#ifndef SCHEDULER_SCSTEPD_ENV_H
#define SCHEDULER_SCSTEPD_ENV_H

#include <stdbool.h>
#include <stddef.h>

struct env {
	char **v; /* NULL-terminated once something is in it */
	size_t n, room;
	bool is_broken; /* no memory */
};

void env_put(struct env *env, const char *entry);
void env_putf(struct env *env, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* All of a NULL-terminated array; NULL is fine. */
void env_put_all(struct env *env, char *const *entries);
/* The value, or NULL. */
const char *env_get(const struct env *env, const char *name);
void env_fini(struct env *env);

#endif
