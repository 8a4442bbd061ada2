// SPDX-License-Identifier: BSD-3-Clause
/*
 * stripe - which rail a packet takes. A rail gets what it can drain: the packet goes where it is
 * expected to be through first, by the bytes in flight and the measured rate. Rails that are out
 * get nothing: outage.c finds them, and one is back when the peer answers what was sent by it. Only
 * the other side's word about our rail counts: packets that come in by it say nothing.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/slots.h"
#include "pmcore/channel/stripe.h"

#define COST_DEFAULT 1000 /* ps per byte, before anything is known */
#define COST_MAX (1u << 30)
#define BUSY_BYTES (16 * 1024) /* in flight on a rail that counts as busy */
#define STALE_NS 100000000     /* since a rail was used; then its cost counts for nothing */

static uint32_t first_rail(uint8_t rails)
{
	return (uint32_t)__builtin_ctz(rails);
}

void stripe_init(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;
	uint32_t i;

	for (i = 0; i < chan->config.n_rails; i++) {
		struct rail_state *rail = &flow->rail[i];

		stripe_cleared(flow, i);
		rail->asked = peer->rail_tx[i];
		rail->asked_ns = 0;
		rail->answer_ns = chan->now;
		rail->probe_ns = chan->now;
		rail->cost = 0;
	}
}

/* When all usable rails are out, one that was silent is better than none. */
uint8_t stripe_rails(const struct chan *chan, const struct chan_peer *peer)
{
	uint8_t with_carrier = peer->rails & chan->up;
	uint8_t live = with_carrier & (uint8_t)~peer->out_rails;

	return live ? live : with_carrier;
}

uint8_t stripe_single(const struct chan *chan, uint8_t rails)
{
	uint8_t single = rails & (uint8_t)~chan->config.bulk_rails;

	return single ? single : rails;
}

static uint32_t cost_of(const struct chan_flow *flow, uint32_t rail, uint32_t unknown)
{
	return flow->rail[rail].cost ? flow->rail[rail].cost : unknown;
}

uint32_t stripe_pick(const struct chan_flow *flow, uint8_t rails, uint32_t bytes)
{
	uint32_t best = first_rail(rails);
	uint32_t cheapest = UINT32_MAX;
	uint64_t best_time = UINT64_MAX;
	uint64_t time;
	uint32_t rail;
	uint8_t left;

	if (likely(!(rails & (rails - 1))))
		return best;
	/* A rail not measured yet counts as good as the best. */
	for (left = rails; left; left &= (uint8_t)(left - 1)) {
		rail = first_rail(left);
		if (flow->rail[rail].cost && flow->rail[rail].cost < cheapest)
			cheapest = flow->rail[rail].cost;
	}
	if (cheapest == UINT32_MAX)
		cheapest = COST_DEFAULT;
	for (left = rails; left; left &= (uint8_t)(left - 1)) {
		rail = first_rail(left);
		time = (uint64_t)(flow->rail[rail].bytes + bytes) * cost_of(flow, rail, cheapest);
		if (time < best_time) {
			best_time = time;
			best = rail;
		}
	}
	return best;
}

void stripe_sent(struct chan *chan, struct chan_peer *peer, uint32_t rail, uint32_t n,
		 bool is_asking)
{
	struct rail_state *state = &peer->flow->rail[rail];

	peer->rail_tx[rail] += n;
	if (!is_asking)
		return;
	state->asked = peer->rail_tx[rail];
	if (state->asked_ns)
		return;
	state->asked_ns = chan->now ? chan->now : 1;
	if (peer->rails & (peer->rails - 1))
		chan_wake_at(chan, chan->now + STRIPE_SILENCE_MIN_NS);
}

void stripe_add(struct chan_flow *flow, struct tx_slot *slot)
{
	struct rail_state *rail = &flow->rail[slot->rail];

	rail->bytes += slot->bytes;
	slot->load = rail->bytes;
	slot_list_add(flow, &rail->sent, slot);
}

void stripe_add_row(const struct chan *chan, struct chan_flow *flow, uint32_t seq, uint32_t n)
{
	struct tx_slot *slot = slot_at(chan, flow, seq);
	struct rail_state *rail = &flow->rail[slot->rail];
	uint16_t last = rail->sent.tail, index = (uint16_t)(seq & chan->mask);

	if (last == CHAN_NIL)
		rail->sent.head = index;
	else
		flow->slots[last].next = index;
	for (; n; n--) {
		slot = &flow->slots[index];
		rail->bytes += slot->bytes;
		slot->load = rail->bytes;
		slot->prev = last;
		last = index;
		index = (uint16_t)(++seq & chan->mask);
		slot->next = n > 1 ? index : CHAN_NIL;
	}
	rail->sent.tail = last;
}

void stripe_del(struct chan_flow *flow, struct tx_slot *slot)
{
	struct rail_state *rail = &flow->rail[slot->rail];

	slot_list_del(flow, &rail->sent, slot);
	rail->bytes -= slot->bytes;
}

void stripe_cleared(struct chan_flow *flow, uint32_t rail)
{
	flow->rail[rail].sent = (struct slot_list){CHAN_NIL, CHAN_NIL};
	flow->rail[rail].bytes = 0;
}

/* Its oldest packet has waited twice as long as one elsewhere that came back: probably lost. */
static bool is_overdue(const struct chan *chan, const struct chan_flow *flow,
		       const struct rail_state *rail, uint64_t took)
{
	return chan->now - flow->slots[rail->sent.head].sent_ns > 2 * took;
}

/*
 * A rail whose only samples were bad ones (a lost packet delayed its ack) is never chosen and so
 * never measured again. Nor is a loss there seen, without a later packet to show the gap. While
 * others are busy one that is idle or overdue gets cheaper until it is tried.
 */
static void forgive_unused(const struct chan *chan, struct chan_flow *flow, uint64_t took)
{
	struct rail_state *rail;
	uint32_t i;

	for (i = 0; i < chan->config.n_rails; i++) {
		rail = &flow->rail[i];
		if (!rail->bytes || is_overdue(chan, flow, rail, took))
			rail->cost -= rail->cost / 32;
	}
}

/*
 * The same where nobody is ever busy. The cost of a rail says little a while after it was used: it
 * is measured anew, by a packet now and then.
 */
static void forget_stale(const struct chan *chan, struct chan_flow *flow)
{
	struct rail_state *rail;
	uint32_t i;

	for (i = 0; i < chan->config.n_rails; i++) {
		rail = &flow->rail[i];
		if (!rail->bytes && chan->now - rail->answer_ns > STALE_NS)
			rail->cost = 0;
	}
}

/* Less is believed quickly; more may be a late ack, and is believed slowly. */
static void learn(struct rail_state *rail, uint32_t cost)
{
	if (!rail->cost)
		rail->cost = cost;
	else if (cost < rail->cost)
		rail->cost -= (rail->cost - cost) / 4;
	else
		rail->cost += (cost - rail->cost) / 16;
	if (!rail->cost)
		rail->cost = 1;
}

/*
 * Called before the slot leaves its rail. By Little's law the time until the ack over the bytes in
 * flight is what a byte costs.
 */
void stripe_acked(const struct chan *chan, struct chan_flow *flow, const struct tx_slot *slot)
{
	uint64_t took = chan->now - slot->sent_ns;
	bool is_busy = slot->load >= BUSY_BYTES;

	if (!chan->is_striping || (chan->n_links == 1 && !is_busy))
		return;
	if (is_busy)
		forgive_unused(chan, flow, took);
	else
		forget_stale(chan, flow);
	learn(&flow->rail[slot->rail], (uint32_t)min_u64(took * 1000 / slot->load, COST_MAX));
}

void stripe_expect_nothing(struct chan_flow *flow, uint32_t rail)
{
	flow->rail[rail].asked_ns = 0;
}

void stripe_take_out(struct chan *chan, struct chan_peer *peer, uint32_t rail)
{
	peer->out_rails |= (uint8_t)(1u << rail);
	chan->rails[rail].deaths++;
}

static void rail_returns(struct chan *chan, struct chan_peer *peer, uint32_t rail)
{
	peer->out_rails &= (uint8_t) ~(1u << rail);
	chan->rails[rail].returns++;
	/* Acks that its outage has delayed would keep small messages off it for good. */
	peer->flow->rail[rail].cost = 0;
	chan_ready(chan, peer);
}

bool stripe_answer(struct chan *chan, struct chan_peer *peer, uint32_t rail, uint32_t next)
{
	struct rail_state *state = &peer->flow->rail[rail];

	/* Old news, or about packets never sent. */
	if (seq_diff(next, peer->rail_acked[rail]) <= 0 || seq_diff(next, peer->rail_tx[rail]) > 0)
		return false;
	peer->rail_acked[rail] = next;
	state->answer_ns = chan->now;
	if (seq_diff(next, state->asked) < 0) {
		state->asked_ns = chan->now;
		return true;
	}
	state->asked_ns = 0;
	if (unlikely(peer->out_rails >> rail & 1))
		rail_returns(chan, peer, rail);
	return true;
}
