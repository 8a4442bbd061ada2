/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sendwin - packets on their way, for the other parts of the engine; sendwin.c says in which order
 * they leave.
 */
#ifndef PM_CHANNEL_SENDWIN_H
#define PM_CHANNEL_SENDWIN_H

#include "pmcore/channel/chan_private.h"

void sendwin_init(struct chan *chan, struct chan_flow *flow);
/*
 * Queues a control message to a peer that has a flow. Its body is to be written to where this
 * points; NULL: no buffer.
 */
uint8_t *sendwin_control(struct chan *chan, struct chan_peer *peer, const struct wire_msg *msg);
/* Sends a packet under the next sequence number; the window must be open. 0 or -EAGAIN. */
int sendwin_transmit(struct chan *chan, struct chan_peer *peer, struct pm_packet *packet,
		     uint8_t flags);
/* The same for @n packets, for all of which the window must be open: how many have left. */
uint32_t sendwin_transmit_run(struct chan *chan, struct chan_peer *peer,
			      struct pm_packet *const *packets, uint32_t n, uint8_t flags);
/* Sends what may go: repetitions, controls, messages. 0 or -EAGAIN; adds to *posted. */
int sendwin_output(struct chan *chan, struct chan_peer *peer, int *posted);
/* Something waits that an ack or credit would let go. */
bool sendwin_is_waiting(const struct chan_peer *peer);
/* The slot's packet has arrived: frees it. */
void sendwin_acked(struct chan *chan, struct chan_peer *peer, struct tx_slot *slot);
/* The same for all that is in flight; nothing of it is lost. */
void sendwin_acked_all(struct chan *chan, struct chan_peer *peer);
/* The slot's packet is to be sent again. */
void sendwin_lost(struct chan *chan, struct chan_peer *peer, struct tx_slot *slot);
/* The same, because an ack showed it: what happens too often is not tried at once. */
void sendwin_dropped(struct chan *chan, struct chan_peer *peer, struct tx_slot *slot);
/* The retransmission timer fired. */
void sendwin_timeout(struct chan *chan, struct chan_peer *peer);
/*
 * The memory is about to go: packets in flight that are sent from there get copies of their data.
 */
void sendwin_take_back(struct chan *chan, struct chan_peer *peer, const void *addr, uint64_t len);
/* Frees every packet. */
void sendwin_clear(struct chan *chan, struct chan_peer *peer);

#endif
