// SPDX-License-Identifier: BSD-3-Clause
/*
 * tx - packets gather in the rail's ring and go to the device in one call. The last of each batch
 * is signalled, and some between; a completion tells of all packets before it. Short ones are
 * copied by the device at once, so their buffers are free again.
 */
#include "pm-verbs/datagram/tx.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pm-verbs/datagram/peer.h"
#include "pm-verbs/datagram/trouble.h"
#include "pmcore/util/stats.h"

#define SIGNAL_EVERY 32 /* packets: so that a full ring is soon known to have room */
#define BURST 16

int pmvd_tx_init(struct pmvd_dev *d, uint32_t n_packets)
{
	void *memory;

	d->packets = calloc(n_packets, sizeof(*d->packets));
	if (!d->packets)
		return -ENOMEM;
	d->packet_memory_bytes = (size_t)d->payload * n_packets;
	memory = mmap(NULL, d->packet_memory_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	d->packet_memory = memory;
	for (uint32_t i = n_packets; i-- > 0;) {
		struct pm_packet *p = &d->packets[i];

		p->data = d->packet_memory + (size_t)i * d->payload;
		p->room = d->payload;
		packetpool_put(&d->pool, p);
	}
	return 0;
}

void pmvd_tx_fini(struct pmvd_dev *d)
{
	if (d->packet_memory)
		munmap(d->packet_memory, d->packet_memory_bytes);
	free(d->packets);
}

static void reap_all(struct pmvd_dev *d)
{
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		pmvd_tx_reap(d, &d->rails[r]);
}

struct pm_packet *pmvd_tx_alloc(struct pm_dev *dev)
{
	struct pmvd_dev *d = pmvd_of(dev);

	if (!d->pool.free)
		reap_all(d);
	return packetpool_take(&d->pool);
}

void pmvd_tx_free(struct pm_dev *dev, struct pm_packet *p)
{
	packetpool_give(&pmvd_of(dev)->pool, p);
}

/* ---- the ring ---- */

static struct pmvd_item *item_at(struct pmvd_tx *tx, uint32_t i)
{
	return &tx->items[i & (tx->depth - 1)];
}

/* The device needs the bytes of the item no more. */
static void let_go(struct pmvd_dev *d, struct pmvd_item *item)
{
	struct pm_packet *p = item->packet;

	item->packet = NULL;
	if (p)
		packetpool_let_go(&d->pool, p);
}

/* All items before @end are over; so may they be already. */
static void advance(struct pmvd_dev *d, struct pmvd_tx *tx, uint32_t end)
{
	if (end - tx->head > tx->tail - tx->head)
		return;
	for (; tx->head != end; tx->head++) {
		struct pmvd_item *item = item_at(tx, tx->head);

		let_go(d, item);
		pmvd_peer_sent(d, item->peer);
	}
	tx->is_full = false;
}

void pmvd_tx_drop(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	struct pmvd_tx *tx = &rail->tx;

	rail->lost += tx->tail - tx->head;
	advance(d, tx, tx->tail);
	tx->posted = tx->tail;
	d->tx_waiting &= ~(1u << rail->index);
}

void pmvd_tx_reap(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	struct pmvd_tx *tx = &rail->tx;
	struct ibv_wc wc[BURST];
	int n = BURST;

	while (tx->head != tx->posted && n == BURST) {
		n = ibv_poll_cq(rail->send_cq, BURST, wc);
		for (int i = 0; i < n; i++) {
			if (!pmvd_is_current(rail, &wc[i]))
				continue;
			if (wc[i].status)
				pmvd_rail_fail(d, rail, d->v->wc_status_str(wc[i].status));
			rail->lost += wc[i].status != IBV_WC_SUCCESS;
			advance(d, tx, (uint32_t)wc[i].wr_id + 1);
		}
	}
}

/* Describes the packet as the next item. */
static void fill(struct pmvd_dev *d, struct pmvd_rail *rail, struct pmvd_peer *peer,
		 struct pm_packet *p, struct ibv_ah *ah)
{
	struct pmvd_tx *tx = &rail->tx;
	struct pmvd_item *item = item_at(tx, tx->tail);

	item->packet = p;
	item->peer = peer;
	item->sge = (struct ibv_sge){
		.addr = (uintptr_t)p->data, .length = p->len, .lkey = tx->mr->lkey};
	item->wr = (struct ibv_send_wr){
		.wr_id = pmvd_work(rail, tx->tail),
		.sg_list = &item->sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = p->len <= tx->max_inline ? IBV_SEND_INLINE : 0,
		.wr.ud = {.ah = ah,
			  .remote_qpn = peer->ways[rail->index].end.qp,
			  .remote_qkey = d->q_key},
	};
}

int pmvd_tx_post(struct pm_dev *dev, uint32_t r, struct pm_dev_peer *dev_peer, struct pm_packet *p)
{
	struct pmvd_dev *d = pmvd_of(dev);
	struct pmvd_peer *peer = (struct pmvd_peer *)dev_peer;
	struct pmvd_rail *rail = &d->rails[r];
	struct ibv_ah *ah;

	if (pmvd_tx_is_full(&rail->tx))
		pmvd_tx_reap(d, rail);
	if (pmvd_tx_is_full(&rail->tx)) {
		if (!rail->tx.is_full)
			d->env.rails[r].full++;
		rail->tx.is_full = true;
		return -EAGAIN;
	}
	ah = pmvd_rail_is_running(rail) ? pmvd_peer_ah(d, peer, r) : NULL;
	if (!ah) {
		/* a rail that is down swallows it, the channel repairs */
		rail->lost++;
		return 0;
	}
	fill(d, rail, peer, p, ah);
	p->busy++;
	peer->n_posted++;
	peer->is_in_doubt = true;
	rail->tx.tail++;
	d->tx_waiting |= 1u << r;
	return 0;
}

/* Links what waits to a list; the first of it. */
static struct ibv_send_wr *link_up(struct pmvd_tx *tx)
{
	for (uint32_t i = tx->posted; i != tx->tail; i++) {
		struct ibv_send_wr *wr = &item_at(tx, i)->wr;
		bool is_last = i + 1 == tx->tail;

		wr->next = is_last ? NULL : &item_at(tx, i + 1)->wr;
		if (is_last || i % SIGNAL_EVERY == SIGNAL_EVERY - 1)
			wr->send_flags |= IBV_SEND_SIGNALED;
	}
	return &item_at(tx, tx->posted)->wr;
}

static void kick(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	struct pmvd_tx *tx = &rail->tx;
	struct ibv_send_wr *bad = NULL;
	int err;

	if (tx->posted == tx->tail)
		return;
	err = ibv_post_send(rail->qp, link_up(tx), &bad);
	for (; tx->posted != tx->tail; tx->posted++) {
		struct pmvd_item *item = item_at(tx, tx->posted);

		if (err && &item->wr == bad)
			break;
		if (item->wr.send_flags & IBV_SEND_INLINE)
			let_go(d, item);
	}
	/* what was not taken is over when the queue pair starts anew, as what was */
	if (err)
		pmvd_rail_fail(d, rail, strerror(err));
}

void pmvd_tx_kick(struct pm_dev *dev)
{
	struct pmvd_dev *d = pmvd_of(dev);
	uint32_t waiting = d->tx_waiting;

	d->tx_waiting = 0;
	for (; waiting; waiting &= waiting - 1)
		kick(d, &d->rails[__builtin_ctz(waiting)]);
	reap_all(d);
}
