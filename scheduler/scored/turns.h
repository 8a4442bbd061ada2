/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns - turns the matrix into slot tables and sends them, ahead of the time at which they begin.
 */
#ifndef SCHEDULER_SCORED_TURNS_H
#define SCHEDULER_SCORED_TURNS_H

#include "scheduler/scored/scored.h"

#define TURNS_LEAD_NS 20000000ull /* a table is on its way for less */

/* The matrix has changed: a new table to every host that is concerned by it. */
void turns_publish(struct scored *d);
/* The table that holds, to a host that registered. */
void turns_send(struct scored *d, struct node *node);

#endif
