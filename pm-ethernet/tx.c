// SPDX-License-Identifier: BSD-3-Clause
/*
 * tx - the transmit pool and the transmit rings. A post writes descriptors; a kick shows them to
 * the kernel and, unless a driver fetches them by itself, makes one system call. In copy mode the
 * kernel takes descriptors only inside that call, so what it refused waits in the ring and can be
 * taken back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "pm-ethernet/device.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/conf.h"
#include "pmcore/wire/pm_wire.h"

/* A full socket is tried again that soon; a failed try costs about 0.5 us. */
#define RETRY_NS 8000
/*
 * Completions are looked for when so many posts are open, and when so few packets are free: each
 * look reads a cache line that the kernel writes.
 */
#define REAP_OPEN 32u
#define REAP_FREE 32u
/*
 * Packets that may wait in the ring of a socket: as many as one call is worth, few enough that a
 * slow rail soon says it is full and the others take over.
 */
#define TX_AHEAD 32u
/*
 * Packets of a rail that may be on their way, at the least: a driver may be late in giving them
 * back.
 */
#define OPEN_MIN 32u
/* An address outside of any packet memory: the kernel drops such a descriptor. */
#define NOWHERE (UINT64_MAX >> 16)

/*
 * The rails share the window of a peer, so packets too many on one rail are missing on the others.
 * A quarter of the window is for packets that have arrived and are not acked yet.
 */
static uint32_t open_limit(const struct eth_dev *d)
{
	uint32_t window = conf_window(d->env.conf->window, d->dev.n_rails);
	uint32_t share = window * 3 / 4 / eth_ways_lanes(d);

	return share < OPEN_MIN ? OPEN_MIN : share;
}

int eth_tx_init(struct eth_dev *d, uint32_t n_packets)
{
	uint32_t size = d->sockets[0].rings.tx.size;

	d->tx_limit = TX_AHEAD * d->granted.chunks_per_packet;
	if (d->tx_limit > size)
		d->tx_limit = size;
	d->open_limit = open_limit(d);
	d->packets = calloc(n_packets, sizeof(*d->packets));
	if (!d->packets)
		return -ENOMEM;
	for (uint32_t i = n_packets; i-- > 0;) {
		struct pm_packet *p = &d->packets[i].pub;

		p->data = d->tx_area + (size_t)i * d->packet_bytes + ETH_HEAD;
		p->room = d->payload;
		packetpool_put(&d->pool, p);
	}
	return 0;
}

void eth_tx_fini(struct eth_dev *d)
{
	free(d->packets);
}

struct pm_packet *eth_tx_alloc(struct pm_dev *dev)
{
	struct eth_dev *d = eth_of(dev);

	if (d->pool.n_free < REAP_FREE)
		eth_completion_reap_all(d);
	return packetpool_take(&d->pool);
}

void eth_tx_free(struct pm_dev *dev, struct pm_packet *p)
{
	packetpool_give(&eth_of(dev)->pool, p);
}

/* ---- posting ---- */

/* Appends the descriptors of a frame of @len bytes at @address; a chunk each. */
static void describe(struct eth_dev *d, struct eth_ring *tx, uint64_t address, uint32_t len)
{
	uint32_t chunk = d->granted.chunk_bytes;

	while (len > chunk) {
		*eth_ring_desc(tx, tx->ours++) = (struct xdp_desc){address, chunk, XDP_PKT_CONTD};
		address += chunk;
		len -= chunk;
	}
	*eth_ring_desc(tx, tx->ours++) = (struct xdp_desc){address, len, 0};
}

/* Whether ring and kernel hold all of a socket that they shall hold. */
static bool is_loaded(struct eth_dev *d, uint32_t i)
{
	if (d->sockets[i].outstanding < d->open_limit)
		return false;
	eth_completion_reap(d, i);
	return d->sockets[i].outstanding >= d->open_limit;
}

static bool has_room(struct eth_dev *d, uint32_t i, uint32_t rail, uint32_t n)
{
	struct eth_socket *s = &d->sockets[i];
	uint32_t kept = s->rings.tx.size - d->tx_limit;

	if (s->fd < 0 || s->is_blocked || eth_is_broken(d))
		return false;
	/* a driver that fetches by itself gets all it wants */
	if (s->is_zero_copy ? eth_ring_room(&s->rings.tx, n) >= n
			    : eth_ring_room(&s->rings.tx, kept + n) >= kept + n && !is_loaded(d, i))
		return true;
	d->env.rails[rail].full++;
	return false;
}

int eth_tx_post(struct pm_dev *dev, uint32_t r, struct pm_dev_peer *dev_peer, struct pm_packet *p)
{
	struct eth_dev *d = eth_of(dev);
	struct eth_peer *peer = (struct eth_peer *)dev_peer;
	struct eth_packet *packet = (struct eth_packet *)p;
	uint32_t i = peer->sockets[r];
	struct eth_socket *s = &d->sockets[i];
	uint32_t len = ETH_HEAD + p->len;
	uint32_t last = (len - 1) >> eth_chunk_shift(d);

	/* its head lies in the packet, and may still be read */
	if (__builtin_expect(p->busy, 0)) {
		eth_completion_reap_all(d);
		if (p->busy)
			return -EAGAIN;
	}
	if (!has_room(d, i, r, last + 1))
		return i == ETH_NOWHERE ? eth_ways_post(d, r, peer, p) : -EAGAIN;
	memcpy(p->data - ETH_HEAD, &peer->heads[r], ETH_HEAD);
	/* the channel probes whom it has not heard for a while */
	if (p->data[offsetof(struct wire_header, type)] == WIRE_PROBE)
		p->data[(int)offsetof(struct eth_frame, flags) - ETH_HEAD] |= ETH_F_ASK;
	describe(d, &s->rings.tx, d->tx_base + (uint64_t)(packet - d->packets) * d->packet_bytes,
		 len);
	packet->last = (uint8_t)last;
	p->busy++;
	s->outstanding++;
	d->tx_waiting |= 1u << i;
	return 0;
}

/* ---- sending ---- */

static void block(struct eth_dev *d, struct eth_socket *s, uint32_t i)
{
	if (!s->is_blocked)
		d->env.rails[i].full++;
	s->is_blocked = true;
	s->retry_at = clock_monotonic_ns() + RETRY_NS;
}

/*
 * One call: 0 when the kernel took all, 1 when it is to be called again at once, -EAGAIN when it
 * takes no more now.
 */
static int call(struct eth_dev *d, struct eth_socket *s, uint32_t i)
{
	struct eth_ring *tx = &s->rings.tx;
	uint32_t before = tx->theirs, open = s->outstanding;

	s->calls++;
	if (sendto(s->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
		return 0;
	switch (errno) {
	case EINTR:
		return 1;
	case EAGAIN:
		/* it takes a number of frames per call, then says this as well */
		tx->theirs = atomic_load_explicit(tx->consumer, memory_order_acquire);
		if (tx->theirs != before)
			return 1;
		/* or the completion ring is full */
		eth_completion_reap(d, i);
		return s->outstanding != open ? 1 : -EAGAIN;
	case ENXIO:
		s->is_unbound = true;
		return -EAGAIN;
	default:
		/*
		 * ENETDOWN: the board says so as well. EBUSY, ENOBUFS: a queue or memory is full;
		 * what the kernel dropped is the channel's to repair
		 */
		return -EAGAIN;
	}
}

bool eth_tx_flush(struct eth_dev *d, uint32_t i)
{
	struct eth_socket *s = &d->sockets[i];
	struct eth_ring *tx = &s->rings.tx;
	int rc = 0;

	if (s->fd < 0 || eth_is_broken(d))
		return false;
	if (s->shown != tx->ours) {
		s->shown = tx->ours;
		eth_ring_submit(tx);
	}
	if (!s->is_zero_copy) {
		tx->theirs = atomic_load_explicit(tx->consumer, memory_order_acquire);
		do
			rc = call(d, s, i);
		while (rc > 0);
	} else if (eth_ring_wants_wakeup(tx)) {
		do
			rc = call(d, s, i);
		while (rc > 0);
	}
	if (rc < 0) {
		block(d, s, i);
		return false;
	}
	s->is_blocked = false;
	d->tx_waiting &= ~(1u << i);
	return true;
}

void eth_tx_kick(struct pm_dev *dev)
{
	struct eth_dev *d = eth_of(dev);

	for (uint32_t waiting = d->tx_waiting; waiting; waiting &= waiting - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(waiting);
		struct eth_socket *s = &d->sockets[i];

		if (s->is_blocked && clock_monotonic_ns() < s->retry_at)
			continue;
		if (s->outstanding >= REAP_OPEN)
			eth_completion_reap(d, i);
		eth_tx_flush(d, i);
	}
}

/* ---- taking back ---- */

/* Packets of the pool by address, as written by describe. */
static struct eth_packet *packet_at(struct eth_dev *d, uint64_t address)
{
	uint64_t offset = address - d->tx_base;

	return address >= d->tx_base && offset < d->tx_area_bytes
		       ? &d->packets[offset / d->packet_bytes]
		       : NULL;
}

/*
 * Counts the packets that were given to a driver whose interface is gone as lost. The driver took
 * them in order, so the open posts are the last of the ring. Completions that are still to come
 * would be of packets that have gone another way since.
 */
static void write_off(struct eth_dev *d, struct eth_socket *s, uint32_t i)
{
	struct eth_ring *tx = &s->rings.tx;

	s->is_unbound = true;
	for (uint32_t at = tx->ours - s->outstanding; at != tx->ours; at++) {
		struct eth_packet *packet = packet_at(d, eth_ring_desc(tx, at)->addr);

		s->lost++;
		if (packet && packet->pub.busy)
			eth_completion_done(d, s, packet);
	}
	s->outstanding = 0;
	s->is_blocked = false;
	d->tx_waiting &= ~(1u << i);
}

void eth_tx_withdraw(struct eth_dev *d, uint32_t i)
{
	struct eth_socket *s = &d->sockets[i];
	struct eth_ring *tx = &s->rings.tx;
	uint32_t at;

	if (s->fd < 0)
		return;
	/* a driver may be reading the ring at this moment, as long as there is one */
	if (s->is_zero_copy) {
		if (eth_rail_is_gone(d, i))
			write_off(d, s, i);
		return;
	}
	tx->theirs = atomic_load_explicit(tx->consumer, memory_order_acquire);
	for (at = tx->theirs; at != tx->ours; at++) {
		struct xdp_desc *desc = eth_ring_desc(tx, at);
		struct eth_packet *packet = packet_at(d, desc->addr);

		if (packet && !(desc->options & XDP_PKT_CONTD)) {
			s->lost++;
			eth_completion_done(d, s, packet);
		}
		/* what was shown can't be unsaid: the kernel will find nothing sendable there */
		*desc = (struct xdp_desc){.addr = NOWHERE};
	}
	tx->ours = s->shown;
	s->is_blocked = false;
	d->tx_waiting &= ~(1u << i);
}

void eth_tx_forget(struct eth_dev *d)
{
	for (uint32_t n = 0; n < d->dev.tx_buffers; n++) {
		struct eth_packet *packet = &d->packets[n];

		packet->pub.busy = 0;
		if (packet->pub.is_freed)
			packetpool_put(&d->pool, &packet->pub);
	}
	for (uint32_t i = 0; i < ETH_RAILS; i++)
		d->sockets[i].outstanding = 0;
	d->tx_waiting = 0;
}
