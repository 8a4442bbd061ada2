/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input - a packet's way in: is it for us, is it whole, whose is it, what does it tell about rails and acks, and
 * then to the receive window. Whatever is not taken over is counted under its reason and returned.
 */
#include "pmcore/channel/chan_private.h"

/*
 * Asks who a node is that we have no state for. Finding out may be dear and the number is the
 * sender's word, so each node without an answer, and all of them together, are asked about only so
 * often. Nodes that turn out to be known cost nothing of that.
 */
static struct chan_peer *ask_peer(struct chan *chan, uint32_t node)
{
	uint32_t place = (node * 0x9e3779b1u >> 16) % CHAN_STRANGERS;
	struct stranger *stranger = &chan->strangers[place];
	struct chan_peer *peer;

	if (stranger->node == node && chan->now < stranger->ask_ns)
		return NULL;
	if (chan->now >= chan->strangers_ns) {
		chan->strangers_ns = chan->now + CHAN_STRANGER_NS;
		chan->n_strangers = 0;
	}
	if (chan->n_strangers == CHAN_STRANGERS)
		return NULL;
	peer = chan->ops.unknown_peer(chan->arg, node);
	if (peer)
		return peer;
	chan->n_strangers++;
	stranger->node = node;
	stranger->ask_ns = chan->now + CHAN_STRANGER_NS;
	return NULL;
}

static struct chan_peer *find_peer(struct chan *chan, uint32_t node)
{
	struct chan_peer *peer = chan->last;

	if (likely(peer && peer->node == node))
		return peer;
	peer = nodemap_get(&chan->peers, node);
	if (!peer)
		peer = ask_peer(chan, node);
	chan->last = peer;
	return peer;
}

static enum drop_reason take(struct chan *chan, uint8_t *data, uint32_t len, uint32_t rail,
			     uint64_t token, bool *ret_kept)
{
	struct wire_header header;
	struct chan_peer *peer;
	enum drop_reason reason;

	reason = wire_decode_header(data, len, &header);
	if (unlikely(reason != DROP_NONE))
		return reason;
	if (unlikely(header.key != chan->config.key))
		return DROP_KEY;
	if (unlikely(header.dst != chan->config.self))
		return DROP_DESTINATION;
	reason = wire_check_body(data, chan->config.crc, &header);
	if (unlikely(reason != DROP_NONE))
		return reason;
	peer = find_peer(chan, header.src);
	if (unlikely(!peer))
		return DROP_UNKNOWN_PEER;
	if (unlikely(peer->is_dead))
		return DROP_DEAD_PEER;
	if (unlikely(!peer_flow(chan, peer)))
		return DROP_NO_BUFFER;
	if (unlikely(!ack_arrival(chan, peer, &header, rail)))
		return DROP_WINDOW;
	peer->is_silent = false;
	peer->flow->heard_ns = chan->now;
	peer->flow->used_ns = chan->now;
	if (unlikely(!ack_input(chan, peer, &header, header.type == WIRE_ACK ? data : NULL)))
		return DROP_WINDOW;
	if (header.type != WIRE_DATA)
		return DROP_NONE;
	return recvwin_input(chan, peer, &header, data, token, ret_kept);
}

void chan_input(struct chan *chan, uint8_t *data, uint32_t len, uint32_t rail, uint64_t token,
		uint64_t now)
{
	struct stats_rail *stats = &chan->rails[rail];
	enum drop_reason reason;
	bool is_kept = false;

	assert(rail < chan->config.n_rails);
	chan->now = now;
	chan->is_fed = true;
	stats->rx_packets++;
	stats->rx_bytes += len;
	reason = take(chan, data, len, rail, token, &is_kept);
	if (unlikely(reason != DROP_NONE))
		stats->drops[reason]++;
	if (!is_kept)
		chan->ops.rx_return(chan->arg, token);
}
