// SPDX-License-Identifier: BSD-3-Clause
/*
 * simnet - cables, switches and the clock of the simulated network; see simnet.h. Knows packets as
 * bytes only: what they mean is the business of the engine under test.
 */
#include "tests/harness/simnet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/simheap.h"
#include "tests/harness/tap.h"

#define NIC_PACKETS 256

/* A transmit buffer. */
struct txbuf {
	struct pm_packet packet; /* first: the two are converted into each other */
	uint32_t node;           /* owner */
	bool is_free;            /* given back; in the pool once it is not busy */
};

/* A packet that left its sender. */
struct frame {
	uint32_t src, dst, rail;
	uint32_t len;
	uint64_t token;     /* once lent */
	struct frame *next; /* waiting at the receiver */
	_Alignas(8) uint8_t data[];
};

/* A node's end of one rail. */
struct port {
	uint64_t nic_free_at;    /* when the NIC has sent all that was posted */
	uint64_t at_switch;      /* when the last packet of this sender reached the switch */
	uint64_t output_free_at; /* when the switch has sent all that waits for this node */
	uint32_t nic_queue;      /* packets posted and not sent */
	bool is_plugged;
};

struct node {
	struct port port[SIMNET_RAILS];
	struct pm_packet *pool;      /* free transmit buffers */
	struct frame *first, **tail; /* waiting to be received */
	struct frame **lent;         /* rx_buffers entries: by token, NULL = free */
	uint32_t n_waiting, n_lent;  /* frames */
	uint32_t tx_lent;            /* transmit buffers not in the pool */
	bool wants_room;             /* a post or an alloc was refused */
};

struct simnet {
	struct simnet_config config;
	struct simnet_ops ops;
	void *arg; /* of ops */
	struct simheap events;
	uint64_t now;    /* ns */
	uint64_t random; /* generator state */
	uint64_t digest;
	struct txbuf *txbufs; /* nodes * tx_buffers */
	struct node *nodes;
	uint64_t *path_count; /* packets so far, by path */
	bool *path_broken;    /* by path */
	struct simnet_count count[SIMNET_RAILS];
	uint64_t departed[SIMNET_RAILS]; /* packets that left their NIC */
};

/* A number for (src, dst, rail). */
static size_t path_of(const struct simnet *net, uint32_t src, uint32_t dst, uint32_t rail)
{
	return ((size_t)src * net->config.nodes + dst) * net->config.rails + rail;
}

static struct port *port_of(struct simnet *net, uint32_t node, uint32_t rail)
{
	assert(node < net->config.nodes && rail < net->config.rails);
	return &net->nodes[node].port[rail];
}

static bool happens(struct simnet *net, double probability)
{
	return probability > 0 && (double)(tap_rand(&net->random) >> 11) * 0x1p-53 < probability;
}

static uint64_t digest_bytes(uint64_t digest, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		digest = (digest ^ word) * 0x9e3779b97f4a7c15ull;
		digest ^= digest >> 29;
	}
	for (; len; len--, p++)
		digest = (digest ^ *p) * 0x100000001b3ull;
	return digest;
}

/*
 * The same in one part or in two: the first one's length is a multiple of 8 if there is a second.
 */
static uint64_t digest_packet(const struct pm_packet *packet)
{
	return digest_bytes(digest_bytes(0, packet->data, packet->len), packet->more,
			    packet->more_len);
}

static uint64_t serialise_ns(const struct simnet_rail *rail, uint32_t len)
{
	if (!rail->rate)
		return 0;
	return (len + rail->overhead_bytes) * 1000000000ull / rail->rate;
}

static void give_to_pool(struct simnet *net, struct txbuf *buf)
{
	struct node *node = &net->nodes[buf->node];

	memset(buf->packet.data, 0xdd, buf->packet.room);
	buf->packet.next = node->pool;
	node->pool = &buf->packet;
	node->tx_lent--;
}

static void tell_room(struct simnet *net, uint32_t node)
{
	if (!net->nodes[node].wants_room)
		return;
	net->nodes[node].wants_room = false;
	net->ops.has_room(net->arg, node);
}

struct pm_packet *simnet_alloc(struct simnet *net, uint32_t node)
{
	struct pm_packet *packet = net->nodes[node].pool;

	if (!packet) {
		net->nodes[node].wants_room = true;
		return NULL;
	}
	net->nodes[node].pool = packet->next;
	net->nodes[node].tx_lent++;
	((struct txbuf *)packet)->is_free = false;
	packet->len = 0;
	packet->more_len = 0;
	packet->next = NULL;
	return packet;
}

void simnet_free(struct simnet *net, uint32_t node, struct pm_packet *packet)
{
	struct txbuf *buf = (struct txbuf *)packet;

	okf(!buf->is_free, "node %u frees a transmit buffer twice", node);
	okf(buf->node == node, "node %u frees a transmit buffer of node %u", node, buf->node);
	buf->is_free = true;
	if (packet->busy)
		return;
	give_to_pool(net, buf);
}

/* The NIC has taken the bytes: they become a frame that the sender can't change any more. */
static struct frame *make_frame(const struct pm_packet *packet, uint32_t src, uint32_t dst,
				uint32_t rail)
{
	uint32_t len = pm_packet_bytes(packet);
	struct frame *frame = malloc(sizeof(*frame) + len);

	assert(frame);
	*frame = (struct frame){.src = src, .dst = dst, .rail = rail, .len = len};
	memcpy(frame->data, packet->data, packet->len);
	if (packet->more_len)
		memcpy(frame->data + packet->len, packet->more, packet->more_len);
	return frame;
}

static void corrupt(struct simnet *net, struct frame *frame)
{
	uint64_t flips = 1 + tap_rand(&net->random) % 3;

	for (; flips; flips--) {
		uint64_t bit = tap_rand(&net->random) % (frame->len * 8ull);

		frame->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	net->count[frame->rail].corrupted++;
}

static void roll_fate(struct simnet *net, const struct frame *frame, struct simnet_fate *ret)
{
	const struct simnet_rail *rail = &net->config.rail[frame->rail];
	uint64_t *n = &net->path_count[path_of(net, frame->src, frame->dst, frame->rail)];
	const struct simnet_transit transit = {.src = frame->src,
					       .dst = frame->dst,
					       .rail = frame->rail,
					       .len = frame->len,
					       .data = frame->data,
					       .n = *n};
	uint64_t nth = net->departed[frame->rail]++;

	*ret = (struct simnet_fate){
		.is_lost = happens(net, rail->loss) || (rail->loss_mask >> nth % 64 & 1),
		.copies = happens(net, rail->duplicate),
	};
	if (net->ops.transit)
		net->ops.transit(net->arg, &transit, ret);
	++*n;
}

/*
 * When a frame that left the NIC now reaches the switch; in order but for what is held back on
 * purpose.
 */
static uint64_t arrival_at_switch(struct simnet *net, const struct frame *frame, uint64_t delay_ns)
{
	const struct simnet_rail *rail = &net->config.rail[frame->rail];
	struct port *port = port_of(net, frame->src, frame->rail);
	uint64_t time = net->now + rail->latency_ns / 2 + delay_ns;

	if (rail->jitter_ns)
		time += tap_rand(&net->random) % rail->jitter_ns;
	if (happens(net, rail->reorder))
		return time + tap_rand(&net->random) % (rail->reorder_ns + 1);
	if (time < port->at_switch)
		time = port->at_switch;
	port->at_switch = time;
	return time;
}

static void reach_switch(void *arg, void *what);
static void reach_node(void *arg, void *what);

/* Sends a frame on its way from the NIC to the switch, or drops it. */
static void depart(struct simnet *net, struct frame *frame)
{
	const struct simnet_rail *rail = &net->config.rail[frame->rail];
	struct simnet_count *count = &net->count[frame->rail];
	struct simnet_fate fate;
	uint64_t time;

	roll_fate(net, frame, &fate);
	if (!port_of(net, frame->src, frame->rail)->is_plugged ||
	    net->path_broken[path_of(net, frame->src, frame->dst, frame->rail)]) {
		count->unplugged++;
		free(frame);
		return;
	}
	if (fate.is_lost) {
		count->lost++;
		free(frame);
		return;
	}
	time = arrival_at_switch(net, frame, fate.delay_ns);
	for (; fate.copies; fate.copies--) {
		struct frame *copy = malloc(sizeof(*copy) + frame->len);

		assert(copy);
		memcpy(copy, frame, sizeof(*copy) + frame->len);
		count->duplicated++;
		simheap_push(&net->events, time, reach_switch, net, copy);
	}
	if (happens(net, rail->corrupt))
		corrupt(net, frame);
	simheap_push(&net->events, time, reach_switch, net, frame);
}

static void reach_switch(void *arg, void *what)
{
	struct simnet *net = arg;
	struct frame *frame = what;
	const struct simnet_rail *rail = &net->config.rail[frame->rail];
	struct port *port = port_of(net, frame->dst, frame->rail);
	uint64_t wait_ns = port->output_free_at > net->now ? port->output_free_at - net->now : 0;

	if (rail->queue_bytes && rail->rate &&
	    wait_ns * rail->rate / 1000000000 + frame->len > rail->queue_bytes) {
		net->count[frame->rail].tail_dropped++;
		free(frame);
		return;
	}
	port->output_free_at = net->now + wait_ns + serialise_ns(rail, frame->len);
	simheap_push(&net->events, port->output_free_at + rail->latency_ns / 2, reach_node, net,
		     frame);
}

static void reach_node(void *arg, void *what)
{
	struct simnet *net = arg;
	struct frame *frame = what;
	struct node *node = &net->nodes[frame->dst];
	struct simnet_count *count = &net->count[frame->rail];

	if (!node->port[frame->rail].is_plugged) {
		count->unplugged++;
		free(frame);
		return;
	}
	if (node->n_waiting + node->n_lent >= net->config.rx_buffers) {
		count->no_buffer++;
		free(frame);
		return;
	}
	count->arrived++;
	count->bytes += frame->len;
	*node->tail = frame;
	node->tail = &frame->next;
	node->n_waiting++;
	net->ops.arrived(net->arg, frame->dst);
}

/* A posted packet and where to; lives until the NIC is through with it. */
struct posting {
	struct pm_packet *packet;
	uint64_t digest; /* of the bytes when posted */
	uint32_t node, rail, dst;
};

static void leave_nic(void *arg, void *what)
{
	struct simnet *net = arg;
	struct posting *posting = what;
	struct pm_packet *packet = posting->packet;
	struct txbuf *buf = (struct txbuf *)packet;

	okf(digest_packet(packet) == posting->digest, "node %u changed a packet while it was busy",
	    posting->node);
	depart(net, make_frame(packet, posting->node, posting->dst, posting->rail));
	port_of(net, posting->node, posting->rail)->nic_queue--;
	packet->busy--;
	if (!packet->busy && buf->is_free)
		give_to_pool(net, buf);
	tell_room(net, posting->node);
	free(posting);
}

int simnet_post(struct simnet *net, uint32_t node, uint32_t rail, uint32_t dst,
		struct pm_packet *packet)
{
	const struct simnet_rail *conf = &net->config.rail[rail];
	struct port *port = port_of(net, node, rail);
	uint32_t room = conf->nic_packets ? conf->nic_packets : NIC_PACKETS;
	uint32_t len = pm_packet_bytes(packet);
	struct posting *posting;

	okf(!((struct txbuf *)packet)->is_free, "node %u posts a packet it gave back", node);
	okf(packet->len <= packet->room && !(packet->len % 8 && packet->more_len) &&
		    len <= net->config.mtu,
	    "node %u posts %u bytes", node, len);
	if (port->nic_queue >= room) {
		net->nodes[node].wants_room = true;
		return -EAGAIN;
	}
	posting = malloc(sizeof(*posting));
	assert(posting);
	*posting = (struct posting){.packet = packet,
				    .node = node,
				    .rail = rail,
				    .dst = dst,
				    .digest = digest_packet(packet)};
	net->digest = digest_bytes(net->digest ^ net->now, &posting->node, 3 * sizeof(uint32_t));
	net->digest ^= posting->digest;
	packet->busy++;
	port->nic_queue++;
	net->count[rail].posted++;
	if (port->nic_free_at < net->now)
		port->nic_free_at = net->now;
	port->nic_free_at += serialise_ns(conf, len);
	simheap_push(&net->events, port->nic_free_at, leave_nic, net, posting);
	return 0;
}

int simnet_receive(struct simnet *net, uint32_t node_number, struct pm_rx *ret)
{
	struct node *node = &net->nodes[node_number];
	struct frame *frame = node->first;
	uint32_t i = 0;

	if (!frame)
		return 0;
	node->first = frame->next;
	if (!node->first)
		node->tail = &node->first;
	node->n_waiting--;
	node->n_lent++;
	while (node->lent[i])
		i++;
	node->lent[i] = frame;
	*ret = (struct pm_rx){
		.data = frame->data, .len = frame->len, .rail = frame->rail, .token = i + 1};
	return 1;
}

void simnet_return(struct simnet *net, uint32_t node_number, uint64_t token)
{
	struct node *node = &net->nodes[node_number];
	struct frame *frame;

	if (!okf(token && token <= net->config.rx_buffers && node->lent[token - 1],
		 "node %u returns receive buffer %llu, which it does not hold", node_number,
		 (unsigned long long)token))
		return;
	frame = node->lent[token - 1];
	node->lent[token - 1] = NULL;
	node->n_lent--;
	memset(frame->data, 0xee, frame->len);
	free(frame);
}

uint32_t simnet_waiting(const struct simnet *net, uint32_t node)
{
	return net->nodes[node].n_waiting;
}

uint32_t simnet_tx_lent(const struct simnet *net, uint32_t node)
{
	return net->nodes[node].tx_lent;
}

uint32_t simnet_rx_lent(const struct simnet *net, uint32_t node)
{
	return net->nodes[node].n_lent;
}

uint64_t simnet_now(const struct simnet *net)
{
	return net->now;
}

uint64_t simnet_next(const struct simnet *net)
{
	return simheap_next(&net->events);
}

void simnet_advance(struct simnet *net, uint64_t time)
{
	simheap_run(&net->events, time, &net->now);
}

static void call_back(void *arg, void *what)
{
	/* ISO C has no conversion between void * and function pointers; a copy does the same */
	void (*fn)(void *);

	memcpy(&fn, what, sizeof(fn));
	free(what);
	fn(arg);
}

void simnet_at(struct simnet *net, uint64_t time, void (*fn)(void *arg), void *arg)
{
	void *what = malloc(sizeof(fn));

	assert(what);
	memcpy(what, &fn, sizeof(fn));
	simheap_push(&net->events, time < net->now ? net->now : time, call_back, arg, what);
}

struct simnet_rail *simnet_rail(struct simnet *net, uint32_t rail)
{
	return &net->config.rail[rail];
}

void simnet_cable(struct simnet *net, uint32_t node, uint32_t rail, bool is_plugged)
{
	port_of(net, node, rail)->is_plugged = is_plugged;
}

void simnet_path(struct simnet *net, uint32_t src, uint32_t dst, uint32_t rail, bool is_whole)
{
	net->path_broken[path_of(net, src, dst, rail)] = !is_whole;
}

const struct simnet_count *simnet_count(const struct simnet *net, uint32_t rail)
{
	return &net->count[rail];
}

uint64_t simnet_digest(const struct simnet *net)
{
	return net->digest;
}

static void init_node(struct simnet *net, uint32_t number)
{
	struct node *node = &net->nodes[number];
	uint32_t i;

	node->tail = &node->first;
	node->lent = calloc(net->config.rx_buffers, sizeof(struct frame *));
	assert(node->lent);
	node->tx_lent = net->config.tx_buffers;
	for (i = 0; i < net->config.rails; i++)
		node->port[i].is_plugged = true;
	for (i = 0; i < net->config.tx_buffers; i++) {
		struct txbuf *buf = &net->txbufs[(size_t)number * net->config.tx_buffers + i];

		buf->node = number;
		buf->is_free = true;
		buf->packet.room = net->config.mtu;
		buf->packet.data = malloc(net->config.mtu);
		assert(buf->packet.data);
		give_to_pool(net, buf);
	}
}

struct simnet *simnet_create(const struct simnet_config *config, const struct simnet_ops *ops,
			     void *arg)
{
	struct simnet *net = calloc(1, sizeof(*net));
	size_t paths = (size_t)config->nodes * config->nodes * config->rails;
	uint32_t i;

	assert(net && config->rails && config->rails <= SIMNET_RAILS);
	net->config = *config;
	net->ops = *ops;
	net->arg = arg;
	net->random = config->seed;
	net->now = 1000000000;
	net->nodes = calloc(config->nodes, sizeof(*net->nodes));
	net->txbufs = calloc((size_t)config->nodes * config->tx_buffers, sizeof(*net->txbufs));
	net->path_count = calloc(paths, sizeof(*net->path_count));
	net->path_broken = calloc(paths, sizeof(*net->path_broken));
	assert(net->nodes && net->txbufs && net->path_count && net->path_broken);
	for (i = 0; i < config->nodes; i++)
		init_node(net, i);
	return net;
}

static void fini_node(struct simnet *net, uint32_t number)
{
	struct node *node = &net->nodes[number];
	struct frame *frame;

	okf(!node->tx_lent, "node %u lost %u transmit buffers", number, node->tx_lent);
	okf(!node->n_lent, "node %u did not return %u receive buffers", number, node->n_lent);
	while ((frame = node->first)) {
		node->first = frame->next;
		free(frame);
	}
	free(node->lent);
}

/* Lets the NICs give back what they hold, and drops what is on the way. */
static void drain(struct simnet *net)
{
	struct simheap_event event;

	while (simheap_next(&net->events) != UINT64_MAX) {
		event = simheap_pop(&net->events);
		if (event.fn == leave_nic) {
			struct posting *posting = event.what;

			posting->packet->busy--;
			if (!posting->packet->busy && ((struct txbuf *)posting->packet)->is_free)
				give_to_pool(net, (struct txbuf *)posting->packet);
		}
		free(event.what);
	}
}

void simnet_destroy(struct simnet *net)
{
	size_t i;

	drain(net);
	for (i = 0; i < net->config.nodes; i++)
		fini_node(net, (uint32_t)i);
	for (i = 0; i < (size_t)net->config.nodes * net->config.tx_buffers; i++)
		free(net->txbufs[i].packet.data);
	simheap_fini(&net->events);
	free(net->txbufs);
	free(net->nodes);
	free(net->path_count);
	free(net->path_broken);
	free(net);
}
