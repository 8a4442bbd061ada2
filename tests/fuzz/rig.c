// SPDX-License-Identifier: BSD-3-Clause
/*
 * rig - see rig.h. The device is the simplest that keeps the rules: packets are never busy, rail 1
 * is full every third time.
 */
#include "tests/fuzz/rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/include/pm_device.h"

#define TX_BUFFERS 64
#define RX_BUFFERS 32
#define MTU 512
#define MEMORY 4096

struct rig {
	struct chan *chan;
	struct region_table *regions;
	struct pm_packet packets[TX_BUFFERS];
	struct pm_packet *pool;    /* free transmit buffers */
	uint32_t tx_lent;          /* not in the pool */
	uint8_t *rx[RX_BUFFERS];   /* lent receive buffers by token - 1 */
	uint32_t posts;            /* so far */
	uint64_t now;              /* ns */
	uint64_t rkey;             /* of memory */
	uint64_t held[4];          /* cookies of messages not released yet, 0 = none */
	uint32_t next_held;        /* where the next one goes */
	uint32_t ops[4];           /* our operations, 0 = done */
	uint8_t memory[MEMORY];    /* exported */
	uint8_t locals[4][MEMORY]; /* of our operations */
};

static void require(int cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "rig: %s\n", what);
	abort();
}

static struct pm_packet *tx_alloc(void *arg)
{
	struct rig *rig = arg;
	struct pm_packet *packet = rig->pool;

	if (!packet)
		return NULL;
	rig->pool = packet->next;
	rig->tx_lent++;
	packet->len = 0;
	return packet;
}

static void tx_free(void *arg, struct pm_packet *packet)
{
	struct rig *rig = arg;

	packet->next = rig->pool;
	rig->pool = packet;
	rig->tx_lent--;
}

static int tx_post(void *arg, uint32_t rail, void *dev_peer, struct pm_packet *packet)
{
	static volatile uint8_t sink;
	struct rig *rig = arg;
	uint32_t i;

	(void)dev_peer;
	require(rail < RIG_RAILS, "rail out of range");
	require(packet->len <= MTU, "packet larger than the MTU");
	if (rail == 1 && ++rig->posts % 3 == 0)
		return -EAGAIN;
	for (i = 0; i < packet->len; i++)
		sink ^= packet->data[i];
	(void)sink;
	return 0;
}

static void rx_return(void *arg, uint64_t token)
{
	struct rig *rig = arg;

	require(token && token <= RX_BUFFERS && rig->rx[token - 1], "unknown receive buffer");
	free(rig->rx[token - 1]);
	rig->rx[token - 1] = NULL;
}

static struct chan_peer *unknown_peer(void *arg, uint32_t node)
{
	struct chan_peer *peer;

	/* A few strangers are welcome, not as many as an attacker likes. */
	return node < 4 && rig_resolve(arg, node, &peer) == 0 ? peer : NULL;
}

static void peer_dead(void *arg, struct chan_peer *peer, int error)
{
	(void)arg;
	require(peer && error > 0, "peer dead without an error");
}

static const struct chan_ops ops = {.tx_alloc = tx_alloc,
				    .tx_free = tx_free,
				    .tx_post = tx_post,
				    .rx_return = rx_return,
				    .unknown_peer = unknown_peer,
				    .peer_dead = peer_dead};

int rig_resolve(void *arg, uint32_t node, struct chan_peer **ret_peer)
{
	struct rig *rig = arg;

	*ret_peer = chan_peer_find(rig->chan, node);
	if (*ret_peer)
		return 0;
	return chan_peer_add(rig->chan, node, rig, (1u << RIG_RAILS) - 1, MTU, ret_peer);
}

struct chan *rig_chan(struct rig *rig)
{
	return rig->chan;
}

uint64_t rig_rkey(const struct rig *rig)
{
	return rig->rkey;
}

static void send_some(struct rig *rig, struct chan_peer *peer)
{
	struct pm_packet *packet;
	void *payload;
	int i;

	for (i = 0; i < 12; i++) {
		if (chan_reserve(rig->chan, peer, 40, &packet, &payload))
			return;
		memset(payload, i, 40);
		chan_submit(rig->chan, peer, packet, 40, rig->now);
	}
}

static void start_operations(struct rig *rig, struct chan_peer *peer)
{
	int i;

	for (i = 0; i < 4; i++) {
		uint8_t *local = rig->locals[i];
		int rc = i % 2 ? chan_write(rig->chan, peer, 0x1234567, 8, local, MEMORY, rig->now,
					    &rig->ops[i])
			       : chan_read(rig->chan, peer, 0x1234567, 8, local, MEMORY, rig->now,
					   &rig->ops[i]);

		if (rc)
			rig->ops[i] = 0;
	}
}

static void create_engine(struct rig *rig)
{
	const struct chan_config config = {.self = RIG_SELF,
					   .key = RIG_KEY,
					   .window = 16,
					   .credit = 8,
					   .rx_buffers = RX_BUFFERS,
					   .tx_buffers = TX_BUFFERS,
					   .n_rails = RIG_RAILS,
					   .pull_bytes = 65536,
					   .peer_timeout_ns = 60000000000ull,
					   .regions = rig->regions};

	require(!chan_create(&config, &ops, rig, &rig->chan), "no engine");
}

struct rig *rig_create_idle(void)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	int i;

	require(rig != NULL, "no memory");
	rig->now = 1000000000;
	for (i = 0; i < TX_BUFFERS; i++) {
		rig->packets[i].data = malloc(MTU);
		rig->packets[i].room = MTU;
		rig->tx_lent++;
		tx_free(rig, &rig->packets[i]);
	}
	rig->regions = region_table_create(7);
	require(rig->regions && !region_add(rig->regions, rig->memory, MEMORY, &rig->rkey),
		"no region");
	create_engine(rig);
	return rig;
}

struct rig *rig_create(void)
{
	struct rig *rig = rig_create_idle();
	struct chan_peer *peer;

	require(!rig_resolve(rig, RIG_PEER, &peer), "no peer");
	send_some(rig, peer);
	start_operations(rig, peer);
	chan_poll(rig->chan, rig->now);
	return rig;
}

void rig_destroy(struct rig *rig)
{
	int i;

	chan_destroy(rig->chan);
	require(!rig->tx_lent, "transmit buffers are missing");
	for (i = 0; i < RX_BUFFERS; i++)
		require(!rig->rx[i], "a receive buffer is missing");
	for (i = 0; i < TX_BUFFERS; i++)
		free(rig->packets[i].data);
	region_table_destroy(rig->regions);
	free(rig);
}

static uint8_t sum_of(const uint8_t *data, size_t len)
{
	uint8_t sum = 0;

	while (len--)
		sum ^= data[len];
	return sum;
}

/*
 * Reads every byte, of some messages together with those behind them. Keeps the last few messages
 * and releases the one before.
 */
static void read_messages(struct rig *rig)
{
	struct iovec row[3];
	struct chan_msg msg;
	uint64_t *place;
	uint32_t n;
	uint8_t sum = 0;

	while (chan_next(rig->chan, &msg)) {
		sum ^= sum_of(msg.data, msg.len);
		n = chan_next_row(rig->chan, msg.cookie, row, rig->next_held % 4);
		while (n--)
			sum ^= sum_of(row[n].iov_base, row[n].iov_len);
		place = &rig->held[rig->next_held++ % 4];
		if (*place)
			chan_release(rig->chan, *place);
		*place = msg.cookie;
	}
	if (sum == 0xa5 && rig->held[0]) {
		chan_release(rig->chan, rig->held[0]);
		rig->held[0] = 0;
	}
}

static void drive(struct rig *rig)
{
	int i;

	chan_poll(rig->chan, rig->now);
	read_messages(rig);
	for (i = 0; i < 4; i++)
		if (rig->ops[i] && chan_op_done(rig->chan, rig->ops[i]) != -EAGAIN)
			rig->ops[i] = 0;
	chan_check(rig->chan);
}

void rig_input(struct rig *rig, const void *data, size_t len, uint32_t rail)
{
	uint32_t i = 0;

	while (i < RX_BUFFERS && rig->rx[i])
		i++;
	if (i == RX_BUFFERS)
		return; /* as a device without buffers would */
	rig->rx[i] = malloc(len ? len : 1);
	require(rig->rx[i] != NULL, "no memory");
	memcpy(rig->rx[i], data, len);
	chan_input(rig->chan,
		   &(struct pm_rx){.data = rig->rx[i],
				   .len = (uint32_t)len,
				   .rail = rail % RIG_RAILS,
				   .token = i + 1},
		   1, rig->now);
	drive(rig);
}

void rig_wait(struct rig *rig, uint64_t ns)
{
	rig->now += ns;
	drive(rig);
}
