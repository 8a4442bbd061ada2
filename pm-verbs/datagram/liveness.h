/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * liveness - whether a peer's process is still there. No device tells of a queue pair that is no
 * more, and silence proves nothing of a process that is stopped. So each process has a UDP port,
 * and those who send to it probe that port now and then. It answers once, which proves that probes
 * come through. From then on a refusal is its host's kernel saying that the process has gone. This
 * works where ports have IPv4 addresses, as RoCE v2 has, and no firewall is between; elsewhere the
 * channel's time limit is all there is.
 */
#ifndef PM_VERBS_DATAGRAM_LIVENESS_H
#define PM_VERBS_DATAGRAM_LIVENESS_H

#include "pm-verbs/datagram/device.h"

/* Without sockets there is no such port, and nothing is wrong. */
void pmvd_liveness_open(struct pmvd_dev *d);
void pmvd_liveness_close(struct pmvd_dev *d);
void pmvd_liveness_probe(struct pmvd_dev *d, struct pmvd_peer *peer);
/*
 * Answers probes, sends one, and looks for answers and refusals. 1: the process of *ret_node has
 * gone; 0: none has.
 */
int pmvd_liveness_event(struct pm_dev *dev, uint32_t *ret_node);

#endif
