/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stubs - what a device operation does that a backend left out. A table is completed once, at open,
 * so that no caller tests for NULL.
 */
#ifndef PM_DEVICE_STUBS_H
#define PM_DEVICE_STUBS_H

#include "pm_device.h"

/*
 * Copies @ops over the stubs. -EPROTO: built for another ABI, or an operation without stub is
 * missing.
 */
int stubs_link(const struct pm_link_ops *ops, struct pm_link_ops *ret_ops);
/* pm_link_ops.post by the link's own get_send and send. */
int stubs_post(struct pm_link *link, struct pm_link_peer *peer, const void *data, uint32_t len);
int stubs_packet(const struct pm_packet_ops *ops, struct pm_packet_ops *ret_ops);

#endif
