// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/datagram/peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/datagram/liveness.h"
#include "pm-verbs/datagram/trouble.h"
#include "pm-verbs/hw/opening.h"
#include "pmcore/util/clock.h"

/* Where no neighbour answers, making an address handle takes long: not tried at each packet. */
#define RETRY_NS 1000000000ull

/* Our rails by their number; those that are closed have an MTU of 0. */
static void own_address(const struct pmvd_dev *d, struct pmvd_address *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->n_rails = d->dev.n_rails;
	for (uint32_t r = 0; r < d->dev.n_rails; r++) {
		const struct pmvd_rail *rail = &d->rails[r];
		const struct pmv_gid *gid = &rail->port.gids[rail->gid];
		struct pmv_end *end = &ret->rails[r];

		if (!rail->qp)
			continue;
		memcpy(end->gid, gid->raw, sizeof(end->gid));
		end->qp = rail->qp->qp_num;
		end->mtu = rail->port.mtu;
		end->lid = rail->port.lid;
		end->protocol = (uint8_t)gid->protocol;
		end->skipped = rail->port.skipped;
	}
}

int pmvd_peer_address(struct pm_dev *dev, void *buf, size_t room)
{
	struct pmvd_address all, open = {.liveness_port = pmvd_of(dev)->liveness_port};

	own_address(pmvd_of(dev), &all);
	for (uint32_t r = 0; r < all.n_rails; r++) {
		struct pmv_end *end = &open.rails[open.n_rails];

		if (!all.rails[r].mtu)
			continue;
		*end = all.rails[r];
		end->skipped += (uint8_t)(r - open.n_rails++);
	}
	return open.n_rails ? pmvd_address_encode(&open, buf, room) : -ENODEV;
}

/* ---- nodes ---- */

static int make_room(struct pmvd_dev *d)
{
	uint32_t room = d->room_peers ? 2 * d->room_peers : 16;
	struct pmvd_peer **grown;

	if (d->n_peers < d->room_peers)
		return 0;
	grown = realloc(d->peers, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	d->peers = grown;
	d->room_peers = room;
	return 0;
}

static int make_peer(struct pmvd_dev *d, uint32_t node, const struct pmvd_address *theirs,
		     uint32_t rails, const uint8_t *to, struct pmvd_peer **ret)
{
	struct pmvd_peer *peer;
	int err = make_room(d);

	if (err)
		return err;
	peer = calloc(1, sizeof(*peer) + d->dev.n_rails * sizeof(peer->ways[0]));
	if (!peer)
		return -ENOMEM;
	peer->node = node;
	peer->rails = rails;
	peer->liveness_port = theirs->liveness_port;
	peer->mtu = d->payload;
	for (uint32_t r = 0; r < d->dev.n_rails; r++) {
		if (!(rails >> r & 1))
			continue;
		peer->ways[r].end = theirs->rails[to[r]];
		if (peer->ways[r].end.mtu < peer->mtu)
			peer->mtu = peer->ways[r].end.mtu;
	}
	peer->index = d->n_peers;
	d->peers[d->n_peers++] = peer;
	*ret = peer;
	return 0;
}

int pmvd_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
		  struct pm_dev_peer **ret_peer, uint32_t *ret_rails)
{
	struct pmvd_dev *d = pmvd_of(dev);
	struct pmvd_address ours, theirs;
	uint8_t to[PM_RAILS_MAX] = {0};
	char why[160] = "none of its ports is open here";
	uint32_t rails;
	int err = pmvd_address_decode(addr, len, &theirs);

	if (err)
		return err;
	own_address(d, &ours);
	rails = pmvd_address_ways(&ours, &theirs, to, why, sizeof(why));
	if (!rails) {
		snprintf(d->env.why, d->env.why_size, "node %u: not by verbs-datagram: %s", node,
			 why);
		return -EHOSTUNREACH;
	}
	err = make_peer(d, node, &theirs, rails, to, (struct pmvd_peer **)ret_peer);
	if (err)
		return err;
	*ret_rails = rails;
	pmvd_liveness_probe(d, (struct pmvd_peer *)*ret_peer);
	return 0;
}

static void close_way(struct pmvd_dev *d, struct pmvd_way *way)
{
	if (way->ah)
		pmvd_note_end(d, "an address handle is not destroyed", d->v->destroy_ah(way->ah));
	way->ah = NULL;
}

static void free_peer(struct pmvd_dev *d, struct pmvd_peer *peer)
{
	struct pmvd_peer *last = d->peers[--d->n_peers];

	d->peers[peer->index] = last;
	last->index = peer->index;
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		close_way(d, &peer->ways[r]);
	free(peer);
}

void pmvd_peer_del(struct pm_dev *dev, struct pm_dev_peer *dev_peer)
{
	struct pmvd_peer *peer = (struct pmvd_peer *)dev_peer;

	peer->is_deleted = true;
	if (!peer->n_posted)
		free_peer(pmvd_of(dev), peer);
}

void pmvd_peer_sent(struct pmvd_dev *d, struct pmvd_peer *peer)
{
	if (!--peer->n_posted && peer->is_deleted)
		free_peer(d, peer);
}

uint32_t pmvd_peer_mtu(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	struct pmvd_dev *d = pmvd_of(dev);
	uint32_t least = d->payload;

	if (peer)
		return ((struct pmvd_peer *)peer)->mtu;
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		if (d->rails[r].port.mtu < least)
			least = d->rails[r].port.mtu;
	return least;
}

/* ---- ways ---- */

struct ibv_ah *pmvd_peer_ah(struct pmvd_dev *d, struct pmvd_peer *peer, uint32_t r)
{
	struct pmvd_way *way = &peer->ways[r];
	struct pmvd_rail *rail = &d->rails[r];
	struct ibv_ah_attr attr;

	if (way->ah || clock_monotonic_ns() < way->retry_ns)
		return way->ah;
	pmv_path(&rail->port, rail->gid, &way->end, &attr);
	errno = 0;
	way->ah = d->v->create_ah(rail->pd, &attr);
	if (!way->ah) {
		d->failed_ways++;
		snprintf(rail->trouble, sizeof(rail->trouble), "no way to node %u: %s", peer->node,
			 strerror(errno));
		way->retry_ns = clock_monotonic_ns() + RETRY_NS;
	}
	return way->ah;
}

void pmvd_peers_leave(struct pmvd_dev *d, const struct pmvd_rail *rail)
{
	for (uint32_t i = 0; i < d->n_peers; i++) {
		struct pmvd_way *way = &d->peers[i]->ways[rail->index];

		close_way(d, way);
		way->retry_ns = 0;
	}
}

void pmvd_peers_fini(struct pmvd_dev *d)
{
	while (d->n_peers)
		free_peer(d, d->peers[0]);
	free(d->peers);
}
