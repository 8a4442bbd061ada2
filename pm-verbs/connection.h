/* SPDX-License-Identifier: BSD-3-Clause */
/* connection - the life of a queue pair. */
#ifndef PM_VERBS_CONNECTION_H
#define PM_VERBS_CONNECTION_H

#include "pm-verbs/device.h"

void pmv_connect(struct pmv_link *link, struct pm_link_peer *peer);
/* Takes the other side's end; 0 when connected. */
int pmv_connect_to(struct pmv_link *link, struct pm_link_peer *peer,
		   const struct pmv_greeting *greeting);
void pmv_connection_ready(struct pmv_link *link, struct pm_link_peer *peer);
/* The connection is over; @lost_ns: how long it may take to come back, UINT64_MAX = as a first contact. */
void pmv_connection_lost(struct pmv_link *link, struct pm_link_peer *peer, uint64_t lost_ns,
			 const char *why);
/* The peer needs none any more. */
void pmv_connection_end(struct pmv_link *link, struct pm_link_peer *peer);
/* Something posted to @qp has come back. */
void pmv_qp_returned(struct pmv_link *link, struct pmv_qp *qp);
void pmv_qp_destroy(struct pmv_link *link, struct pmv_qp *qp);
uint32_t pmv_qp_depth(const struct pmv_link *link);
uint64_t pmv_random(struct pmv_link *link);

#endif
