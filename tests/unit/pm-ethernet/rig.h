/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ethernet device on rings in ordinary memory, for the tests of pm-ethernet: the test is the
 * kernel. The system calls of a socket go to one end of a datagram pair; the other end shows how
 * many there were.
 */
#ifndef TESTS_UNIT_PM_ETHERNET_RIG_H
#define TESTS_UNIT_PM_ETHERNET_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pm-ethernet/blob.h"
#include "pm-ethernet/device.h"
#include "pm-ethernet/ethernet.h"
#include "pmcore/util/conf.h"
#include "pmcore/wire/pm_wire.h"
#include "tests/harness/tap.h"

#define UNUSED __attribute__((unused))
#define RIG_TX_PACKETS 64
#define RIG_RX_CHUNKS 64
#define RIG_RING 32
#define RIG_HOST 7
#define RIG_CONTEXT 3

/* The kernel's end of a ring. */
struct rig_ring {
	_Atomic uint32_t producer, consumer, flags;
	uint64_t entries[2 * 2 * RIG_RX_CHUNKS]; /* room for descriptors */
};

struct rig_socket {
	struct rig_ring rx, tx, fill, done;
	int far; /* the other end of its system calls */
};

struct rig {
	struct eth_dev d;
	struct conf conf;
	struct stats_link link;
	struct stats_rail rails[PM_RAILS_MAX];
	struct eth_board board;
	struct rig_socket sockets[ETH_RAILS];
	uint8_t *memory; /* what addresses count from */
	size_t bytes;
	char why[400];
};

/* The grant that a test asks for. */
struct rig_options {
	uint8_t attachment;
	uint32_t n_rails, chunk_bytes, chunks_per_packet, n_slots, slot, mtu;
	struct eth_share *share; /* NULL: none */
	uint8_t *memory;         /* packet memory of another slot's rig, NULL: own */
};

#define RIG_DIRECT                                                                                 \
	((struct rig_options){.attachment = ETH_DIRECT,                                            \
			      .n_rails = 2,                                                        \
			      .chunk_bytes = 2048,                                                 \
			      .chunks_per_packet = 1,                                              \
			      .n_slots = 1,                                                        \
			      .mtu = 1500})

static UNUSED void rig_ring(struct rig_ring *ring, uint32_t size, struct eth_ring *ret)
{
	*ret = (struct eth_ring){.producer = &ring->producer,
				 .consumer = &ring->consumer,
				 .flags = &ring->flags,
				 .entries = ring->entries,
				 .size = size};
}

static UNUSED void rig_grant(struct rig *r, const struct rig_options *w)
{
	struct eth_granted *g = &r->d.granted;

	*g = (struct eth_granted){.host = RIG_HOST,
				  .context = (uint16_t)(RIG_CONTEXT + w->slot),
				  .type = 0xb588,
				  .attachment = w->attachment,
				  .n_rails = (uint8_t)w->n_rails,
				  .slot = w->slot,
				  .n_slots = w->n_slots,
				  .chunk_bytes = w->chunk_bytes,
				  .chunks_per_packet = w->chunks_per_packet,
				  .tx_packets = RIG_TX_PACKETS,
				  .rx_chunks = RIG_RX_CHUNKS};
	for (uint32_t i = 0; i < w->n_rails; i++) {
		g->rails[i].host_rail = (uint8_t)(i + 1);
		g->rails[i].mtu = w->mtu;
		memcpy(g->rails[i].mac, "\2\0\0\0\7\0", ETH_MAC);
		g->rails[i].mac[5] = (uint8_t)i;
		r->board.rails[i + 1].is_up = 1;
		r->d.rail_of[i + 1] = i;
	}
}

/* Packet memory as granted, and all receive chunks in the fill rings. */
static UNUSED void rig_memory(struct rig *r, const struct rig_options *w)
{
	struct eth_dev *d = &r->d;
	struct eth_area *area = calloc(1, sizeof(*area));

	d->packet_bytes = w->chunks_per_packet * w->chunk_bytes;
	d->tx_area_bytes = (size_t)RIG_TX_PACKETS * d->packet_bytes;
	area->base = w->n_slots * d->tx_area_bytes;
	area->size = (size_t)d->n_sockets * RIG_RX_CHUNKS * w->chunk_bytes;
	r->bytes = area->base + area->size;
	r->memory = w->memory ? w->memory
			      : mmap(NULL, r->bytes, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	d->tx_base = w->slot * d->tx_area_bytes;
	d->tx_area = r->memory + d->tx_base;
	area->bytes = r->memory + area->base;
	d->areas = area;
}

static UNUSED struct rig *rig_open(struct rig_options w)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct eth_dev *d = &r->d;

	conf_defaults(&r->conf);
	d->dev.ops = &pm_ethernet_ops;
	d->env = (struct pm_device_env){.conf = &r->conf,
					.stats = &r->link,
					.rails = r->rails,
					.job_key = 1,
					.nodes = 2,
					.why = r->why,
					.why_size = sizeof(r->why)};
	d->lease = d->epoll_fd = d->inbox.fd = -1;
	d->dev.n_rails = w.n_rails;
	d->dev.tx_buffers = RIG_TX_PACKETS;
	d->n_sockets = w.attachment == ETH_PORT ? 1 : w.n_rails;
	d->share = w.share;
	d->board = &r->board;
	d->payload = eth_payload(w.mtu);
	for (uint32_t h = 0; h < ETH_RAILS; h++)
		d->rail_of[h] = PM_RAILS_MAX;
	rig_grant(r, &w);
	rig_memory(r, &w);
	for (uint32_t i = 0; i <= ETH_NOWHERE; i++)
		d->sockets[i].fd = -1;
	for (uint32_t i = 0; i < d->n_sockets; i++) {
		struct rig_socket *k = &r->sockets[i];
		struct eth_rings *rings = &d->sockets[i].rings;
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair))
			abort();
		d->sockets[i].fd = pair[0];
		k->far = pair[1];
		rig_ring(&k->rx, RIG_RING, &rings->rx);
		rig_ring(&k->tx, RIG_RING, &rings->tx);
		rig_ring(&k->fill, 2 * RIG_RX_CHUNKS, &rings->fill);
		rig_ring(&k->done, 2 * RIG_RX_CHUNKS, &rings->done);
		for (uint32_t n = 0; n < RIG_RX_CHUNKS && !w.slot; n++)
			k->fill.entries[rings->fill.ours++] =
				d->areas->base + (i * RIG_RX_CHUNKS + n) * w.chunk_bytes;
		k->fill.producer = rings->fill.ours;
	}
	if (eth_tx_init(d, RIG_TX_PACKETS) || eth_rx_init(d, 8) || eth_sleep_open(d))
		abort();
	return r;
}

static UNUSED void rig_close(struct rig *r, bool has_memory)
{
	struct eth_dev *d = &r->d;

	for (uint32_t i = 0; i < d->n_sockets; i++) {
		close(d->sockets[i].fd);
		close(r->sockets[i].far);
	}
	close(d->epoll_fd);
	while (d->n_peers)
		eth_peer_del(&d->dev, (struct pm_dev_peer *)d->peers[0]);
	free(d->peers);
	eth_tx_fini(d);
	eth_rx_fini(d);
	free(d->areas);
	if (has_memory)
		munmap(r->memory, r->bytes);
	free(r);
}

/* System calls made on a socket since the last question. */
static UNUSED int rig_calls(struct rig *r, uint32_t i)
{
	char byte;
	int n = 0;

	while (recv(r->sockets[i].far, &byte, 1, MSG_DONTWAIT) >= 0)
		n++;
	return n;
}

/* The kernel takes the next descriptor of the transmit ring; false: there is none. */
static UNUSED bool rig_take(struct rig *r, uint32_t i, struct xdp_desc *ret)
{
	struct rig_ring *tx = &r->sockets[i].tx;

	if (tx->consumer == tx->producer)
		return false;
	*ret = ((struct xdp_desc *)tx->entries)[tx->consumer % RIG_RING];
	tx->consumer++;
	return true;
}

/* The kernel is done with a transmit chunk. */
static UNUSED void rig_done(struct rig *r, uint32_t i, uint64_t address)
{
	struct rig_ring *done = &r->sockets[i].done;

	done->entries[done->producer % (2 * RIG_RX_CHUNKS)] = address;
	done->producer++;
}

/* The kernel takes a chunk from the fill ring; 0: there is none. */
static UNUSED uint64_t rig_chunk(struct rig *r, uint32_t i)
{
	struct rig_ring *fill = &r->sockets[i].fill;

	if (fill->consumer == fill->producer)
		return 0;
	return fill->entries[fill->consumer++ % (2 * RIG_RX_CHUNKS)];
}

static UNUSED void rig_receive_desc(struct rig *r, uint32_t i, uint64_t address, uint32_t len,
				    uint32_t options)
{
	struct rig_ring *rx = &r->sockets[i].rx;

	((struct xdp_desc *)rx->entries)[rx->producer % RIG_RING] =
		(struct xdp_desc){address, len, options};
	rx->producer++;
}

/* The head of a frame to the device. */
static UNUSED struct eth_frame rig_head(const struct rig *r, uint8_t in_rail)
{
	return (struct eth_frame){.type = r->d.granted.type,
				  .version = ETH_VERSION,
				  .kind = ETH_PACKET,
				  .ttl = ETH_TTL,
				  .dst_host = RIG_HOST,
				  .src_host = 9,
				  .dst_context = r->d.granted.context,
				  .src_context = 5,
				  .in_rail = in_rail};
}

/* A frame arrives with @len bytes of packet that all are @fill; false: the kernel had no chunk. */
static UNUSED bool rig_receive(struct rig *r, uint32_t i, struct eth_frame head, uint32_t len,
			       uint8_t fill)
{
	uint32_t room = r->d.granted.chunk_bytes - 256, sent = 0, total = len + ETH_HEAD;

	while (sent < total) {
		uint64_t chunk = rig_chunk(r, i);
		uint32_t part = total - sent < room ? total - sent : room;

		if (!chunk)
			return false;
		memset(r->memory + chunk + 256, fill, part);
		if (!sent)
			memcpy(r->memory + chunk + 256, &head,
			       part < sizeof(head) ? part : sizeof(head));
		sent += part;
		rig_receive_desc(r, i, chunk + 256, part, sent < total ? XDP_PKT_CONTD : 0);
	}
	return true;
}

/* A peer on host 9, context 5, heard on no rail: paired by numbers. */
static UNUSED struct pm_dev_peer *rig_peer(struct rig *r, uint32_t node)
{
	uint8_t blob[10 + 10 * ETH_RAILS] = {1, (uint8_t)r->d.dev.n_rails, 5, 0, 9, 0, 0, 0, 0, 0};
	struct pm_dev_peer *peer = NULL;
	uint32_t rails = 0, n = r->d.dev.n_rails;

	for (uint32_t i = 0; i < n; i++) {
		uint8_t *rail = blob + 10 + 10 * i;

		rail[0] = (uint8_t)(i + 1);
		rail[2] = (uint8_t)r->d.granted.rails[i].mtu;
		rail[3] = (uint8_t)(r->d.granted.rails[i].mtu >> 8);
		memcpy(rail + 4, "\2\0\0\0\11", 5);
		rail[9] = (uint8_t)i;
	}
	is_int(eth_peer_add(&r->d.dev, node, blob, 10 + 10 * n, &peer, &rails), 0);
	is_int(rails, (1u << n) - 1);
	return peer;
}

/* ---- a hypercrossbar ---- */

/* Sets the neighbour that @rail reaches at place @to of its line. */
static UNUSED void rig_neighbour(struct rig *r, uint32_t rail, uint32_t to, bool is_open)
{
	struct eth_neighbour next = {.mac = {2, 0, 9, 9, (uint8_t)rail, (uint8_t)to},
				     .is_open = is_open};

	eth_board_set_neighbour(&r->board, rail, to, &next);
}

/*
 * Lays a device of four rails into a grid of 3x3 with two lanes each: rails 0 and 1 along x, 2 and
 * 3 along y, all neighbours open. Hosts are 1..9, y is the fastest, so we (7) stand at 2,0. With
 * @n_dims 1 it is a line of 9 on rails 0 to 3.
 */
static UNUSED int rig_grid(struct rig *r, uint32_t n_dims)
{
	struct eth_board *board = &r->board;
	struct eth_grid *grid = &board->grid.grid;
	uint32_t lanes = 4 / n_dims, extent = n_dims == 1 ? 9 : 3;

	board->n_rails = 4;
	for (uint32_t h = 0; h < ETH_RAILS; h++)
		r->d.rail_of[h] = PM_RAILS_MAX;
	*grid = (struct eth_grid){.n_dims = n_dims, .n_points = 9};
	for (uint32_t i = 0; i < 9; i++)
		board->grid.points[i] =
			n_dims == 1
				? (struct eth_point){.at = {(uint16_t)i}, .is_known = 1}
				: (struct eth_point){.at = {(uint16_t)(i / 3), (uint16_t)(i % 3)},
						     .is_known = 1};
	grid->own = board->grid.points[RIG_HOST - 1];
	for (uint32_t rail = 0; rail < 4; rail++) {
		uint32_t dim = rail / lanes, lane = rail % lanes;

		grid->dims[dim] = (uint16_t)extent;
		grid->n_lanes[dim] = (uint8_t)lanes;
		grid->rail[dim][lane] = (uint8_t)rail;
		grid->dim[rail] = (uint8_t)dim;
		grid->lane[rail] = (uint8_t)lane;
		board->rails[rail].is_up = 1;
		snprintf(board->rails[rail].name, sizeof(board->rails[rail].name), "eth%u", rail);
		for (uint32_t to = 0; to < extent; to++)
			rig_neighbour(r, rail, to, to != grid->own.at[dim]);
		if (rail >= r->d.granted.n_rails)
			continue;
		r->d.granted.rails[rail].host_rail = (uint8_t)rail;
		strcpy(r->d.granted.rails[rail].name, board->rails[rail].name);
		r->d.rail_of[rail] = rail;
	}
	return eth_ways_init(&r->d);
}

/* A peer of the grid, context 5 of a host, with the same rails as ours; its rails or an error. */
static UNUSED int rig_grid_peer(struct rig *r, uint32_t host, struct pm_dev_peer **ret_peer)
{
	struct eth_blob blob = {.host = host, .context = 5, .n_rails = 4, .is_port = true};
	uint8_t buf[ETH_BLOB_MAX];
	uint32_t rails = 0;
	int len, err;

	for (uint32_t i = 0; i < 4; i++)
		blob.rails[i] = (struct eth_blob_rail){
			(uint8_t)i, {2, 0, 0, 1, (uint8_t)host, (uint8_t)i}, 1500};
	len = eth_blob_pack(&blob, buf, sizeof(buf));
	err = eth_peer_add(&r->d.dev, host, buf, (size_t)len, ret_peer, &rails);
	return err ? err : (int)rails;
}

#endif
