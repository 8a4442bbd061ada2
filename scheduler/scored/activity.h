/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * activity - the connections that are told again and again what the cluster does. All of them share
 * one tick: what concerns everybody is put together once in it, what concerns one user once for all
 * of his connections. Both are charged to him. Knows no request.
 */
#ifndef SCHEDULER_SCORED_ACTIVITY_H
#define SCHEDULER_SCORED_ACTIVITY_H

#include "scheduler/scored/scored.h"

#define ACTIVITY_TICK_S 0.2 /* nobody is told more often */
#define ACTIVITY_EVERY_MAX_S 3600.0
#define ACTIVITY_LINKS_MAX 8u /* of one user that is limited */

void activity_open(struct scored *d);
/*
 * It is told every so many seconds from now on; again: with another time. False: its user has too
 * many, see @why.
 */
bool activity_follow(struct user *user, double every_s, char *why, size_t why_size);
/* Nothing if it does not follow. */
void activity_leave(struct user *user);
/* Tells those whose time has come. The timer calls it. */
void activity_tick(struct scored *d);

#endif
