// SPDX-License-Identifier: BSD-3-Clause
/*
 * freeze - writes the state of a quiet engine into a block of bytes: what both sides must agree on,
 * and messages that are not sent or not read yet. Timers, rates and windows are not part of it.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/freeze.h"
#include "pmcore/channel/memory.h"
#include "pmcore/util/crc32c.h"

struct out {
	uint8_t *buf;
	size_t room;
	size_t len; /* needed so far */
};

static void put(struct out *out, const void *bytes, size_t len)
{
	if (out->len + len <= out->room)
		memcpy(out->buf + out->len, bytes, len);
	out->len += len;
}

static void put_msg(struct out *out, uint32_t node, const struct wire_msg_view *view, bool is_last)
{
	static const uint8_t zeros[8];
	struct freeze_msg msg = {.node = node,
				 .len = view->msg.length,
				 .is_last = is_last,
				 .is_carried = view->msg.flags & WIRE_M_CARRIED};

	put(out, &msg, sizeof(msg));
	put(out, view->payload, msg.len);
	put(out, zeros, -(uint32_t)msg.len & 7);
}

/* Datagrams of a packet from @cursor on; returns their number. */
static uint32_t put_datagrams(struct out *out, uint32_t node, const uint8_t *data, uint32_t length,
			      uint32_t cursor)
{
	struct wire_header header = {.length = (uint16_t)length};
	struct wire_msg_view view;
	uint32_t n = 0;

	while (wire_next_msg(data, &header, &cursor, &view)) {
		if (view.msg.kind != WIRE_DATAGRAM)
			continue;
		put_msg(out, node, &view, cursor >= length);
		n++;
	}
	return n;
}

static bool is_untouched(const struct chan_peer *peer)
{
	uint32_t rail;

	for (rail = 0; rail < WIRE_RAILS; rail++)
		if (peer->rail_tx[rail] || peer->rail_rx[rail])
			return false;
	return !peer->tx_next && !peer->rx_next && !peer->flow;
}

static void put_peer(struct out *out, const struct chan_peer *peer)
{
	const struct pm_packet *packet = peer->flow ? peer->flow->msgs.head : NULL;
	struct freeze_peer body = {
		.node = peer->node,
		.tx_next = peer->tx_next,
		.tx_mseq = peer->tx_mseq,
		.tx_credit = peer->tx_credit,
		.rx_next = peer->rx_next,
		.rx_mseq = peer->rx_mseq,
		.rx_done = peer->rx_done,
		.rx_credit = peer->rx_credit,
		.srtt_ns = peer->srtt_ns,
		.rttvar_ns = peer->rttvar_ns,
	};
	size_t at = out->len;
	const uint32_t header = sizeof(struct wire_header);

	memcpy(body.rail_tx, peer->rail_tx, sizeof(body.rail_tx));
	memcpy(body.rail_acked, peer->rail_acked, sizeof(body.rail_acked));
	memcpy(body.rail_rx, peer->rail_rx, sizeof(body.rail_rx));
	put(out, &body, sizeof(body));
	for (; packet; packet = packet->next)
		body.n_unsent +=
			put_datagrams(out, peer->node, packet->data, packet->len - header, 0);
	if (at + sizeof(body) <= out->room)
		memcpy(out->buf + at, &body, sizeof(body));
}

/* Quiet, nothing lent in either direction. */
static bool can_freeze(const struct chan *chan)
{
	const struct rx_packet *rx;
	const struct dlist *link;
	struct chunk *chunk;
	uint32_t i;

	for (link = chan->flows.next; link != &chan->flows; link = link->next)
		if (dlist_entry(link, struct chan_flow, link)->reserved)
			return false;
	for (chunk = chan->rx_chunks; chunk; chunk = chunk_next(chunk)) {
		rx = chunk_bytes(chunk);
		for (i = 0; i < RX_CHUNK; i++)
			if (rx[i].is_used && rx[i].refs)
				return false;
	}
	return chan_is_quiet(chan);
}

int chan_freeze(struct chan *chan, void *buf, size_t room)
{
	struct freeze_head head = {
		.magic = FREEZE_MAGIC, .version = FREEZE_VERSION, .self = chan->config.self};
	struct out out = {.buf = buf, .room = room};
	const size_t covered = offsetof(struct freeze_head, bytes);
	const struct chan_peer *peer;
	const struct rx_packet *rx;
	uint32_t cursor = 0;

	if (!can_freeze(chan))
		return -EBUSY;
	put(&out, &head, sizeof(head));
	while ((peer = nodemap_next(&chan->peers, &cursor))) {
		if (peer->is_dead || is_untouched(peer))
			continue;
		put_peer(&out, peer);
		head.n_peers++;
	}
	for (rx = chan->rx_head; rx; rx = rx->next)
		head.n_unread += put_datagrams(&out, rx->src, rx->data, rx->length, rx->cursor);
	if (out.len > INT32_MAX)
		return -EFBIG;
	if (out.len > room)
		return (int)out.len;
	head.bytes = out.len;
	memcpy(buf, &head, sizeof(head));
	head.crc = crc32c(0, (uint8_t *)buf + covered, out.len - covered);
	memcpy(buf, &head, sizeof(head));
	return (int)out.len;
}
