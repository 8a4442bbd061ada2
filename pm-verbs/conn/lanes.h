/* SPDX-License-Identifier: BSD-3-Clause */
/* lanes - further queue pairs of a connection, one for each other pair of rails. */
#ifndef PM_VERBS_CONN_LANES_H
#define PM_VERBS_CONN_LANES_H

#include "pm-verbs/conn/record.h"

/*
 * A large operation begins: what is missing and may be there is made. False: the connection is
 * lost, or the peer.
 */
bool pmv_lanes_want(struct pmv_link *link, struct pm_link_peer *peer);
/* The peer says its end of one: 0, -ENOMEM, or -EPROTO: there can't be such a lane. */
int pmv_lane_heard(struct pmv_link *link, struct pm_link_peer *peer,
		   const struct pmv_control *control);
/* The queue pair of the lane by that pair of rails that may be sent to, or NULL. */
struct pmv_qp *pmv_lane_ready(const struct pm_link_peer *peer, uint32_t pair);
/* Its queue pairs, whatever their state. */
uint32_t pmv_lanes_count(const struct pm_link_peer *peer);
/* @qp is not acknowledged: its pair of rails has no lane for some time. */
void pmv_lane_rest(struct pmv_link *link, struct pmv_qp *qp);

/* The connection ends, and they with it: 0 or -errno, one can't be put into error. */
int pmv_lanes_fail(struct pmv_link *link, struct pm_link_peer *peer);
/* Those to which nothing is posted end. */
void pmv_lanes_returned(struct pmv_link *link, struct pm_link_peer *peer);
/* One is about to be destroyed. */
void pmv_lane_ended(struct pm_link_peer *peer, const struct pmv_qp *qp);
/* The peer needs none any more. */
void pmv_lanes_end(struct pmv_link *link, struct pm_link_peer *peer);
void pmv_lanes_free(struct pm_link_peer *peer);
uint64_t pmv_lanes_memory(const struct pm_link_peer *peer);

#endif
