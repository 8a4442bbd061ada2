/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rig - one engine on a device that does what the test says, and the other side played by hand:
 * packets the engine posts are recorded byte for byte, packets it receives are made here. Time is
 * rig.now. rig_close checks that every buffer came back.
 */
#ifndef TESTS_UNIT_CHANNEL_RIG_H
#define TESTS_UNIT_CHANNEL_RIG_H

#include <stdlib.h>
#include <string.h>

#include "pmcore/channel/chan_private.h"
#include "tests/harness/tap.h"

#define RIG_KEY 0x1122334455667788ull
#define RIG_SELF 1
#define RIG_PEER 2
#define RIG_MTU 512
#define RIG_POOL 192
#define RIG_SENT 1024
#define RIG_RX 512
#define US 1000ull
#define MS 1000000ull
#define SEC 1000000000ull

/* A packet as it was posted. */
struct rig_sent {
	uint8_t bytes[RIG_MTU];
	uint32_t len;
	uint32_t rail;
	uint32_t n_lent; /* buffers out when it was posted */
	struct pm_packet *packet;
	struct wire_header header; /* decoded */
};

struct rig {
	struct chan *chan;
	struct chan_peer *peer;    /* RIG_PEER, added by rig_open */
	struct chan_config config; /* may be changed between rig_init and rig_open */
	struct stats_link stats;
	struct stats_rail rails[WIRE_RAILS];
	uint64_t now; /* ns */
	struct pm_packet pool[RIG_POOL];
	struct pm_packet *free;
	uint32_t n_kept;      /* transmit buffers the engine took when it was made */
	uint32_t n_lent;      /* transmit buffers out beside these */
	uint32_t alloc_limit; /* lend no more than that */
	bool is_dry;          /* lend nothing */
	uint8_t full;         /* rails that answer -EAGAIN */
	uint32_t room;        /* packets until all of them do */
	bool is_slow;         /* posted packets stay busy until rig_complete */
	struct rig_sent sent[RIG_SENT];
	uint32_t n_sent;
	uint8_t *rx[RIG_RX]; /* lent to the engine, by token */
	uint32_t n_rx;
	uint32_t n_dead; /* calls of peer_dead */
	int dead_error;
	bool is_adding;   /* unknown_peer adds a peer */
	uint32_t n_asked; /* calls of unknown_peer */
	/* The other side: what it puts into its next packet. */
	struct wire_header from;
};

static inline struct pm_packet *rig_tx_alloc(void *arg)
{
	struct rig *rig = arg;
	struct pm_packet *packet = rig->free;

	if (!packet || rig->is_dry || rig->n_lent >= rig->alloc_limit)
		return NULL;
	rig->free = packet->next;
	packet->next = NULL;
	packet->len = 0;
	rig->n_lent++;
	return packet;
}

static inline void rig_tx_free(void *arg, struct pm_packet *packet)
{
	struct rig *rig = arg;

	packet->next = rig->free;
	rig->free = packet;
	rig->n_lent--;
}

static inline int rig_tx_post(void *arg, uint32_t rail, void *dev_peer, struct pm_packet *packet)
{
	struct rig *rig = arg;
	struct rig_sent *sent;

	if (rig->full >> rail & 1 || !rig->room)
		return -EAGAIN;
	rig->room--;
	if (!ok(rig->n_sent < RIG_SENT) || !ok(pm_packet_bytes(packet) <= RIG_MTU))
		return -EAGAIN;
	ok(!packet->busy);
	sent = &rig->sent[rig->n_sent++];
	memcpy(sent->bytes, packet->data, packet->len);
	if (packet->more_len)
		memcpy(sent->bytes + packet->len, packet->more, packet->more_len);
	sent->len = pm_packet_bytes(packet);
	sent->rail = rail;
	sent->n_lent = rig->n_lent;
	sent->packet = packet;
	is_int(wire_decode(sent->bytes, sent->len, 0, &sent->header), DROP_NONE);
	is_int(sent->header.rail, rail);
	if (rig->is_slow)
		packet->busy++;
	return 0;
}

static inline void rig_rx_return(void *arg, uint64_t token)
{
	struct rig *rig = arg;

	if (!ok(token < RIG_RX && rig->rx[token]))
		return;
	free(rig->rx[token]);
	rig->rx[token] = NULL;
	rig->n_rx--;
}

static inline struct chan_peer *rig_unknown(void *arg, uint32_t node)
{
	struct rig *rig = arg;
	struct chan_peer *peer = NULL;

	rig->n_asked++;
	if (rig->is_adding)
		is_int(chan_peer_add(rig->chan, node, NULL, 0xff, RIG_MTU, &peer), 0);
	return peer;
}

static inline void rig_dead(void *arg, struct chan_peer *peer, int error)
{
	struct rig *rig = arg;

	rig->n_dead++;
	rig->dead_error = error;
}

static const struct chan_ops rig_ops = {.tx_alloc = rig_tx_alloc,
					.tx_free = rig_tx_free,
					.tx_post = rig_tx_post,
					.rx_return = rig_rx_return,
					.unknown_peer = rig_unknown,
					.peer_dead = rig_dead};

static inline struct rig *rig_init(void)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	uint32_t i;

	rig->now = SEC;
	rig->alloc_limit = RIG_POOL;
	rig->room = UINT32_MAX;
	for (i = 0; i < RIG_POOL; i++) {
		rig->pool[i].data = aligned_alloc(8, RIG_MTU);
		rig->pool[i].room = RIG_MTU;
		rig->pool[i].next = rig->free;
		rig->free = &rig->pool[i];
	}
	rig->config = (struct chan_config){.self = RIG_SELF,
					   .key = RIG_KEY,
					   .window = 16,
					   .credit = 16,
					   .rx_buffers = 64,
					   .n_rails = 1,
					   .regions = region_table_create(1),
					   .stats = &rig->stats,
					   .rails = rig->rails};
	return rig;
}

/* The engine alone. */
static inline int rig_create(struct rig *rig)
{
	int rc = chan_create(&rig->config, &rig_ops, rig, &rig->chan);

	rig->n_kept = rig->n_lent;
	rig->n_lent = 0;
	return rc;
}

static inline void rig_destroy(struct rig *rig)
{
	chan_destroy(rig->chan);
	is_int(rig->n_lent + rig->n_kept, 0);
	is_int(rig->n_rx, 0);
	rig->n_lent = 0;
}

static inline void rig_open(struct rig *rig)
{
	is_int(rig_create(rig), 0);
	is_int(chan_peer_add(rig->chan, RIG_PEER, rig, 0xff, RIG_MTU, &rig->peer), 0);
	rig->chan->now = rig->now;
	rig->from = (struct wire_header){.version = WIRE_VERSION,
					 .type = WIRE_DATA,
					 .key = RIG_KEY,
					 .src = RIG_PEER,
					 .dst = RIG_SELF,
					 .credit = (uint16_t)rig->config.credit};
}

static inline struct rig *rig_new(uint32_t n_rails)
{
	struct rig *rig = rig_init();

	rig->config.n_rails = n_rails;
	rig_open(rig);
	return rig;
}

static inline void rig_close(struct rig *rig)
{
	uint32_t i;

	chan_check(rig->chan);
	rig_destroy(rig);
	for (i = 0; i < RIG_POOL; i++)
		free(rig->pool[i].data);
	region_table_destroy(rig->config.regions);
	free(rig);
}

/* The device is through with everything posted. */
static inline void rig_complete(struct rig *rig)
{
	uint32_t i;

	for (i = 0; i < RIG_POOL; i++)
		rig->pool[i].busy = 0;
}

/* Bytes as a packet that has come by @rail. */
static inline struct pm_rx rig_arrive(struct rig *rig, const void *bytes, uint32_t len,
				      uint32_t rail)
{
	uint32_t token = 0;

	while (token < RIG_RX && rig->rx[token])
		token++;
	if (!ok(token < RIG_RX))
		abort();
	rig->rx[token] = aligned_alloc(8, (len + 8) & ~7u);
	memcpy(rig->rx[token], bytes, len);
	rig->n_rx++;
	return (struct pm_rx){.data = rig->rx[token], .len = len, .rail = rail, .token = token};
}

/* Hands it to the engine. */
static inline void rig_input(struct rig *rig, const void *bytes, uint32_t len, uint32_t rail)
{
	struct pm_rx rx = rig_arrive(rig, bytes, len, rail);

	chan_input(rig->chan, &rx, 1, rig->now);
}

/* A packet of the other side from rig->from with @len body bytes; its rail number goes on. */
static inline void rig_from(struct rig *rig, uint8_t type, const void *body, uint32_t len)
{
	uint8_t bytes[2 * RIG_MTU];
	uint32_t rail = rig->from.rail;

	rig->from.type = type;
	rig->from.length = (uint16_t)len;
	wire_put_header(bytes, &rig->from);
	if (len)
		memcpy(bytes + sizeof(rig->from), body, len);
	rig->from.rail_seq++;
	rig_input(rig, bytes, sizeof(rig->from) + len, rail);
}

/* One message of any kind under sequence number @seq. */
static inline void rig_message(struct rig *rig, uint32_t seq, uint8_t kind, uint32_t op,
			       const void *payload, uint32_t len)
{
	struct wire_msg msg = {.length = (uint16_t)len, .kind = kind, .op = op};
	uint8_t body[2 * RIG_MTU];

	wire_put_msg(body, &msg);
	if (len)
		memcpy(body + sizeof(msg), payload, len);
	rig->from.seq = seq;
	rig_from(rig, WIRE_DATA, body, (uint32_t)sizeof(msg) + len);
}

/* A datagram whose bytes are its message number. */
static inline void rig_datagram(struct rig *rig, uint32_t seq, uint32_t mseq)
{
	rig_message(rig, seq, WIRE_DATAGRAM, mseq, &mseq, sizeof(mseq));
}

/* A bare ack: all before @ack, @bits after it, the rails at @rail_next (NULL: as sent). */
static inline void rig_ack(struct rig *rig, uint32_t ack, uint64_t bits, const uint32_t *rail_next)
{
	struct wire_ack body = {.n_words = bits ? 1 : 0};
	uint8_t bytes[sizeof(body) + 8];
	uint32_t rail;

	for (rail = 0; rail < WIRE_RAILS; rail++)
		body.rail_next[rail] = rail_next ? rail_next[rail] : rig->peer->rail_tx[rail];
	wire_put_ack(bytes, &body, &bits);
	rig->from.ack = ack;
	rig_from(rig, WIRE_ACK, bytes, (uint32_t)sizeof(body) + (bits ? 8 : 0));
}

/* Submits a datagram of @len bytes, each @byte; 0 or what chan_reserve said. */
static inline int rig_send(struct rig *rig, uint32_t len, uint8_t byte)
{
	struct pm_packet *packet;
	void *payload;
	int rc = chan_reserve(rig->chan, rig->peer, len, &packet, &payload);

	if (rc)
		return rc;
	memset(payload, byte, len);
	chan_submit(rig->chan, rig->peer, packet, len, rig->now);
	return 0;
}

/* Lets @ns pass, then polls; returns the packets posted. */
static inline int rig_poll(struct rig *rig, uint64_t ns)
{
	int n;

	rig->now += ns;
	/* the device is asked, and has nothing */
	chan_input(rig->chan, NULL, 0, rig->now);
	n = chan_poll(rig->chan, rig->now);
	chan_check(rig->chan);
	return n;
}

static inline const struct rig_sent *rig_last(const struct rig *rig)
{
	return &rig->sent[rig->n_sent - 1];
}

/* Of a posted packet the message number @n; kind 0 if there is none. */
static inline struct wire_msg_view rig_view(const struct rig_sent *sent, uint32_t n)
{
	struct wire_msg_view view = {0};
	uint32_t cursor = 0;

	do {
		if (!wire_next_msg(sent->bytes, &sent->header, &cursor, &view))
			return (struct wire_msg_view){0};
	} while (n--);
	return view;
}

/* Takes the next message; -1: there is none, else its first four bytes. */
static inline int64_t rig_take(struct rig *rig)
{
	struct chan_msg msg;
	uint32_t number = 0;

	if (!chan_next(rig->chan, &msg))
		return -1;
	memcpy(&number, msg.data, msg.len < 4 ? msg.len : 4);
	chan_release(rig->chan, msg.cookie);
	return number;
}

#endif
