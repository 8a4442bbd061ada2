// SPDX-License-Identifier: BSD-3-Clause
/*
 * tx - the transmit pool, the ring of each rail, and its way into the kernel. A lone packet goes by
 * sendto. More packets go by sendmmsg, with neighbours of one size to one peer merged into one
 * segmented message. The kernel copies, so a packet is busy only while it waits here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>

#include "pm-udp/device.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/stats.h"

/* A full rail is tried again that soon; a failed try costs about 1 us. */
#define RETRY_NS 8000
/* A message is given up after so many refusals in a row, whatever the error queue says. */
#define TRIES 4

/*
 * A packet that is shorter than those before it by a few bytes is padded, and others follow it:
 * this part, and so many.
 */
#define PAD_PART 16
#define PAD_MAX 64u
/*
 * Where buffers follow one another in memory any packet is filled up to a full one. A slow link
 * pays for it, so this part of all bytes at most.
 */
#define FILL_PART 32

static const uint8_t zeros[PAD_MAX];

/* Packets of the largest size that one segmented message carries. */
static uint32_t segments_of(uint32_t payload)
{
	uint32_t n = PMU_GSO_BYTES / payload;

	return n > PMU_GSO_SEGMENTS ? PMU_GSO_SEGMENTS : n ? n : 1;
}

int pmu_tx_init(struct pmu_dev *d, uint32_t n_packets)
{
	bool can_show = d->env.conf->udp_gso && pmu_show_is_possible();
	int err = pmu_arena_open(&d->arena, n_packets, d->payload, can_show);

	if (err)
		return err;
	d->dev.tx_buffers = d->arena.n_packets;
	d->dev.burst = segments_of(d->payload);
	d->dev.can_show = d->arena.fd >= 0;
	return 0;
}

void pmu_tx_fini(struct pmu_dev *d)
{
	pmu_arena_close(&d->arena);
}

struct pm_packet *pmu_tx_alloc(struct pm_dev *dev)
{
	return packetblocks_take(&pmu_of(dev)->arena.pool);
}

void pmu_tx_free(struct pm_dev *dev, struct pm_packet *p)
{
	packetblocks_give(&pmu_of(dev)->arena.pool, p);
}

uint32_t pmu_tx_alloc_run(struct pm_dev *dev, bool is_bulk, uint32_t n,
			  struct pm_packet **ret_packets)
{
	(void)is_bulk;
	return packetblocks_take_run(&pmu_of(dev)->arena.pool, n, ret_packets);
}

void pmu_tx_free_run(struct pm_dev *dev, struct pm_packet *const *packets, uint32_t n)
{
	packetblocks_give_run(&pmu_of(dev)->arena.pool, packets, n);
}

int pmu_tx_post(struct pm_dev *dev, uint32_t r, struct pm_dev_peer *peer, struct pm_packet *p)
{
	struct pmu_dev *d = pmu_of(dev);
	struct pmu_rail *rail = &d->rails[r];

	if (rail->is_blocked || rail->tail - rail->head == PMU_RING)
		return -EAGAIN;
	rail->items[rail->tail++ % PMU_RING] = (struct pmu_item){p, (struct pmu_peer *)peer};
	p->busy++;
	d->tx_waiting |= 1u << r;
	return 0;
}

uint32_t pmu_tx_post_run(struct pm_dev *dev, uint32_t r, struct pm_dev_peer *peer,
			 struct pm_packet *const *packets, uint32_t n)
{
	struct pmu_dev *d = pmu_of(dev);
	struct pmu_rail *rail = &d->rails[r];
	uint32_t room = rail->is_blocked ? 0 : PMU_RING - (rail->tail - rail->head);

	if (n > room)
		n = room;
	for (uint32_t i = 0; i < n; i++) {
		rail->items[rail->tail++ % PMU_RING] =
			(struct pmu_item){packets[i], (struct pmu_peer *)peer};
		packets[i]->busy++;
	}
	if (n)
		d->tx_waiting |= 1u << r;
	return n;
}

/* The kernel has copied a packet, or it is lost. */
static inline void let_go(struct pmu_dev *d, struct pm_packet *p)
{
	struct pm_dev *lender = d->dev.lender;

	if (!lender || p->is_bulk) {
		packetblocks_let_go(&d->arena.pool, p);
	} else if (!--p->busy && p->is_freed) {
		p->is_freed = false;
		lender->ops->tx_free(lender, p);
	}
}

/* The first @n waiting packets are the kernel's, or lost. */
static void pop(struct pmu_dev *d, struct pmu_rail *rail, uint32_t n)
{
	for (; n; n--)
		let_go(d, rail->items[rail->head++ % PMU_RING].packet);
}

/* Appends bytes to @used iovecs, those that continue the last one to it; the number used then. */
static uint32_t gather(struct iovec *iov, uint32_t used, const void *at, uint32_t len)
{
	if (used && (const uint8_t *)iov[used - 1].iov_base + iov[used - 1].iov_len == at) {
		iov[used - 1].iov_len += len;
		return used;
	}
	iov[used] = (struct iovec){(void *)at, len};
	return used + 1;
}

/* May a packet be padded from @bytes to @segment? To a multiple of 8 always. */
static bool is_alike(uint32_t bytes, uint32_t segment)
{
	uint32_t pad = segment - bytes;

	return pad < 8 || (pad <= segment / PAD_PART && pad <= PAD_MAX);
}

/*
 * A multiple of 8 keeps the receiver's slices aligned. Payloads are such multiples, so the pads
 * always fit.
 */
static uint32_t padded(uint32_t bytes)
{
	return (bytes + 7) & ~7u;
}

/* Adds zeros to a packet: behind its bytes if they are in one piece. */
static uint32_t gather_pad(const struct pm_packet *p, uint32_t pad, struct iovec *iov,
			   uint32_t used)
{
	if (p->more_len || p->len + pad > p->room)
		return gather(iov, used, zeros, pad);
	memset(p->data + p->len, 0, pad);
	return gather(iov, used, p->data + p->len, pad);
}

/* Waiting packets that make one segmented message. */
struct run {
	uint32_t n;
	uint32_t segment; /* bytes of each but the last, pads included */
	/* they lie one behind the other, each but the last where a full one ends */
	bool is_one_piece;
};

/* Those of a run that is one piece. */
static uint32_t gather_piece(const struct pmu_rail *rail, uint32_t at, const struct run *run,
			     struct iovec *iov)
{
	const struct pm_packet *p = rail->items[at % PMU_RING].packet;
	uint8_t *begin = p->data;

	for (uint32_t i = 1; i < run->n; i++) {
		if (p->len < run->segment)
			memset(p->data + p->len, 0, run->segment - p->len);
		p = rail->items[(at + i) % PMU_RING].packet;
	}
	iov[0] = (struct iovec){begin, (size_t)(p->data - begin) + p->len};
	return p->more_len ? gather(iov, 1, p->more, p->more_len) : 1;
}

/* The iovecs of a run from @at on, all but the last packet padded to its segment; their number. */
static uint32_t gather_run(const struct pmu_rail *rail, uint32_t at, const struct run *run,
			   struct iovec *iov)
{
	uint32_t used = 0, pad;

	if (run->is_one_piece)
		return gather_piece(rail, at, run, iov);
	for (uint32_t i = 0; i < run->n; i++) {
		const struct pm_packet *p = rail->items[(at + i) % PMU_RING].packet;

		used = gather(iov, used, p->data, p->len);
		if (p->more_len)
			used = gather(iov, used, p->more, p->more_len);
		pad = i + 1 < run->n ? run->segment - pm_packet_bytes(p) : 0;
		if (pad)
			used = gather_pad(p, pad, iov, used);
	}
	return used;
}

/*
 * How many packets from @at on lie one behind the other, if all but the last are filled up to the
 * rail's segment; 1 if that is too much to fill up.
 */
static uint32_t filled_run(const struct pmu_rail *rail, uint32_t at, uint32_t most)
{
	const struct pmu_peer *peer = rail->items[at % PMU_RING].peer;
	const struct pm_packet *p = rail->items[at % PMU_RING].packet;
	uint32_t segment = rail->segment, filled = 0, best = 1;

	for (uint32_t n = 1; n < most; n++) {
		const struct pmu_item *next = &rail->items[(at + n) % PMU_RING];

		if (p->more_len || segment > p->room || p->data + segment != next->packet->data ||
		    peer != next->peer)
			break;
		filled += segment - p->len;
		if (filled * FILL_PART <= n * segment)
			best = n + 1;
		else if (filled * FILL_PART > most * segment)
			break;
		p = next->packet;
	}
	return best;
}

/* How many are nearly as long as the first; only the last may be much shorter. */
static uint32_t alike_run(const struct pmu_rail *rail, uint32_t at, uint32_t most, uint32_t segment)
{
	const struct pmu_item *first = &rail->items[at % PMU_RING];
	uint32_t bytes = segment, n = 1;

	for (; n < most && is_alike(bytes, segment); n++) {
		const struct pmu_item *item = &rail->items[(at + n) % PMU_RING];

		bytes = pm_packet_bytes(item->packet);
		if (item->peer != first->peer || bytes > segment || !bytes)
			break;
	}
	return n;
}

/* The packets from @at on that go to one peer as one message. The wire format allows the pads. */
static struct run run_at(const struct pmu_rail *rail, uint32_t at)
{
	struct run run = {
		.n = 1,
		.segment = padded(pm_packet_bytes(rail->items[at % PMU_RING].packet)),
	};
	uint32_t left = rail->tail - at, most, filled = 1;

	if (!rail->has_gso || !run.segment || left == 1)
		return run;
	/* another peer's way may not take as long packets */
	if (rail->segment && rail->items[at % PMU_RING].peer == rail->connected) {
		most = segments_of(rail->segment);
		filled = filled_run(rail, at, left < most ? left : most);
		if (filled == left || filled == most)
			return (struct run){filled, rail->segment, true};
	}
	most = segments_of(run.segment);
	run.n = alike_run(rail, at, left < most ? left : most, run.segment);
	return filled > run.n ? (struct run){filled, rail->segment, true} : run;
}

/* A message to the peer that the socket is connected to needs no address. */
static void set_address(struct pmu_dev *d, uint32_t r, struct pmu_peer *peer, uint32_t m)
{
	struct msghdr *h = &d->batch.msgs[m].msg_hdr;

	if (pmu_connect_look(&d->rails[r], peer, r))
		return;
	d->batch.to[m] = pmu_address_of(peer, r);
	h->msg_name = &d->batch.to[m];
	h->msg_namelen = sizeof(d->batch.to[m]);
}

static void set_segment(struct pmu_batch *b, uint32_t m, uint16_t segment)
{
	struct msghdr *h = &b->msgs[m].msg_hdr;
	struct cmsghdr *c;

	h->msg_control = &b->control[m];
	h->msg_controllen = sizeof(b->control[m].room);
	c = CMSG_FIRSTHDR(h);
	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(segment));
	memcpy(CMSG_DATA(c), &segment, sizeof(segment));
}

/*
 * Describes what waits on the rail, which begins with the run @first, as messages; returns their
 * number.
 */
static uint32_t build(struct pmu_dev *d, uint32_t r, const struct run *first)
{
	struct pmu_rail *rail = &d->rails[r];
	struct pmu_batch *b = &d->batch;
	uint32_t m = 0, used = 0, at = rail->head;

	while (at != rail->tail && m < PMU_TX_MSGS) {
		struct run run = m ? run_at(rail, at) : *first;
		uint32_t begin = used;

		if (used + PMU_IOVS_EACH * run.n > PMU_TX_IOVS ||
		    (m && pmu_show_bytes(d, rail, at, run.n, run.segment)))
			break;
		used += gather_run(rail, at, &run, &b->iovs[used]);
		b->packets[m] = run.n;
		b->msgs[m].msg_hdr =
			(struct msghdr){.msg_iov = &b->iovs[begin], .msg_iovlen = used - begin};
		set_address(d, r, rail->items[at % PMU_RING].peer, m);
		if (run.n > 1 && run.segment != rail->segment)
			set_segment(b, m, (uint16_t)run.segment);
		m++;
		at += run.n;
	}
	return m;
}

static int send_one(struct pmu_rail *rail, uint32_t r, const struct pmu_item *item)
{
	const struct pm_packet *p = item->packet;
	struct sockaddr_in to;
	ssize_t sent;

	if (pmu_connect_look(rail, item->peer, r)) {
		sent = send(rail->fd, p->data, p->len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} else {
		to = pmu_address_of(item->peer, r);
		sent = sendto(rail->fd, p->data, p->len, MSG_DONTWAIT | MSG_NOSIGNAL,
			      (struct sockaddr *)&to, sizeof(to));
	}
	return sent < 0 ? -errno : 1;
}

/*
 * Sends the waiting packets, the run @first before all, as messages that the kernel copies; as
 * send_some.
 */
static int send_copied(struct pmu_dev *d, uint32_t r, const struct run *first)
{
	struct pmu_rail *rail = &d->rails[r];
	struct pmu_batch *b = &d->batch;
	uint32_t n_msgs = build(d, r, first);
	int sent, packets = 0;

	if (n_msgs == 1)
		return sendmsg(rail->fd, &b->msgs[0].msg_hdr, MSG_DONTWAIT | MSG_NOSIGNAL) < 0
			       ? -errno
			       : (int)b->packets[0];
	sent = sendmmsg(rail->fd, b->msgs, n_msgs, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0)
		return -errno;
	for (int m = 0; m < sent; m++)
		packets += (int)b->packets[m];
	return packets;
}

/* Hands packets to the kernel; the number taken, or -errno about the first message. */
static int send_some(struct pmu_dev *d, uint32_t r)
{
	struct pmu_rail *rail = &d->rails[r];
	const struct pmu_item *first = &rail->items[rail->head % PMU_RING];
	uint32_t bytes;
	struct run run;

	rail->calls++;
	if (rail->tail - rail->head == 1 && !first->packet->more_len) {
		d->batch.packets[0] = 1;
		return send_one(rail, r, first);
	}
	run = run_at(rail, rail->head);
	d->batch.packets[0] = run.n;
	bytes = pmu_show_bytes(d, rail, rail->head, run.n, run.segment);
	return bytes ? pmu_show_send(d, rail, run.n, bytes) : send_copied(d, r, &run);
}

/*
 * The kernel refused the first message. If that only was news about earlier ones (the error queue
 * was not empty) it is tried again, else it is lost.
 */
static void refuse(struct pmu_dev *d, uint32_t r, int error, bool is_last_try)
{
	struct pmu_rail *rail = &d->rails[r];
	uint32_t n = d->batch.packets[0];

	if (pmu_error_drain(d, r) > 0 && !is_last_try)
		return;
	/* a socket that cuts refuses short messages as well, when it can't cut any more */
	if ((n > 1 || rail->segment) &&
	    (error == EIO || error == EINVAL || error == EOPNOTSUPP || error == EMSGSIZE)) {
		rail->has_gso = false;
		pmu_connect_whole(rail);
		return;
	}
	pmu_error_note(d, r, rail->items[rail->head % PMU_RING].peer, error);
	rail->lost += n;
	pop(d, rail, n);
}

bool pmu_tx_flush(struct pmu_dev *d, uint32_t r)
{
	struct pmu_rail *rail = &d->rails[r];
	unsigned int tries = 0;

	while (rail->head != rail->tail) {
		int sent;

		if (rail->fd < 0) {
			/*
			 * suspended, or the interface is gone: the channel repairs what was under
			 * way
			 */
			rail->lost += rail->tail - rail->head;
			pop(d, rail, rail->tail - rail->head);
			break;
		}
		sent = send_some(d, r);
		if (sent > 0) {
			pop(d, rail, (uint32_t)sent);
			tries = 0;
		} else if (sent == -EAGAIN) {
			if (!rail->is_blocked)
				d->env.rails[r].full++;
			rail->is_blocked = true;
			rail->retry_at = clock_monotonic_ns() + RETRY_NS;
			return false;
		} else if (sent != -EINTR) {
			refuse(d, r, -sent, ++tries % TRIES == 0);
		}
	}
	rail->is_blocked = false;
	d->tx_waiting &= ~(1u << r);
	return true;
}

void pmu_tx_kick(struct pm_dev *dev)
{
	struct pmu_dev *d = pmu_of(dev);
	uint32_t waiting = d->tx_waiting;

	for (; waiting; waiting &= waiting - 1) {
		uint32_t r = (uint32_t)__builtin_ctz(waiting);

		if (!d->rails[r].is_blocked || clock_monotonic_ns() >= d->rails[r].retry_at)
			pmu_tx_flush(d, r);
	}
}

void pmu_tx_forget(struct pmu_dev *d, const struct pmu_peer *peer)
{
	for (uint32_t r = 0; r < d->dev.n_rails; r++) {
		struct pmu_rail *rail = &d->rails[r];
		uint32_t at = rail->head, kept = rail->head, end = rail->tail;

		for (; at != end; at++) {
			struct pmu_item item = rail->items[at % PMU_RING];

			if (item.peer != peer) {
				rail->items[kept++ % PMU_RING] = item;
				continue;
			}
			let_go(d, item.packet);
		}
		rail->tail = kept;
		pmu_connect_forget(rail, peer);
	}
}
