/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share - what each active peer may have on the way to us; share.c.
 */
#ifndef PM_CHANNEL_SHARE_H
#define PM_CHANNEL_SHARE_H

#define SHARE_PACKET_BYTES 2048 /* a message packet counts as so much of the budget */

struct chan;

/* Divides again: the number of active peers, or the budget, is another one. */
void share_out(struct chan *chan);

#endif
