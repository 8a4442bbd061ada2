/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outage - rails that are out; outage.c says how that is found.
 */
#ifndef PM_CHANNEL_OUTAGE_H
#define PM_CHANNEL_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

struct chan;
struct chan_peer;

/* Takes silent rails out, probes those that are out; returns when to look again. */
uint64_t outage_timers(struct chan *chan, struct chan_peer *peer);
/* A rail has lost its carrier, or has it again. */
void outage_carrier(struct chan *chan, uint32_t rail, bool is_up);

#endif
