// SPDX-License-Identifier: BSD-3-Clause
/*
 * rx - what arrives over connections: messages for the user in their order, control messages for
 * us.
 */
#include <errno.h>
#include <stdio.h>

#include "pm-verbs/conn/closing.h"
#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/lanes.h"
#include "pm-verbs/conn/life.h"
#include "pm-verbs/conn/peer.h"
#include "pm-verbs/conn/places.h"
#include "pm-verbs/data/export.h"
#include "pm-verbs/data/grants.h"
#include "pm-verbs/data/rma.h"
#include "pm-verbs/data/rx.h"
#include "pm-verbs/data/tx.h"
#include "pm-verbs/hw/pool.h"
#include "pm-verbs/hw/qp.h"
#include "pm-verbs/hw/shared.h"

void pmv_receive_again(struct pmv_link *link, struct pmv_slot *slot)
{
	if (slot->rail)
		pmv_shared_again(link, slot);
	else
		pmv_slot_put(link, slot);
}

/* By a queue pair with receives of its own; false: none can be posted. */
static bool receive_by(struct pmv_link *link, struct pmv_qp *qp, struct pmv_slot *slot)
{
	if (slot->chunk->is_plain) {
		pmv_slot_put(link, slot);
		slot = pmv_slot_get(link);
	}
	if (slot && pmv_qp_post_receive(link, qp, slot))
		return true;
	if (slot)
		pmv_slot_put(link, slot);
	return false;
}

/* The buffer is read: it receives again, or is free when the connection it came by is over. */
static void recycle(struct pmv_link *link, struct pm_link_peer *peer, struct pmv_slot *slot,
		    bool is_control)
{
	struct pmv_qp *qp = peer->qp;
	bool is_over = !qp || qp->is_failed;

	if (is_over || qp->is_shared) {
		pmv_receive_again(link, slot);
		if (is_over)
			return;
		pmv_shared_fill(link, qp->rail);
	} else if (!receive_by(link, qp, slot)) {
		pmv_connection_lost(link, peer, UINT64_MAX, "a receive cannot be posted");
		return;
	}
	peer->owed++;
	peer->owed_control += is_control;
	pmv_return_credits(link, peer);
}

static void lane_arrived(struct pmv_link *link, struct pm_link_peer *peer,
			 const struct pmv_control *control)
{
	int err = pmv_lane_heard(link, peer, control);

	if (err)
		pmv_peer_kill(link, peer,
			      err == -ENOMEM ? "no memory for its queue pairs"
					     : "it speaks of a queue pair that can't be");
}

static void control_arrived(struct pmv_link *link, struct pm_link_peer *peer, uint8_t kind,
			    const struct pmv_control *control)
{
	switch (kind) {
	case PMV_ASK:
		pmv_asked(link, peer, control);
		break;
	case PMV_GRANT:
		pmv_granted(link, peer, control);
		break;
	case PMV_REVOKE:
		pmv_revoked(peer, control->rkey);
		break;
	case PMV_CLOSE:
		pmv_close_arrived(link, peer);
		break;
	case PMV_LANE:
		lane_arrived(link, peer, control);
		break;
	default:
		break;
	}
}

static void hand_up(struct pmv_link *link, struct pm_link_peer *peer, struct pmv_slot *slot,
		    uint32_t len, uint8_t kind)
{
	if (slot->rail)
		slot = pmv_shared_replace(link, slot, len);
	slot->peer = peer;
	slot->len = len;
	slot->kind = kind;
	peer->n_held++;
	pmv_list_add(&link->arrived, slot);
}

/*
 * The peer has not sent this. Our device takes what the peer sends next for a repetition, so the
 * connection ends: what did not arrive is sent over the next one.
 */
static void refuse_forged(struct pmv_link *link, struct pm_link_peer *peer, struct pmv_slot *slot)
{
	char why[sizeof(peer->why)];

	link->stats->forged++;
	/* one that has said that it sends no more has lost nothing */
	peer->is_forged |= !peer->is_closed;
	pmv_receive_again(link, slot);
	snprintf(why, sizeof(why), "a message came that it has not sent: %s", pmv_remedy(peer));
	pmv_connection_lost(link, peer, UINT64_MAX, why);
}

void pmv_arrived(struct pmv_link *link, struct pm_link_peer *peer, struct pmv_slot *slot,
		 uint32_t len)
{
	struct pmv_control control;
	struct pmv_header header;
	int err = pmv_header_get(slot->data, len, peer->token_in, &header);

	if (err == -EBADMSG) {
		refuse_forged(link, peer, slot);
		return;
	}
	/* behind a forged one: our device has dropped the one whose place that took */
	if (peer->is_forged && peer->stage == PMV_DRAINING) {
		pmv_receive_again(link, slot);
		return;
	}
	peer->received++;
	pmv_connection_works(peer);
	if (err || (!pmv_is_handed_up(header.kind) &&
		    pmv_control_get(slot->data, len, header.kind, &control))) {
		pmv_receive_again(link, slot);
		pmv_peer_kill(link, peer, "it sent bytes that are no message");
		return;
	}
	/* shared receives are there for others too */
	if (peer->n_held >= link->n_credits) {
		pmv_receive_again(link, slot);
		pmv_peer_kill(link, peer, "it sent more than it has credits for");
		return;
	}
	peer->credits += header.credits;
	/* it sends, so it knows that we are connected */
	pmv_connection_ready(link, peer);
	pmv_places_use(link, peer);
	if (pmv_is_handed_up(header.kind)) {
		hand_up(link, peer, slot, len, header.kind);
	} else {
		control_arrived(link, peer, header.kind, &control);
		recycle(link, peer, slot, true);
	}
	if (header.credits)
		pmv_pump(link, peer);
}

int pmv_rx_take(struct pmv_link *link, struct pm_inbound *ret)
{
	struct pmv_slot *slot = pmv_list_take(&link->arrived);

	if (!slot)
		return 0;
	ret->buf = slot->data + PMV_HEADER;
	ret->len = slot->len - PMV_HEADER;
	ret->src = slot->peer->node;
	ret->cookie = (uintptr_t)slot;
	if (slot->kind == PMV_CARRIED)
		return 2;
	link->stats->rx_messages++;
	link->stats->rx_bytes += ret->len;
	return 1;
}

bool pmv_has_arrived(const struct pmv_link *link, const struct pm_link_peer *peer)
{
	for (const struct pmv_slot *s = link->arrived.head; s; s = s->next)
		if (s->peer == peer)
			return true;
	return false;
}

void pmv_release(struct pm_link *base, uint64_t cookie)
{
	struct pmv_link *link = pmv_of(base);
	struct pmv_slot *slot = (struct pmv_slot *)(uintptr_t)cookie;
	struct pm_link_peer *peer = slot->peer;

	peer->n_held--;
	recycle(link, peer, slot, false);
	pmv_peer_release(link, peer);
}

void pmv_rx_drop(struct pmv_link *link, struct pm_link_peer *peer)
{
	struct pmv_list keep;
	struct pmv_slot *slot;

	pmv_list_init(&keep);
	while ((slot = pmv_list_take(&link->arrived)))
		if (slot->peer == peer) {
			peer->n_held--;
			pmv_slot_put(link, slot);
		} else {
			pmv_list_add(&keep, slot);
		}
	pmv_list_prepend(&link->arrived, &keep);
}
