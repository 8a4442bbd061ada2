/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtt - the retransmission timer of a peer; rtt.c says when it fires.
 */
#ifndef PM_CHANNEL_RTT_H
#define PM_CHANNEL_RTT_H

#include "pmcore/channel/chan_private.h"

void rtt_sample(struct chan_peer *peer, uint64_t rtt_ns);
uint64_t rtt_timeout(const struct chan *chan, const struct chan_peer *peer);
/* Starts the timer if it is off. */
void rtt_arm(struct chan *chan, struct chan_peer *peer);
/* The peer acked something new; @is_waiting: something waits for it to tell more. */
void rtt_progress(struct chan *chan, struct chan_peer *peer, bool is_waiting);
/* After a timeout. */
void rtt_backoff(struct chan *chan, struct chan_peer *peer);

#endif
