// SPDX-License-Identifier: BSD-3-Clause
/*
 * check - the head of a received frame, once more in user space. The programs of the kernel have
 * looked at it, but in direct attachment another process may write to the memory it lies in.
 */
#include <endian.h>
#include <string.h>

#include "pm-ethernet/device.h"
#include "pmcore/wire/pm_wire.h"

enum drop_reason eth_frame_check(const void *bytes, uint32_t len, const struct eth_granted *g)
{
	struct eth_frame frame;

	if (len < ETH_HEAD + sizeof(struct wire_header))
		return DROP_TRUNCATED;
	memcpy(&frame, bytes, sizeof(frame));
	if (frame.version != ETH_VERSION)
		return DROP_VERSION;
	if (frame.type != g->type || (frame.kind != ETH_PACKET && frame.kind != ETH_GONE))
		return DROP_TYPE;
	if (le32toh(frame.dst_host) != g->host || le16toh(frame.dst_context) != g->context)
		return DROP_DESTINATION;
	if (frame.in_rail >= ETH_RAILS)
		return DROP_RAIL;
	return DROP_NONE;
}
