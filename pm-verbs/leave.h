/* SPDX-License-Identifier: BSD-3-Clause */
/* leave - the way to a peer is lost, though it may live: another device of the composite takes it over. */
#ifndef PM_VERBS_LEAVE_H
#define PM_VERBS_LEAVE_H

#include "pm-verbs/device.h"

/* No connection to the peer can be had any more. Where nothing else could take it over it is dead. */
void pmv_peer_lose(struct pmv_link *link, struct pm_link_peer *peer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

extern const struct pm_leave_ops pmv_leave_ops;

#endif
