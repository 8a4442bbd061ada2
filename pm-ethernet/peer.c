// SPDX-License-Identifier: BSD-3-Clause
/*
 * peer - which of our rails lead to a node and to which address there: as the daemon heard it (the
 * board), else rails of equal number are taken for one network. A difference in MTU is refused by
 * name. Ways through a hypercrossbar are the business of ways.c.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm-ethernet/blob.h"
#include "pm-ethernet/device.h"

int eth_peer_address(struct pm_dev *dev, void *buf, size_t room)
{
	const struct eth_granted *g = &eth_of(dev)->granted;
	struct eth_blob blob = {.host = g->host,
				.context = g->context,
				.is_port = g->attachment == ETH_PORT,
				.n_rails = g->n_rails};

	for (uint32_t r = 0; r < g->n_rails; r++) {
		blob.rails[r].host_rail = g->rails[r].host_rail;
		blob.rails[r].mtu = g->rails[r].mtu;
		memcpy(blob.rails[r].mac, g->rails[r].mac, ETH_MAC);
	}
	return eth_blob_pack(&blob, buf, room);
}

/* ---- pairing ---- */

static bool was_heard(const struct eth_heard *heard)
{
	static const uint8_t nobody[ETH_MAC];

	return memcmp(heard->mac, nobody, ETH_MAC) != 0;
}

static const struct eth_blob_rail *by_mac(const struct eth_blob *blob, const uint8_t mac[ETH_MAC])
{
	for (uint32_t r = 0; r < blob->n_rails; r++)
		if (!memcmp(blob->rails[r].mac, mac, ETH_MAC))
			return &blob->rails[r];
	return NULL;
}

static const struct eth_blob_rail *by_number(const struct eth_blob *blob, uint32_t host_rail)
{
	for (uint32_t r = 0; r < blob->n_rails; r++)
		if (blob->rails[r].host_rail == host_rail)
			return &blob->rails[r];
	return NULL;
}

static bool is_heard_anywhere(const struct eth_heard heard[ETH_RAILS], const uint8_t mac[ETH_MAC])
{
	for (uint32_t h = 0; h < ETH_RAILS; h++)
		if (!memcmp(heard[h].mac, mac, ETH_MAC))
			return true;
	return false;
}

/*
 * The peer's end of our rail, or NULL. One not heard yet counts unless it was heard on another
 * rail.
 */
static const struct eth_blob_rail *pair(const struct eth_granted_rail *own,
					const struct eth_heard heard[ETH_RAILS],
					const struct eth_blob *blob)
{
	const struct eth_heard *here = &heard[own->host_rail];
	const struct eth_blob_rail *other;

	if (was_heard(here))
		return by_mac(blob, here->mac);
	other = by_number(blob, own->host_rail);
	return other && !is_heard_anywhere(heard, other->mac) ? other : NULL;
}

static void fill_head(const struct eth_dev *d, const struct eth_granted_rail *own,
		      const struct eth_blob *blob, const uint8_t mac[ETH_MAC],
		      struct eth_frame *ret)
{
	*ret = (struct eth_frame){
		.type = d->granted.type,
		.version = ETH_VERSION,
		.kind = ETH_PACKET,
		.ttl = ETH_TTL,
		.rail = own->host_rail,
		.dst_host = htole32(blob->host),
		.src_host = htole32(d->granted.host),
		.dst_context = htole16(blob->context),
		.src_context = htole16(d->granted.context),
	};
	memcpy(ret->dst_mac, mac, ETH_MAC);
	memcpy(ret->src_mac, own->mac, ETH_MAC);
}

static int refuse_mtu(const struct eth_dev *d, uint32_t node, const struct eth_granted_rail *own,
		      const struct eth_blob *blob, const struct eth_blob_rail *other)
{
	const uint8_t *m = other->mac;

	snprintf(d->env.why, d->env.why_size,
		 "ethernet: node %u: the MTU of %s here is %u, that of rail %u of host %u "
		 "(%02x:%02x:%02x:%02x:%02x:%02x) is %u; give both the same, as in: "
		 "ip link set %s mtu %u",
		 node, own->name, own->mtu, other->host_rail, blob->host, m[0], m[1], m[2], m[3],
		 m[4], m[5], other->mtu, own->name, other->mtu);
	return -EINVAL;
}

/* The rails to a host of a hypercrossbar; relays on the way, too, carry frames of one MTU only. */
static int find_routed_ways(struct eth_dev *d, const struct eth_blob *blob, struct eth_peer *peer)
{
	static const uint8_t nobody[ETH_MAC];
	const struct eth_granted_rail *rails = d->granted.rails;
	int err;

	for (uint32_t i = 0; i < blob->n_rails; i++)
		if (blob->rails[i].mtu != rails[0].mtu)
			return refuse_mtu(d, peer->node, &rails[0], blob, &blob->rails[i]);
	err = eth_ways_add(d, peer, blob->host);
	if (err)
		return err;
	for (uint32_t r = 0; r < d->granted.n_rails; r++)
		if (peer->rails >> r & 1)
			fill_head(d, &rails[r], blob, nobody, &peer->heads[r]);
	eth_ways_forget(d, peer);
	peer->payload = eth_payload(rails[0].mtu);
	return 0;
}

/* Fills rails, heads, sockets and payload of the peer. */
static int find_ways(struct eth_dev *d, const struct eth_blob *blob, struct eth_peer *peer)
{
	const struct eth_granted *g = &d->granted;
	struct eth_heard heard[ETH_RAILS] = {0};
	bool is_here = blob->host == g->host;

	if (is_here && !(blob->is_port && eth_is_port(d)))
		return -EHOSTUNREACH;
	for (uint32_t r = 0; r < g->n_rails; r++)
		peer->sockets[r] = (uint8_t)eth_socket_of(d, r);
	if (!is_here && d->grid.n_dims)
		return find_routed_ways(d, blob, peer);
	if (!is_here)
		eth_board_find(d->board, blob->host, heard);
	peer->payload = UINT32_MAX;
	for (uint32_t r = 0; r < g->n_rails; r++) {
		const struct eth_granted_rail *own = &g->rails[r];
		const struct eth_blob_rail *other = pair(own, heard, blob);

		if (!other)
			continue;
		if (other->mtu != own->mtu)
			return refuse_mtu(d, peer->node, own, blob, other);
		fill_head(d, own, blob, other->mac, &peer->heads[r]);
		peer->rails |= 1u << r;
		if (eth_payload(own->mtu) < peer->payload)
			peer->payload = eth_payload(own->mtu);
	}
	return peer->rails ? 0 : -EHOSTUNREACH;
}

/* ---- the list of peers ---- */

static int make_room(struct eth_dev *d)
{
	uint32_t room = d->room_peers ? 2 * d->room_peers : 16;
	struct eth_peer **grown;

	if (d->n_peers < d->room_peers)
		return 0;
	grown = realloc(d->peers, room * sizeof(struct eth_peer *));
	if (!grown)
		return -ENOMEM;
	d->peers = grown;
	d->room_peers = room;
	return 0;
}

int eth_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
		 struct pm_dev_peer **ret_peer, uint32_t *ret_rails)
{
	struct eth_dev *d = eth_of(dev);
	struct eth_blob blob;
	struct eth_peer *peer;
	int err = eth_blob_unpack(addr, len, &blob);

	if (!err)
		err = make_room(d);
	if (err)
		return err;
	peer = calloc(1, sizeof(*peer) + d->dev.n_rails * sizeof(peer->heads[0]));
	if (!peer)
		return -ENOMEM;
	peer->node = node;
	err = find_ways(d, &blob, peer);
	if (err) {
		free(peer);
		return err;
	}
	peer->index = d->n_peers;
	d->peers[d->n_peers++] = peer;
	*ret_peer = (struct pm_dev_peer *)peer;
	*ret_rails = peer->rails;
	return 0;
}

/* Packets that are posted to the peer may still leave: the receiver has to drop them. */
void eth_peer_del(struct pm_dev *dev, struct pm_dev_peer *dev_peer)
{
	struct eth_dev *d = eth_of(dev);
	struct eth_peer *peer = (struct eth_peer *)dev_peer, *last = d->peers[--d->n_peers];

	d->n_gone -= peer->is_gone && !peer->is_told;
	d->peers[peer->index] = last;
	last->index = peer->index;
	free(peer);
}

uint32_t eth_peer_mtu(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	struct eth_dev *d = eth_of(dev);
	uint32_t least = d->payload;

	if (peer)
		return ((struct eth_peer *)peer)->payload;
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		if (eth_payload(d->granted.rails[r].mtu) < least)
			least = eth_payload(d->granted.rails[r].mtu);
	return least;
}

void eth_peer_gone(struct eth_dev *d, uint32_t host, uint16_t context)
{
	for (uint32_t i = 0; i < d->n_peers; i++) {
		struct eth_peer *peer = d->peers[i];
		const struct eth_frame *head = &peer->heads[__builtin_ctz(peer->rails)];

		if (head->dst_host != host || head->dst_context != context || peer->is_gone)
			continue;
		peer->is_gone = true;
		d->n_gone++;
	}
}

/* Without any interface nobody can be reached, and a deleted one is not waited for. */
static bool is_cut_off(const struct eth_dev *d)
{
	for (uint32_t r = 0; r < d->granted.n_rails; r++)
		if (!eth_rail_is_gone(d, r))
			return false;
	return true;
}

static void explain_cut_off(const struct eth_dev *d, const struct eth_peer *peer)
{
	const struct eth_granted *g = &d->granted;
	size_t size = d->env.why_size, used;

	used = (size_t)snprintf(d->env.why, size,
				"ethernet: node %u is out of reach: no interface of this host is "
				"left, gone:",
				peer->node);
	for (uint32_t r = 0; r < g->n_rails && used < size; r++)
		used += (size_t)snprintf(d->env.why + used, size - used, " %s", g->rails[r].name);
	if (used < size)
		snprintf(d->env.why + used, size - used,
			 "; see 'ip link' and pm-ethernetctl rails");
}

static void explain_gone(const struct eth_dev *d, const struct eth_peer *peer)
{
	const struct eth_frame *head = &peer->heads[__builtin_ctz(peer->rails)];

	if (eth_is_broken(d))
		snprintf(d->env.why, d->env.why_size,
			 "ethernet: node %u is out of reach: another process of the job on this "
			 "host was killed while it held a lock of the shared rings (found by "
			 "context %u of %u)",
			 peer->node, atomic_load(&d->share->broken), d->granted.n_slots);
	else if (!peer->is_gone)
		explain_cut_off(d, peer);
	else
		snprintf(d->env.why, d->env.why_size,
			 "node %u: its process is gone (host %u answers that it has no context %u "
			 "of "
			 "this job); look for its exit on that host",
			 peer->node, le32toh(head->dst_host), le16toh(head->dst_context));
}

/*
 * The peers whose context is no more; with broken rings or without interfaces nobody can be
 * reached.
 */
int eth_peer_event(struct pm_dev *dev, uint32_t *ret_node)
{
	struct eth_dev *d = eth_of(dev);
	bool is_alone = eth_is_broken(d) || is_cut_off(d);

	if (!d->n_gone && !is_alone)
		return 0;
	for (uint32_t i = 0; i < d->n_peers; i++) {
		struct eth_peer *peer = d->peers[i];

		if (peer->is_told || !(peer->is_gone || is_alone))
			continue;
		d->n_gone -= peer->is_gone;
		peer->is_told = true;
		*ret_node = peer->node;
		explain_gone(d, peer);
		return 1;
	}
	return 0;
}
