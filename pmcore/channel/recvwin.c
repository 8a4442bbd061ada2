/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recvwin - what has arrived: duplicates are filtered by their sequence number (arrivals.c), an array indexed
 * by message packet number restores the order of datagrams, a queue holds what the user may read. Only
 * message packets keep their buffer; everything else acts on arrival, early or not.
 */
#include "pmcore/channel/ack.h"
#include "pmcore/channel/arrivals.h"
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/credit.h"
#include "pmcore/channel/memory.h"
#include "pmcore/channel/pull.h"
#include "pmcore/channel/recvwin.h"
#include "pmcore/channel/serve.h"

int recvwin_init(struct chan *chan)
{
	chan->rx_free = NULL;
	chan->rx_head = NULL;
	chan->rx_tail = NULL;
	return 0;
}

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

static inline struct rx_packet *take_record(struct chan *chan)
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

struct rx_packet *recvwin_alloc(struct chan *chan)
{
	return take_record(chan);
}

/* Gives the buffer back to whom it belongs. */
static inline void give_record(struct chan *chan, struct rx_packet *rx)
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

void recvwin_free(struct chan *chan, struct rx_packet *rx)
{
	give_record(chan, rx);
}

void recvwin_deliver(struct chan *chan, struct rx_packet *rx)
{
	rx->next = NULL;
	if (chan->rx_head)
		chan->rx_tail->next = rx;
	else
		chan->rx_head = rx;
	chan->rx_tail = rx;
}

/* The next in order are waiting already. */
static void deliver_held(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;
	struct rx_packet **hold;

	while (flow->held && *(hold = &flow->hold[peer->rx_mseq & chan->mask])) {
		recvwin_deliver(chan, *hold);
		*hold = NULL;
		flow->held--;
		peer->rx_mseq++;
	}
}

/* Buffers kept back for packets that are next in order, so that early ones can't lock them out. */
static uint32_t buffer_reserve(const struct chan *chan)
{
	return chan->config.rx_buffers / 8 + 1;
}

/* A message packet is ours from here on. */
static inline struct rx_packet *take_packet(struct chan *chan, struct chan_peer *peer,
					    uint16_t length, uint8_t *data, uint64_t token)
{
	struct rx_packet *rx = take_record(chan);

	if (unlikely(!rx))
		return NULL;
	rx->data = data;
	rx->token = token;
	rx->peer = peer;
	rx->src = peer->node;
	rx->length = length;
	return rx;
}

static enum drop_reason take_message(struct chan *chan, struct chan_peer *peer, uint16_t length,
				     uint8_t *data, uint64_t token, uint32_t mseq)
{
	struct chan_flow *flow = peer->flow;
	uint32_t ahead = mseq - peer->rx_mseq;
	struct rx_packet *rx;

	if (ahead >= chan->config.window)
		return DROP_WINDOW;
	if (ahead && flow->hold[mseq & chan->mask])
		return DROP_DUPLICATE;
	/* Beyond what it was allowed. */
	if (seq_diff(mseq, peer->rx_credit) >= 0)
		return DROP_NO_BUFFER;
	if (chan->rx_used + (ahead ? buffer_reserve(chan) : 0) >= chan->config.rx_buffers)
		return DROP_NO_BUFFER;
	rx = take_packet(chan, peer, length, data, token);
	if (!rx)
		return DROP_NO_BUFFER;
	chan->rx_used++;
	if (unlikely(ahead)) {
		flow->hold[mseq & chan->mask] = rx;
		flow->held++;
	} else {
		recvwin_deliver(chan, rx);
		peer->rx_mseq++;
		deliver_held(chan, peer);
	}
	credit_raise(chan, peer);
	return DROP_NONE;
}

static enum drop_reason take_control(struct chan *chan, struct chan_peer *peer,
				     const struct wire_msg_view *view)
{
	switch (view->msg.kind) {
	case WIRE_PLACE:
		return pull_place(chan, peer, view);
	case WIRE_READ:
		return serve_read(chan, peer, view);
	case WIRE_WRITE:
		return pull_write(chan, peer, view);
	case WIRE_REFUSE:
	case WIRE_WRITTEN:
		return pull_verdict(chan, peer, view);
	default:
		return DROP_MALFORMED;
	}
}

/*
 * Control messages act on arrival. Only the lack of room for the first one keeps the packet from being
 * received, so that it comes again; anything else wrong with one is counted and ends there.
 */
static enum drop_reason take_controls(struct chan *chan, struct chan_peer *peer, uint16_t length,
				      const uint8_t *data, struct wire_msg_view *view,
				      uint32_t cursor)
{
	enum drop_reason reason = take_control(chan, peer, view);

	if (reason == DROP_NO_BUFFER)
		return reason;
	for (;;) {
		if (reason != DROP_NONE)
			chan->rails[0].drops[reason]++;
		if (cursor >= length)
			return DROP_NONE;
		cursor = wire_get_msg(data, cursor, view);
		reason = take_control(chan, peer, view);
	}
}

static enum drop_reason refuse_duplicate(struct chan_flow *flow)
{
	ack_unheard(flow);
	return DROP_DUPLICATE;
}

enum drop_reason recvwin_input(struct chan *chan, struct chan_peer *peer, uint32_t seq,
			       uint16_t length, uint8_t *data, uint64_t token, bool *ret_kept)
{
	uint32_t ahead = seq - peer->rx_next;
	enum drop_reason reason = DROP_NONE;
	struct wire_msg_view view;
	uint32_t cursor;

	if (unlikely(ahead >= chan->config.window))
		return (int32_t)ahead < 0 ? refuse_duplicate(peer->flow) : DROP_WINDOW;
	if (unlikely(ahead) && arrivals_has(chan, peer->flow, seq))
		return refuse_duplicate(peer->flow);
	if (length) {
		cursor = wire_get_msg(data, 0, &view);
		if (view.msg.kind == WIRE_DATAGRAM) {
			reason = take_message(chan, peer, length, data, token, view.msg.op);
			*ret_kept = reason == DROP_NONE;
		} else {
			reason = take_controls(chan, peer, length, data, &view, cursor);
		}
	}
	if (reason == DROP_NONE)
		arrivals_add(chan, peer, seq);
	return reason;
}

uint32_t recvwin_row_room(const struct chan *chan, const struct chan_peer *peer)
{
	uint32_t allowed = peer->rx_credit - peer->rx_mseq;

	if (peer->flow->early || peer->flow->held || (int32_t)allowed <= 0)
		return 0;
	return (uint32_t)min_u64(allowed, chan->config.rx_buffers - chan->rx_used);
}

bool recvwin_add_to_row(struct chan *chan, struct chan_peer *peer, const struct pm_rx *rx,
			uint16_t length)
{
	struct rx_packet *packet = take_packet(chan, peer, length, rx->data, rx->token);

	if (unlikely(!packet))
		return false;
	recvwin_deliver(chan, packet);
	return true;
}

void recvwin_end_row(struct chan *chan, struct chan_peer *peer, uint32_t n)
{
	chan->rx_used += n;
	peer->rx_next += n;
	peer->rx_mseq += n;
	credit_raise(chan, peer);
}

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
		give_record(chan, rx);
	}
	if (peer)
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

static void drop_unread(struct chan *chan, struct chan_peer *peer)
{
	struct rx_packet *rx, *next;

	rx = chan->rx_head;
	chan->rx_head = NULL;
	for (; rx; rx = next) {
		next = rx->next;
		if (rx->peer != peer)
			recvwin_deliver(chan, rx);
		else if (rx->refs)
			rx->cursor = rx->length;
		else
			recvwin_free(chan, rx);
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

void recvwin_clear(struct chan *chan, struct chan_peer *peer, bool is_all)
{
	struct chan_flow *flow = peer->flow;
	uint32_t i;

	if (flow) {
		for (i = 0; flow->held && i <= chan->mask; i++) {
			if (!flow->hold[i])
				continue;
			recvwin_free(chan, flow->hold[i]);
			flow->hold[i] = NULL;
			flow->held--;
		}
		arrivals_clear(chan, flow);
	}
	if (!is_all)
		return;
	drop_unread(chan, peer);
	orphan(chan, peer);
}

void recvwin_fini(struct chan *chan)
{
	struct chunk *chunk;
	struct rx_packet *rx;
	uint32_t i;

	for (chunk = chan->rx_chunks; chunk; chunk = chunk_next(chunk)) {
		rx = chunk_bytes(chunk);
		for (i = 0; i < RX_CHUNK; i++)
			if (rx[i].is_used)
				recvwin_free(chan, &rx[i]);
	}
	chunks_free(chan, &chan->rx_chunks);
}
