/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * intervals - jobs that are written to disk again and again without being asked for each time, as
 * scrun -checkpoint=TIME wants.
 */
#ifndef SCHEDULER_SCORED_INTERVALS_H
#define SCHEDULER_SCORED_INTERVALS_H

#include "scheduler/scored/scored.h"

#define INTERVALS_RETRY_S 60.0 /* after one that failed, unless the interval is shorter */

/*
 * To be called each beat; @now_s: clock_monotonic_s(), @today: seconds since the epoch. The user is
 * told a failure on the standard error of scrun, once as long as it stays the same.
 */
void intervals_beat(struct scored *d, double now_s, int64_t today);

#endif
