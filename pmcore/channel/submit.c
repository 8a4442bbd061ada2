// SPDX-License-Identifier: BSD-3-Clause
/*
 * submit - the user's side of sending. It lends a packet to be filled in place and sends it at once
 * when the way is free. Else it queues the packet, moving it into the packet before it when there
 * is room.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/credit.h"
#include "pmcore/channel/limit.h"
#include "pmcore/channel/peer.h"
#include "pmcore/channel/road.h"
#include "pmcore/channel/sendwin.h"
#include "pmcore/channel/submit.h"
#include "pmcore/util/copy.h"

/*
 * Transmit buffers that messages may take. An eighth is for control and one-sided data, which have
 * to get through while messages wait (in a quiesced engine for ever); the spare ones for acks are
 * not part of it.
 */
static uint32_t user_max(const struct chan_config *config)
{
	uint32_t kept = config->tx_buffers / 8 + CHAN_SPARES;

	if (!config->tx_buffers)
		return UINT32_MAX;
	return config->tx_buffers > 2 * kept ? config->tx_buffers - kept : config->tx_buffers / 2;
}

void submit_init(struct chan *chan)
{
	chan->queue_max = chan->config.window < 64 ? chan->config.window : 64;
	chan->user_max = user_max(&chan->config);
}

static int refuse(struct chan *chan, int rc)
{
	if (rc == -EAGAIN)
		chan->stats->no_buffer++;
	return rc;
}

/* May a message of @len bytes be sent now? 0, or as chan_reserve. */
static inline int check(struct chan *chan, struct chan_peer *peer, uint32_t len)
{
	const struct chan_flow *flow;

	if (unlikely(peer->is_dead))
		return -EPIPE;
	if (unlikely(!len || len > chan_payload_max(peer)))
		return -EINVAL;
	flow = peer_flow(chan, peer);
	if (unlikely(!flow || flow->msgs.count >= chan->queue_max))
		return -EAGAIN;
	return unlikely(chan->user_packets >= chan->user_max) ? -EAGAIN : 0;
}

int submit_check(struct chan *chan, struct chan_peer *peer, uint32_t len)
{
	return refuse(chan, check(chan, peer, len));
}

bool submit_is_for_bulk(struct chan *chan, struct chan_peer *peer)
{
	const struct pm_packet *tail = peer->flow->msgs.tail;

	return unlikely(!chan->cork_after) && (tail ? tail->is_bulk : road_is_bulk(chan, peer));
}

/* A packet for a message of @len bytes: 0, or as chan_reserve. */
static inline int take_packet(struct chan *chan, struct chan_peer *peer, uint32_t len,
			      struct pm_packet **ret_packet)
{
	struct pm_packet *packet = submit_is_for_bulk(chan, peer)
					   ? chan->ops.tx_alloc_bulk(chan->arg)
					   : chan->ops.tx_alloc(chan->arg);

	if (unlikely(!packet))
		return -EAGAIN;
	if (unlikely(packet->room < WIRE_OVERHEAD + len)) {
		chan->ops.tx_free(chan->arg, packet);
		return -EINVAL;
	}
	chan->user_packets++;
	*ret_packet = packet;
	return 0;
}

int chan_reserve(struct chan *chan, struct chan_peer *peer, uint32_t len,
		 struct pm_packet **ret_packet, void **ret_payload)
{
	int rc = check(chan, peer, len);

	if (likely(!rc))
		rc = take_packet(chan, peer, len, ret_packet);
	if (unlikely(rc))
		return refuse(chan, rc);
	peer->flow->reserved++;
	*ret_payload = (*ret_packet)->data + WIRE_OVERHEAD;
	return 0;
}

void chan_discard(struct chan *chan, struct chan_peer *peer, struct pm_packet *packet)
{
	peer->flow->reserved--;
	chan->user_packets--;
	chan->ops.tx_free(chan->arg, packet);
	if (unlikely(peer->is_dead) && !peer->flow->reserved)
		peer_detach(chan, peer);
}

/* Puts a datagram behind those of the last queued packet, if it fits. */
static bool coalesce(const struct chan_peer *peer, struct pm_packet *tail, const void *data,
		     uint32_t len, uint8_t flags)
{
	const struct wire_msg msg = {
		.length = (uint16_t)len, .kind = WIRE_DATAGRAM, .flags = flags};
	uint32_t at = wire_align(tail->len);
	uint32_t end = at + (uint32_t)sizeof(msg) + len;

	if (end > peer->mtu || end > tail->room || end - sizeof(struct wire_header) > UINT16_MAX)
		return false;
	memset(tail->data + tail->len, 0, at - tail->len);
	wire_put_msg(tail->data + at, &msg);
	memcpy(tail->data + at + sizeof(msg), data, len);
	tail->len = end;
	return true;
}

/*
 * A few in flight show that a burst is on; a peer that gets one message now and then never waits.
 * Where long data has rails of its own all are held, until it is known which of the rails they are
 * for.
 */
#define CORK_FLIGHT 4

void chan_cork(struct chan *chan, bool is_on)
{
	chan->cork_after = UINT32_MAX;
	if (!is_on)
		return;
	chan->cork_after = chan->config.bulk_rails ? 0 : CORK_FLIGHT;
	chan->n_bursts++;
}

void submit_enqueue(struct chan_flow *flow, struct pm_packet *packet)
{
	packet->next = NULL;
	if (flow->msgs.tail)
		flow->msgs.tail->next = packet;
	else
		flow->msgs.head = packet;
	flow->msgs.tail = packet;
	flow->msgs.count++;
}

bool submit_is_much_held(const struct chan_peer *peer)
{
	return peer->flow->msgs.count >= CHAN_CORK_PACKETS && credit_is_open(peer) &&
	       limit_is_open(peer, 0);
}

/* The way is not free. Its number is given now: those queued before it go first. */
static void submit_queued(struct chan *chan, struct chan_peer *peer, struct pm_packet *packet,
			  uint32_t len, uint8_t flags)
{
	struct chan_flow *flow = peer->flow;

	if (flow->msgs.tail &&
	    coalesce(peer, flow->msgs.tail, packet->data + WIRE_OVERHEAD, len, flags)) {
		chan->unacked--;
		chan->user_packets--;
		chan->ops.tx_free(chan->arg, packet);
		return;
	}
	submit_enqueue(flow, packet);
	chan_ready(chan, peer);
}

/* Counts a message that is sent to a peer with a flow. */
static inline void count(struct chan *chan, struct chan_flow *flow, uint32_t len, uint64_t now)
{
	chan->now = now;
	flow->used_ns = now;
	chan->unacked++;
	chan->stats->tx_messages++;
	chan->stats->tx_bytes += len;
}

static inline __attribute__((always_inline)) void send(struct chan *chan, struct chan_peer *peer,
						       struct pm_packet *packet, uint32_t len,
						       uint8_t flags)
{
	struct chan_flow *flow = peer->flow;
	struct wire_msg msg = {.length = (uint16_t)len, .kind = WIRE_DATAGRAM, .flags = flags};

	packet->len = (uint32_t)WIRE_OVERHEAD + len;
	msg.op = peer->tx_mseq + flow->msgs.count;
	wire_put_msg(packet->data + sizeof(struct wire_header), &msg);
	if (likely(!flow->msgs.count && flow->msgs_in_flight < chan->cork_after &&
		   credit_is_open(peer) && limit_is_open(peer, 0) && !chan->is_stopped) &&
	    likely(!sendwin_transmit(chan, peer, packet, SLOT_MSG)))
		return;
	submit_queued(chan, peer, packet, len, flags);
	if (submit_is_much_held(peer))
		chan_poll(chan, chan->now);
}

static inline __attribute__((always_inline)) void submit(struct chan *chan, struct chan_peer *peer,
							 struct pm_packet *packet, uint32_t len,
							 uint8_t flags, uint64_t now)
{
	if (unlikely(peer->is_dead)) {
		chan->now = now;
		chan_discard(chan, peer, packet);
		return;
	}
	peer->flow->reserved--;
	count(chan, peer->flow, len, now);
	send(chan, peer, packet, len, flags);
}

void chan_submit(struct chan *chan, struct chan_peer *peer, struct pm_packet *packet, uint32_t len,
		 uint64_t now)
{
	submit(chan, peer, packet, len, 0, now);
}

void chan_submit_carried(struct chan *chan, struct chan_peer *peer, struct pm_packet *packet,
			 uint32_t len, uint64_t now)
{
	submit(chan, peer, packet, len, WIRE_M_CARRIED, now);
}

int chan_post(struct chan *chan, struct chan_peer *peer, const void *data, uint32_t len,
	      uint64_t now)
{
	struct pm_packet *packet;
	int rc = check(chan, peer, len);

	if (likely(!rc))
		rc = take_packet(chan, peer, len, &packet);
	if (unlikely(rc))
		return refuse(chan, rc);
	copy_bytes(packet->data + WIRE_OVERHEAD, data, len);
	count(chan, peer->flow, len, now);
	send(chan, peer, packet, len, 0);
	return 0;
}

bool chan_will_hold(const struct chan *chan, const struct chan_peer *peer)
{
	return !chan->cork_after && peer->flow && peer->flow->msgs.count + 1 < CHAN_CORK_PACKETS;
}

/* A message that was queued when the engine was frozen. */
int submit_restored(struct chan *chan, struct chan_peer *peer, const void *bytes, uint32_t len,
		    bool is_carried)
{
	const uint8_t flags = is_carried ? WIRE_M_CARRIED : 0;
	struct chan_flow *flow = peer_flow(chan, peer);
	struct wire_msg msg = {.length = (uint16_t)len, .kind = WIRE_DATAGRAM, .flags = flags};
	struct pm_packet *packet;

	if (len > chan_payload_max(peer))
		return -EINVAL;
	packet = flow ? chan->ops.tx_alloc(chan->arg) : NULL;
	if (!packet)
		return -ENOMEM;
	if (packet->room < WIRE_OVERHEAD + len) {
		chan->ops.tx_free(chan->arg, packet);
		return -EINVAL;
	}
	packet->len = (uint32_t)WIRE_OVERHEAD + len;
	copy_bytes(packet->data + WIRE_OVERHEAD, bytes, len);
	msg.op = peer->tx_mseq + flow->msgs.count;
	wire_put_msg(packet->data + sizeof(struct wire_header), &msg);
	chan->unacked++;
	chan->user_packets++;
	submit_queued(chan, peer, packet, len, flags);
	return 0;
}

bool chan_is_out(const struct chan_peer *peer)
{
	return peer->is_dead || !peer->flow || !peer->flow->msgs.count;
}

bool chan_is_acked(const struct chan *chan, const struct chan_peer *peer)
{
	if (!peer)
		return !chan->unacked;
	return !peer->flow || (!peer->flow->msgs.count && !peer->flow->msgs_in_flight);
}
