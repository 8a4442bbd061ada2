// SPDX-License-Identifier: BSD-3-Clause
/*
 * hxbnet - hosts, switches and the clock of a simulated hypercrossbar; see hxbnet.h. Knows packets
 * as bytes only. The grid's geometry and what is open is in hxbgrid.c.
 */
#include "tests/sim/hxbnet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/simheap.h"
#include "tests/harness/tap.h"
#include "tests/sim/hxbgrid.h"
#include "tests/sim/txpool.h"

/* A frame, from its post to its return. */
struct frame {
	struct frame *next; /* in the queue it waits in */
	uint32_t src, dst;  /* hosts */
	uint32_t at, to;    /* where it is, and the next host */
	uint32_t len;       /* of the packet, bytes */
	uint8_t rail;       /* the sender's choice */
	uint8_t via;        /* rail it goes by now */
	uint8_t late, ttl;
	bool is_lent; /* the process has it */
	struct pm_packet
		*packet; /* busy until the first NIC is through, or the first switch; then NULL */
	bool is_own;     /* has not left the host it was posted at */
	_Alignas(8) uint8_t data[];
};

struct queue {
	struct frame *first, *last;
	uint32_t n;
};

/* A host's end of one rail, and the switch's port that leads there. */
struct nic {
	struct queue own, relayed;
	struct frame *sending;   /* NULL: idle */
	uint64_t output_free_at; /* when the switch has sent all that waits for this host */
	bool was_own;            /* the last one */
};

struct host {
	struct queue arrived;
	uint32_t rx_lent;
	struct queue ring;      /* own frames that the socket has no room for yet */
	uint32_t open_bytes;    /* of the kernel's memory, own frames before the first switch */
	uint64_t relay_free_at; /* when it has passed on what waits for that */
	bool wants_room;        /* a post or an alloc was refused */
	bool is_deaf;           /* has no process */
};

struct hxbnet {
	struct hxbnet_config config;
	struct hxbnet_ops ops;
	void *arg; /* of ops */
	struct hxbgrid grid;
	struct simheap events;
	uint64_t now;    /* ns */
	uint64_t random; /* generator state */
	uint64_t digest;
	uint32_t n_hosts, n_rails;
	struct host *hosts;
	struct nic *nics; /* by host, then rail */
	struct txpool pool;
	struct hxbnet_count count;
};

static struct nic *nic_of(struct hxbnet *net, uint32_t host, uint32_t rail)
{
	assert(host < net->n_hosts && rail < net->n_rails);
	return &net->nics[(size_t)host * net->n_rails + rail];
}

static void push(struct queue *queue, struct frame *frame)
{
	frame->next = NULL;
	if (queue->last)
		queue->last->next = frame;
	else
		queue->first = frame;
	queue->last = frame;
	queue->n++;
}

static struct frame *pop(struct queue *queue)
{
	struct frame *frame = queue->first;

	if (!frame)
		return NULL;
	queue->first = frame->next;
	if (!queue->first)
		queue->last = NULL;
	queue->n--;
	return frame;
}

static uint64_t serialise_ns(const struct hxbnet *net, const struct frame *frame, uint64_t rate)
{
	return rate ? (frame->len + net->config.overhead_bytes) * 1000000000ull / rate : 0;
}

static bool happens(struct hxbnet *net, double probability)
{
	return probability > 0 && (double)(tap_rand(&net->random) >> 11) * 0x1p-53 < probability;
}

/* ---- transmit buffers ---- */

struct pm_packet *hxbnet_alloc(struct hxbnet *net, uint32_t host)
{
	struct pm_packet *packet = txpool_alloc(&net->pool, host);

	net->hosts[host].wants_room |= !packet;
	return packet;
}

void hxbnet_free(struct hxbnet *net, uint32_t host, struct pm_packet *packet)
{
	txpool_free(&net->pool, host, packet);
}

static void tell_room(struct hxbnet *net, uint32_t host)
{
	if (!net->hosts[host].wants_room)
		return;
	net->hosts[host].wants_room = false;
	net->ops.has_room(net->arg, host);
}

/*
 * Bytes that the kernel counts for a frame: its data, headroom and shared part, rounded up to a
 * power of two, and a head.
 */
static uint32_t socket_bytes(const struct frame *frame)
{
	uint32_t need = frame->len + ETH_HEAD + 384, size = 512;

	while (size < need)
		size *= 2;
	return size + 256;
}

static void start_nic(struct hxbnet *net, struct nic *nic);

/* Hands to the NICs what the socket has room for, in order. */
static void fill_nics(struct hxbnet *net, struct host *host)
{
	while (host->ring.n &&
	       (!net->config.socket_bytes || host->open_bytes < net->config.socket_bytes)) {
		struct frame *frame = pop(&host->ring);
		struct nic *nic = nic_of(net, frame->src, frame->via);

		host->open_bytes += socket_bytes(frame);
		push(&nic->own, frame);
		start_nic(net, nic);
	}
}

/* The bytes are no longer needed. */
static void let_go(struct hxbnet *net, struct frame *frame)
{
	struct host *host = &net->hosts[frame->src];

	txpool_let_go(&net->pool, frame->packet);
	frame->packet = NULL;
	host->open_bytes -= socket_bytes(frame);
	fill_nics(net, host);
	tell_room(net, frame->src);
}

/* ---- a frame's way ---- */

static void drop(struct hxbnet *net, struct frame *frame, uint64_t *counter)
{
	++*counter;
	if (frame->packet)
		let_go(net, frame);
	free(frame);
}

static void leave_nic(void *arg, void *what);
static void reach_host(void *arg, void *what);

static void start_nic(struct hxbnet *net, struct nic *nic)
{
	struct queue *first = nic->was_own ? &nic->relayed : &nic->own;
	struct queue *second = nic->was_own ? &nic->own : &nic->relayed;
	struct frame *frame;

	if (nic->sending)
		return;
	frame = pop(first->n ? first : second);
	if (!frame)
		return;
	nic->was_own = frame->is_own;
	nic->sending = frame;
	simheap_push(&net->events, net->now + serialise_ns(net, frame, net->config.nic_rate),
		     leave_nic, net, frame);
}

/* From the NIC over the switch to the next host. */
static void cross(struct hxbnet *net, struct frame *frame)
{
	struct nic *port = nic_of(net, frame->to, frame->via);
	uint64_t at_switch = net->now + net->config.latency_ns / 2;
	uint64_t wait_ns, backlog;
	uint32_t dim = frame->via / net->config.lanes;

	net->count.links++;
	if (!hxbgrid_is_whole(&net->grid, frame->at, frame->via)) {
		drop(net, frame, &net->count.dark);
		return;
	}
	if (happens(net, net->config.loss)) {
		drop(net, frame, &net->count.lost);
		return;
	}
	wait_ns = port->output_free_at > at_switch ? port->output_free_at - at_switch : 0;
	backlog = wait_ns * (net->config.rate / 1000) / 1000000 + frame->len +
		  net->config.overhead_bytes;
	if (backlog > net->config.queue_bytes) {
		net->count.dropped_in[dim]++;
		drop(net, frame, &net->count.tail_dropped);
		return;
	}
	if (backlog > net->count.backlog_max)
		net->count.backlog_max = backlog;
	net->count.carried_in[dim] += frame->len + net->config.overhead_bytes;
	port->output_free_at = at_switch + wait_ns + serialise_ns(net, frame, net->config.rate);
	simheap_push(&net->events, port->output_free_at + net->config.latency_ns / 2, reach_host,
		     net, frame);
}

static void leave_nic(void *arg, void *what)
{
	struct hxbnet *net = arg;
	struct frame *frame = what;
	uint32_t host = frame->at;
	struct nic *nic = nic_of(net, host, frame->via);

	nic->sending = NULL;
	frame->is_own = false;
	if (frame->packet && !net->config.socket_bytes)
		let_go(net, frame);
	cross(net, frame);
	start_nic(net, nic);
}

/* Where it goes from the host it is at; false: nowhere. */
static bool route(struct hxbnet *net, struct frame *frame)
{
	uint32_t late = frame->late, rail, to;

	if (hxbgrid_route(&net->grid, net->now, frame->at, frame->src, frame->dst, frame->rail,
			  &late, &rail, &to))
		return false;
	net->count.detours += late != frame->late;
	frame->late = (uint8_t)late;
	frame->via = (uint8_t)rail;
	frame->to = to;
	return true;
}

static void forward(void *arg, void *what)
{
	struct hxbnet *net = arg;
	struct frame *frame = what;
	struct nic *nic;

	if (!hxbgrid_lives(&net->grid, frame->at)) {
		drop(net, frame, &net->count.dark);
		return;
	}
	if (!route(net, frame)) {
		drop(net, frame, &net->count.no_way);
		return;
	}
	nic = nic_of(net, frame->at, frame->via);
	if (nic->relayed.n >= net->config.relay_packets) {
		drop(net, frame, &net->count.relay_dropped);
		return;
	}
	net->count.relayed++;
	push(&nic->relayed, frame);
	start_nic(net, nic);
}

static void relay(struct hxbnet *net, struct frame *frame)
{
	struct host *host = &net->hosts[frame->at];

	if (frame->ttl <= 1) {
		drop(net, frame, &net->count.no_ttl);
		return;
	}
	frame->ttl--;
	if (!net->config.relay_ns) {
		forward(net, frame);
		return;
	}
	if (host->relay_free_at < net->now)
		host->relay_free_at = net->now;
	if (host->relay_free_at - net->now > net->config.ring_packets * net->config.relay_ns) {
		drop(net, frame, &net->count.relay_dropped);
		return;
	}
	host->relay_free_at += net->config.relay_ns;
	simheap_push(&net->events, host->relay_free_at, forward, net, frame);
}

static void reach_host(void *arg, void *what)
{
	struct hxbnet *net = arg;
	struct frame *frame = what;
	struct host *host = &net->hosts[frame->to];

	if (frame->packet)
		let_go(net, frame);
	frame->at = frame->to;
	if (!hxbgrid_is_whole(&net->grid, frame->at, frame->via)) {
		drop(net, frame, &net->count.dark);
		return;
	}
	if (frame->at != frame->dst) {
		relay(net, frame);
		return;
	}
	if (host->is_deaf || host->arrived.n + host->rx_lent >= net->config.rx_buffers) {
		drop(net, frame, &net->count.no_buffer);
		return;
	}
	net->count.arrived++;
	push(&host->arrived, frame);
	net->ops.arrived(net->arg, frame->at);
}

static struct frame *make_frame(struct pm_packet *packet, uint32_t src, uint32_t dst, uint32_t rail)
{
	uint32_t len = pm_packet_bytes(packet);
	struct frame *frame = malloc(sizeof(*frame) + len);

	assert(frame);
	*frame = (struct frame){.src = src,
				.dst = dst,
				.at = src,
				.rail = (uint8_t)rail,
				.len = len,
				.ttl = ETH_TTL,
				.is_own = true,
				.packet = packet};
	memcpy(frame->data, packet->data, packet->len);
	if (packet->more_len)
		memcpy(frame->data + packet->len, packet->more, packet->more_len);
	return frame;
}

static void note(struct hxbnet *net, uint64_t word)
{
	net->digest = (net->digest ^ word) * 0x9e3779b97f4a7c15ull;
	net->digest ^= net->digest >> 29;
}

int hxbnet_post(struct hxbnet *net, uint32_t host, uint32_t rail, uint32_t dst,
		struct pm_packet *packet)
{
	uint32_t len = pm_packet_bytes(packet);
	struct frame probe = {.src = host, .dst = dst, .at = host, .rail = (uint8_t)rail};
	struct frame *frame;
	struct nic *nic;

	okf(packet->len <= packet->room && len <= net->config.mtu, "host %u posts %u bytes", host,
	    len);
	if (!route(net, &probe)) {
		net->count.no_way++;
		return 0;
	}
	nic = nic_of(net, host, probe.via);
	if (nic->own.n >= net->config.nic_packets ||
	    net->hosts[host].ring.n >= net->config.ring_ahead) {
		net->hosts[host].wants_room = true;
		return -EAGAIN;
	}
	frame = make_frame(packet, host, dst, rail);
	frame->via = probe.via;
	frame->to = probe.to;
	frame->late = probe.late;
	note(net, net->now);
	note(net, (uint64_t)host << 32 | dst);
	note(net, (uint64_t)rail << 32 | len);
	txpool_hold(packet);
	net->count.posted++;
	push(&net->hosts[host].ring, frame);
	fill_nics(net, &net->hosts[host]);
	return 0;
}

int hxbnet_receive(struct hxbnet *net, uint32_t number, struct pm_rx *ret)
{
	struct host *host = &net->hosts[number];
	struct frame *frame = pop(&host->arrived);

	if (!frame)
		return 0;
	host->rx_lent++;
	frame->is_lent = true;
	*ret = (struct pm_rx){.data = frame->data,
			      .len = frame->len,
			      .rail = frame->via,
			      .token = (uint64_t)(uintptr_t)frame};
	return 1;
}

void hxbnet_return(struct hxbnet *net, uint32_t host, uint64_t token)
{
	struct frame *frame = (struct frame *)(uintptr_t)token;

	if (!okf(frame && frame->is_lent && frame->dst == host,
		 "host %u returns a receive buffer that it does not hold", host))
		return;
	frame->is_lent = false;
	net->hosts[host].rx_lent--;
	free(frame);
}

uint32_t hxbnet_tx_lent(const struct hxbnet *net, uint32_t host)
{
	return net->pool.lent[host];
}

uint32_t hxbnet_rx_lent(const struct hxbnet *net, uint32_t host)
{
	return net->hosts[host].rx_lent;
}

/* ---- time ---- */

uint64_t hxbnet_now(const struct hxbnet *net)
{
	return net->now;
}

uint64_t hxbnet_next(const struct hxbnet *net)
{
	return simheap_next(&net->events);
}

void hxbnet_advance(struct hxbnet *net, uint64_t time)
{
	simheap_run(&net->events, time, &net->now);
}

/* ---- what fails ---- */

void hxbnet_host(struct hxbnet *net, uint32_t host, bool is_up)
{
	hxbgrid_host(&net->grid, net->now, host, is_up);
}

void hxbnet_process(struct hxbnet *net, uint32_t host, bool is_there)
{
	struct frame *frame;

	net->hosts[host].is_deaf = !is_there;
	while ((frame = pop(&net->hosts[host].arrived)))
		drop(net, frame, &net->count.no_buffer);
}

void hxbnet_line(struct hxbnet *net, uint32_t host, uint32_t rail, bool is_up)
{
	hxbgrid_line(&net->grid, net->now, host, rail, is_up);
}

void hxbnet_cable(struct hxbnet *net, uint32_t host, uint32_t rail, bool is_plugged)
{
	hxbgrid_cable(&net->grid, net->now, host, rail, is_plugged);
}

/* ---- geometry ---- */

uint32_t hxbnet_rails(const struct hxbnet *net, uint32_t host, uint32_t dst)
{
	return hxbgrid_rails(&net->grid, host, dst);
}

uint32_t hxbnet_neighbour(const struct hxbnet *net, uint32_t host, uint32_t dim, uint32_t to)
{
	return hxbgrid_neighbour(&net->grid, host, dim, to);
}

int hxbnet_walk(const struct hxbnet *net, uint32_t src, uint32_t dst, uint32_t rail,
		void (*hop)(void *arg, uint32_t from, uint32_t rail, uint32_t to), void *arg)
{
	uint32_t at = src, late = 0, via, to;
	int hops;

	for (hops = 0; at != dst; hops++) {
		if (hops >= ETH_TTL ||
		    hxbgrid_route(&net->grid, net->now, at, src, dst, rail, &late, &via, &to))
			return -1;
		hop(arg, at, via, to);
		at = to;
	}
	return hops;
}

/* ---- life ---- */

const struct hxbnet_count *hxbnet_count(const struct hxbnet *net)
{
	return &net->count;
}

uint64_t hxbnet_digest(const struct hxbnet *net)
{
	return net->digest;
}

struct hxbnet *hxbnet_create(const struct hxbnet_config *config, const struct hxbnet_ops *ops,
			     void *arg)
{
	struct hxbnet *net = calloc(1, sizeof(*net));

	assert(net && hxbnet_n_rails(config) >= 1 && hxbnet_n_rails(config) <= ETH_RAILS);
	net->config = *config;
	net->ops = *ops;
	net->arg = arg;
	net->random = config->seed;
	net->now = 1000000000;
	net->n_hosts = hxbnet_hosts(config);
	net->n_rails = hxbnet_n_rails(config);
	hxbgrid_init(&net->grid, config);
	txpool_init(&net->pool, net->n_hosts, config->tx_buffers, config->mtu);
	net->hosts = calloc(net->n_hosts, sizeof(*net->hosts));
	net->nics = calloc((size_t)net->n_hosts * net->n_rails, sizeof(*net->nics));
	assert(net->hosts && net->nics);
	return net;
}

static void empty(struct hxbnet *net, struct queue *queue)
{
	struct frame *frame;

	while ((frame = pop(queue))) {
		if (frame->packet)
			txpool_let_go(&net->pool, frame->packet);
		free(frame);
	}
}

void hxbnet_destroy(struct hxbnet *net)
{
	uint32_t i;

	while (net->events.n) {
		struct frame *frame = simheap_pop(&net->events).what;

		if (frame->packet)
			txpool_let_go(&net->pool, frame->packet);
		free(frame);
	}
	for (i = 0; i < net->n_hosts * net->n_rails; i++) {
		empty(net, &net->nics[i].own);
		empty(net, &net->nics[i].relayed);
	}
	for (i = 0; i < net->n_hosts; i++) {
		empty(net, &net->hosts[i].arrived);
		empty(net, &net->hosts[i].ring);
		okf(!net->hosts[i].rx_lent, "host %u did not return %u receive buffers", i,
		    net->hosts[i].rx_lent);
	}
	txpool_fini(&net->pool);
	hxbgrid_fini(&net->grid);
	simheap_fini(&net->events);
	free(net->hosts);
	free(net->nics);
	free(net);
}
