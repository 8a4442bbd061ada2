// SPDX-License-Identifier: BSD-3-Clause
/*
 * tx - lending, sending and credits. A message has a registered buffer, which is kept until the
 * other side's device has acknowledged it: if the connection breaks before, the next one sends the
 * message. The user's messages leave PMV_RESERVE credits alone, so that control messages get
 * through to a peer whose user takes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/conn/closing.h"
#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/life.h"
#include "pm-verbs/conn/peer.h"
#include "pm-verbs/conn/places.h"
#include "pm-verbs/data/tx.h"
#include "pm-verbs/hw/link.h"
#include "pm-verbs/hw/pool.h"

/* Of the PMV_RESERVE credits that only control messages use: */
#define RESERVE_CREDIT 3 /* those that only return credits, so that these never wait */
#define RESERVE_CLOSE 1  /* ... and of them that for the end */

/* Messages of the user towards one peer that may be lent, queued or posted. */
static uint32_t most_out(const struct pmv_link *link)
{
	return 2 * link->n_credits;
}

static bool has_room(const struct pmv_link *link, const struct pm_link_peer *peer)
{
	return peer->n_lent + peer->queue.n + peer->posted.n < most_out(link);
}

/* One that can't be had because all are posted to receive may never come: that is said. */
static struct pmv_slot *get_slot(struct pmv_link *link)
{
	struct pmv_slot *slot = pmv_slot_get(link);

	if (!slot)
		pmv_note_refusal(link, "no more message buffers can be registered (ulimit -l)",
				 ENOMEM);
	return slot;
}

int pmv_get_send(struct pm_link *base, struct pm_link_peer *peer, uint32_t len, void **ret_buf,
		 uint64_t *ret_cookie)
{
	struct pmv_link *link = pmv_of(base);
	struct pmv_slot *slot;

	if (!pmv_peer_is_open(peer))
		return pmv_peer_refuse(link, peer);
	slot = !link->is_stopped && has_room(link, peer) ? get_slot(link) : NULL;
	if (!slot) {
		link->stats->no_buffer++;
		return -EAGAIN;
	}
	slot->peer = peer;
	slot->kind = PMV_MESSAGE;
	peer->n_lent++;
	*ret_buf = slot->data + PMV_HEADER;
	*ret_cookie = (uintptr_t)slot;
	return 0;
}

/* Posts the message with what is owed to the peer; false: the connection is lost. */
static bool post(struct pmv_link *link, struct pm_link_peer *peer, struct pmv_slot *slot)
{
	struct pmv_qp *qp = peer->qp;
	const struct pmv_header header = {
		.kind = slot->kind,
		.credits = (uint16_t)(peer->owed < UINT16_MAX ? peer->owed : UINT16_MAX),
		.token = peer->token_out,
	};
	struct ibv_sge sge = {.addr = (uintptr_t)slot->data,
			      .length = slot->len,
			      .lkey = slot->chunk->mr[qp->rail->index]->lkey};
	struct ibv_send_wr wr = {.wr_id = (uintptr_t)&slot->work,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	if (slot->len <= qp->rail->max_inline)
		wr.send_flags |= IBV_SEND_INLINE;
	pmv_header_put(slot->data, &header);
	slot->work.kind = PMV_WORK_SEND;
	slot->work.qp = qp;
	if (ibv_post_send(qp->qp, &wr, &bad)) {
		slot->work.qp = NULL;
		return false;
	}
	peer->owed -= header.credits;
	if (!peer->owed)
		peer->owed_control = 0;
	peer->credits--;
	pmv_places_use(link, peer);
	qp->n_sends++;
	return true;
}

/* Posts from @list while more than @reserve credits are left; false: the connection is lost. */
static bool post_all(struct pmv_link *link, struct pm_link_peer *peer, struct pmv_list *list,
		     uint32_t reserve)
{
	while (list->head && peer->credits > reserve &&
	       peer->qp->n_sends - peer->qp->n_pieces < link->n_credits) {
		if (!post(link, peer, list->head)) {
			pmv_connection_lost(link, peer, UINT64_MAX, "a message cannot be posted");
			return false;
		}
		pmv_list_add(&peer->posted, pmv_list_take(list));
	}
	return true;
}

/*
 * A message of nothing that goes before all that waits, by credits that others leave alone; whether
 * it is posted.
 */
static bool send_first(struct pmv_link *link, struct pm_link_peer *peer, uint8_t kind,
		       uint32_t reserve)
{
	struct pmv_slot *slot = peer->credits > reserve ? pmv_slot_get(link) : NULL;
	struct pmv_list one;
	bool is_posted;

	if (!slot)
		return false;
	slot->peer = peer;
	slot->kind = kind;
	slot->len = (uint32_t)pmv_control_size(kind);
	pmv_list_init(&one);
	pmv_list_add(&one, slot);
	post_all(link, peer, &one, reserve);
	is_posted = !one.head;
	/* not posted: no room now, or the connection is lost and its credits with it */
	pmv_slots_put(link, &one);
	return is_posted;
}

void pmv_pump(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (peer->stage != PMV_READY) {
		if (peer->stage == PMV_CLOSING && !peer->is_close_posted)
			peer->is_close_posted = send_first(link, peer, PMV_CLOSE, 0);
		return;
	}
	/* called with each message and each acknowledgement, when there is mostly nothing */
	if (peer->control.head && !post_all(link, peer, &peer->control, RESERVE_CREDIT))
		return;
	if (peer->queue.head && !link->is_stopped)
		post_all(link, peer, &peer->queue, PMV_RESERVE);
}

/* The buffer with @len bytes behind its header goes, behind those that wait. */
static void submit(struct pmv_link *link, struct pm_link_peer *peer, struct pmv_slot *slot,
		   uint32_t len)
{
	slot->len = PMV_HEADER + len;
	pmv_list_add(&peer->queue, slot);
	if (peer->stage == PMV_READY)
		pmv_pump(link, peer);
	else
		pmv_connect(link, peer);
}

int pmv_send(struct pm_link *base, struct pm_link_peer *peer, uint64_t cookie, uint32_t len)
{
	struct pmv_link *link = pmv_of(base);
	struct pmv_slot *slot = (struct pmv_slot *)(uintptr_t)cookie;

	/* the peer of a buffer that was lent before the peer was deleted is that one still */
	peer = slot->peer;
	peer->n_lent--;
	if (!len || !pmv_peer_is_open(peer)) {
		int err = len ? -EPIPE : 0;

		pmv_slot_put(link, slot);
		pmv_peer_release(link, peer);
		return err;
	}
	link->stats->tx_messages++;
	link->stats->tx_bytes += len;
	submit(link, peer, slot, len);
	return 0;
}

int pmv_carry(struct pm_link *base, struct pm_link_peer *peer, const void *head, uint32_t head_len,
	      const void *data, uint32_t len)
{
	struct pmv_slot *slot;
	uint64_t cookie;
	void *to;
	int err = pmv_get_send(base, peer, head_len + len, &to, &cookie);

	if (err)
		return err;
	pm_carry_fill(to, head, head_len, data, len);
	slot = (struct pmv_slot *)(uintptr_t)cookie;
	slot->kind = PMV_CARRIED;
	peer->n_lent--;
	submit(pmv_of(base), peer, slot, head_len + len);
	return 0;
}

bool pmv_send_control(struct pmv_link *link, struct pm_link_peer *peer, uint8_t kind,
		      const struct pmv_control *control)
{
	struct pmv_slot *slot = pmv_slot_get(link);

	if (!slot) {
		pmv_peer_kill(link, peer, "no memory for a control message");
		return false;
	}
	slot->peer = peer;
	slot->kind = kind;
	slot->len = (uint32_t)pmv_control_size(kind);
	if (control)
		pmv_control_put(slot->data + PMV_HEADER, kind, control);
	pmv_list_add(&peer->control, slot);
	pmv_pump(link, peer);
	return true;
}

void pmv_return_credits(struct pmv_link *link, struct pm_link_peer *peer)
{
	bool is_time = peer->owed >= (link->n_credits - PMV_RESERVE) / 2 ||
		       peer->owed_control >= PMV_RESERVE / 2;

	if (!is_time || peer->stage != PMV_READY)
		return;
	/* what waits takes them along */
	pmv_pump(link, peer);
	if (peer->owed && peer->stage == PMV_READY)
		/* if it can't be sent it is tried again when the next receive is posted */
		send_first(link, peer, PMV_CREDIT, RESERVE_CLOSE);
}

/* The message in @slot has been acknowledged, or came back because its connection is over. */
void pmv_sent(struct pmv_link *link, struct pmv_slot *slot)
{
	struct pm_link_peer *peer = slot->peer;

	slot->work.qp = NULL;
	if (!peer) {
		pmv_slot_put(link, slot);
		return;
	}
	/* a failed queue pair may acknowledge no more: the other side's count decides */
	if (peer->stage == PMV_DRAINING)
		return;
	pmv_list_remove(&peer->posted, slot);
	peer->first++;
	pmv_connection_works(peer);
	pmv_slot_put(link, slot);
	pmv_pump(link, peer);
	/* for them there may have been no room before */
	pmv_return_credits(link, peer);
	if (peer->stage == PMV_CLOSING)
		pmv_close_acknowledged(link, peer);
}

void pmv_settle(struct pmv_link *link, struct pm_link_peer *peer, uint64_t received)
{
	struct pmv_list again;
	struct pmv_slot *slot;

	pmv_list_init(&again);
	for (; peer->first < received; peer->first++)
		pmv_slot_put(link, pmv_list_take(&peer->posted));
	while ((slot = pmv_list_take(&peer->posted)))
		if (pmv_is_handed_up(slot->kind))
			pmv_list_add(&again, slot);
		else
			pmv_slot_put(link, slot);
	pmv_list_prepend(&peer->queue, &again);
}

void pmv_posted_drop(struct pmv_link *link, struct pm_link_peer *peer)
{
	struct pmv_slot *slot;

	while ((slot = pmv_list_take(&peer->posted)))
		if (slot->work.qp)
			slot->peer = NULL; /* the device has it: freed when it comes back */
		else
			pmv_slot_put(link, slot);
}

void pmv_tx_drop(struct pmv_link *link, struct pm_link_peer *peer)
{
	pmv_posted_drop(link, peer);
	pmv_slots_put(link, &peer->control);
	pmv_slots_put(link, &peer->queue);
}

static int peer_done(struct pmv_link *link, const struct pm_link_peer *peer)
{
	/* of a lost one it is done when another device has it */
	if (!pmv_peer_is_open(peer) && !pmv_peer_is_lost(peer))
		return pmv_peer_refuse(link, peer);
	return peer->queue.head || peer->posted.head ? -EAGAIN : 0;
}

int pmv_send_done(struct pm_link *base, struct pm_link_peer *peer)
{
	if (peer)
		return peer_done(pmv_of(base), peer);
	for (peer = pmv_of(base)->peers; peer; peer = peer->next)
		if (pmv_peer_is_open(peer) && peer_done(pmv_of(base), peer))
			return -EAGAIN;
	return 0;
}

int pmv_send_out(struct pm_link *base, struct pm_link_peer *peer)
{
	return peer->queue.head ? -EAGAIN : 0;
}

/* A write of nothing: the other side's device acknowledges it, if the queue pair is still there. */
int pmv_probe(struct pm_link *base, struct pm_link_peer *peer)
{
	struct pmv_link *link = pmv_of(base);
	struct pmv_qp *qp = peer->qp;
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	if (!pmv_peer_is_open(peer))
		return pmv_peer_refuse(link, peer);
	/* one that had to go for others is needed again */
	if (peer->stage == PMV_IDLE && peer->is_parted)
		pmv_connect(link, peer);
	if (peer->stage != PMV_READY || qp->is_probing)
		return 0;
	wr.wr_id = (uintptr_t)&qp->probe;
	if (ibv_post_send(qp->qp, &wr, &bad))
		return -EAGAIN;
	qp->is_probing = true;
	qp->n_sends++;
	return 0;
}
