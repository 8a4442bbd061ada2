// SPDX-License-Identifier: BSD-3-Clause
/*
 * inbox - message packets that have come and are not released: their records, and the queue of
 * those that are delivered, which the user may read. Knows no order of arrival; see recvwin.c.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/inbox.h"
#include "pmcore/channel/memory.h"

/* More free records: false, no memory. */
static bool grow(struct chan *chan)
{
	struct rx_packet *rx = chunk_alloc(chan, &chan->rx_chunks, RX_CHUNK * sizeof(*rx));
	uint32_t i;

	if (!rx)
		return false;
	for (i = 0; i < RX_CHUNK; i++)
		rx[i].next = i + 1 < RX_CHUNK ? &rx[i + 1] : NULL;
	chan->rx_free = rx;
	return true;
}

struct rx_packet *inbox_alloc(struct chan *chan)
{
	struct rx_packet *rx;

	if (unlikely(!chan->rx_free) && !grow(chan))
		return NULL;
	rx = chan->rx_free;
	chan->rx_free = rx->next;
	rx->next = NULL;
	rx->row = NULL;
	rx->refs = 0;
	rx->cursor = 0;
	rx->is_copy = false;
	rx->has_credit = true;
	rx->is_used = true;
	return rx;
}

void inbox_free(struct chan *chan, struct rx_packet *rx)
{
	if (unlikely(rx->is_copy)) {
		chan_free(chan, rx->data, sizeof(struct wire_header) + rx->length);
	} else {
		chan->rx_used--;
		chan->ops.rx_return(chan->arg, rx->token);
	}
	rx->is_used = false;
	rx->next = chan->rx_free;
	chan->rx_free = rx;
}

void inbox_deliver(struct chan *chan, struct rx_packet *rx)
{
	rx->next = NULL;
	if (chan->rx_head)
		chan->rx_tail->next = rx;
	else
		chan->rx_head = rx;
	chan->rx_tail = rx;
}

static void drop_unread(struct chan *chan, struct chan_peer *peer)
{
	struct rx_packet *rx, *next;

	rx = chan->rx_head;
	chan->rx_head = NULL;
	for (; rx; rx = next) {
		next = rx->next;
		if (rx->peer != peer)
			inbox_deliver(chan, rx);
		else if (rx->refs)
			rx->cursor = rx->length;
		else
			inbox_free(chan, rx);
	}
}

/* Messages the user holds outlive their peer. */
static void orphan(struct chan *chan, const struct chan_peer *peer)
{
	struct chunk *chunk;
	struct rx_packet *rx;
	uint32_t i;

	for (chunk = chan->rx_chunks; chunk; chunk = chunk_next(chunk)) {
		rx = chunk_bytes(chunk);
		for (i = 0; i < RX_CHUNK; i++)
			if (rx[i].is_used && rx[i].peer == peer)
				rx[i].peer = NULL;
	}
}

void inbox_drop(struct chan *chan, struct chan_peer *peer)
{
	drop_unread(chan, peer);
	orphan(chan, peer);
}

void inbox_fini(struct chan *chan)
{
	struct chunk *chunk;
	struct rx_packet *rx;
	uint32_t i;

	for (chunk = chan->rx_chunks; chunk; chunk = chunk_next(chunk)) {
		rx = chunk_bytes(chunk);
		for (i = 0; i < RX_CHUNK; i++)
			if (rx[i].is_used)
				inbox_free(chan, &rx[i]);
	}
	chunks_free(chan, &chan->rx_chunks);
}
