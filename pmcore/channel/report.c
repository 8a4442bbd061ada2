// SPDX-License-Identifier: BSD-3-Clause
/*
 * report - reads what the peer tells of our packets: cumulative ack, selective ack, credit, and how
 * far each rail has come. A packet is lost when its rail has moved past it and the same report,
 * which covers it, does not show it.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/credit.h"
#include "pmcore/channel/limit.h"
#include "pmcore/channel/report.h"
#include "pmcore/channel/road.h"
#include "pmcore/channel/rtt.h"
#include "pmcore/channel/sendwin.h"
#include "pmcore/channel/slots.h"
#include "pmcore/channel/stripe.h"

#define SACK_BITS 32
#define ASKED_OFTEN 2 /* timeouts in a row */

/* Packets of a rail that @next has moved past, as far as the report covers them. */
static void judge_rail(struct chan *chan, struct chan_peer *peer, uint32_t rail, uint32_t next,
		       uint32_t cover)
{
	struct chan_flow *flow = peer->flow;
	struct tx_slot *slot;
	uint16_t index;

	if (seq_diff(next, peer->rail_tx[rail]) > 0)
		return;
	while ((index = flow->rail[rail].sent.head) != CHAN_NIL) {
		slot = &flow->slots[index];
		if (seq_diff(slot->rail_seq, next) >= 0)
			return;
		if (((index - peer->tx_una) & chan->mask) >= cover)
			return;
		sendwin_dropped(chan, peer, slot);
	}
}

/* @first: sequence number of bit 0. */
static void take_bits(struct chan *chan, struct chan_peer *peer, uint32_t first, uint64_t bits)
{
	struct tx_slot *slot;
	uint32_t seq;

	for (; bits; bits &= bits - 1) {
		seq = first + (uint32_t)__builtin_ctzll(bits);
		if (seq_diff(seq, peer->tx_next) >= 0)
			return;
		slot = slot_at(chan, peer->flow, seq);
		if (slot->packet)
			sendwin_acked(chan, peer, slot);
	}
}

/* Nothing in flight is lost or acked out of turn, and no rails are compared by their acks. */
static bool is_whole(const struct chan *chan, const struct chan_peer *peer)
{
	const struct chan_flow *flow = peer->flow;

	return !flow->n_lost && flow->in_flight == peer->tx_next - peer->tx_una &&
	       !chan->is_striping;
}

static void take_cumulative(struct chan *chan, struct chan_peer *peer, uint32_t ack)
{
	struct tx_slot *slot;

	if (ack == peer->tx_next && is_whole(chan, peer)) {
		sendwin_acked_all(chan, peer);
		return;
	}
	for (; peer->tx_una != ack; peer->tx_una++) {
		slot = slot_at(chan, peer->flow, peer->tx_una);
		if (slot->packet)
			sendwin_acked(chan, peer, slot);
	}
}

/* Only a report that contradicts itself shows the oldest as received and does not count it. */
static void skip_acked(struct chan *chan, struct chan_peer *peer)
{
	while (peer->tx_una != peer->tx_next && !slot_at(chan, peer->flow, peer->tx_una)->packet)
		peer->tx_una++;
}

/* The peer expects @next on @rail: something has come by it. */
static inline void take_rail(struct chan *chan, struct chan_peer *peer, uint32_t rail,
			     uint32_t next, uint32_t cover)
{
	if (stripe_answer(chan, peer, rail, next))
		road_prove(peer->flow, rail);
	judge_rail(chan, peer, rail, next, cover);
}

/* A whole report. */
static void take_full(struct chan *chan, struct chan_peer *peer, const struct wire_header *header,
		      const uint8_t *data)
{
	uint32_t room = (peer->mtu - sizeof(struct wire_header) - sizeof(struct wire_ack)) / 8;
	uint64_t bitmap[WIRE_WINDOW_MAX / 64];
	struct wire_ack body;
	uint32_t cover = UINT32_MAX;
	uint32_t i;

	wire_get_ack(data, header, &body, bitmap);
	for (i = 0; i < body.n_words; i++)
		take_bits(chan, peer, header->ack + 1 + 64 * i, bitmap[i]);
	if (body.n_words >= room)
		cover = 1 + 64 * body.n_words;
	for (i = 0; i < chan->config.n_rails; i++) {
		take_rail(chan, peer, i, body.rail_next[i], cover);
	}
	chan->stats->acks_rx++;
}

static void take_piggyback(struct chan *chan, struct chan_peer *peer,
			   const struct wire_header *header)
{
	uint32_t rail = (header->flags & WIRE_F_ECHO_MASK) >> WIRE_F_ECHO_SHIFT;

	if (header->sack)
		take_bits(chan, peer, header->ack + 1, header->sack);
	if (rail >= chan->config.n_rails)
		return;
	take_rail(chan, peer, rail, header->rail_ack, 1 + SACK_BITS);
}

/*
 * When we had to ask, the time may be that of a lost ack and not of the path, so it counts up to a
 * limit. When all was repeated, nothing tells which of them was answered. Both have to count: where
 * the path got slower than our timeouts we ask each time, and would never learn it (Karn and
 * Partridge, SIGCOMM 1987, keep the longer timeout for that).
 */
static void take_sample(const struct chan *chan, struct chan_peer *peer)
{
	const struct chan_flow *flow = peer->flow;
	uint64_t twice = 2ull * peer->srtt_ns, time = chan->now - flow->sample_ns;

	if (flow->sample_ns)
		rtt_sample(peer, flow->backoff && twice ? min_u64(time, twice) : time);
	else if (flow->backoff >= ASKED_OFTEN && twice)
		rtt_sample(peer, twice);
}

/*
 * As long as packets come in a row most say the same about our own; it means nothing the second
 * time.
 */
bool report_is_known(const struct chan_flow *flow, const struct wire_header *header)
{
	const struct ack_report *heard = &flow->heard;

	return heard->ack == header->ack && heard->credit == header->credit &&
	       heard->rail_ack == header->rail_ack && heard->sack == header->sack &&
	       heard->echo == (header->flags & WIRE_F_ECHO_MASK);
}

static void hear(struct chan *chan, struct chan_flow *flow, const struct wire_header *header)
{
	flow->heard = (struct ack_report){.ack = header->ack,
					  .sack = header->sack,
					  .rail_ack = header->rail_ack,
					  .credit = header->credit,
					  .echo = header->flags & WIRE_F_ECHO_MASK};
	chan->run_peer = NULL;
}

bool report_input(struct chan *chan, struct chan_peer *peer, const struct wire_header *header,
		  const uint8_t *data)
{
	struct chan_flow *flow = peer->flow;
	uint64_t before = flow->n_acked;
	bool is_more;

	if (seq_diff(header->ack, peer->tx_next) > 0)
		return false;
	if (!data)
		hear(chan, flow, header);
	is_more = credit_input(peer, header->credit);
	/* An old report, overtaken by a newer one on another rail. */
	if (seq_diff(header->ack, peer->tx_una) < 0)
		return true;
	flow->sample_ns = 0;
	take_cumulative(chan, peer, header->ack);
	if (data)
		take_full(chan, peer, header, data);
	else
		take_piggyback(chan, peer, header);
	skip_acked(chan, peer);
	if (flow->n_acked != before) {
		take_sample(chan, peer);
		limit_progress(peer, flow->sample_ns && !flow->n_lost);
		limit_acked(peer, (uint32_t)(flow->n_acked - before));
		rtt_progress(chan, peer, sendwin_is_waiting(peer));
		is_more = true;
	}
	if (is_more && (flow->n_lost || flow->msgs.count || flow->ctrl.count ||
			!dlist_is_empty(&flow->serves)))
		chan_ready(chan, peer);
	return true;
}
