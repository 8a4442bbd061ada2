// SPDX-License-Identifier: BSD-3-Clause
/*
 * leave - the way to a peer is lost, though it may live: another device of the composite takes it over. Its record
 * stays, without a connection and deaf to greetings, until the composite deletes it. Messages that were sent and
 * not acknowledged keep their numbers. Messages that arrived before the queue pair was stopped are counted when all
 * of its work has come back.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "pm-verbs/connection.h"
#include "pm-verbs/leave.h"
#include "pm-verbs/patience.h"
#include "pm-verbs/peer.h"
#include "pm-verbs/rma.h"
#include "pm-verbs/tx.h"

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

static bool has_arrived(const struct pmv_link *link, const struct pm_link_peer *peer)
{
	for (const struct pmv_slot *s = link->arrived.head; s; s = s->next)
		if (s->peer == peer)
			return true;
	return false;
}

static int op_leave(struct pm_link *base, struct pm_link_peer *peer, uint64_t *ret_next)
{
	struct pmv_link *link = pmv_of(base);

	if (peer->state == PMV_PEER_ALIVE && !peer->is_leaving)
		lose(link, peer, "the other side has lost its way to us");
	/* who asks knows */
	if (!peer->is_reported && peer->state != PMV_PEER_ALIVE && peer->state != PMV_PEER_LEFT) {
		peer->is_reported = true;
		link->n_dying--;
	}
	if (peer->state != PMV_PEER_LOST)
		return -EPIPE;
	if (peer->stage == PMV_DRAINING || has_arrived(link, peer))
		return -EAGAIN;
	*ret_next = peer->received;
	return 0;
}

static int op_unsent(struct pm_link *base, struct pm_link_peer *peer,
		     int (*give)(void *arg, uint64_t number, const void *data, uint32_t len),
		     void *arg, uint64_t *ret_next)
{
	uint64_t number = peer->first;
	int err = 0;

	for (const struct pmv_slot *s = peer->posted.head; s && !err; s = s->next, number++)
		if (s->kind == PMV_MESSAGE)
			err = give(arg, number, s->data + PMV_HEADER, s->len - PMV_HEADER);
	for (const struct pmv_slot *s = peer->queue.head; s && !err; s = s->next, number++)
		err = give(arg, number, s->data + PMV_HEADER, s->len - PMV_HEADER);
	if (err)
		return err;
	pmv_tx_drop(pmv_of(base), peer);
	*ret_next = number;
	return 0;
}

static void *op_lent(struct pm_link *base, uint64_t cookie)
{
	return ((struct pmv_slot *)(uintptr_t)cookie)->data + PMV_HEADER;
}

const struct pm_leave_ops pmv_leave_ops = {
	.leave = op_leave,
	.unsent = op_unsent,
	.lent = op_lent,
	.unfinished = pmv_rma_unfinished,
	.finish = pmv_rma_finish,
	.forsake = pmv_peer_forsake,
	.lives = pmv_patience_lives,
};
