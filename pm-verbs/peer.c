// SPDX-License-Identifier: BSD-3-Clause
/*
 * peer - contact, death and parting of other nodes. A record is made when the composite adds the node or when
 * the node greets us first, and goes when the composite deletes it and nothing of it is lent any more.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "pm-verbs/connection.h"
#include "pm-verbs/greeter.h"
#include "pm-verbs/lanes.h"
#include "pm-verbs/link.h"
#include "pm-verbs/patience.h"
#include "pm-verbs/peer.h"
#include "pm-verbs/pool.h"
#include "pm-verbs/wireup.h"

/*
 * The wall clock orders the records of one node, also over processes and reboots. Where it was set back between two
 * processes only greetings of the old one that come late would be taken for newer ones; records of others
 * don't outlive a process anyway, for the new one has another address.
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
	peer->lost_ns = UINT64_MAX;
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

int pmv_peer_refuse(struct pmv_link *link, const struct pm_link_peer *peer)
{
	snprintf(link->env.why, link->env.why_size, "node %u: %s", peer->node, peer->why);
	return -EPIPE;
}

int pmv_peer_add(struct pm_link *base, uint32_t node, const void *addr, size_t len,
		 struct pm_link_peer **ret_peer)
{
	struct pmv_link *link = pmv_of(base);
	struct pm_link_peer *peer = nodemap_get(&link->nodes, node);
	int err = peer ? 0 : make_peer(link, node, addr, len, &peer);

	if (err)
		return err;
	if (peer->state == PMV_PEER_DEAD)
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

static bool is_unreported(const struct pm_link_peer *peer)
{
	return (peer->state == PMV_PEER_DEAD || peer->state == PMV_PEER_LOST) && !peer->is_reported;
}

/* Nothing is sent to it or awaited of it any more. */
static void give_up(struct pmv_link *link, struct pm_link_peer *peer)
{
	link->n_leaving -= peer->is_leaving || peer->next_life;
	peer->is_leaving = false;
	peer->next_life = 0;
	pmv_connection_end(link, peer);
	link->from_conn->given_up(link, peer);
}

void pmv_peer_kill(struct pmv_link *link, struct pm_link_peer *peer, const char *fmt, ...)
{
	va_list args;

	if (peer->state == PMV_PEER_DEAD || peer->is_deleted)
		return;
	va_start(args, fmt);
	vsnprintf(peer->why, sizeof(peer->why), fmt, args);
	va_end(args);
	link->n_dying += !is_unreported(peer);
	peer->is_reported = false;
	peer->state = PMV_PEER_DEAD;
	link->stats->peers_dead++;
	give_up(link, peer);
}

void pmv_peer_forsake(struct pm_link *base, struct pm_link_peer *peer)
{
	struct pmv_link *link = pmv_of(base);

	if (peer->state != PMV_PEER_LOST)
		return;
	link->n_dying -= is_unreported(peer);
	peer->is_reported = true;
	peer->state = PMV_PEER_DEAD;
	link->stats->peers_dead++;
	give_up(link, peer);
}

/* Messages that the peer sent before may be in any of the completion queues. */
static void begin_leaving(struct pmv_link *link)
{
	link->n_leaving++;
	for (uint32_t r = 0; r < link->n_rails; r++)
		link->rails[r].backlog = (uint32_t)link->rails[r].cq->cqe;
}

void pmv_peer_goodbye(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (peer->state != PMV_PEER_ALIVE || peer->is_leaving || peer->next_life)
		return;
	peer->is_leaving = true;
	begin_leaving(link);
	/* nobody will answer what is being made */
	if (peer->stage == PMV_GREETING)
		pmv_connection_lost(link, peer, UINT64_MAX, "it has closed its context");
}

void pmv_peer_replaced(struct pmv_link *link, struct pm_link_peer *peer, uint64_t life)
{
	peer->next_life = life;
	begin_leaving(link);
}

/*
 * The other side made a new record of us: it left and came back, or removed us and added us again. Posted messages
 * are dropped and operations end; messages that are not posted yet go to the new record.
 */
static void begin_anew(struct pmv_link *link, struct pm_link_peer *peer)
{
	pmv_connection_end(link, peer);
	link->from_conn->renewed(link, peer);
	peer->epoch = peer->failures = 0;
	peer->state = PMV_PEER_ALIVE;
	peer->their_life = peer->next_life;
	peer->next_life = 0;
	peer->lost_ns = UINT64_MAX;
	link->n_leaving--;
	pmv_connect(link, peer);
}

/*
 * Messages that wait for a peer that closed after its part of a checkpoint must be saved: so no peer leaves a
 * stopped link, except one whose operations would keep the link from ever becoming quiet.
 */
static bool may_leave(const struct pmv_link *link, const struct pm_link_peer *peer)
{
	return peer->is_leaving && (!link->is_stopped || peer->ops);
}

int pmv_peers_leave(struct pmv_link *link)
{
	int n = 0;

	for (uint32_t r = 0; r < link->n_rails; r++)
		if (link->rails[r].backlog)
			return 0;
	for (struct pm_link_peer *p = link->peers; p && link->n_leaving; p = p->next) {
		if (p->next_life) {
			begin_anew(link, p);
			n++;
		} else if (may_leave(link, p)) {
			snprintf(p->why, sizeof(p->why), "it has closed its context");
			p->state = PMV_PEER_LEFT;
			give_up(link, p);
			n++;
		}
	}
	return n;
}

int pmv_peer_report(struct pmv_link *link, uint32_t *ret_node)
{
	for (struct pm_link_peer *p = link->peers; p; p = p->next) {
		if (!is_unreported(p) || p->is_deleted)
			continue;
		p->is_reported = true;
		link->n_dying--;
		pmv_peer_refuse(link, p);
		*ret_node = p->node;
		return p->state == PMV_PEER_DEAD ? -EPIPE : -ENETUNREACH;
	}
	for (struct pm_link_peer *p = link->peers; p; p = p->next) {
		if (!p->is_doubted)
			continue;
		pmv_patience_undoubt(link, p);
		*ret_node = p->node;
		return -ETIMEDOUT;
	}
	return 0;
}

void pmv_peer_free(struct pmv_link *link, struct pm_link_peer *peer)
{
	struct pm_link_peer **at = &link->peers;

	give_up(link, peer);
	link->from_conn->deleted(link, peer);
	link->n_dying -= is_unreported(peer);
	for (uint32_t i = 0; i < peer->n_pairs; i++)
		if (peer->paths[i])
			pmv_path_close(link, &link->rails[peer->pairs[i].ours], peer->paths[i]);
	for (struct pmv_qp *qp = link->qps; qp; qp = qp->next)
		if (qp->peer == peer)
			qp->peer = NULL;
	if (!peer->is_deleted)
		nodemap_remove(&link->nodes, peer->node);
	while (*at != peer)
		at = &(*at)->next;
	*at = peer->next;
	pmv_lanes_free(peer);
	free(peer);
}

void pmv_peer_release(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (peer->is_deleted && !peer->n_held && !peer->n_lent)
		pmv_peer_free(link, peer);
}

void pmv_peer_del(struct pm_link *base, struct pm_link_peer *peer)
{
	struct pmv_link *link = pmv_of(base);

	if (peer->state == PMV_PEER_ALIVE && peer->epoch)
		pmv_greet(link, peer, PMV_GOODBYE);
	link->n_dying -= is_unreported(peer);
	peer->is_reported = true;
	give_up(link, peer);
	link->from_conn->deleted(link, peer);
	nodemap_remove(&link->nodes, peer->node);
	peer->is_deleted = true;
	pmv_peer_release(link, peer);
}
