// SPDX-License-Identifier: BSD-3-Clause
/*
 * rx - frames are lent where the kernel put them. They are copied to a slot instead when they span
 * several chunks, or when so many chunks of the socket are lent already that the kernel might run
 * short of them. A slot holds one packet, so rx_buffers packets can always be held. From the inbox
 * all are copied: its room comes free in the order of arrival, so one that is held for long would
 * shut it.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "pm-ethernet/device.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/copy.h"

/* Tokens: this and a slot's number, or epoch, socket and address of a chunk. */
#define TOKEN_SLOT (1ull << (PM_TOKEN_BITS - 1))
#define TOKEN_EPOCH_SHIFT 48
#define TOKEN_SOCKET_SHIFT 40
#define EPOCH_MASK 0x1fffu

int eth_rx_init(struct eth_dev *d, uint32_t n_slots)
{
	void *slots;

	d->slot_bytes = (d->payload + 63) & ~63u;
	d->free_slots = calloc(n_slots, sizeof(*d->free_slots));
	if (!d->free_slots)
		return -ENOMEM;
	/* touched only as far as it is used */
	slots = mmap(NULL, (size_t)n_slots * d->slot_bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (slots == MAP_FAILED)
		return -ENOMEM;
	d->slots = slots;
	d->n_slots = n_slots;
	for (uint32_t i = n_slots; i-- > 0;)
		d->free_slots[d->n_free_slots++] = i;
	return eth_rx_attach(d);
}

int eth_rx_attach(struct eth_dev *d)
{
	const struct eth_granted *g = &d->granted;

	for (uint32_t i = 0; i < d->n_sockets; i++) {
		struct eth_socket *s = &d->sockets[i];
		uint32_t *back = realloc(s->back, g->rx_chunks * sizeof(*back));

		if (!back)
			return -ENOMEM;
		s->back = back;
		s->n_back = 0;
		s->loose = 0;
	}
	d->chunk_limit = g->rx_chunks / 2 / g->n_slots;
	d->fill_batch = g->rx_chunks / 8 / g->n_slots;
	if (d->fill_batch > ETH_FILL_BATCH)
		d->fill_batch = ETH_FILL_BATCH;
	return 0;
}

void eth_rx_fini(struct eth_dev *d)
{
	if (d->slots)
		munmap(d->slots, (size_t)d->n_slots * d->slot_bytes);
	free(d->free_slots);
	for (uint32_t i = 0; i < ETH_RAILS; i++)
		free(d->sockets[i].back);
}

/* ---- chunks back to the kernel ---- */

/* Nothing to be done about a failure: the kernel is asked again later. */
static void wake(const struct eth_socket *s)
{
	if (eth_ring_wants_wakeup(&s->rings.fill))
		(void)recvfrom(s->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

/*
 * Chunks that shall lie in a fill ring: as many as all nodes may have on their way to us, those
 * never heard of included. The rest stays with us, and those used last go back first: few that go
 * round stay in caches and TLB. The other processes of a shared ring and a driver that fetches in
 * advance need them all.
 */
static uint32_t fill_level(const struct eth_dev *d, const struct eth_socket *s)
{
	const struct conf *conf = d->env.conf;
	uint64_t known = (uint64_t)d->n_peers * conf->window;
	uint64_t unknown = (uint64_t)d->env.nodes * conf_credit(conf, d->env.nodes);
	uint64_t level = (known + unknown) * d->granted.chunks_per_packet;

	if (d->share || s->is_zero_copy || level > s->rings.fill.size)
		return s->rings.fill.size;
	return (uint32_t)level;
}

void eth_rx_refill(struct eth_dev *d, uint32_t i)
{
	struct eth_socket *s = &d->sockets[i];
	struct eth_ring *fill = &s->rings.fill;
	uint32_t level = fill_level(d, s), held;

	if (s->fd < 0 || !s->n_back || !eth_lock(d, i))
		return;
	s->loose = 0;
	if (d->share)
		fill->ours = atomic_load_explicit(fill->producer, memory_order_relaxed);
	fill->theirs = atomic_load_explicit(fill->consumer, memory_order_acquire);
	for (held = fill->ours - fill->theirs; held < level && s->n_back; held++)
		*eth_ring_address(fill, fill->ours++) = s->back[--s->n_back];
	eth_ring_submit(fill);
	eth_unlock(d, i);
	wake(s);
}

/*
 * A driver that found no chunks asks when it has gone to sleep, which may be after we have given it
 * some.
 */
void eth_rx_look_after(struct eth_dev *d)
{
	for (uint32_t i = 0; i < d->n_sockets; i++) {
		struct eth_socket *s = &d->sockets[i];

		if (!s->is_zero_copy || s->fd < 0 || !eth_ring_wants_wakeup(&s->rings.fill))
			continue;
		eth_rx_refill(d, i);
		wake(s);
	}
}

static inline void give_back(struct eth_dev *d, uint32_t i, uint64_t address)
{
	struct eth_socket *s = &d->sockets[i];

	if (s->n_back == d->granted.rx_chunks) {
		s->strange++; /* the kernel gave a chunk twice */
		return;
	}
	s->back[s->n_back++] = (uint32_t)address & ~(d->granted.chunk_bytes - 1);
	if (__builtin_expect(++s->loose >= d->fill_batch, 0))
		eth_rx_refill(d, i);
}

/* ---- frames to the channel ---- */

/* One frame at the head of a receive ring. */
struct arrival {
	uint32_t socket;
	uint32_t n; /* descriptors */
	uint32_t len;
	uint32_t first;       /* length of the first */
	uint64_t address;     /* of the first */
	const uint8_t *bytes; /* there */
};

static inline bool is_inside(const struct eth_dev *d, const struct xdp_desc *desc)
{
	const struct eth_area *area = d->areas;
	uint64_t in_chunk = desc->addr & (d->granted.chunk_bytes - 1);

	/* an address before the area is a very large one from its begin on */
	return desc->addr - area->base < area->size && desc->len &&
	       in_chunk + desc->len <= d->granted.chunk_bytes;
}

/* The extent of a frame of several descriptors; as extent. */
static __attribute__((noinline)) int measure(const struct eth_dev *d, const struct eth_ring *rx,
					     uint32_t ready, struct arrival *a)
{
	int rc = 1;

	a->len = 0;
	for (a->n = 0; a->n < ready;) {
		const struct xdp_desc *desc = eth_ring_desc(rx, rx->ours + a->n);

		if (is_inside(d, desc))
			a->len += desc->len;
		else
			rc = -1;
		a->n++;
		if (!(desc->options & XDP_PKT_CONTD))
			break;
		if (a->n == ready)
			return 0;
	}
	return a->n > d->granted.chunks_per_packet + 1 ? -1 : rc;
}

/*
 * Finds the extent of the first frame: 1, 0 (its end is not there yet), or -1: nonsense, also
 * measured.
 */
static inline __attribute__((always_inline)) int
extent(const struct eth_dev *d, const struct eth_ring *rx, uint32_t ready, struct arrival *a)
{
	const struct xdp_desc *desc = eth_ring_desc(rx, rx->ours);
	int rc = 1;

	if (__builtin_expect(desc->options & XDP_PKT_CONTD, 0)) {
		rc = measure(d, rx, ready, a);
	} else {
		a->n = 1;
		a->len = desc->len;
		if (!is_inside(d, desc))
			rc = -1;
	}
	a->first = desc->len;
	a->address = desc->addr;
	a->bytes = rc > 0 ? d->areas->bytes + (a->address - d->areas->base) : NULL;
	return rc;
}

/* The same for all that is ready. */
static __attribute__((noinline)) int measure_first(const struct eth_dev *d,
						   const struct eth_ring *rx, struct arrival *a)
{
	return extent(d, rx, rx->theirs - rx->ours, a);
}

static void lend(struct eth_dev *d, const struct arrival *a, struct pm_rx *out)
{
	d->sockets[a->socket].lent++;
	d->areas->lent++;
	out->data = d->areas->bytes + (a->address - d->areas->base) + ETH_HEAD;
	out->token = (uint64_t)(d->areas->epoch & EPOCH_MASK) << TOKEN_EPOCH_SHIFT |
		     (uint64_t)a->socket << TOKEN_SOCKET_SHIFT | a->address;
}

/* The chunks of the frame, one behind the other, without its head. */
static void copy(struct eth_dev *d, const struct arrival *a, const struct eth_ring *rx,
		 struct pm_rx *out)
{
	uint32_t slot = d->free_slots[--d->n_free_slots], skip = ETH_HEAD;
	uint8_t *to = d->slots + (size_t)slot * d->slot_bytes;

	out->data = to;
	out->token = TOKEN_SLOT | slot;
	for (uint32_t n = 0; n < a->n; n++) {
		const struct xdp_desc *desc = eth_ring_desc(rx, rx->ours + n);
		const uint8_t *from = d->areas->bytes + (desc->addr - d->areas->base);

		copy_bytes(to, from + skip, desc->len - skip);
		to += desc->len - skip;
		skip = 0;
	}
	d->copies++;
}

/* The rail a frame came in by. */
static uint32_t rail_of(const struct eth_dev *d, const struct arrival *a)
{
	uint8_t in_rail;

	if (!eth_is_port(d) && !eth_has_inbox(d))
		return a->socket;
	in_rail = a->bytes[offsetof(struct eth_frame, in_rail)];
	return in_rail < ETH_RAILS ? d->rail_of[in_rail] : PM_RAILS_MAX;
}

static enum drop_reason judge(const struct eth_dev *d, const struct arrival *a, uint32_t *ret_rail)
{
	/* the head and the packet's own must lie in the first chunk */
	enum drop_reason reason = eth_frame_check(a->bytes, a->first, &d->granted);

	if (reason)
		return reason;
	if (a->len - ETH_HEAD > d->payload)
		return DROP_MALFORMED;
	*ret_rail = rail_of(d, a);
	return *ret_rail < d->dev.n_rails ? DROP_NONE : DROP_RAIL;
}

static void drop(struct eth_dev *d, const struct arrival *a, enum drop_reason reason)
{
	d->env.rails[eth_is_port(d) ? 0 : a->socket].drops[reason]++;
}

/* Hands the chunks from descriptor @from on back to the kernel and moves past the frame. */
static void consume(struct eth_dev *d, const struct arrival *a, struct eth_ring *rx, uint32_t from)
{
	for (uint32_t n = from; n < a->n; n++) {
		const struct xdp_desc *desc = eth_ring_desc(rx, rx->ours + n);

		if (is_inside(d, desc))
			give_back(d, a->socket, desc->addr);
		else
			d->sockets[a->socket].strange++;
	}
	rx->ours += a->n;
}

static void note_gone(struct eth_dev *d, const uint8_t *frame)
{
	struct eth_frame head;

	memcpy(&head, frame, sizeof(head));
	eth_peer_gone(d, head.src_host, head.src_context);
}

/* A frame that is no packet: nonsense, not for us, or about a peer that is gone. */
static __attribute__((cold, noinline)) int put_aside(struct eth_dev *d, const struct arrival *a,
						     struct eth_ring *rx, enum drop_reason reason)
{
	if (reason)
		drop(d, a, reason);
	else
		note_gone(d, a->bytes);
	consume(d, a, rx, 0);
	return 0;
}

/* The whole first frame of a socket: 1, or -1: nonsense, also measured; 0: there is none. */
static inline __attribute__((always_inline)) int find(const struct eth_dev *d, struct eth_ring *rx,
						      struct arrival *a)
{
	uint32_t ready = eth_ring_ready(rx);
	int rc = ready ? extent(d, rx, ready, a) : 0;

	if (__builtin_expect(rc || !ready, 1))
		return rc;
	/* more may have come since the ring was looked at */
	rx->theirs = atomic_load_explicit(rx->producer, memory_order_acquire);
	return rx->theirs - rx->ours == ready ? 0 : measure_first(d, rx, a);
}

/* The next frame of a socket: 1 and *out, 0 (it was dropped), or -1: none, or no room for it. */
static inline int hand_out(struct eth_dev *d, uint32_t i, struct pm_rx *out)
{
	struct eth_socket *s = &d->sockets[i];
	struct eth_ring *rx = &s->rings.rx;
	struct arrival a = {.socket = i};
	enum drop_reason reason = DROP_MALFORMED;
	uint32_t rail = 0;
	int rc = find(d, rx, &a);

	if (!rc)
		return -1;
	if (rc > 0)
		reason = judge(d, &a, &rail);
	if (__builtin_expect(reason || a.bytes[offsetof(struct eth_frame, kind)] == ETH_GONE, 0))
		return put_aside(d, &a, rx, reason);
	if (__builtin_expect(a.n == 1 && !((uintptr_t)a.bytes & 7) && s->lent < d->chunk_limit,
			     1)) {
		lend(d, &a, out);
		rx->ours++;
	} else if (d->n_free_slots) {
		copy(d, &a, rx, out);
		consume(d, &a, rx, 0);
	} else {
		return -1;
	}
	out->len = a.len - ETH_HEAD;
	out->rail = rail;
	return 1;
}

/* ---- from the inbox ---- */

static int burst_inbox(struct eth_dev *d, struct pm_rx *out, int n)
{
	const uint8_t *frame;
	uint64_t next;
	uint32_t len;
	int given = 0;

	while (given < n && d->n_free_slots &&
	       (frame = eth_inbox_next(&d->inbox, &len, &next)) != NULL) {
		const struct arrival a = {.len = len, .first = len, .bytes = frame};
		uint32_t rail = 0;
		enum drop_reason reason = judge(d, &a, &rail);

		if (reason) {
			d->env.rails[0].drops[reason]++;
		} else if (frame[offsetof(struct eth_frame, kind)] == ETH_GONE) {
			note_gone(d, frame);
		} else {
			uint32_t slot = d->free_slots[--d->n_free_slots];
			uint8_t *to = d->slots + (size_t)slot * d->slot_bytes;

			copy_bytes(to, frame + ETH_HEAD, len - ETH_HEAD);
			out[given++] = (struct pm_rx){.data = to,
						      .len = len - ETH_HEAD,
						      .rail = rail,
						      .token = TOKEN_SLOT | slot};
		}
		eth_inbox_pass(&d->inbox, next);
	}
	return given;
}

/* ---- what the channel asks ---- */

int eth_rx_burst(struct pm_dev *dev, struct pm_rx *out, int n)
{
	struct eth_dev *d = eth_of(dev);
	uint32_t i = d->next_socket;
	int given = 0;

	if (eth_has_inbox(d))
		return d->inbox.fd >= 0 ? burst_inbox(d, out, n) : 0;
	for (uint32_t k = 0; k < d->n_sockets && given < n; k++) {
		struct eth_ring *rx = &d->sockets[i].rings.rx;
		uint32_t before;
		int got;

		if (d->sockets[i].fd >= 0) {
			before = rx->ours;
			for (got = 0; given < n && got >= 0; given += got > 0)
				got = hand_out(d, i, &out[given]);
			if (rx->ours != before)
				eth_ring_release(rx);
		}
		i = i + 1 < d->n_sockets ? i + 1 : 0;
	}
	if (given == n)
		d->next_socket = i;
	return given;
}

static struct eth_area *area_of(const struct eth_dev *d, uint64_t token)
{
	struct eth_area *area = d->areas;

	while (area && (area->epoch & EPOCH_MASK) != (token >> TOKEN_EPOCH_SHIFT & EPOCH_MASK))
		area = area->next;
	return area;
}

void eth_rx_return(struct pm_dev *dev, uint64_t token)
{
	struct eth_dev *d = eth_of(dev);
	uint32_t socket = token >> TOKEN_SOCKET_SHIFT & 0xff;
	struct eth_area *area;

	if (__builtin_expect((token & TOKEN_SLOT) != 0, 0)) {
		assert(d->n_free_slots < d->n_slots);
		d->free_slots[d->n_free_slots++] = (uint32_t)token;
		return;
	}
	area = area_of(d, token);
	assert(area && area->lent && socket < ETH_RAILS);
	area->lent--;
	if (__builtin_expect(area->is_stale, 0)) {
		eth_memory_returned(d, area);
		return;
	}
	d->sockets[socket].lent--;
	give_back(d, socket, token & ((1ull << TOKEN_SOCKET_SHIFT) - 1));
}

bool eth_rx_has_room(const struct eth_dev *d)
{
	bool has_chunks = d->granted.chunks_per_packet == 1 && !eth_has_inbox(d);

	for (uint32_t i = 0; i < d->n_sockets; i++)
		has_chunks &= d->sockets[i].lent < d->chunk_limit;
	return has_chunks || d->n_free_slots;
}

bool eth_rx_is_pending(struct eth_dev *d)
{
	if (eth_has_inbox(d))
		return d->inbox.fd >= 0 && eth_inbox_is_pending(&d->inbox);
	for (uint32_t i = 0; i < d->n_sockets; i++)
		if (d->sockets[i].fd >= 0 && eth_ring_ready(&d->sockets[i].rings.rx))
			return true;
	return false;
}
