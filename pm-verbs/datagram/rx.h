/* SPDX-License-Identifier: BSD-3-Clause */
/* rx - packets in: buffers posted ahead on each rail, lent where they lie or copied. */
#ifndef PM_VERBS_DATAGRAM_RX_H
#define PM_VERBS_DATAGRAM_RX_H

#include "pm-verbs/datagram/device.h"

/* Slots for the copies of all rails. */
int pmvd_rx_init(struct pmvd_dev *d, uint32_t n_slots);
void pmvd_rx_fini(struct pmvd_dev *d);
/* Buffers of a rail, of d->stride bytes. */
int pmvd_rx_make(struct pmvd_dev *d, struct pmvd_rail *rail);
/* Posts all that is not lent; a positive error. */
int pmvd_rx_start(struct pmvd_dev *d, struct pmvd_rail *rail);
/* The device has given all back: what it says of before counts no more. */
void pmvd_rx_stop(struct pmvd_rail *rail);

int pmvd_rx_burst(struct pm_dev *dev, struct pm_rx *rx, int n);
void pmvd_rx_return(struct pm_dev *dev, uint64_t token);
/* Asks the device, unless something is waiting already. */
void pmvd_rx_look(struct pmvd_dev *d, struct pmvd_rail *rail);
/* Whether a packet of this rail could be handed out now. */
bool pmvd_rx_has_room(const struct pmvd_dev *d, const struct pmvd_rail *rail);
static inline bool pmvd_rx_is_pending(const struct pmvd_rail *rail)
{
	return rail->rx.next_arrived != rail->rx.n_arrived;
}

#endif
