// SPDX-License-Identifier: BSD-3-Clause
/*
 * send - lending buffers and publishing messages. A post of up to PMS_INLINE bytes goes into cells.
 * A lent buffer of up to PMS_SHORT bytes is filled in private memory and copied into cells: filled
 * in place, its line would travel to the polling receiver and back for each store. Longer ones are
 * filled in the ring when no other reservation to the peer is open, else in private memory and
 * copied by send. Since a lent buffer is a promise, a private one that finds the ring full is
 * queued; nothing overtakes the queue.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pm-shmem/device.h"
#include "pmcore/util/copy.h"
#include "pmcore/util/packetrow.h"

static_assert(PM_CARRY_SHORT <= PMS_SHORT, "what is carried takes few cells");

/* Cookie of the reservation in the ring; no buffer is there. */
#define IN_PLACE 1

static struct pms_buffer *new_buffer(uint32_t room, bool is_large)
{
	size_t size = (PMS_LINE + room + PMS_LINE - 1) & ~(size_t)(PMS_LINE - 1);
	struct pms_buffer *b = aligned_alloc(PMS_LINE, size);

	if (b) {
		memset(b, 0, size);
		b->is_large = is_large;
		b->data = (uint8_t *)b + PMS_LINE;
	}
	return b;
}

static void put_buffer(struct pms_link *link, struct pms_buffer *b)
{
	struct pms_buffer **list = b->is_large ? &link->large : &link->small;

	b->next = *list;
	*list = b;
}

int pms_buffers_init(struct pms_link *link)
{
	while (link->n_small < PMS_SMALL_BUFFERS) {
		struct pms_buffer *b = new_buffer(PMS_SHORT, false);

		if (!b)
			return -ENOMEM;
		put_buffer(link, b);
		link->n_small++;
	}
	return 0;
}

static void free_list(struct pms_buffer *b)
{
	while (b) {
		struct pms_buffer *next = b->next;

		free(b);
		b = next;
	}
}

void pms_buffers_fini(struct pms_link *link)
{
	free_list(link->small);
	free_list(link->large);
}

static struct pms_buffer *take_small(struct pms_link *link)
{
	struct pms_buffer *b = link->small;

	if (likely(b))
		link->small = b->next;
	return b;
}

static struct pms_buffer *take_any_large(struct pms_link *link)
{
	struct pms_buffer *b = link->large;

	if (b) {
		link->large = b->next;
	} else if (link->n_large < PMS_LARGE_BUFFERS) {
		b = new_buffer(link->seg.mtu, true);
		link->n_large += b != NULL;
	}
	return b;
}

/*
 * A reservation sent behind a queue is copied out of the ring, since bytes behind an open one are
 * not freed and the queue may be waiting for them. The buffer for that is set aside while both are
 * possible.
 */
static bool has_spare(struct pms_link *link, struct pm_link_peer *peer)
{
	if (!peer->spare)
		peer->spare = take_any_large(link);
	return peer->spare != NULL;
}

static struct pms_buffer *take_large(struct pms_link *link, struct pm_link_peer *peer)
{
	struct pms_buffer *b = has_spare(link, peer) ? take_any_large(link) : NULL;

	if (b)
		peer->n_large++;
	return b;
}

static void put_peer_buffer(struct pms_link *link, struct pm_link_peer *peer, struct pms_buffer *b)
{
	peer->n_large -= b->is_large;
	put_buffer(link, b);
}

/* Nothing can be lent now: finds out whether it ever will. */
static int refuse(struct pms_link *link, struct pm_link_peer *peer, uint32_t len)
{
	if (peer->state != PMS_PEER_ALIVE) {
		snprintf(link->env.why, link->env.why_size, "node %u: %s", peer->node, peer->why);
		return -EPIPE;
	}
	/* even if room has come meanwhile: arming must look, or the caller would sleep over it */
	if (!link->is_stopped)
		peer->starved = len;
	peer->is_starved_post = false;
	link->stats->no_buffer++;
	return -EAGAIN;
}

/* Makes the peer poll our ring: at the first message. */
static void announce(struct pms_link *link, struct pm_link_peer *peer)
{
	pms_segment_announce(&link->seg, peer->index);
	peer->is_announced = true;
	peer->is_open = peer->state == PMS_PEER_ALIVE && !peer->queue;
}

/* That a lent buffer needs at its end. */
static inline uint32_t min_cells(uint32_t len)
{
	return len <= PMS_SHORT ? pms_cells_of(len) : 1;
}

__attribute__((noinline)) static int get_send_slow(struct pms_link *link, struct pm_link_peer *peer,
						   uint32_t len, void **ret_buf,
						   uint64_t *ret_cookie)
{
	struct pms_buffer *b;

	if (!peer->is_announced)
		announce(link, peer);
	if (!peer->is_open || link->is_stopped || !pms_ring_has_cells(&peer->tx, min_cells(len)))
		return refuse(link, peer, len);
	if (len <= PMS_SHORT) {
		b = take_small(link);
	} else {
		void *room = NULL;

		if (likely(!peer->n_large) || has_spare(link, peer))
			room = pms_ring_reserve(&peer->tx, len);
		if (room) {
			*ret_buf = room;
			*ret_cookie = IN_PLACE;
			return 0;
		}
		/* only a second open reservation is worth a copy; a full ring is not */
		b = peer->tx.open_len ? take_large(link, peer) : NULL;
	}
	if (!b)
		return refuse(link, peer, len);
	*ret_buf = b->data;
	*ret_cookie = (uintptr_t)b;
	return 0;
}

int pms_get_send(struct pm_link *base, struct pm_link_peer *peer, uint32_t len, void **ret_buf,
		 uint64_t *ret_cookie)
{
	struct pms_link *link = pms_of(base);
	struct pms_buffer *b = link->small;

	if (unlikely(len > PMS_SHORT || !peer->is_open || link->is_stopped || !b ||
		     !pms_ring_is_open(&peer->tx, len)))
		return get_send_slow(link, peer, len, ret_buf, ret_cookie);
	link->small = b->next;
	*ret_buf = b->data;
	*ret_cookie = (uintptr_t)b;
	return 0;
}

static void enqueue(struct pms_link *link, struct pm_link_peer *peer, struct pms_buffer *b,
		    uint32_t len, uint32_t kind)
{
	b->len = len;
	b->kind = (uint16_t)kind;
	b->next = NULL;
	if (!peer->queue)
		link->n_queued++;
	peer->is_open = false;
	*peer->queue_tail = b;
	peer->queue_tail = &b->next;
}

/* Into the ring, if it has room now. */
static bool publish(struct pm_link_peer *peer, const void *data, uint32_t len, uint32_t kind)
{
	if (len > PMS_SHORT)
		return pms_ring_send_copy(&peer->tx, data, len);
	if (!pms_ring_has_cells(&peer->tx, pms_cells_of(len)))
		return false;
	pms_ring_put(&peer->tx, data, len, kind);
	return true;
}

static void send_buffer(struct pms_link *link, struct pm_link_peer *peer, struct pms_buffer *b,
			uint32_t len, uint32_t kind)
{
	if (likely(!peer->queue) && likely(publish(peer, b->data, len, kind)))
		put_peer_buffer(link, peer, b);
	else
		enqueue(link, peer, b, len, kind);
}

/* Behind messages in cells the reservation itself may wait: they need no bytes of the ring. */
static void queue_reserved(struct pms_link *link, struct pm_link_peer *peer, uint32_t len)
{
	struct pms_buffer *b = peer->spare;

	if (!b) {
		enqueue(link, peer, &peer->in_place, len, PMS_KIND_BYTES);
		return;
	}
	peer->spare = NULL;
	peer->n_large++;
	copy_bytes(b->data, pms_ring_reserved(&peer->tx), len);
	pms_ring_discard_reserved(&peer->tx);
	enqueue(link, peer, b, len, PMS_KIND_INLINE);
}

/* Everything but a small message into a ring with room. */
__attribute__((noinline)) static int send_slow(struct pms_link *link, struct pm_link_peer *peer,
					       uint64_t cookie, uint32_t len)
{
	struct pms_buffer *b = (struct pms_buffer *)(uintptr_t)cookie;

	if (!len || peer->state != PMS_PEER_ALIVE) {
		if (cookie != IN_PLACE)
			put_peer_buffer(link, peer, b);
		else
			pms_ring_discard_reserved(&peer->tx);
		return len ? -EPIPE : 0;
	}
	if (cookie != IN_PLACE)
		send_buffer(link, peer, b, len, PMS_KIND_INLINE);
	else if (unlikely(peer->queue != NULL))
		queue_reserved(link, peer, len);
	else
		pms_ring_send_reserved(&peer->tx, len);
	return 0;
}

/* A message has left. */
static inline void account(struct pms_link *link, struct pm_link_peer *peer, uint32_t len)
{
	link->stats->tx_messages++;
	link->stats->tx_bytes += len;
	pms_wake_peer(link, peer);
}

int pms_send(struct pm_link *base, struct pm_link_peer *peer, uint64_t cookie, uint32_t len)
{
	struct pms_link *link = pms_of(base);
	struct pms_buffer *b = (struct pms_buffer *)(uintptr_t)cookie;

	if (likely(cookie != IN_PLACE && len - 1 < PMS_SHORT && peer->is_open && !b->is_large &&
		   pms_ring_is_open(&peer->tx, len))) {
		pms_ring_put(&peer->tx, b->data, len, PMS_KIND_INLINE);
		b->next = link->small;
		link->small = b;
	} else {
		int err = send_slow(link, peer, cookie, len);

		if (err || !len)
			return err;
	}
	account(link, peer, len);
	return 0;
}

/* Cells would do as well as the room that get_send asks for. */
static int refused_post(struct pm_link_peer *peer, int err, uint32_t len)
{
	peer->is_starved_post = err == -EAGAIN && len <= PMS_INLINE;
	return err;
}

__attribute__((noinline)) static int post_slow(struct pm_link *base, struct pm_link_peer *peer,
					       const void *data, uint32_t len)
{
	uint64_t cookie;
	void *buf;
	int err = pms_get_send(base, peer, len, &buf, &cookie);

	if (err)
		return refused_post(peer, err, len);
	copy_bytes(buf, data, len);
	return pms_send(base, peer, cookie, len);
}

int pms_post(struct pm_link *base, struct pm_link_peer *peer, const void *data, uint32_t len)
{
	struct pms_link *link = pms_of(base);

	if (unlikely(len > PMS_INLINE || !peer->is_open || link->is_stopped ||
		     !pms_ring_has_cells(&peer->tx, pms_cells_of(len))))
		return post_slow(base, peer, data, len);
	pms_ring_put(&peer->tx, data, len, PMS_KIND_INLINE);
	account(link, peer, len);
	return 0;
}

/*
 * A datagram of a row that does not fit the cells as they are. @done: bytes of its data that have
 * left.
 */
static int post_part_slow(struct pm_link *base, struct pm_link_peer *peer, const struct pm_row *row,
			  uint64_t done, uint32_t len)
{
	uint64_t cookie;
	uint8_t *buf;
	int err = pms_get_send(base, peer, len, (void **)&buf, &cookie);

	if (err)
		return row->data ? refused_post(peer, err, len) : err;
	packetrow_fill(row, done, buf);
	return pms_send(base, peer, cookie, len);
}

int pms_post_row(struct pm_link *base, struct pm_link_peer *peer, const struct pm_row *row,
		 uint64_t *ret_done)
{
	struct pms_link *link = pms_of(base);
	uint32_t part;
	int err = 0;

	for (*ret_done = 0; *ret_done < row->len; *ret_done += part) {
		const struct pm_row_head *head = pm_row_head(row, *ret_done);
		uint32_t len;

		part = pm_row_part(row, *ret_done);
		len = head->len + part;
		if (likely(row->data && len <= PMS_INLINE && peer->is_open && !link->is_stopped &&
			   pms_ring_has_cells(&peer->tx, pms_cells_of(len)))) {
			pms_ring_put_both(&peer->tx, head->data, head->len, row->data + *ret_done,
					  part);
			account(link, peer, len);
			continue;
		}
		err = post_part_slow(base, peer, row, *ret_done, len);
		if (err)
			break;
	}
	return err;
}

int pms_send_done(struct pm_link *base, struct pm_link_peer *peer)
{
	/* what is in the ring is in memory that the peer's library reads */
	if (!peer)
		return pms_of(base)->n_queued ? -EAGAIN : 0;
	if (peer->state == PMS_PEER_DEAD || peer->has_lost)
		return -EPIPE;
	return peer->queue ? -EAGAIN : 0;
}

int pms_send_control(struct pms_link *link, struct pm_link_peer *peer, uint32_t kind,
		     const void *data, uint32_t len)
{
	struct pms_buffer *b;

	if (!peer->is_announced)
		announce(link, peer);
	if (peer->state != PMS_PEER_ALIVE)
		return -EPIPE;
	b = take_small(link);
	if (!b)
		return -EAGAIN;
	copy_bytes(b->data, data, len);
	send_buffer(link, peer, b, len, kind);
	pms_wake_peer(link, peer);
	return 0;
}

int pms_carry(struct pm_link *base, struct pm_link_peer *peer, const void *head, uint32_t head_len,
	      const void *data, uint32_t len)
{
	struct pms_link *link = pms_of(base);
	uint8_t bytes[PM_CARRY_SHORT];

	if (!peer->is_announced)
		announce(link, peer);
	if (!peer->is_open || link->is_stopped ||
	    !pms_ring_has_cells(&peer->tx, pms_cells_of(head_len + len)))
		return refuse(link, peer, head_len + len);
	pm_carry_fill(bytes, head, head_len, data, len);
	pms_ring_put(&peer->tx, bytes, head_len + len, PMS_KIND_CARRIED);
	pms_wake_peer(link, peer);
	return 0;
}

static void send_queue(struct pms_link *link, struct pm_link_peer *peer)
{
	while (peer->queue) {
		struct pms_buffer *b = peer->queue, *next = b->next;

		if (b == &peer->in_place)
			pms_ring_send_reserved(&peer->tx, b->len);
		else if (publish(peer, b->data, b->len, b->kind))
			put_peer_buffer(link, peer, b);
		else
			break;
		peer->queue = next;
	}
	if (!peer->queue) {
		peer->queue_tail = &peer->queue;
		peer->is_open = true;
		link->n_queued--;
	}
	pms_wake_peer(link, peer);
}

void pms_send_queued(struct pms_link *link)
{
	for (uint32_t i = 0; i < PMS_SLOTS && link->n_queued; i++)
		if (link->peers[i] && link->peers[i]->queue)
			send_queue(link, link->peers[i]);
}

void pms_queue_drop(struct pms_link *link, struct pm_link_peer *peer)
{
	if (peer->queue) {
		link->n_queued--;
		peer->has_lost = true;
		peer->is_open = peer->state == PMS_PEER_ALIVE;
	}
	while (peer->queue) {
		struct pms_buffer *b = peer->queue;

		peer->queue = b->next;
		if (b == &peer->in_place) {
			pms_ring_discard_reserved(&peer->tx);
			continue;
		}
		put_peer_buffer(link, peer, b);
	}
	peer->queue_tail = &peer->queue;
	if (peer->spare)
		put_buffer(link, peer->spare);
	peer->spare = NULL;
}
