// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as the address of a device with a lane: its parts lie in it, one behind the other, up
 * to its end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/lane.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lane_address parts, before;

	memset(&parts, 0x55, sizeof(parts));
	before = parts;
	if (lane_address_unpack(data, size, &parts)) {
		require(!memcmp(&parts, &before, sizeof(before)));
		return 0;
	}
	require(parts.frames_len && parts.frames >= data);
	require(parts.datagrams == parts.frames + parts.frames_len);
	require(parts.datagrams + parts.datagrams_len == data + size);
	return 0;
}
