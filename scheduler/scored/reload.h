/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reload - SIGHUP: reads the hosts, groups and networks of cluster.json again. Jobs and locks stay,
 * also on hosts that the file no longer has. The section [scheduler] that was read at the start
 * stays in force.
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
