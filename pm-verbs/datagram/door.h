/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * door - whether a peer's process is still there. No device tells of a queue pair that is no more,
 * and silence proves nothing of a process that is stopped. So each process has a UDP port, and
 * those who send to it knock there now and then. It answers once, which proves that knocks come
 * through. From then on a refusal is its host's kernel saying that the process has gone. Works
 * where ports have IPv4 addresses, as RoCE v2 has, and no firewall is between; elsewhere the
 * channel's time limit is all there is.
 */
#ifndef PM_VERBS_DATAGRAM_DOOR_H
#define PM_VERBS_DATAGRAM_DOOR_H

#include "pm-verbs/datagram/device.h"

/* Without sockets there is no door, and nothing is wrong. */
void pmvd_door_open(struct pmvd_dev *d);
void pmvd_door_close(struct pmvd_dev *d);
void pmvd_door_knock(struct pmvd_dev *d, struct pmvd_peer *peer);
/* Answers, knocks and listens. */
int pmvd_door_event(struct pm_dev *dev, uint32_t *ret_node);

#endif
