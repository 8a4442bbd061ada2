/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * users - the people's side: each connection is one user as munge knows them, with one request
 * after another. Decides who may do what; does nothing to a job itself.
 */
#ifndef SCHEDULER_SCORED_USERS_H
#define SCHEDULER_SCORED_USERS_H

#include "scheduler/scored/scored.h"

/* A connection was authenticated, and it is no scnoded's. */
void users_enter(struct scored *d, struct link *link);
/* Says why and closes. @error: as errno is named. */
void users_turn_away(struct link *link, const char *error, const char *why);
void users_close(struct scored *d);

#endif
