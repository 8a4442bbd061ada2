// SPDX-License-Identifier: BSD-3-Clause
/* Decodes what process and daemon say to each other; each of the two distrusts the other. */
#include "pm-ethernet/attach.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "pm-ethernet/share.h"

#define MEMORY_MAX (1ull << 32)
#define MTU_MAX 65535u
#define RING_MAX (1u << 22)
#define CHUNKS_MAX 16u /* of one packet: what the kernel takes as one frame */

/* A name an interface may have: terminated, no blank, slash or control character. */
static bool is_name(const char name[ETH_NAME])
{
	size_t n = strnlen(name, ETH_NAME);

	if (n == 0 || n == ETH_NAME)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] <= ' ' || name[i] == '/' || name[i] == 127)
			return false;
	return true;
}

static bool is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static bool is_ring(uint32_t entries)
{
	return is_power_of_two(entries) && entries <= RING_MAX;
}

static int check_rails_asked(const struct eth_request *r)
{
	if (r->n_rails > ETH_RAILS)
		return -EINVAL;
	for (unsigned int i = 0; i < r->n_rails; i++) {
		if (!is_name(r->rails[i]))
			return -EINVAL;
		for (unsigned int j = 0; j < i; j++)
			if (!strcmp(r->rails[i], r->rails[j]))
				return -EINVAL;
	}
	return 0;
}

static bool is_pool(uint32_t packets)
{
	return packets >= ETH_PACKETS_MIN && packets <= ETH_PACKETS_MAX;
}

static int check_attach(const struct eth_request *r)
{
	if (!r->key || r->attach > ETH_ATTACH_PORT || !is_pool(r->tx_packets) ||
	    !is_pool(r->rx_packets) || r->want_context >= ETH_CONTEXTS)
		return -EINVAL;
	return check_rails_asked(r);
}

int eth_request_check(const struct eth_request *r, size_t len)
{
	if (len != sizeof(*r) || r->magic != ETH_ATTACH_MAGIC)
		return -EPROTO;
	if (r->version != ETH_ATTACH_VERSION)
		return -EPROTONOSUPPORT;
	if (r->pad)
		return -EINVAL;
	switch (r->op) {
	case ETH_OP_ATTACH:
	case ETH_OP_RESUME:
		return check_attach(r);
	case ETH_OP_SUSPEND:
	case ETH_OP_MAPPED:
		return r->key && r->want_context < ETH_CONTEXTS ? 0 : -EINVAL;
	case ETH_OP_REPORT:
		return memchr(r->about, 0, sizeof(r->about)) ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

static int check_rails_granted(const struct eth_granted *g)
{
	uint32_t seen = 0;

	if (g->n_rails < 1 || g->n_rails > ETH_RAILS)
		return -EINVAL;
	for (unsigned int i = 0; i < g->n_rails; i++) {
		const struct eth_granted_rail *rail = &g->rails[i];

		if (!is_name(rail->name) || rail->host_rail >= ETH_RAILS ||
		    seen & 1u << rail->host_rail || rail->is_zero_copy > 1 ||
		    rail->mtu <= ETH_MTU_OVERHEAD || rail->mtu > MTU_MAX ||
		    rail->mtu + 14 > g->chunks_per_packet * g->chunk_bytes)
			return -EINVAL;
		seen |= 1u << rail->host_rail;
	}
	return 0;
}

/* The parts of the packet memory must lie in it one behind the other. */
static int check_memory(const struct eth_granted *g)
{
	uint32_t n_sockets = g->attachment == ETH_DIRECT ? g->n_rails : 1;
	uint64_t chunks;

	if ((g->chunk_bytes != 2048 && g->chunk_bytes != 4096) || g->chunks_per_packet < 1 ||
	    g->chunks_per_packet > CHUNKS_MAX || (g->chunks_per_packet > 1 && !g->is_frags))
		return -EINVAL;
	if (!is_pool(g->tx_packets) || !is_ring(g->fill_entries) ||
	    !is_ring(g->completion_entries) || !is_ring(g->rx_entries) || !is_ring(g->tx_entries) ||
	    g->rx_chunks < 1 || g->rx_chunks > g->fill_entries)
		return -EINVAL;
	chunks = (uint64_t)g->n_slots * g->tx_packets * g->chunks_per_packet +
		 (uint64_t)n_sockets * g->rx_chunks;
	if (g->memory_bytes > MEMORY_MAX || g->memory_bytes < chunks * g->chunk_bytes)
		return -EINVAL;
	return 0;
}

static int check_context(const struct eth_granted *g)
{
	bool is_direct = g->attachment == ETH_DIRECT;
	uint32_t n_fds = (is_direct ? 3u + 2u * g->n_rails : 3u) + !!g->inbox_bytes;

	if (!is_direct && g->attachment != ETH_PORT)
		return -EINVAL;
	if (!g->context || g->context >= ETH_CONTEXTS || !g->type || g->is_native > 1 ||
	    g->is_frags > 1)
		return -EINVAL;
	if (g->n_slots < 1 || g->n_slots > (is_direct ? ETH_SLOTS_MAX : 1u) ||
	    g->slot >= g->n_slots)
		return -EINVAL;
	if (g->inbox_bytes && (!is_power_of_two(g->inbox_bytes) || g->inbox_bytes < ETH_INBOX_MIN ||
			       g->inbox_bytes > ETH_INBOX_MAX))
		return -EINVAL;
	if (g->is_bound)
		return g->is_bound == 1 && !g->n_fds ? 0 : -EINVAL;
	return g->n_fds == n_fds ? 0 : -EINVAL;
}

int eth_granted_check(const struct eth_granted *g, size_t len, unsigned n_fds)
{
	int err;

	if (len != sizeof(*g) || g->magic != ETH_ATTACH_MAGIC)
		return -EPROTO;
	if (g->version != ETH_ATTACH_VERSION)
		return -EPROTONOSUPPORT;
	if (g->error < 0 || g->error > 4095 || strnlen(g->why, ETH_WHY) == ETH_WHY ||
	    g->n_fds != n_fds || n_fds > ETH_FDS_MAX)
		return -EINVAL;
	if (g->error || (g->attachment == ETH_DETACHED && !n_fds))
		return n_fds ? -EINVAL : 0;
	err = check_context(g);
	if (!err)
		err = check_rails_granted(g);
	return err ? err : check_memory(g);
}
