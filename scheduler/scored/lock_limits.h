/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock_limits - how many hosts a user may keep others from, and for how long, so that nobody can
 * close the cluster. Operators are not limited.
 */
#ifndef SCHEDULER_SCORED_LOCK_LIMITS_H
#define SCHEDULER_SCORED_LOCK_LIMITS_H

#include "scheduler/scored/scored.h"

#define LOCK_LIMITS_LEASE_S 300 /* at most: who has gone without a word is gone after that */
#define LOCK_LIMITS_HOSTS_MIN 4u

struct lock;

/*
 * Sets how long it may last, and how long without a renewal. @held_s: it has been held for so long
 * already.
 */
void lock_limits_set(struct lock *lock, double held_s);
/*
 * Whether its user has and wants too many hosts alone with it; then @why names the limit and what
 * helps.
 */
bool lock_limits_refuse(const struct lock *lock, char *why, size_t why_size);
/* Why a lock that is over is over, as a sentence; whether it has lasted as long as it may. */
bool lock_limits_explain(struct lock *lock, double now, char *why, size_t why_size);

#endif
