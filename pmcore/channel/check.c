// SPDX-License-Identifier: BSD-3-Clause
/*
 * check - the engine's invariants, recomputed from nothing and compared with what the modules keep:
 * every packet is in exactly one place, counters equal what they count. For tests; changes nothing.
 */
#include "pmcore/channel/arrivals.h"
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/memory.h"

/* Sums over the flows. */
struct sums {
	uint64_t unacked;      /* message packets queued or in flight */
	uint64_t user;         /* transmit buffers with messages, or lent */
	uint64_t held;         /* receive buffers of early packets */
	uint64_t owed, silent; /* bytes that peers owe */
	uint32_t flows;
	uint32_t ops;
};

/* Slots of a list, which all must be marked as its own. */
static uint32_t check_list(const struct chan *chan, const struct chan_peer *peer,
			   const struct slot_list *list, int rail, uint32_t *ret_bytes)
{
	const struct chan_flow *flow = peer->flow;
	const struct tx_slot *slot, *before = NULL;
	uint16_t prev = CHAN_NIL;
	uint32_t n = 0;
	uint16_t i;

	*ret_bytes = 0;
	for (i = list->head; i != CHAN_NIL; i = slot->next) {
		slot = &flow->slots[i];
		assert(slot->packet);
		assert(slot->prev == prev);
		assert(((i - peer->tx_una) & chan->mask) < peer->tx_next - peer->tx_una);
		assert(!!(slot->flags & SLOT_LOST) == (rail < 0));
		assert(slot->bytes == pm_packet_bytes(slot->packet));
		if (rail >= 0) {
			assert(slot->rail == rail);
			assert(!before || seq_diff(slot->rail_seq, before->rail_seq) > 0);
			assert(seq_diff(slot->rail_seq, peer->rail_tx[rail]) < 0);
		}
		*ret_bytes += slot->bytes;
		before = slot;
		prev = i;
		n++;
		assert(n <= chan->config.window);
	}
	assert(list->tail == prev);
	return n;
}

static void check_slots(const struct chan *chan, const struct chan_peer *peer)
{
	const struct chan_flow *flow = peer->flow;
	uint32_t used = 0, msgs = 0, listed, bytes;
	uint32_t i;

	assert(peer->tx_next - peer->tx_una <= chan->config.window);
	for (i = 0; i <= chan->mask; i++) {
		if (!flow->slots[i].packet)
			continue;
		used++;
		if (flow->slots[i].flags & SLOT_MSG)
			msgs++;
	}
	assert(used == flow->in_flight);
	assert(msgs == flow->msgs_in_flight);
	assert(peer->tx_una == peer->tx_next || flow->slots[peer->tx_una & chan->mask].packet);
	listed = check_list(chan, peer, &flow->lost, -1, &bytes);
	assert(listed == flow->n_lost);
	for (i = 0; i < chan->config.n_rails; i++) {
		listed += check_list(chan, peer, &flow->rail[i].sent, (int)i, &bytes);
		assert(bytes == flow->rail[i].bytes);
		assert(seq_diff(peer->rail_tx[i], peer->rail_acked[i]) >= 0);
	}
	assert(listed == used);
	assert(!used || flow->timer_ns || peer->is_dead);
}

static void check_queue(const struct packet_queue *queue)
{
	const struct pm_packet *packet, *last = NULL;
	uint32_t n = 0;

	for (packet = queue->head; packet; packet = packet->next) {
		last = packet;
		n++;
	}
	assert(n == queue->count);
	assert(queue->tail == last);
}

static void check_receive(const struct chan *chan, const struct chan_peer *peer)
{
	const struct chan_flow *flow = peer->flow;
	uint32_t held = 0, early = 0;
	uint32_t i;

	for (i = 0; i < chan_bitmap_words(chan); i++)
		early += (uint32_t)__builtin_popcountll(flow->bitmap[i]);
	assert(early == flow->early);
	assert(!(arrivals_bits(chan, flow, peer->rx_next) & 1));
	for (i = 0; i <= chan->mask; i++) {
		if (!flow->hold[i])
			continue;
		assert(flow->hold[i]->is_used && flow->hold[i]->peer == peer);
		held++;
	}
	assert(held == flow->held);
	assert(!flow->hold[peer->rx_mseq & chan->mask]);
	assert(seq_diff(peer->rx_mseq, peer->rx_done) >= 0);
	assert(seq_diff(peer->rx_credit, peer->rx_mseq) >= 0);
	assert(seq_diff(peer->tx_credit, peer->tx_mseq) >= 0);
}

static void check_flow(const struct chan *chan, const struct chan_flow *flow, struct sums *sums)
{
	const struct chan_peer *peer = flow->peer;

	assert(peer && peer->flow == flow);
	check_slots(chan, peer);
	check_queue(&flow->ctrl);
	check_queue(&flow->msgs);
	check_receive(chan, peer);
	sums->unacked += flow->msgs.count + flow->msgs_in_flight;
	sums->user += flow->msgs.count + flow->msgs_in_flight + flow->reserved;
	sums->held += flow->held;
	sums->ops += flow->ops;
	sums->owed += flow->owed;
	sums->silent += flow->is_silent ? flow->owed : 0;
	assert(flow->owed || !flow->is_silent);
	assert(dlist_is_empty(&flow->pulls) || flow->is_silent || !dlist_is_empty(&flow->pulling));
	sums->flows++;
	/* An ack owed has a time to leave, or leaves at the next poll. */
	assert(!flow->news || flow->ack_ns || flow->is_ack_now);
}

static void check_received(const struct chan *chan, uint64_t held)
{
	const struct rx_packet *rx, *last = NULL;
	uint64_t used = 0;
	uint64_t unread = 0;
	struct chunk *chunk;
	uint32_t i;

	for (chunk = chan->rx_chunks; chunk; chunk = chunk_next(chunk)) {
		rx = chunk_bytes(chunk);
		for (i = 0; i < RX_CHUNK; i++)
			if (rx[i].is_used && !rx[i].is_copy)
				used++;
	}
	assert(used == chan->rx_used);
	assert(used <= chan->config.rx_buffers);
	for (rx = chan->rx_head; rx; rx = rx->next) {
		assert(rx->is_used);
		last = rx;
		if (!rx->is_copy)
			unread++;
	}
	assert(!chan->rx_head || chan->rx_tail == last);
	assert(unread + held <= used);
}

static void check_ops(const struct chan *chan, uint32_t expected)
{
	uint64_t outstanding = 0;
	uint32_t running = 0;
	uint32_t i, j;

	for (i = 0; i < chan->n_op_chunks; i++) {
		for (j = 0; j < OP_CHUNK; j++) {
			const struct chan_op *op = &chan->op_chunks[i][j];

			if (op->kind == OP_FREE || op->status != -EAGAIN)
				continue;
			running++;
			outstanding += op->asked - op->arrived;
			assert(op->arrived <= op->asked && op->asked <= op->len);
		}
	}
	assert(running == expected);
	assert(outstanding == chan->outstanding);
}

/*
 * The header that packets in a row are compared with is of an active peer, and its report has been
 * heard.
 */
static void check_run(const struct chan *chan)
{
	const struct ack_report *heard;

	if (!chan->run_peer)
		return;
	assert(chan->run_peer->flow);
	heard = &chan->run_peer->flow->heard;
	assert(chan->run.word[4] == (heard->ack | (uint64_t)heard->sack << 32));
	assert((uint32_t)chan->run.word[5] == heard->rail_ack);
	assert(chan->run.word[0] >> 48 == heard->credit);
}

void chan_check(const struct chan *chan)
{
	struct sums sums = {0};
	const struct dlist *link;

	check_run(chan);
	for (link = chan->flows.next; link != &chan->flows; link = link->next)
		check_flow(chan, dlist_entry(link, struct chan_flow, link), &sums);
	assert(sums.flows == chan->n_flows);
	assert(sums.unacked == chan->unacked);
	assert(sums.user == chan->user_packets);
	check_received(chan, sums.held);
	check_ops(chan, sums.ops);
	assert(sums.owed == chan->outstanding);
	assert(sums.silent == chan->silent);
}
