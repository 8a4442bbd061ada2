// SPDX-License-Identifier: BSD-3-Clause
/*
 * peer - the records of other nodes. A record is made when the composite adds the node or when the
 * node greets us first, and goes when the composite deletes it and nothing of it is lent any more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pm-verbs/conn/greeting.h"
#include "pm-verbs/conn/lanes.h"
#include "pm-verbs/conn/life.h"
#include "pm-verbs/conn/pair.h"
#include "pm-verbs/conn/peer.h"
#include "pm-verbs/conn/silence.h"
#include "pm-verbs/hw/greeter.h"
#include "pm-verbs/hw/link.h"
#include "pm-verbs/hw/pool.h"

/*
 * The wall clock orders the records of one node, also over processes and reboots. If the clock
 * was set back between two processes, only late greetings of the old one would be taken for newer
 * ones. Records of others don't outlive a process anyway, for the new one has another address.
 */
static uint64_t new_life(struct pmv_link *link)
{
	uint64_t life = (clock_realtime_ns() & ~1023ull) | (pmv_random(link) & 1023);

	if (life <= link->last_life)
		life = link->last_life + 1;
	link->last_life = life;
	return life;
}

/* A record of a node with this address. */
static int make_peer(struct pmv_link *link, uint32_t node, const void *addr, size_t len,
		     struct pm_link_peer **ret_peer)
{
	struct pm_link_peer *peer = calloc(1, sizeof(*peer));
	char why[160] = "";
	int n, err;

	if (!peer)
		return -ENOMEM;
	err = pmv_address_decode(addr, len, &peer->address);
	if (err)
		goto out;
	n = pmv_address_pairs(&link->address, &peer->address, link->env.self < node, peer->pairs,
			      why, sizeof(why));
	if (n < 0) {
		snprintf(link->env.why, link->env.why_size, "node %u: not by verbs: %s", node, why);
		err = n;
		goto out;
	}
	err = nodemap_put(&link->nodes, node, peer);
	if (err)
		goto out;
	peer->n_pairs = (uint32_t)n;
	peer->node = node;
	peer->life = new_life(link);
	pmv_silence_set(peer, UINT64_MAX);
	pmv_list_init(&peer->control);
	pmv_list_init(&peer->queue);
	pmv_list_init(&peer->posted);
	peer->next = link->peers;
	link->peers = peer;
	link->stats->peers++;
	*ret_peer = peer;
	return 0;
out:
	free(peer);
	return err;
}

int pmv_peer_add(struct pm_link *base, uint32_t node, const void *addr, size_t len,
		 struct pm_link_peer **ret_peer)
{
	struct pmv_link *link = pmv_of(base);
	struct pm_link_peer *peer = nodemap_get(&link->nodes, node);
	int err = peer ? 0 : make_peer(link, node, addr, len, &peer);

	if (err)
		return err;
	if (pmv_peer_is_dead(peer))
		return pmv_peer_refuse(link, peer);
	*ret_peer = peer;
	return 0;
}

struct pm_link_peer *pmv_peer_meet(struct pmv_link *link, uint32_t node)
{
	struct pm_link_peer *peer = nodemap_get(&link->nodes, node);
	const void *addr;
	size_t len;

	if (peer || node == link->env.self || !link->env.address_of)
		return peer;
	if (link->env.address_of(link->env.address_arg, node, "verbs", &addr, &len) ||
	    make_peer(link, node, addr, len, &peer))
		return NULL;
	return peer;
}

void pmv_peer_free(struct pmv_link *link, struct pm_link_peer *peer)
{
	struct pm_link_peer **at = &link->peers;

	if (peer->state != PMV_PEER_DELETED)
		nodemap_remove(&link->nodes, peer->node);
	pmv_peer_remove(link, peer);
	link->from_conn->deleted(link, peer);
	for (uint32_t i = 0; i < peer->n_pairs; i++)
		if (peer->paths[i])
			pmv_path_close(link, &link->rails[peer->pairs[i].ours], peer->paths[i]);
	for (struct pmv_qp *qp = link->qps; qp; qp = qp->next)
		if (qp->peer == peer)
			qp->peer = NULL;
	while (*at != peer)
		at = &(*at)->next;
	*at = peer->next;
	pmv_lanes_free(peer);
	free(peer);
}

void pmv_peer_release(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (peer->state == PMV_PEER_DELETED && !peer->n_held && !peer->n_lent)
		pmv_peer_free(link, peer);
}

void pmv_peer_del(struct pm_link *base, struct pm_link_peer *peer)
{
	struct pmv_link *link = pmv_of(base);

	if (!pmv_peer_is_open(peer))
		pmv_pair_restart(peer); /* no goodbye, now or when the link is closed */
	if (peer->epoch)
		pmv_greet(link, peer, PMV_GOODBYE);
	pmv_peer_remove(link, peer);
	link->from_conn->deleted(link, peer);
	nodemap_remove(&link->nodes, peer->node);
	pmv_peer_release(link, peer);
}
