/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn - the switch thread: freezes and thaws the jobs of this host when the slot table says so.
 * Runs under SCHED_FIFO with RESET_ON_FORK, its memory locked, and sleeps by nap.h; a table is
 * handed over without a lock that the thread could wait for. Counts switches that came late.
 */
#ifndef SCHEDULER_SCNODED_TURN_H
#define SCHEDULER_SCNODED_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/proto/slots.h"
#include "scheduler/scnoded/cgroup.h"

#define TURN_LATE_NS 1000000ull /* a switch later than this is counted as late */

struct turn_counts {
	uint64_t done;         /* switches */
	uint64_t late;         /* of them later than TURN_LATE_NS */
	uint64_t worst_ns;     /* the latest of all */
	uint64_t lost_ns;      /* sum of the time from the planned moment to the last thaw done */
	uint64_t slow_freezes; /* jobs not frozen when the next was thawed, at each look anew */
};

struct turn;

struct turn *turn_open(
	/*
	 * NULL with errno; without the privilege for SCHED_FIFO: runs as it is, turn_is_realtime()
	 * false
	 */
	void);
bool turn_is_realtime(const struct turn *turn);
/* A job joins (its group stays the caller's until turn_drop() returned) or leaves, thawed. */
int turn_take(struct turn *turn, uint64_t id, struct cgroup *group);
void turn_drop(struct turn *turn, uint64_t id);
/* The next table, valid from its begins_ns on; taken over. */
void turn_table(struct turn *turn, struct slots *slots);
/* Now and then: sees that the clock was set, and has the switch thread look at it. */
void turn_tick(struct turn *turn);
void turn_counts(const struct turn *turn, struct turn_counts *ret);
/* Ends the thread; every job is left thawed. */
void turn_close(struct turn *turn);

#endif
