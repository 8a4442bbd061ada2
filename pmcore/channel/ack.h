/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ack - acknowledgement in both directions; ack.c says when we tell and what we read.
 */
#ifndef PM_CHANNEL_ACK_H
#define PM_CHANNEL_ACK_H

#include "pmcore/channel/chan_private.h"

/* Notes that a packet has come in by @rail; false: its rail number is absurd. */
bool ack_arrival(struct chan *chan, struct chan_peer *peer, const struct wire_header *header,
		 uint32_t local_rail);
/* The same for @n packets of data that are the next ones of their rail and ask for nothing. */
void ack_next(struct chan *chan, struct chan_peer *peer, uint32_t rail, uint32_t n);
/* A header that is none of an ACK packet says the same as the last one: there is nothing to read. */
bool ack_is_known(const struct chan_flow *flow, const struct wire_header *header);
/* Reads acks and credit of a header (@data: a whole ACK packet, else NULL); false: they are absurd. */
bool ack_input(struct chan *chan, struct chan_peer *peer, const struct wire_header *header,
	       const uint8_t *data);
/* The rail that the next header tells of (those that moved take turns), and its sack field. Then: it has left. */
uint32_t ack_echo(const struct chan_flow *flow);
uint32_t ack_bits(const struct chan *chan, const struct chan_peer *peer);
void ack_told(struct chan_peer *peer, uint8_t type, uint32_t echo, uint16_t credit);
/* Sends the bare ack that is due, if one is; 0 or -EAGAIN. */
int ack_output(struct chan *chan, struct chan_peer *peer, int *posted);
uint64_t ack_timers(struct chan *chan, struct chan_peer *peer);
/* An ack has to leave, at once or within the usual delay. */
void ack_now(struct chan *chan, struct chan_peer *peer);
void ack_soon(struct chan *chan, struct chan_peer *peer);

#endif
