/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * idle - jobs whose ranks all wait: they give their turns away, for good until they wake or for a
 * while. The user of a job that seems to wait for ever is told so.
 */
#ifndef SCHEDULER_SCORED_IDLE_H
#define SCHEDULER_SCORED_IDLE_H

#include "scheduler/scored/scored.h"

/* The state of a job that a host reports with each beat. */
void idle_beat(struct scored *d, struct node *node, uint64_t id, uint64_t cpu_ns, bool is_idle,
	       bool is_stuck);
/* Once a beat: jobs that were set aside come back. */
void idle_tick(struct scored *d);

#endif
