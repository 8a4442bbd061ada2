/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scout - the scored of a scout(1) session, whose hosts are locked for the session's user. The
 * session starts it for the first scrun that asks.
 */
#ifndef SCHEDULER_SCRUN_SCOUT_H
#define SCHEDULER_SCRUN_SCOUT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether we run in such a session and nobody said where else to go. */
bool scout_is_asked(const char *server_option);
/* The value of $SCORE_SERVER, if it leads out of such a session; NULL: it does not. */
const char *scout_is_overruled(const char *server_option);
/*
 * Its address in @ret, owned by the caller: "HOST:PORT". 0, or -errno and a sentence in @why; "" =
 * scout has said it on standard error.
 */
int scout_server(char **ret, char *why, size_t why_size);

#endif
