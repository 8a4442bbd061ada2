/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reload - SIGHUP: the hosts, groups and networks of cluster.json anew. Jobs and locks stay, also on hosts that the file no
 * longer has. What [scheduler] says holds from start to end.
 */
#ifndef SCHEDULER_SCORED_RELOAD_H
#define SCHEDULER_SCORED_RELOAD_H

#include "scheduler/scored/scored.h"

/* Without --config SIGHUP is left as it is. */
void reload_open(struct scored *d);
void reload_close(struct scored *d);
/* Now. A file that is no good is told of, and changes nothing. */
void reload_now(struct scored *d);

#endif
