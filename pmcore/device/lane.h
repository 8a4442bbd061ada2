/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane - a layer on a device of raw frames that adds rails of UDP datagrams over the same
 * interfaces. A frame costs a system call and a walk through the kernel for each packet; one
 * segmented datagram carries some forty packets for little more than that. So frames are for single
 * packets and datagrams for long data, which is what bulk_rails tells the channel. One context has
 * one numbering, one set of rails and one set of counters for both.
 *
 * Rails 0 to n-1 are those of the frames, n and up those of the datagrams. There are datagrams
 * where an interface has an IPv4 address and the peer is in its subnet, and as long as no more than
 * PM_RAILS_MAX / 2 rails of frames leave room for them. A process that dies is known by its frames:
 * that a firewall turns datagrams away kills nobody.
 */
#ifndef PM_DEVICE_LANE_H
#define PM_DEVICE_LANE_H

#include "pm_device.h"

/* With the device udp for its datagrams, and as ethernet.lane wants it. */
extern const struct pm_packet_ops pm_lane_ops;

/* The parts of a published address; both lie in the blob. No bytes of datagrams: it has no lane. */
struct lane_address {
	const uint8_t *frames, *datagrams;
	size_t frames_len, datagrams_len;
};

/* -EINVAL: damaged; nothing was written. */
int lane_address_unpack(const void *blob, size_t len, struct lane_address *ret);

/*
 * Stacks a lane on @frames with @datagrams as the other device; as pm_packet_ops.open otherwise.
 * -ENODEV, only with ethernet.lane=always: there can't be one; the sentence says why.
 */
int lane_open(const struct pm_device_env *env, struct pm_dev *frames,
	      const struct pm_packet_ops *datagrams, struct pm_dev **ret_dev);

#endif
