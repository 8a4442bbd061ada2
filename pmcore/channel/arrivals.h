/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arrivals - which packets have come, by sequence number; arrivals.c.
 */
#ifndef PM_CHANNEL_ARRIVALS_H
#define PM_CHANNEL_ARRIVALS_H

#include "pmcore/channel/chan_private.h"

/* The 64 bits from @seq on, which is behind rx_next. */
uint64_t arrivals_bits(const struct chan *chan, const struct chan_flow *flow, uint32_t seq);
/* @seq, within the window, has come early. */
bool arrivals_has(const struct chan *chan, const struct chan_flow *flow, uint32_t seq);
/* It comes now, for the first time. */
void arrivals_add(struct chan *chan, struct chan_peer *peer, uint32_t seq);
/* Packets that came early are forgotten. */
void arrivals_clear(const struct chan *chan, struct chan_flow *flow);

#endif
