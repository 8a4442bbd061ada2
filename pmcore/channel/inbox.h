/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inbox - message packets that have come and are not released; inbox.c.
 */
#ifndef PM_CHANNEL_INBOX_H
#define PM_CHANNEL_INBOX_H

struct chan;
struct chan_peer;
struct rx_packet;

/* A record for a packet that has come, to be filled; NULL: no memory. */
struct rx_packet *inbox_alloc(struct chan *chan);
/* And back; the buffer goes to whom it belongs. */
void inbox_free(struct chan *chan, struct rx_packet *rx);
/* The user may read it, behind the others. */
void inbox_deliver(struct chan *chan, struct rx_packet *rx);
/* The peer goes: what was not read is dropped, what the user holds stays. */
void inbox_drop(struct chan *chan, struct chan_peer *peer);
void inbox_fini(struct chan *chan);

#endif
