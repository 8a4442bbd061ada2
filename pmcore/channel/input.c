// SPDX-License-Identifier: BSD-3-Clause
/*
 * input - a packet's way in: is it for us, is it whole, whose is it, what does it tell about rails
 * and acks, and then to the receive window. Whatever is not taken over is counted under its reason
 * and returned.
 */
#include "pmcore/channel/ack.h"
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/peer.h"
#include "pmcore/channel/recvwin.h"
#include "pmcore/channel/report.h"

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

static inline void note_life(const struct chan *chan, struct chan_peer *peer)
{
	if (unlikely(peer->is_silent))
		peer->is_silent = false;
	peer->flow->heard_ns = chan->now;
	peer->flow->used_ns = chan->now;
}

/*
 * Of packets in a row each has the header of the one before, with its own length, and numbers that
 * are the next ones: that is seen by a few compares. All that it says has been checked, and heard.
 * @ahead: so many packets that came before this one are not counted yet.
 */
static inline bool is_next(const struct chan *chan, const struct pm_rx *rx, uint32_t ahead,
			   struct wire_numbers *ret)
{
	const struct chan_peer *peer = chan->run_peer;

	return wire_is_like(rx->data, rx->len, &chan->run, ret) &&
	       ret->seq == peer->rx_next + ahead &&
	       ret->rail_seq == peer->rail_rx[ret->rail] + ahead;
}

/* There is a row that may go on. */
static inline bool has_run(const struct chan *chan)
{
	return chan->run_peer && !chan->run_peer->is_dead;
}

static inline enum drop_reason take_next(struct chan *chan, const uint8_t *data,
					 const struct wire_numbers *numbers)
{
	enum drop_reason reason = wire_check_data(data, numbers->length);

	if (unlikely(reason != DROP_NONE))
		return reason;
	ack_next(chan, chan->run_peer, numbers->rail, 1);
	note_life(chan, chan->run_peer);
	return DROP_NONE;
}

/* Is it one datagram, which is the next in order as well? */
static inline bool is_next_datagram(const struct chan *chan, const struct pm_rx *rx, uint32_t ahead,
				    struct wire_numbers *ret)
{
	uint32_t mseq;

	return is_next(chan, rx, ahead, ret) && wire_is_datagram(rx->data, ret->length, &mseq) &&
	       mseq == chan->run_peer->rx_mseq + ahead;
}

/*
 * Takes over packets of the row as long as each is one datagram that is next in order, and counts
 * them together: returns their number. All others go one by one.
 */
static uint32_t take_row(struct chan *chan, const struct pm_rx *rx, uint32_t n)
{
	struct chan_peer *peer = chan->run_peer;
	struct stats_rail *stats = &chan->rails[rx->rail];
	struct wire_numbers numbers;
	uint8_t rail = 0;
	uint32_t room, i;

	if (!has_run(chan))
		return 0;
	room = recvwin_row_room(chan, peer);
	for (i = 0; i < n && i < room && rx[i].rail == rx->rail; i++) {
		if (!is_next_datagram(chan, &rx[i], i, &numbers) || (i && numbers.rail != rail))
			break;
		if (!recvwin_add_to_row(chan, peer, &rx[i], numbers.length))
			break;
		rail = numbers.rail;
		stats->rx_bytes += rx[i].len;
	}
	if (!i)
		return 0;
	stats->rx_packets += i;
	recvwin_end_row(chan, peer, i);
	ack_next(chan, peer, rail, i);
	note_life(chan, peer);
	return i;
}

/* Others like it may follow. */
static void begin_run(struct chan *chan, struct chan_peer *peer, const struct wire_header *header,
		      const uint8_t *data)
{
	uint32_t mseq;

	if (header->flags & (uint8_t)~WIRE_F_ECHO_MASK || chan->config.crc)
		return;
	wire_pack_header(header, &chan->run);
	chan->run_peer = peer;
	chan->is_run_of_datagrams = wire_is_datagram(data, header->length, &mseq);
}

/* *ret_peer: from whom there is a body of DATA to be taken, NULL: there is none. */
static __attribute__((noinline)) enum drop_reason take(struct chan *chan, const uint8_t *data,
						       uint32_t len, uint32_t rail, bool has_next,
						       struct wire_numbers *ret,
						       struct chan_peer **ret_peer)
{
	struct wire_header header;
	struct chan_peer *peer;
	enum drop_reason reason;
	bool is_known;

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
	note_life(chan, peer);
	is_known = header.type != WIRE_ACK && report_is_known(peer->flow, &header);
	if (unlikely(!is_known &&
		     !report_input(chan, peer, &header, header.type == WIRE_ACK ? data : NULL)))
		return DROP_WINDOW;
	if (header.type != WIRE_DATA)
		return DROP_NONE;
	if (is_known || has_next)
		begin_run(chan, peer, &header, data);
	ret->seq = header.seq;
	ret->length = header.length;
	*ret_peer = peer;
	return DROP_NONE;
}

/* @has_next: another packet has come, which may be of the same row. */
static void take_one(struct chan *chan, const struct pm_rx *rx, bool has_next)
{
	struct stats_rail *stats = &chan->rails[rx->rail];
	struct chan_peer *peer = NULL;
	struct wire_numbers numbers;
	enum drop_reason reason;
	bool is_kept = false;

	stats->rx_packets++;
	stats->rx_bytes += rx->len;
	if (has_run(chan) && likely(is_next(chan, rx, 0, &numbers))) {
		reason = take_next(chan, rx->data, &numbers);
		peer = chan->run_peer;
	} else {
		reason = take(chan, rx->data, rx->len, rx->rail, has_next, &numbers, &peer);
	}
	if (likely(reason == DROP_NONE && peer))
		reason = recvwin_input(chan, peer, numbers.seq, numbers.length, rx->data, rx->token,
				       &is_kept);
	if (unlikely(reason != DROP_NONE))
		stats->drops[reason]++;
	if (!is_kept)
		chan->ops.rx_return(chan->arg, rx->token);
}

void chan_input(struct chan *chan, const struct pm_rx *rx, uint32_t n, uint64_t now)
{
	uint32_t i = 0, in_row;

	chan->now = now;
	chan->is_fed |= n > 0;
	chan->has_heard_all = !n;
	while (i < n) {
		assert(rx[i].rail < chan->config.n_rails);
		in_row = chan->is_run_of_datagrams ? take_row(chan, &rx[i], n - i) : 0;
		if (!in_row)
			take_one(chan, &rx[i], i + 1 < n);
		i += in_row ? in_row : 1;
	}
}
