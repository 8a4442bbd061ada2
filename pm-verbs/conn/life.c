// SPDX-License-Identifier: BSD-3-Clause
/*
 * life - the death, the loss and the parting of peers: events and actions of the table in
 * lifetable.c.
 *
 * A peer is dead when its process is believed to be gone, and lost when no connection to it can be
 * had though it may live. The record of a lost peer stays, without a connection and deaf to
 * greetings, until the composite deletes it: another device takes it over (takeover.c). A peer that
 * closes its context says goodbye. It has left when all that it sent before has been taken.
 */
#include "pm-verbs/conn/life.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/pair.h"
#include "pm-verbs/conn/silence.h"

int pmv_peer_refuse(struct pmv_link *link, const struct pm_link_peer *peer)
{
	snprintf(link->env.why, link->env.why_size, "node %u: %s", peer->node, peer->why);
	return -EPIPE;
}

/* Messages that the peer sent before may be in any of the completion queues. */
static void await(struct pmv_link *link)
{
	for (uint32_t r = 0; r < link->n_rails; r++)
		link->rails[r].backlog = (uint32_t)link->rails[r].cq->cqe;
}

static void give_up(struct pmv_link *link, struct pm_link_peer *peer)
{
	pmv_connection_end(link, peer);
	link->from_conn->given_up(link, peer);
}

static void lose(struct pmv_link *link, struct pm_link_peer *peer, const char *why)
{
	/*
	 * one that was never connected can have brought nothing, and a device may be slow to give
	 * it back
	 */
	if (peer->stage == PMV_IDLE || (peer->stage == PMV_GREETING && !peer->qp->is_connected))
		pmv_connection_end(link, peer);
	else
		pmv_connection_lost(link, peer, UINT64_MAX, why);
	if (pmv_peer_is_lost(peer))
		snprintf(peer->why, sizeof(peer->why), "%s", why);
}

/*
 * The other side made a new record of us: it left and came back, or removed us and added us again.
 * Posted messages are dropped and operations end; messages that are not posted yet go to the new
 * record.
 */
static void renew(struct pmv_link *link, struct pm_link_peer *peer)
{
	pmv_connection_end(link, peer);
	link->from_conn->renewed(link, peer);
	pmv_pair_restart(peer);
	pmv_connection_works(peer);
	peer->their_life = peer->next_life;
	pmv_silence_set(peer, UINT64_MAX);
	pmv_connect(link, peer);
}

static void act(struct pmv_link *link, struct pm_link_peer *peer, enum pmv_life_action action,
		const char *why)
{
	switch (action) {
	case PMV_DO_NOTHING:
		break;
	case PMV_DO_BURY:
		if (why)
			snprintf(peer->why, sizeof(peer->why), "%s", why);
		link->stats->peers_dead++;
		give_up(link, peer);
		break;
	case PMV_DO_LOSE:
		lose(link, peer, why);
		break;
	case PMV_DO_AWAIT:
		await(link);
		break;
	case PMV_DO_PART:
		await(link);
		/* nobody will answer what is being made */
		if (peer->stage == PMV_GREETING)
			pmv_connection_lost(link, peer, UINT64_MAX, why);
		break;
	case PMV_DO_RENEW:
		renew(link, peer);
		break;
	case PMV_DO_GIVE_UP:
		if (why)
			snprintf(peer->why, sizeof(peer->why), "%s", why);
		give_up(link, peer);
		break;
	}
}

/* @why: NULL = the sentence about the peer stays as it is. */
static void happen(struct pmv_link *link, struct pm_link_peer *peer, enum pmv_life_event event,
		   const char *why)
{
	const struct pmv_life_row *row = pmv_life_row(peer->state, event);

	if (!row)
		return;
	link->n_dying -= pmv_life_is_untold(row->state);
	link->n_dying += pmv_life_is_untold(row->next);
	link->n_leaving -= pmv_life_is_passing(row->state);
	link->n_leaving += pmv_life_is_passing(row->next);
	peer->state = row->next;
	act(link, peer, row->action, why);
}

void pmv_peer_kill(struct pmv_link *link, struct pm_link_peer *peer, const char *fmt, ...)
{
	char why[sizeof(peer->why)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	happen(link, peer, PMV_KILLED, why);
}

void pmv_peer_lose(struct pmv_link *link, struct pm_link_peer *peer, const char *fmt, ...)
{
	char why[sizeof(peer->why)];
	va_list args;

	if (pmv_peer_is_lost(peer))
		return;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	happen(link, peer, link->env.can_leave ? PMV_LOST : PMV_KILLED, why);
}

bool pmv_peer_follow(struct pmv_link *link, struct pm_link_peer *peer)
{
	happen(link, peer, PMV_FOLLOWED, "the other side has lost its way to us");
	/*
	 * what has failed on the way there the caller knows from this call, so receive() must not
	 * tell it again
	 */
	pmv_peer_mute(link, peer);
	return pmv_peer_is_lost(peer);
}

void pmv_peer_forsake(struct pm_link *base, struct pm_link_peer *peer)
{
	happen(pmv_of(base), peer, PMV_FORSAKEN, NULL);
}

void pmv_peer_mute(struct pmv_link *link, struct pm_link_peer *peer)
{
	happen(link, peer, PMV_TOLD, NULL);
}

void pmv_peer_remove(struct pmv_link *link, struct pm_link_peer *peer)
{
	happen(link, peer, PMV_REMOVED, NULL);
}

void pmv_peer_goodbye(struct pmv_link *link, struct pm_link_peer *peer)
{
	happen(link, peer, PMV_GOODBYE_SAID, "it has closed its context");
}

void pmv_peer_replaced(struct pmv_link *link, struct pm_link_peer *peer, uint64_t life)
{
	peer->next_life = life;
	happen(link, peer, PMV_REPLACED, NULL);
}

/*
 * Messages that wait for a peer that closed after its part of a checkpoint must be saved. So no
 * peer leaves a stopped link, except one whose operations would keep the link from ever becoming
 * quiet.
 */
static bool may_pass(const struct pmv_link *link, const struct pm_link_peer *peer)
{
	return peer->state != PMV_PEER_LEAVING || !link->is_stopped || peer->ops;
}

int pmv_peers_leave(struct pmv_link *link)
{
	int n = 0;

	for (uint32_t r = 0; r < link->n_rails; r++)
		if (link->rails[r].backlog)
			return 0;
	for (struct pm_link_peer *p = link->peers; p && link->n_leaving; p = p->next) {
		if (!pmv_life_is_passing(p->state) || !may_pass(link, p))
			continue;
		happen(link, p, PMV_ALL_TAKEN,
		       p->state == PMV_PEER_LEAVING ? "it has closed its context" : NULL);
		n++;
	}
	return n;
}

int pmv_peer_report(struct pmv_link *link, uint32_t *ret_node)
{
	for (struct pm_link_peer *p = link->peers; p; p = p->next) {
		int err = p->state == PMV_PEER_DEAD ? -EPIPE : -ENETUNREACH;

		if (!pmv_life_is_untold(p->state))
			continue;
		pmv_peer_mute(link, p);
		pmv_peer_refuse(link, p);
		*ret_node = p->node;
		return err;
	}
	for (struct pm_link_peer *p = link->peers; p; p = p->next) {
		if (!p->is_doubted)
			continue;
		pmv_silence_undoubt(link, p);
		*ret_node = p->node;
		return -ETIMEDOUT;
	}
	return 0;
}
