// SPDX-License-Identifier: BSD-3-Clause
/*
 * receive - the user's side of receiving: gives the messages of the inbox one by one or in a row,
 * and takes them back.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/credit.h"
#include "pmcore/channel/inbox.h"
#include "pmcore/channel/peer.h"

/* Reads on to the next datagram; what else a hostile packet mixes in is passed over. */
static bool next_datagram(struct rx_packet *rx, struct wire_msg_view *ret)
{
	uint32_t cursor = rx->cursor;

	while (cursor < rx->length) {
		cursor = wire_get_msg(rx->data, cursor, ret);
		rx->cursor = cursor;
		if (likely(ret->msg.kind == WIRE_DATAGRAM))
			return true;
	}
	return false;
}

static bool is_read_out(const struct rx_packet *rx)
{
	return rx->cursor >= rx->length;
}

/* And those given out with it. */
static void release_packet(struct chan *chan, struct rx_packet *rx)
{
	struct chan_peer *peer = rx->has_credit ? rx->peer : NULL;
	struct rx_packet *next;
	uint32_t n = 0;

	for (; rx; rx = next, n++) {
		next = rx->row;
		inbox_free(chan, rx);
	}
	if (!peer)
		return;
	/* the ack that tells of the credit is owed by a flow */
	if (unlikely(!peer->flow) && !peer->is_dead)
		peer_attach(chan, peer);
	credit_release(chan, peer, n);
}

static __attribute__((cold, noinline)) void pop_delivered(struct chan *chan)
{
	struct rx_packet *rx = chan->rx_head;

	chan->rx_head = rx->next;
	if (!rx->refs)
		release_packet(chan, rx);
}

int chan_next(struct chan *chan, struct chan_msg *ret)
{
	struct stats_link *stats = chan->stats;
	struct wire_msg_view view;
	struct rx_packet *rx;

	while ((rx = chan->rx_head) && unlikely(!next_datagram(rx, &view)))
		pop_delivered(chan);
	if (!rx)
		return 0;
	rx->refs++;
	ret->peer = rx->peer;
	ret->src = rx->src;
	ret->data = (void *)view.payload;
	ret->len = view.msg.length;
	ret->is_carried = view.msg.flags & WIRE_M_CARRIED;
	ret->cookie = (uintptr_t)rx;
	stats->rx_messages++;
	stats->rx_bytes += view.msg.length;
	/* it is held from here on, so it goes when it is released */
	if (is_read_out(rx))
		chan->rx_head = rx->next;
	return 1;
}

/* An unread packet of one datagram that is the user's? */
static inline bool is_single(const struct rx_packet *rx, struct wire_msg_view *ret)
{
	if (rx->cursor || wire_get_msg(rx->data, 0, ret) < rx->length)
		return false;
	return ret->msg.kind == WIRE_DATAGRAM && !(ret->msg.flags & WIRE_M_CARRIED);
}

uint32_t chan_next_row(struct chan *chan, uint64_t cookie, struct iovec *ret_parts, uint32_t room)
{
	struct rx_packet *first = (struct rx_packet *)(uintptr_t)cookie, *last = first, *rx;
	struct wire_msg_view view;
	uint64_t bytes = 0;
	uint32_t n = 0;

	if (first->refs != 1 || !is_read_out(first) || !first->has_credit || first->row)
		return 0;
	for (; n < room && (rx = chan->rx_head) && rx->peer == first->peer; n++) {
		if (!rx->has_credit || !is_single(rx, &view))
			break;
		rx->cursor = rx->length;
		rx->refs = 1;
		last->row = rx;
		last = rx;
		chan->rx_head = rx->next;
		ret_parts[n] = (struct iovec){(void *)view.payload, view.msg.length};
		bytes += view.msg.length;
	}
	chan->stats->rx_messages += n;
	chan->stats->rx_bytes += bytes;
	return n;
}

bool chan_has_messages(const struct chan *chan)
{
	return chan->rx_head != NULL;
}

void chan_release(struct chan *chan, uint64_t cookie)
{
	struct rx_packet *rx = (struct rx_packet *)(uintptr_t)cookie;

	assert(rx->is_used && rx->refs);
	if (!--rx->refs && is_read_out(rx))
		release_packet(chan, rx);
}
