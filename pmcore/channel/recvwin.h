/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recvwin - what has arrived; recvwin.c says how order is restored.
 */
#ifndef PM_CHANNEL_RECVWIN_H
#define PM_CHANNEL_RECVWIN_H

#include "pmcore/channel/chan_private.h"

/*
 * A DATA packet of @length body bytes; DROP_NONE: taken over, *ret_kept tells whether the buffer is
 * still needed.
 */
enum drop_reason recvwin_input(struct chan *chan, struct chan_peer *peer, uint32_t seq,
			       uint16_t length, uint8_t *data, uint64_t token, bool *ret_kept);
/*
 * The same for packets of one datagram each that are next in order. There is room for so many, none
 * while packets are early.
 */
uint32_t recvwin_row_room(const struct chan *chan, const struct chan_peer *peer);
/* Takes over one of them; false: no memory. */
bool recvwin_add_to_row(struct chan *chan, struct chan_peer *peer, const struct pm_rx *rx,
			uint16_t length);
/* Counts all @n of them. */
void recvwin_end_row(struct chan *chan, struct chan_peer *peer, uint32_t n);
/* Drops what waits for its order. */
void recvwin_clear(struct chan *chan, struct chan_peer *peer);

#endif
