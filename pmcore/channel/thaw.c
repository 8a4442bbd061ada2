// SPDX-License-Identifier: BSD-3-Clause
/*
 * thaw - fills a new engine from the bytes chan_freeze wrote. Trusts nothing: one pass over all of
 * it checks, a second one changes the engine.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/freeze.h"
#include "pmcore/channel/inbox.h"
#include "pmcore/channel/memory.h"
#include "pmcore/channel/submit.h"
#include "pmcore/util/crc32c.h"

/* Further ahead no credit can be. */
#define CREDIT_MAX INT16_MAX

struct in {
	const uint8_t *buf;
	size_t len;
	size_t at;
};

typedef int (*resolve_fn)(void *arg, uint32_t node, struct chan_peer **ret_peer);

static bool get(struct in *in, void *ret, size_t len)
{
	if (in->len - in->at < len)
		return false;
	memcpy(ret, in->buf + in->at, len);
	in->at += len;
	return true;
}

static bool get_msg(struct in *in, struct freeze_msg *ret, const uint8_t **ret_bytes)
{
	size_t padded;

	if (!get(in, ret, sizeof(*ret)) || !ret->len)
		return false;
	padded = (ret->len + 7u) & ~7u;
	if (in->len - in->at < padded)
		return false;
	*ret_bytes = in->buf + in->at;
	in->at += padded;
	return true;
}

static bool is_peer_sane(const struct freeze_peer *peer)
{
	uint32_t rail;

	for (rail = 0; rail < WIRE_RAILS; rail++)
		if (seq_diff(peer->rail_tx[rail], peer->rail_acked[rail]) < 0)
			return false;
	return peer->rx_mseq - peer->rx_done <= CREDIT_MAX &&
	       peer->tx_credit - peer->tx_mseq <= CREDIT_MAX &&
	       peer->rx_credit - peer->rx_mseq <= CREDIT_MAX;
}

static bool is_peer_valid(const struct chan *chan, struct in *in)
{
	const uint8_t *bytes;
	struct freeze_peer peer;
	struct freeze_msg msg;
	uint32_t i;

	if (!get(in, &peer, sizeof(peer)) || peer.node == chan->config.self || !is_peer_sane(&peer))
		return false;
	for (i = 0; i < peer.n_unsent; i++)
		if (!get_msg(in, &msg, &bytes) || msg.node != peer.node)
			return false;
	return true;
}

static bool is_valid(const struct chan *chan, struct in *in, struct freeze_head *ret_head)
{
	const size_t covered = offsetof(struct freeze_head, bytes);
	const uint8_t *bytes;
	struct freeze_msg msg;
	uint32_t i;

	if (!get(in, ret_head, sizeof(*ret_head)))
		return false;
	if (ret_head->magic != FREEZE_MAGIC || ret_head->version != FREEZE_VERSION ||
	    ret_head->bytes != in->len || ret_head->self != chan->config.self ||
	    ret_head->crc != crc32c(0, in->buf + covered, in->len - covered))
		return false;
	for (i = 0; i < ret_head->n_peers; i++)
		if (!is_peer_valid(chan, in))
			return false;
	for (i = 0; i < ret_head->n_unread; i++)
		if (!get_msg(in, &msg, &bytes))
			return false;
	return in->at == in->len;
}

static int thaw_unsent(struct chan *chan, struct chan_peer *peer, struct in *in, uint32_t n)
{
	const uint8_t *bytes;
	struct freeze_msg msg;
	int rc;

	for (; n; n--) {
		get_msg(in, &msg, &bytes);
		rc = submit_restored(chan, peer, bytes, msg.len, msg.is_carried);
		if (rc)
			return rc;
	}
	return 0;
}

static int thaw_peer(struct chan *chan, struct in *in, resolve_fn resolve, void *arg)
{
	struct freeze_peer body;
	struct chan_peer *peer;
	int rc;

	get(in, &body, sizeof(body));
	rc = resolve(arg, body.node, &peer);
	if (rc)
		return rc;
	if (peer->tx_next || peer->rx_next || peer->flow)
		return -EINVAL;
	peer->tx_una = body.tx_next;
	peer->tx_next = body.tx_next;
	peer->tx_mseq = body.tx_mseq;
	peer->tx_credit = body.tx_credit;
	peer->rx_next = body.rx_next;
	peer->rx_mseq = body.rx_mseq;
	peer->rx_done = body.rx_done;
	peer->rx_credit = body.rx_credit;
	peer->srtt_ns = body.srtt_ns;
	peer->rttvar_ns = body.rttvar_ns;
	memcpy(peer->rail_tx, body.rail_tx, sizeof(body.rail_tx));
	memcpy(peer->rail_acked, body.rail_acked, sizeof(body.rail_acked));
	memcpy(peer->rail_rx, body.rail_rx, sizeof(body.rail_rx));
	return thaw_unsent(chan, peer, in, body.n_unsent);
}

/* The buffer it came in is gone: the message gets memory of its own. */
static int thaw_unread(struct chan *chan, struct in *in, resolve_fn resolve, void *arg)
{
	struct wire_msg head = {.kind = WIRE_DATAGRAM};
	struct rx_packet *rx;
	struct chan_peer *peer;
	const uint8_t *bytes;
	struct freeze_msg msg;
	uint8_t *data;
	int rc;

	get_msg(in, &msg, &bytes);
	peer = chan_peer_find(chan, msg.node);
	rc = peer ? 0 : resolve(arg, msg.node, &peer);
	if (rc)
		return rc;
	if (msg.len + sizeof(head) > UINT16_MAX)
		return -EINVAL;
	data = chan_alloc(chan, WIRE_OVERHEAD + msg.len);
	if (!data)
		return -ENOMEM;
	rx = inbox_alloc(chan);
	if (!rx) {
		chan_free(chan, data, WIRE_OVERHEAD + msg.len);
		return -ENOMEM;
	}
	head.length = (uint16_t)msg.len;
	head.flags = msg.is_carried ? WIRE_M_CARRIED : 0;
	wire_put_msg(data + sizeof(struct wire_header), &head);
	memcpy(data + WIRE_OVERHEAD, bytes, msg.len);
	rx->data = data;
	rx->peer = peer;
	rx->src = msg.node;
	rx->length = (uint16_t)(sizeof(head) + msg.len);
	rx->is_copy = true;
	rx->has_credit = msg.is_last;
	inbox_deliver(chan, rx);
	return 0;
}

int chan_thaw(struct chan *chan, const void *buf, size_t len, resolve_fn resolve, void *arg)
{
	struct in in = {.buf = buf, .len = len};
	struct freeze_head head;
	uint32_t i;
	int rc = 0;

	if (!is_valid(chan, &in, &head))
		return -EINVAL;
	in.at = sizeof(head);
	for (i = 0; !rc && i < head.n_peers; i++)
		rc = thaw_peer(chan, &in, resolve, arg);
	for (i = 0; !rc && i < head.n_unread; i++)
		rc = thaw_unread(chan, &in, resolve, arg);
	return rc;
}
