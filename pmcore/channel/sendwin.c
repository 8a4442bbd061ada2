// SPDX-License-Identifier: BSD-3-Clause
/*
 * sendwin - packets on their way: the window of those sent and not acked, the order in which the
 * next ones leave (lost ones, then control, then messages), the timer's consequences. Bulk data is
 * made in serve.c when the window has room. Knows no user call; see submit.c.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/credit.h"
#include "pmcore/channel/emit.h"
#include "pmcore/channel/limit.h"
#include "pmcore/channel/road.h"
#include "pmcore/channel/rtt.h"
#include "pmcore/channel/sendwin.h"
#include "pmcore/channel/slots.h"
#include "pmcore/channel/stripe.h"
#include "pmcore/util/copy.h"

void sendwin_init(struct chan *chan, struct chan_flow *flow)
{
	memset(&flow->ctrl, 0, sizeof(flow->ctrl));
	memset(&flow->msgs, 0, sizeof(flow->msgs));
	flow->lost.head = CHAN_NIL;
	flow->lost.tail = CHAN_NIL;
	flow->in_flight = 0;
	flow->n_lost = 0;
	flow->msgs_in_flight = 0;
	flow->n_acked = 0;
	flow->n_lent = 0;
	limit_init(chan, flow->peer);
}

bool sendwin_is_waiting(const struct chan_peer *peer)
{
	return peer->flow->in_flight || (peer->flow->msgs.count && !credit_is_open(peer));
}

/*
 * Nothing may follow @n packets more until they are acked, so the ack of the last had better not
 * wait.
 */
static inline uint8_t asks(const struct chan_peer *peer, uint32_t n, uint8_t flags)
{
	if (limit_room(peer, 0) == n || ((flags & SLOT_MSG) && credit_room(peer) == n))
		return WIRE_F_ACK_NOW;
	return 0;
}

static inline __attribute__((always_inline)) uint8_t
rails_for(struct chan *chan, struct chan_peer *peer, uint8_t flags)
{
	uint8_t rails = stripe_rails(chan, peer);

	if (likely(!chan->config.bulk_rails))
		return rails;
	return flags & SLOT_BULK ? road_bulk(chan, peer, rails) : stripe_single(chan, rails);
}

/* @n packets have left under the next sequence numbers. */
static inline __attribute__((always_inline)) void enter(struct chan *chan, struct chan_peer *peer,
							struct pm_packet *const *packets,
							uint32_t n, const struct emit *emit,
							uint8_t flags)
{
	struct chan_flow *flow = peer->flow;
	struct tx_slot *slot;
	uint32_t i;

	for (i = 0; i < n; i++) {
		slot = slot_at(chan, flow, peer->tx_next + i);
		slot->packet = packets[i];
		slot->sent_ns = chan->now;
		slot->rail_seq = emit->rail_seq + i;
		slot->bytes = pm_packet_bytes(packets[i]);
		slot->rail = emit->rail;
		slot->flags = flags;
		slot->tries = 0;
		flow->n_lent += packets[i]->more_len != 0;
	}
	stripe_add_row(chan, flow, peer->tx_next, n);
	if (flags & SLOT_BULK)
		road_sent(chan, peer, n);
	flow->in_flight += n;
	peer->tx_next += n;
	if (flags & SLOT_MSG) {
		flow->msgs_in_flight += n;
		peer->tx_mseq += n;
	}
}

int sendwin_transmit(struct chan *chan, struct chan_peer *peer, struct pm_packet *packet,
		     uint8_t flags)
{
	struct emit emit = {.type = WIRE_DATA, .seq = peer->tx_next, .flags = asks(peer, 1, flags)};

	emit.rails = rails_for(chan, peer, flags);
	if (emit_packet(chan, peer, packet, &emit))
		return -EAGAIN;
	enter(chan, peer, &packet, 1, &emit, flags);
	rtt_arm(chan, peer);
	return 0;
}

/*
 * The headers of packets in a row are alike where there is one rail to take, and not two to tell
 * the peer of.
 */
static bool is_uniform(const struct chan_flow *flow, uint8_t rails)
{
	return rails && !(rails & (rails - 1)) && !(flow->news & (flow->news - 1));
}

/* How many have left, at least one if anything can leave. */
static uint32_t transmit_some(struct chan *chan, struct chan_peer *peer,
			      struct pm_packet *const *packets, uint32_t n, uint8_t flags)
{
	struct emit emit = {.type = WIRE_DATA, .seq = peer->tx_next};
	uint32_t left;

	emit.rails = rails_for(chan, peer, flags) & (uint8_t)~chan->full;
	if (n == 1 || !is_uniform(peer->flow, emit.rails))
		return sendwin_transmit(chan, peer, packets[0], flags) ? 0 : 1;
	if (flags & SLOT_BULK && n > road_run(&peer->flow->road))
		n = road_run(&peer->flow->road);
	emit.last_flags = asks(peer, n, flags);
	left = emit_run(chan, peer, packets, n, &emit);
	if (left) {
		enter(chan, peer, packets, left, &emit, flags);
		rtt_arm(chan, peer);
	}
	return left;
}

uint32_t sendwin_transmit_run(struct chan *chan, struct chan_peer *peer,
			      struct pm_packet *const *packets, uint32_t n, uint8_t flags)
{
	uint32_t done = 0, left = 1;

	for (; left && done < n; done += left)
		left = transmit_some(chan, peer, packets + done, n - done, flags);
	return done;
}

/* Behind those of the last packet that waits, if it fits: the body, or NULL. */
static uint8_t *join_control(const struct chan_peer *peer, const struct wire_msg *msg)
{
	struct pm_packet *packet = peer->flow->ctrl.tail;
	uint32_t at = packet ? wire_align(packet->len) : 0;
	uint32_t end = at + (uint32_t)sizeof(*msg) + msg->length;

	if (!packet || end > peer->mtu || end > packet->room)
		return NULL;
	memset(packet->data + packet->len, 0, at - packet->len);
	wire_put_msg(packet->data + at, msg);
	packet->len = end;
	return packet->data + at + sizeof(*msg);
}

uint8_t *sendwin_control(struct chan *chan, struct chan_peer *peer, const struct wire_msg *msg)
{
	struct chan_flow *flow = peer->flow;
	uint8_t *body = join_control(peer, msg);
	struct pm_packet *packet;

	if (body)
		return body;
	packet = emit_alloc(chan);
	if (!packet)
		return NULL;
	wire_put_msg(packet->data + sizeof(struct wire_header), msg);
	packet->len = (uint32_t)WIRE_OVERHEAD + msg->length;
	packet->next = NULL;
	if (flow->ctrl.tail)
		flow->ctrl.tail->next = packet;
	else
		flow->ctrl.head = packet;
	flow->ctrl.tail = packet;
	flow->ctrl.count++;
	chan_ready(chan, peer);
	return packet->data + WIRE_OVERHEAD;
}

/* From here on the packet holds its data itself. */
static void own_data(struct chan_flow *flow, struct pm_packet *packet)
{
	copy_bytes(packet->data + packet->len, packet->more, packet->more_len);
	packet->len += packet->more_len;
	packet->more_len = 0;
	flow->n_lent--;
}

/*
 * The memory is the program's again; a repetition that is still to leave must not see what becomes
 * of it.
 */
static void give_back(struct chan_flow *flow, struct pm_packet *packet)
{
	if (!packet->more_len)
		return;
	if (packet->busy) {
		own_data(flow, packet);
		return;
	}
	packet->more_len = 0;
	flow->n_lent--;
}

void sendwin_take_back(struct chan *chan, struct chan_peer *peer, const void *addr, uint64_t len)
{
	struct chan_flow *flow = peer->flow;
	uint32_t seq;

	for (seq = peer->tx_una; flow->n_lent && seq != peer->tx_next; seq++) {
		struct pm_packet *packet = slot_at(chan, flow, seq)->packet;

		if (packet && packet->more_len && (uintptr_t)packet->more - (uintptr_t)addr < len)
			own_data(flow, packet);
	}
}

/* Tells the way's cost of a packet that has arrived, before it leaves its rail. */
static void note_cost(struct chan *chan, struct chan_flow *flow, const struct tx_slot *slot)
{
	if (slot->flags & SLOT_RETX)
		return;
	if (slot->flags & SLOT_BULK && slot->load >= ROAD_BUSY_BYTES)
		road_acked(chan, flow->peer, slot->rail, slot->sent_ns, slot->load);
	stripe_acked(chan, flow, slot);
}

static void leave_window(struct chan *chan, struct chan_peer *peer, struct tx_slot *slot)
{
	struct chan_flow *flow = peer->flow;

	if (slot->flags & SLOT_LOST) {
		slot_list_del(flow, &flow->lost, slot);
		flow->n_lost--;
	} else {
		note_cost(chan, flow, slot);
		stripe_del(flow, slot);
	}
	if (!(slot->flags & SLOT_RETX) && slot->sent_ns > flow->sample_ns)
		flow->sample_ns = slot->sent_ns;
	if (slot->flags & SLOT_MSG) {
		flow->msgs_in_flight--;
		chan->unacked--;
		chan->user_packets--;
		chan->ops.tx_free(chan->arg, slot->packet);
	} else {
		give_back(flow, slot->packet);
		emit_free(chan, slot->packet);
	}
	slot->packet = NULL;
	flow->in_flight--;
	flow->n_acked++;
}

void sendwin_acked(struct chan *chan, struct chan_peer *peer, struct tx_slot *slot)
{
	slot->packet->is_kept = false;
	leave_window(chan, peer, slot);
}

/*
 * All that was sent is acked, as a rule by the answer to it, so the lists and counts begin anew.
 */
void sendwin_acked_all(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;
	struct pm_packet *messages[CHAN_RUN];
	uint32_t n = 0, n_messages = 0, i;
	struct tx_slot *slot;

	for (; peer->tx_una != peer->tx_next; peer->tx_una++) {
		slot = slot_at(chan, flow, peer->tx_una);
		slot->packet->is_kept = false;
		if (slot->flags & SLOT_BULK && slot->load >= ROAD_BUSY_BYTES)
			note_cost(chan, flow, slot);
		if (!(slot->flags & SLOT_RETX) && slot->sent_ns > flow->sample_ns)
			flow->sample_ns = slot->sent_ns;
		if (!(slot->flags & SLOT_MSG)) {
			give_back(flow, slot->packet);
			emit_free(chan, slot->packet);
		} else {
			messages[n++] = slot->packet;
			n_messages++;
		}
		slot->packet = NULL;
		if (n == CHAN_RUN) {
			emit_free_run(chan, messages, n);
			n = 0;
		}
	}
	emit_free_run(chan, messages, n);
	for (i = 0; i < chan->config.n_rails; i++)
		stripe_cleared(flow, i);
	chan->unacked -= n_messages;
	chan->user_packets -= n_messages;
	flow->msgs_in_flight -= n_messages;
	flow->n_acked += flow->in_flight;
	flow->in_flight = 0;
}

void sendwin_lost(struct chan *chan, struct chan_peer *peer, struct tx_slot *slot)
{
	struct chan_flow *flow = peer->flow;

	stripe_del(flow, slot);
	slot->flags |= SLOT_LOST;
	slot_list_add(flow, &flow->lost, slot);
	flow->n_lost++;
	chan_ready(chan, peer);
}

/* Lost again and again: the other side drops it, for want of buffers perhaps. */
void sendwin_dropped(struct chan *chan, struct chan_peer *peer, struct tx_slot *slot)
{
	uint32_t over;

	if (slot->flags & SLOT_BULK)
		road_lost(chan, peer, slot->rail);
	sendwin_lost(chan, peer, slot);
	limit_lost(peer);
	if (slot->tries < UINT8_MAX)
		slot->tries++;
	if (slot->tries < CHAN_TRIES)
		return;
	over = slot->tries - CHAN_TRIES;
	peer->flow->pause_ns =
		chan->now + min_u64(rtt_timeout(chan, peer) << (over < 10 ? over : 10),
				    chan->config.rto_max_ns);
	chan_wake_at(chan, peer->flow->pause_ns);
}

/* The network may still read the bytes of the first transmission: a repetition has other ones. */
static int copy_shown(struct chan *chan, struct tx_slot *slot)
{
	struct pm_packet *shown = slot->packet, *copy;

	if (likely(!shown->is_shown))
		return 0;
	copy = emit_alloc(chan);
	if (!copy)
		return -EAGAIN;
	memcpy(copy->data, shown->data, shown->len);
	copy->len = shown->len;
	slot->packet = copy;
	chan->ops.tx_free(chan->arg, shown);
	return 0;
}

static int repeat(struct chan *chan, struct chan_peer *peer, struct tx_slot *slot)
{
	struct chan_flow *flow = peer->flow;
	struct emit emit = {.type = WIRE_DATA, .seq = slot_seq(chan, peer, slot)};
	uint8_t others;

	emit.rails = stripe_single(chan, stripe_rails(chan, peer));
	if (slot->flags & SLOT_ASK) {
		/* The timer asks: by another rail, if there is one. */
		emit.flags = WIRE_F_ACK_NOW;
		others = emit.rails & (uint8_t) ~(1u << slot->rail);
		emit.rails = others ? others : emit.rails;
	} else if (!limit_is_open(peer, 0)) {
		emit.flags = WIRE_F_ACK_NOW;
	}
	if (copy_shown(chan, slot) || emit_packet(chan, peer, slot->packet, &emit))
		return -EAGAIN;
	slot_list_del(flow, &flow->lost, slot);
	flow->n_lost--;
	slot->flags = (slot->flags & (uint8_t) ~(SLOT_LOST | SLOT_ASK)) | SLOT_RETX;
	slot->sent_ns = chan->now;
	slot->rail_seq = emit.rail_seq;
	slot->rail = emit.rail;
	stripe_add(flow, slot);
	chan->rails[emit.rail].retransmits++;
	rtt_arm(chan, peer);
	return 0;
}

/* A packet the device still holds may not be touched: it stays lost until a later poll. */
static int output_lost(struct chan *chan, struct chan_peer *peer, int *posted)
{
	struct chan_flow *flow = peer->flow;
	struct tx_slot *slot;
	uint16_t index, next;
	int rc = 0;

	if (chan->now < flow->pause_ns) {
		chan_wake_at(chan, flow->pause_ns);
		return 0;
	}
	for (index = flow->lost.head; index != CHAN_NIL && limit_may_repeat(peer); index = next) {
		slot = &flow->slots[index];
		next = slot->next;
		if (slot->packet->busy) {
			rc = -EAGAIN;
			continue;
		}
		if (repeat(chan, peer, slot))
			return -EAGAIN;
		(*posted)++;
	}
	return rc;
}

static void queue_pop(struct packet_queue *queue)
{
	queue->head = queue->head->next;
	if (!queue->head)
		queue->tail = NULL;
	queue->count--;
}

/*
 * Messages of several packets, or many at once; the last packets of a burst go the way of those
 * before.
 */
static bool is_bulk(const struct chan *chan, struct chan_flow *flow)
{
	if (!chan->config.bulk_rails)
		return false;
	if (flow->msgs.count >= CHAN_BULK)
		flow->bulk_burst = chan->n_bursts;
	return flow->bulk_burst && flow->bulk_burst == chan->n_bursts;
}

/* The first packets of the queue, at most @most and CHAN_RUN; their number. */
static uint32_t list_first(const struct packet_queue *queue, uint32_t most,
			   struct pm_packet **ret_packets)
{
	struct pm_packet *packet = queue->head;
	uint32_t n = 0;

	for (; packet && n < most && n < CHAN_RUN; packet = packet->next)
		ret_packets[n++] = packet;
	return n;
}

static int output_queue(struct chan *chan, struct chan_peer *peer, struct packet_queue *queue,
			uint8_t flags, int *posted)
{
	struct pm_packet *packets[CHAN_RUN];
	uint32_t room, n, left, i;

	if (flags & SLOT_MSG && is_bulk(chan, peer->flow))
		flags |= SLOT_BULK;
	while (queue->head && (room = limit_room(peer, 0))) {
		if (flags & SLOT_MSG)
			room = (uint32_t)min_u64(room, credit_room(peer));
		if (!room) {
			rtt_arm(chan, peer);
			return 0;
		}
		n = list_first(queue, room, packets);
		left = sendwin_transmit_run(chan, peer, packets, n, flags);
		for (i = 0; i < left; i++)
			queue_pop(queue);
		*posted += (int)left;
		if (left < n)
			return -EAGAIN;
	}
	return 0;
}

int sendwin_output(struct chan *chan, struct chan_peer *peer, int *posted)
{
	struct chan_flow *flow = peer->flow;
	int rc;

	rc = output_lost(chan, peer, posted);
	if (!rc || !chan->full)
		rc |= output_queue(chan, peer, &flow->ctrl, 0, posted);
	if (!rc && !chan->is_stopped)
		rc = output_queue(chan, peer, &flow->msgs, SLOT_MSG, posted);
	return rc ? -EAGAIN : 0;
}

/* Rails with something in flight, of those in use. */
static uint8_t rails_in_flight(const struct chan *chan, const struct chan_peer *peer)
{
	uint8_t rails = 0;
	uint32_t i;

	for (i = 0; i < chan->config.n_rails; i++)
		if (peer->flow->rail[i].bytes)
			rails |= (uint8_t)(1u << i);
	return rails & stripe_rails(chan, peer);
}

static void repeat_oldest(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;
	struct tx_slot *slot = slot_at(chan, flow, peer->tx_una);

	chan->stats->timeouts++;
	slot->flags |= SLOT_ASK;
	if (!(slot->flags & SLOT_LOST) && !slot->packet->busy)
		sendwin_lost(chan, peer, slot);
	limit_timeout(peer);
	chan_ready(chan, peer);
}

/*
 * First a probe on each rail in use: its answer tells which packets are lost, and costs little if
 * none is. When that brings nothing, the oldest packet goes again, by another rail, and the wait
 * doubles.
 */
void sendwin_timeout(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;
	uint8_t rails;

	if (!sendwin_is_waiting(peer)) {
		flow->timer_ns = 0;
		return;
	}
	rails = rails_in_flight(chan, peer);
	if (flow->in_flight && flow->backoff)
		repeat_oldest(chan, peer);
	if (rails)
		emit_probes(chan, peer, rails);
	/*
	 * what waits for credit only, and what a network that knows of the peer's end has to be
	 * asked by
	 */
	if (!flow->in_flight || (rails && !(rails & ~chan->config.bulk_rails)))
		emit_probe(chan, peer, stripe_single(chan, stripe_rails(chan, peer)));
	rtt_backoff(chan, peer);
}

static void queue_clear(struct chan *chan, struct packet_queue *queue)
{
	struct pm_packet *packet;

	while ((packet = queue->head)) {
		queue_pop(queue);
		chan->ops.tx_free(chan->arg, packet);
	}
}

void sendwin_clear(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;
	uint32_t n_msgs = flow->msgs.count;
	struct tx_slot *slot;

	for (; peer->tx_una != peer->tx_next; peer->tx_una++) {
		slot = slot_at(chan, flow, peer->tx_una);
		if (slot->packet)
			leave_window(chan, peer, slot);
	}
	queue_clear(chan, &flow->ctrl);
	queue_clear(chan, &flow->msgs);
	chan->unacked -= n_msgs;
	chan->user_packets -= n_msgs;
	flow->timer_ns = 0;
	dlist_del(&peer->ready);
}
