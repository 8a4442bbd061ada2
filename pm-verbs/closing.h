/* SPDX-License-Identifier: BSD-3-Clause */
/* closing - the end of a connection in agreement. */
#ifndef PM_VERBS_CLOSING_H
#define PM_VERBS_CLOSING_H

#include "pm-verbs/device.h"

/* Sends nothing more over the peer's connection, and asks it to do the same. */
void pmv_close(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now);
/* It says that it sends nothing more. */
void pmv_close_arrived(struct pmv_link *link, struct pm_link_peer *peer);
/* Something sent to a peer in CLOSING has been acknowledged. */
void pmv_close_acknowledged(struct pmv_link *link, struct pm_link_peer *peer);
/* Whether the other side may still answer in time. */
bool pmv_close_is_young(const struct pm_link_peer *peer, uint64_t now);
/* Ends those that the other side does not answer. */
void pmv_close_timers(struct pmv_link *link, uint64_t now);

#endif
