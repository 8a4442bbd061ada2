/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * environment - which of the user's variables a job gets: all but those that are bound to this
 * session, to this host, or to a job that scrun itself runs in. Secrets travel in messages only,
 * never in an argument list. Pure.
 */
#ifndef SCHEDULER_SCRUN_ENVIRONMENT_H
#define SCHEDULER_SCRUN_ENVIRONMENT_H

#include <stdbool.h>

#include "scheduler/scrun/options.h"

/* Whether the variable @name is left out unless it is asked for by --env. */
bool environment_is_bound(const char *name);

/*
 * Copies of what of @from, a list as environ, a job gets: without what @no_env matches.
 * NULL-terminated, all owned by the caller. NULL: no memory.
 */
char **environment_of_job(char *const *from, const struct words *no_env);

/* @list, owned, with a copy of @variable behind it; NULL: no memory, or @list is. */
char **environment_with(char **list, const char *variable);

/*
 * The variables of @env: "NAME=VALUE" as it is, "NAME" with its value in @from, where "*" stands
 * for any letters. *@missing: the first name without "*" that @from does not have, else NULL.
 */
char **environment_of_app(char *const *from, const struct words *env, const char **missing);

#endif
