/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ack - the acknowledgements that we owe a peer; ack.c says when they leave.
 */
#ifndef PM_CHANNEL_ACK_H
#define PM_CHANNEL_ACK_H

#include "pmcore/channel/chan_private.h"

/* Notes that a packet has come in by @rail; false: its rail number is absurd. */
bool ack_arrival(struct chan *chan, struct chan_peer *peer, const struct wire_header *header,
		 uint32_t local_rail);
/* The same for @n packets of data that are the next ones of their rail and ask for nothing. */
void ack_next(struct chan *chan, struct chan_peer *peer, uint32_t rail, uint32_t n);
/*
 * The rail that the next header tells of (those that moved take turns), and its sack field. Then:
 * it has left.
 */
uint32_t ack_echo(const struct chan_flow *flow);
uint32_t ack_bits(const struct chan *chan, const struct chan_peer *peer);
void ack_told(struct chan_peer *peer, uint8_t type, uint32_t echo, uint16_t credit);
/* The peer sent again what we have: it has not heard of it. */
static inline void ack_unheard(struct chan_flow *flow)
{
	flow->is_unheard = true;
}
/* Nothing is owed any more. */
void ack_clear(struct chan_flow *flow);
/* A bare ack has to leave, as soon as it can. */
bool ack_is_due(const struct chan *chan, const struct chan_flow *flow);
/* Sees to it that one leaves when it has waited long enough; returns when to look again. */
uint64_t ack_timers(struct chan *chan, struct chan_peer *peer);
/* An ack has to leave, at once or within the usual delay. */
void ack_now(struct chan *chan, struct chan_peer *peer);
void ack_soon(struct chan *chan, struct chan_peer *peer);

#endif
