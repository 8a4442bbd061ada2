/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report - what the peer tells of our packets; report.c says what follows from it.
 */
#ifndef PM_CHANNEL_REPORT_H
#define PM_CHANNEL_REPORT_H

#include "pmcore/channel/chan_private.h"

/*
 * A header that is none of an ACK packet says the same as the last one: there is nothing to read.
 */
bool report_is_known(const struct chan_flow *flow, const struct wire_header *header);
/*
 * Reads acks and credit of a header (@data: a whole ACK packet, else NULL); false: they are absurd.
 */
bool report_input(struct chan *chan, struct chan_peer *peer, const struct wire_header *header,
		  const uint8_t *data);

#endif
