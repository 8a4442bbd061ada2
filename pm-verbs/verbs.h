/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs - InfiniBand and RoCE through libibverbs: a reliable link on connections, and a packet
 * device on datagrams for jobs that are too large for a connection to each peer.
 */
#ifndef PM_VERBS_VERBS_H
#define PM_VERBS_VERBS_H

#include "pm_device.h"

extern const struct pm_link_ops pm_verbs_ops;
extern const struct pm_packet_ops pm_verbs_datagram_ops;

/*
 * Which of the two is meant where just "verbs" is asked for, in a job of so many processes (0 =
 * unknown).
 */
bool pm_verbs_takes_datagrams(const struct conf *conf, uint32_t nodes);

#endif
