// SPDX-License-Identifier: BSD-3-Clause
/*
 * ack - what we owe the peer: how far each of its rails has come, when we tell it, and what the
 * next header says of it. The peer's word about our packets is read by report.c.
 */
#include "pmcore/channel/ack.h"
#include "pmcore/channel/arrivals.h"
#include "pmcore/channel/chan_private.h"

/* A rail number further ahead than that is no gap but nonsense. */
#define RAIL_JUMP_MAX (1 << 24)
#define PATIENCE_MAX_NS 2000000
#define ACKS_PUT_OFF 4 /* times ack_every packets without an ack */

void ack_now(struct chan *chan, struct chan_peer *peer)
{
	peer->flow->is_ack_now = true;
	chan_ready(chan, peer);
}

/*
 * Where our own packets leave with some time between them, on a slow or crowded link, the next of
 * them carries the ack if we wait for it. An eighth of the round trip more is nothing that the
 * peer's timers notice.
 */
static uint64_t ack_delay(const struct chan *chan, const struct chan_peer *peer)
{
	uint64_t longer = min_u64(peer->srtt_ns / 8, PATIENCE_MAX_NS);

	if (!peer->flow->in_flight || longer < chan->config.ack_delay_ns)
		return chan->config.ack_delay_ns;
	return longer;
}

void ack_soon(struct chan *chan, struct chan_peer *peer)
{
	if (unlikely(chan->is_stopped)) {
		ack_now(chan, peer);
		return;
	}
	if (peer->flow->ack_ns)
		return;
	peer->flow->ack_ns = chan->now + ack_delay(chan, peer);
	chan_wake_at(chan, peer->flow->ack_ns);
}

/* So many packets are worth an ack of their own. */
static bool is_worth(const struct chan *chan, const struct chan_flow *flow)
{
	return flow->unacked >= chan->ack_every;
}

/*
 * So many don't wait any longer for a packet that carries it, nor for a poll that brings nothing.
 */
static bool is_late(const struct chan *chan, const struct chan_flow *flow)
{
	return flow->unacked >= ACKS_PUT_OFF * chan->ack_every;
}

/* Something of the rail is to be told, by a packet of ours or by an ack of its own. */
static inline void owe(struct chan *chan, struct chan_peer *peer, uint32_t rail, uint32_t n)
{
	struct chan_flow *flow = peer->flow;

	flow->news |= (uint8_t)(1u << rail);
	/* owed already, as a rule */
	if (unlikely(!flow->ack_ns || chan->is_stopped))
		ack_soon(chan, peer);
	flow->unacked += n;
	if (unlikely(is_worth(chan, flow)))
		chan_wake_at(chan, chan->now + 1);
	if (unlikely(is_late(chan, flow)))
		chan_ready(chan, peer);
}

void ack_next(struct chan *chan, struct chan_peer *peer, uint32_t rail, uint32_t n)
{
	peer->rail_rx[rail] += n;
	owe(chan, peer, rail, n);
}

bool ack_arrival(struct chan *chan, struct chan_peer *peer, const struct wire_header *header,
		 uint32_t local_rail)
{
	int32_t gap = seq_diff(header->rail_seq, peer->rail_rx[header->rail]);

	if (unlikely(gap) && (gap > RAIL_JUMP_MAX || gap < -RAIL_JUMP_MAX))
		return false;
	if (likely(gap >= 0))
		peer->rail_rx[header->rail] = header->rail_seq + 1;
	if (unlikely(gap > 0)) {
		chan->rails[local_rail].losses += (uint32_t)gap;
		ack_now(chan, peer);
	}
	if (unlikely(header->flags & WIRE_F_ACK_NOW))
		ack_now(chan, peer);
	/* a peer that asks by a rail for long data may not hear us by the others */
	if (unlikely(header->type == WIRE_PROBE))
		peer->flow->is_unheard |= chan->config.bulk_rails >> local_rail & 1;
	if (unlikely(header->type == WIRE_ACK))
		return true;
	owe(chan, peer, header->rail, 1);
	return true;
}

bool ack_is_due(const struct chan *chan, const struct chan_flow *flow)
{
	return flow->is_ack_now || is_late(chan, flow);
}

uint32_t ack_echo(const struct chan_flow *flow)
{
	uint8_t later = flow->news & (uint8_t)(0xfeu << flow->echo);

	if (!flow->news)
		return flow->echo;
	return (uint32_t)__builtin_ctz(later ? later : flow->news);
}

uint32_t ack_bits(const struct chan *chan, const struct chan_peer *peer)
{
	const struct chan_flow *flow = peer->flow;

	return flow->early ? (uint32_t)arrivals_bits(chan, flow, peer->rx_next + 1) : 0;
}

void ack_clear(struct chan_flow *flow)
{
	flow->news = 0;
	flow->ack_ns = 0;
	flow->unacked = 0;
	flow->is_ack_now = false;
}

void ack_told(struct chan_peer *peer, uint8_t type, uint32_t echo, uint16_t credit)
{
	struct chan_flow *flow = peer->flow;

	flow->credit_told = credit;
	flow->unacked = 0;
	if (type == WIRE_ACK) {
		flow->is_ack_now = false;
		flow->is_unheard = false;
		flow->news = 0;
		flow->bare_acks++;
	} else {
		flow->echo = (uint8_t)echo;
		flow->news &= (uint8_t) ~(1u << echo);
	}
	if (!flow->news)
		flow->ack_ns = 0;
}

/*
 * When many packets have come, what the program sends next may carry the ack, and a packet of its
 * own costs time while others wait to be read. So such an ack leaves with the first poll before
 * which nothing has come.
 */
uint64_t ack_timers(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;

	if (!flow->ack_ns)
		return CHAN_NEVER;
	if (chan->now < flow->ack_ns && !is_worth(chan, flow))
		return flow->ack_ns;
	if (chan->now < flow->ack_ns && chan->is_fed)
		return chan->now + 1;
	/* Stays owed until it has left; the peer is on the ready or the stalled list until then. */
	ack_now(chan, peer);
	return CHAN_NEVER;
}
