/* SPDX-License-Identifier: BSD-3-Clause */
/* evict - which connection gives up its place. */
#ifndef PM_VERBS_CONN_EVICT_H
#define PM_VERBS_CONN_EVICT_H

#include "pm-verbs/conn/record.h"

/* a connection in use is kept for 10 ms when others want its place */
#define PMV_SLICE_NS 10000000ull

/* Gives places that have become free to those that wait, and closes connections for more. */
void pmv_evict_turn(struct pmv_link *link);
void pmv_evict_timers(struct pmv_link *link, uint64_t now);
/* Nanoseconds until the timers have something to do, UINT64_MAX = nothing. */
uint64_t pmv_evict_deadline(const struct pmv_link *link, uint64_t now);

#endif
