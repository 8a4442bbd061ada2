// SPDX-License-Identifier: BSD-3-Clause
/*
 * emit - puts single packets on rails: fills in the header, lets stripe choose the rail, tries
 * another one when a rail is full. Owns the few transmit buffers kept for what the engine itself
 * has to send, so that this can leave even when messages that wait hold all others.
 */
#include "pmcore/channel/ack.h"
#include "pmcore/channel/arrivals.h"
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/emit.h"
#include "pmcore/channel/stripe.h"

/*
 * All of a header but its length and the numbers of its rail. Functions that get its address are
 * inlined by the link-time optimization, so it stays in registers. In memory, what was written in
 * parts can be read as a whole only after all writes before it, the data's too.
 */
static inline __attribute__((always_inline)) void fill_header(const struct chan *chan,
							      const struct chan_peer *peer,
							      const struct emit *emit,
							      struct wire_header *header)
{
	uint32_t echo = ack_echo(peer->flow);

	header->version = WIRE_VERSION;
	header->type = emit->type;
	header->key = chan->config.key;
	header->src = chan->config.self;
	header->dst = peer->node;
	header->seq = emit->seq;
	header->flags = emit->flags | (uint8_t)(echo << WIRE_F_ECHO_SHIFT);
	header->crc = 0;
	header->rail_ack = peer->rail_rx[echo];
	header->ack = peer->rx_next;
	header->sack = ack_bits(chan, peer);
	header->credit = (uint16_t)peer->rx_credit;
}

static inline uint32_t echo_of(const struct wire_header *header)
{
	return (header->flags & WIRE_F_ECHO_MASK) >> WIRE_F_ECHO_SHIFT;
}

int emit_packet(struct chan *chan, struct chan_peer *peer, struct pm_packet *packet,
		struct emit *emit)
{
	uint32_t bytes = pm_packet_bytes(packet);
	uint8_t rails = emit->rails & (uint8_t)~chan->full;
	struct stats_rail *stats;
	struct wire_header header;
	uint32_t rail;

	fill_header(chan, peer, emit, &header);
	header.length = (uint16_t)(bytes - sizeof(header));
	packet->is_kept = emit->type == WIRE_DATA;
	while (rails) {
		rail = stripe_pick(peer->flow, rails, bytes);
		header.rail = (uint8_t)rail;
		header.rail_seq = peer->rail_tx[rail];
		wire_put_header(packet->data, &header);
		if (unlikely(chan->config.crc))
			wire_seal(packet->data, packet->len);
		if (likely(!chan->ops.tx_post(chan->arg, rail, peer->dev, packet))) {
			stats = &chan->rails[rail];
			stats->tx_packets++;
			stats->tx_bytes += bytes;
			emit->rail = (uint8_t)rail;
			emit->rail_seq = header.rail_seq;
			stripe_sent(chan, peer, rail, 1,
				    emit->type == WIRE_DATA ||
					    ((emit->flags & WIRE_F_ACK_NOW) && !emit->is_in_vain));
			ack_told(peer, header.type, echo_of(&header), header.credit);
			return 0;
		}
		chan->rails[rail].full++;
		chan->full |= (uint8_t)(1u << rail);
		rails &= (uint8_t) ~(1u << rail);
	}
	return -EAGAIN;
}

/* Headers of a run that goes on under @header; the bytes of its packets. */
static uint64_t put_headers(struct chan *chan, struct pm_packet *const *packets, uint32_t n,
			    const struct emit *emit, struct wire_header *header)
{
	uint64_t bytes, sum = 0;
	struct wire_words words;
	uint32_t i;

	wire_pack_header(header, &words);
	for (i = 0; i < n; i++) {
		bytes = pm_packet_bytes(packets[i]);
		sum += bytes;
		packets[i]->is_kept = true;
		wire_put_words(packets[i]->data, &words, i, (uint16_t)(bytes - sizeof(*header)),
			       i == n - 1 ? emit->last_flags : 0);
		if (unlikely(chan->config.crc))
			wire_seal(packets[i]->data, packets[i]->len);
	}
	return sum;
}

/* How many of them the rail has taken. */
static uint32_t post(struct chan *chan, uint32_t rail, struct chan_peer *peer,
		     struct pm_packet *const *packets, uint32_t n)
{
	uint32_t i = 0;

	if (likely(chan->ops.tx_post_run != NULL))
		return chan->ops.tx_post_run(chan->arg, rail, peer->dev, packets, n);
	while (i < n && !chan->ops.tx_post(chan->arg, rail, peer->dev, packets[i]))
		i++;
	return i;
}

uint32_t emit_run(struct chan *chan, struct chan_peer *peer, struct pm_packet *const *packets,
		  uint32_t n, struct emit *emit)
{
	uint32_t rail = (uint32_t)__builtin_ctz(emit->rails);
	struct stats_rail *stats = &chan->rails[rail];
	struct wire_header header;
	uint32_t left, i;
	uint64_t bytes;

	fill_header(chan, peer, emit, &header);
	header.length = 0;
	header.rail = (uint8_t)rail;
	header.rail_seq = peer->rail_tx[rail];
	bytes = put_headers(chan, packets, n, emit, &header);
	left = post(chan, rail, peer, packets, n);
	if (unlikely(left < n)) {
		for (i = left; i < n; i++)
			bytes -= pm_packet_bytes(packets[i]);
		stats->full++;
		chan->full |= (uint8_t)(1u << rail);
		if (!left)
			return 0;
	}
	stats->tx_packets += left;
	stats->tx_bytes += bytes;
	emit->rail = (uint8_t)rail;
	emit->rail_seq = header.rail_seq;
	stripe_sent(chan, peer, rail, left, true);
	ack_told(peer, header.type, echo_of(&header), header.credit);
	return left;
}

/*
 * One of our own buffers that the device does not hold, leaving @leave of them at rest; while there
 * are not enough, one more is made our own, up to a number.
 */
static struct pm_packet *bare_packet(struct chan *chan, uint32_t leave)
{
	uint32_t i;

	for (i = 0; i < CHAN_SPARES; i++) {
		if (!chan->spare[i])
			chan->spare[i] = chan->ops.tx_alloc(chan->arg);
		if (!chan->spare[i])
			return NULL;
		if (!chan->spare[i]->busy && !leave--)
			return chan->spare[i];
	}
	return leave ? NULL : chan->ops.tx_alloc(chan->arg);
}

/* Posts a bare packet; one that is not our own goes back to the pool at once, though busy. */
static int emit_bare(struct chan *chan, struct chan_peer *peer, struct pm_packet *packet,
		     struct emit *emit)
{
	uint32_t i = 0;
	int rc = emit_packet(chan, peer, packet, emit);

	while (i < CHAN_SPARES && chan->spare[i] != packet)
		i++;
	if (i == CHAN_SPARES)
		chan->ops.tx_free(chan->arg, packet);
	return rc;
}

/* As many words as hold anything, and fit. */
static uint32_t ack_words(const struct chan *chan, const struct chan_peer *peer, uint64_t *bitmap)
{
	uint32_t room = (peer->mtu - sizeof(struct wire_header) - sizeof(struct wire_ack)) / 8;
	uint32_t words = chan_bitmap_words(chan);
	uint32_t n = 0;
	uint32_t i;

	if (!peer->flow->early)
		return 0;
	for (i = 0; i < words && i < room; i++) {
		bitmap[i] = arrivals_bits(chan, peer->flow, peer->rx_next + 1 + 64 * i);
		if (bitmap[i])
			n = i + 1;
	}
	return n;
}

/*
 * Acks are spread over the rails: some may be deaf in this direction only. They take no sequence
 * number, so nothing would ever tell that a rail loses all of them: one in 31 asks for an answer. A
 * peer that sends again what we have has not heard of it: then rails for long data have their turn
 * as well.
 */
static void choose_ack_rail(const struct chan *chan, struct chan_peer *peer, struct emit *emit)
{
	struct chan_flow *flow = peer->flow;
	uint8_t all = stripe_rails(chan, peer);
	uint8_t rails, later;

	emit->rails = flow->is_unheard ? all : stripe_single(chan, all);
	rails = emit->rails & (uint8_t)~chan->full;
	later = rails & (uint8_t)(0xfeu << flow->ack_rail);
	if (!(emit->rails & (emit->rails - 1)) || !rails)
		return;
	if (flow->bare_acks % 31 == 30 || flow->is_unheard)
		emit->flags = WIRE_F_ACK_NOW;
	flow->ack_rail = (uint8_t)__builtin_ctz(later ? later : rails);
	emit->rails = (uint8_t)(1u << flow->ack_rail);
}

int emit_ack(struct chan *chan, struct chan_peer *peer)
{
	struct emit emit = {.type = WIRE_ACK, .seq = peer->tx_next};
	uint64_t bitmap[WIRE_WINDOW_MAX / 64];
	struct pm_packet *packet;
	struct wire_ack body;
	int rc;

	packet = bare_packet(chan, 0);
	if (!packet)
		return -EAGAIN;
	memcpy(body.rail_next, peer->rail_rx, sizeof(body.rail_next));
	body.n_words = ack_words(chan, peer, bitmap);
	body.pad = 0;
	wire_put_ack(packet->data + sizeof(struct wire_header), &body, bitmap);
	packet->len = (uint32_t)(sizeof(struct wire_header) + sizeof(body) + body.n_words * 8);
	choose_ack_rail(chan, peer, &emit);
	rc = emit_bare(chan, peer, packet, &emit);
	if (!rc)
		chan->stats->acks_tx++;
	return rc;
}

static int probe(struct chan *chan, struct chan_peer *peer, uint8_t rails, uint8_t flags,
		 bool is_in_vain)
{
	struct emit emit = {.type = WIRE_PROBE,
			    .seq = peer->tx_next,
			    .flags = flags,
			    .rails = rails,
			    .is_in_vain = is_in_vain};
	struct pm_packet *packet;

	/* A rail that is out may keep what it is given for good: acks must find another buffer. */
	packet = bare_packet(chan, rails & ~peer->out_rails ? 0 : 2);
	if (!packet)
		return -EAGAIN;
	packet->len = sizeof(struct wire_header);
	return emit_bare(chan, peer, packet, &emit);
}

int emit_probe(struct chan *chan, struct chan_peer *peer, uint8_t rails)
{
	return probe(chan, peer, rails, WIRE_F_ACK_NOW, false);
}

void emit_probes(struct chan *chan, struct chan_peer *peer, uint8_t rails)
{
	for (; rails; rails &= (uint8_t)(rails - 1))
		emit_probe(chan, peer, rails & (uint8_t)-rails);
}

int emit_knock(struct chan *chan, struct chan_peer *peer, uint8_t rails)
{
	return probe(chan, peer, rails, 0, true);
}

int emit_question(struct chan *chan, struct chan_peer *peer, uint8_t rails)
{
	return probe(chan, peer, rails, WIRE_F_ACK_NOW, true);
}

static void keep(struct chan *chan, struct pm_packet *packet)
{
	chan->reserve[chan->n_reserve++] = packet;
}

struct pm_packet *emit_alloc(struct chan *chan)
{
	struct pm_packet *packet = chan->ops.tx_alloc(chan->arg);

	return likely(packet != NULL) || !chan->n_reserve ? packet
							  : chan->reserve[--chan->n_reserve];
}

uint32_t emit_alloc_run(struct chan *chan, bool is_bulk, uint32_t n, struct pm_packet **ret_packets)
{
	uint32_t i = 0;

	if (likely(chan->ops.tx_alloc_run != NULL))
		return chan->ops.tx_alloc_run(chan->arg, is_bulk, n, ret_packets);
	while (i < n && (ret_packets[i] = is_bulk ? chan->ops.tx_alloc_bulk(chan->arg)
						  : chan->ops.tx_alloc(chan->arg)))
		i++;
	return i;
}

void emit_free_run(struct chan *chan, struct pm_packet *const *packets, uint32_t n)
{
	uint32_t i;

	if (likely(chan->ops.tx_free_run != NULL)) {
		chan->ops.tx_free_run(chan->arg, packets, n);
		return;
	}
	for (i = 0; i < n; i++)
		chan->ops.tx_free(chan->arg, packets[i]);
}

bool emit_is_read_elsewhere(const struct chan *chan, bool is_bulk)
{
	return chan->config.can_show && !chan->config.crc && (is_bulk || !chan->config.bulk_rails);
}

struct pm_packet *emit_alloc_bulk(struct chan *chan)
{
	struct pm_packet *packet = chan->ops.tx_alloc_bulk(chan->arg);

	return likely(packet != NULL) ? packet : emit_alloc(chan);
}

void emit_free(struct chan *chan, struct pm_packet *packet)
{
	if (likely(chan->n_reserve == CHAN_RESERVE) || packet->busy || packet->is_bulk ||
	    packet->is_shown)
		chan->ops.tx_free(chan->arg, packet);
	else
		keep(chan, packet);
}

/* A pool too small to fill the reserve is no error. */
void emit_init(struct chan *chan)
{
	struct pm_packet *packet;

	bare_packet(chan, 0);
	while (chan->n_reserve < CHAN_RESERVE && (packet = chan->ops.tx_alloc(chan->arg)))
		keep(chan, packet);
}

void emit_fini(struct chan *chan)
{
	uint32_t i;

	while (chan->n_reserve)
		chan->ops.tx_free(chan->arg, chan->reserve[--chan->n_reserve]);
	for (i = 0; i < CHAN_SPARES; i++) {
		if (chan->spare[i])
			chan->ops.tx_free(chan->arg, chan->spare[i]);
		chan->spare[i] = NULL;
	}
}
