// SPDX-License-Identifier: BSD-3-Clause
/*
 * life - the death, the loss and the parting of peers.
 *
 * A peer is dead when its process is believed to be gone, and lost when no connection to it can be had though it may
 * live. The record of a lost peer stays, without a connection and deaf to greetings, until the composite deletes it:
 * another device takes it over (takeover.c). A peer that closes its context says goodbye. It has left when all that it
 * sent before has been taken.
 */
#include "pm-verbs/conn/life.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/pair.h"
#include "pm-verbs/conn/patience.h"

int pmv_peer_refuse(struct pmv_link *link, const struct pm_link_peer *peer)
{
	snprintf(link->env.why, link->env.why_size, "node %u: %s", peer->node, peer->why);
	return -EPIPE;
}

static bool is_unreported(const struct pm_link_peer *peer)
{
	return (peer->state == PMV_PEER_DEAD || peer->state == PMV_PEER_LOST) && !peer->is_reported;
}

void pmv_peer_mute(struct pmv_link *link, struct pm_link_peer *peer)
{
	link->n_dying -= is_unreported(peer);
	peer->is_reported = true;
}

void pmv_peer_give_up(struct pmv_link *link, struct pm_link_peer *peer)
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
	pmv_peer_give_up(link, peer);
}

void pmv_peer_forsake(struct pm_link *base, struct pm_link_peer *peer)
{
	struct pmv_link *link = pmv_of(base);

	if (peer->state != PMV_PEER_LOST)
		return;
	pmv_peer_mute(link, peer);
	peer->state = PMV_PEER_DEAD;
	link->stats->peers_dead++;
	pmv_peer_give_up(link, peer);
}

static void lose(struct pmv_link *link, struct pm_link_peer *peer, const char *why)
{
	/* a newer record of theirs is for whoever adds the node again */
	link->n_leaving -= peer->is_leaving || peer->next_life;
	peer->is_leaving = false;
	peer->next_life = 0;
	peer->state = PMV_PEER_LOST;
	peer->is_reported = false;
	link->n_dying++;
	/* one that was never connected can have brought nothing, and a device may be slow to give it back */
	if (peer->stage == PMV_IDLE || (peer->stage == PMV_GREETING && !peer->qp->is_connected))
		pmv_connection_end(link, peer);
	else
		pmv_connection_lost(link, peer, UINT64_MAX, why);
	if (peer->state == PMV_PEER_LOST)
		snprintf(peer->why, sizeof(peer->why), "%s", why);
}

void pmv_peer_lose(struct pmv_link *link, struct pm_link_peer *peer, const char *fmt, ...)
{
	char why[sizeof(peer->why)];
	va_list args;

	if (peer->state == PMV_PEER_LOST)
		return;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	if (link->env.can_leave && peer->state == PMV_PEER_ALIVE && !peer->is_deleted &&
	    !peer->is_leaving)
		lose(link, peer, why);
	else
		pmv_peer_kill(link, peer, "%s", why);
}

bool pmv_peer_leave(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (peer->state == PMV_PEER_ALIVE && !peer->is_leaving)
		lose(link, peer, "the other side has lost its way to us");
	/* the caller knows already, so receive() must not tell it again */
	if (is_unreported(peer))
		pmv_peer_mute(link, peer);
	return peer->state == PMV_PEER_LOST;
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
	pmv_pair_restart(peer);
	pmv_connection_works(peer);
	peer->state = PMV_PEER_ALIVE;
	peer->their_life = peer->next_life;
	peer->next_life = 0;
	pmv_patience_set(peer, UINT64_MAX);
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
			pmv_peer_give_up(link, p);
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
		pmv_peer_mute(link, p);
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
