// SPDX-License-Identifier: BSD-3-Clause
/*
 * recvwin - what has arrived: duplicates are filtered by their sequence number (arrivals.c), an
 * array indexed by message packet number restores the order of datagrams, which then go to the
 * inbox. Only message packets keep their buffer; everything else acts on arrival, early or not.
 */
#include "pmcore/channel/ack.h"
#include "pmcore/channel/arrivals.h"
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/credit.h"
#include "pmcore/channel/inbox.h"
#include "pmcore/channel/pull.h"
#include "pmcore/channel/recvwin.h"
#include "pmcore/channel/serve.h"

/* The next in order are waiting already. */
static void deliver_held(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;
	struct rx_packet **hold;

	while (flow->held && *(hold = &flow->hold[peer->rx_mseq & chan->mask])) {
		inbox_deliver(chan, *hold);
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
	struct rx_packet *rx = inbox_alloc(chan);

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
		inbox_deliver(chan, rx);
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
 * Control messages act on arrival. Only the lack of room for the first one keeps the packet from
 * being received, so that it comes again; anything else wrong with one is counted and ends there.
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
	inbox_deliver(chan, packet);
	return true;
}

void recvwin_end_row(struct chan *chan, struct chan_peer *peer, uint32_t n)
{
	chan->rx_used += n;
	peer->rx_next += n;
	peer->rx_mseq += n;
	credit_raise(chan, peer);
}

void recvwin_clear(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;
	uint32_t i;

	for (i = 0; flow->held && i <= chan->mask; i++) {
		if (!flow->hold[i])
			continue;
		inbox_free(chan, flow->hold[i]);
		flow->hold[i] = NULL;
		flow->held--;
	}
	arrivals_clear(chan, flow);
}
