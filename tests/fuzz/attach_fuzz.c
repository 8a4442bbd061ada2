// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as a request or as an answer: what is let through stays inside the limits that both
 * sides compute with. First byte: even = request, odd = answer; second: descriptors that came
 * along.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pm-ethernet/attach.h"
#include "pm-ethernet/share.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(const uint8_t *data, size_t size)
{
	struct eth_request r;

	memset(&r, 0, sizeof(r));
	memcpy(&r, data, size < sizeof(r) ? size : sizeof(r));
	if (eth_request_check(&r, size))
		return;
	if (r.op != ETH_OP_ATTACH && r.op != ETH_OP_RESUME)
		return;
	if (!r.key || r.n_rails > ETH_RAILS || r.want_context >= ETH_CONTEXTS)
		abort();
	for (unsigned int i = 0; i < r.n_rails; i++)
		if (!r.rails[i][0] || strnlen(r.rails[i], ETH_NAME) == ETH_NAME)
			abort();
}

static void check_granted(const uint8_t *data, size_t size, unsigned int n_fds)
{
	struct eth_granted g;
	uint64_t end;

	memset(&g, 0, sizeof(g));
	memcpy(&g, data, size < sizeof(g) ? size : sizeof(g));
	if (eth_granted_check(&g, size, n_fds))
		return;
	if (strnlen(g.why, ETH_WHY) == ETH_WHY)
		abort();
	if (g.error || !n_fds)
		return;
	/* the last byte of the last receive chunk lies in the memory */
	end = (uint64_t)g.n_slots * g.tx_packets * g.chunks_per_packet +
	      (uint64_t)(g.attachment == ETH_DIRECT ? g.n_rails : 1) * g.rx_chunks;
	if (g.inbox_bytes > ETH_INBOX_MAX || (g.inbox_bytes & (g.inbox_bytes - 1)))
		abort();
	if (end * g.chunk_bytes > g.memory_bytes || g.slot >= g.n_slots || n_fds > ETH_FDS_MAX)
		abort();
	for (unsigned int i = 0; i < g.n_rails; i++)
		if (g.rails[i].host_rail >= ETH_RAILS ||
		    g.rails[i].mtu + 14 > g.chunk_bytes * g.chunks_per_packet)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	if (data[0] & 1)
		check_granted(data + 2, size - 2, data[1] & 15);
	else
		check_request(data + 2, size - 2);
	return 0;
}
