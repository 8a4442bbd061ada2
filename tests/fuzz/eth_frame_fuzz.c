// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as a received frame, and as the address that a context on ethernet publishes. An
 * accepted frame is addressed to this context and is not truncated. A rejected address leaves the
 * output unchanged.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pm-ethernet/blob.h"
#include "pm-ethernet/device.h"
#include "pmcore/wire/pm_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

/* The context of the frames in the corpus: host 7, context 3. */
static const struct eth_granted granted = {.host = 7, .context = 3, .type = 0xb588};

static void check(const uint8_t *data, size_t size)
{
	enum drop_reason reason = eth_frame_check(data, (uint32_t)size, &granted);
	struct eth_frame frame;

	require(reason < DROP_REASONS);
	if (size < ETH_HEAD + sizeof(struct wire_header)) {
		require(reason == DROP_TRUNCATED);
		return;
	}
	if (reason)
		return;
	memcpy(&frame, data, sizeof(frame));
	require(frame.version == ETH_VERSION && frame.type == granted.type);
	require(frame.kind == ETH_PACKET || frame.kind == ETH_GONE);
	require(frame.dst_host == granted.host && frame.dst_context == granted.context);
	require(frame.in_rail < ETH_RAILS);
}

static void unpack(const uint8_t *data, size_t size)
{
	struct eth_blob blob, before;
	uint8_t again[ETH_BLOB_MAX];

	memset(&blob, 0x55, sizeof(blob));
	before = blob;
	if (eth_blob_unpack(data, size, &blob)) {
		require(!memcmp(&blob, &before, sizeof(before)));
		return;
	}
	require(blob.context && blob.n_rails >= 1 && blob.n_rails <= ETH_RAILS);
	for (uint32_t r = 0; r < blob.n_rails; r++)
		require(blob.rails[r].host_rail < ETH_RAILS &&
			blob.rails[r].mtu > ETH_MTU_OVERHEAD);
	require(eth_blob_pack(&blob, again, sizeof(again)) == (int)size);
	require(!memcmp(again, data, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 65536)
		return 0;
	check(data, size);
	unpack(data, size);
	return 0;
}
