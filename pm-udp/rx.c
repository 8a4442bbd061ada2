// SPDX-License-Identifier: BSD-3-Clause
/*
 * rx - receives into 64 KiB landings and lends the datagrams in them in place; one landing may hold
 * a run of them (UDP_GRO), shared by count. A datagram is copied to a slot instead when it does not
 * start on a multiple of 8, or when many landings are lent already. A slot holds one packet, so
 * rx_buffers packets can always be held, whatever their size.
 */
#include <assert.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pm-udp/device.h"
#include "pmcore/util/copy.h"
#include "pmcore/util/stats.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/*
 * So many calls in a row brought something: ask for a batch. A batch call that finds one datagram
 * costs 0.25 us more than a plain one, which a ping-pong would pay at each step.
 */
#define HOT_STREAK 3

/* Tokens: a landing's number, or this plus a slot's. */
#define TOKEN_SLOT 0x10000u

int pmu_rx_init(struct pmu_dev *d, uint32_t n_slots)
{
	struct pmu_rx *rx = &d->rx;
	size_t landings = (size_t)PMU_LANDINGS * PMU_LANDING_BYTES;
	void *arena;

	rx->n_slots = n_slots;
	rx->slot_bytes = (d->payload + 63) & ~63u;
	rx->free_slots = calloc(n_slots, sizeof(*rx->free_slots));
	if (!rx->free_slots)
		return -ENOMEM;
	rx->arena_bytes = landings + (size_t)n_slots * rx->slot_bytes;
	arena = mmap(NULL, rx->arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (arena == MAP_FAILED)
		return -ENOMEM;
	rx->arena = arena;
	rx->slots = rx->arena + landings;
	for (uint32_t i = PMU_LANDINGS; i-- > 0;) {
		rx->landings[i].bytes = rx->arena + (size_t)i * PMU_LANDING_BYTES;
		rx->free_landings[rx->n_free_landings++] = i;
	}
	for (uint32_t i = n_slots; i-- > 0;)
		rx->free_slots[rx->n_free_slots++] = i;
	return 0;
}

void pmu_rx_fini(struct pmu_dev *d)
{
	if (d->rx.arena)
		munmap(d->rx.arena, d->rx.arena_bytes);
	free(d->rx.free_slots);
}

bool pmu_rx_has_room(const struct pmu_dev *d)
{
	return d->rx.n_free_slots > 0;
}

bool pmu_rx_is_pending(const struct pmu_dev *d)
{
	return d->rx.next_pending < d->rx.n_pending;
}

/* ---- from the kernel to landings ---- */

static void prepare(struct pmu_rx *rx, uint32_t i)
{
	struct pmu_landing *landing = &rx->landings[rx->free_landings[rx->n_free_landings - 1 - i]];
	bool has_control = rx->has_gro || rx->has_pktinfo;

	rx->iovs[i] = (struct iovec){landing->bytes, PMU_LANDING_BYTES};
	rx->msgs[i].msg_hdr =
		(struct msghdr){.msg_iov = &rx->iovs[i],
				.msg_iovlen = 1,
				.msg_control = has_control ? &rx->control[i] : NULL,
				.msg_controllen = has_control ? sizeof(rx->control[i].room) : 0};
}

static uint32_t rail_of(const struct pmu_dev *d, uint32_t address)
{
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		if (d->rails[r].iface.address == address)
			return r;
	return PM_RAILS_MAX;
}

/* Reads the kernel's notes about a message: the rail it came in by and the size of its segments. */
static void read_control(const struct pmu_dev *d, struct msghdr *h, struct pmu_landing *landing)
{
	uint32_t rail = d->rx.has_pktinfo ? PM_RAILS_MAX : 0;

	landing->segment = landing->len;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
			int segment;

			memcpy(&segment, CMSG_DATA(c), sizeof(segment));
			if (segment > 0)
				landing->segment = (uint32_t)segment;
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			rail = rail_of(d, ntohl(info.ipi_addr.s_addr));
		}
	}
	landing->rail = (uint8_t)rail;
}

/* One receive call; what it brought becomes pending. */
static void receive(struct pmu_dev *d)
{
	struct pmu_rx *rx = &d->rx;
	uint32_t want = rx->streak >= HOT_STREAK ? PMU_RX_BATCH : 1;
	int n;

	if (want > rx->n_free_landings)
		want = rx->n_free_landings;
	for (uint32_t i = 0; i < want; i++)
		prepare(rx, i);
	rx->calls++;
	if (d->is_watched && rx->calls > d->unwatch_at)
		pmu_sleep_unwatch(d);
	if (want > 1) {
		n = recvmmsg(rx->fd, rx->msgs, want, MSG_DONTWAIT, NULL);
	} else {
		ssize_t len = recvmsg(rx->fd, &rx->msgs[0].msg_hdr, MSG_DONTWAIT);

		n = len >= 0;
		rx->msgs[0].msg_len = (unsigned int)len;
	}
	rx->streak = n > 0 ? rx->streak + 1 : 0;
	if (n <= 0)
		return; /* nothing there; an error of the socket comes back with the next packet */
	rx->next_pending = 0;
	rx->n_pending = (uint32_t)n;
	for (int i = 0; i < n; i++) {
		uint32_t index = rx->free_landings[--rx->n_free_landings];
		struct pmu_landing *landing = &rx->landings[index];
		struct msghdr *h = &rx->msgs[i].msg_hdr;

		landing->len = h->msg_flags & MSG_TRUNC ? 0 : rx->msgs[i].msg_len;
		landing->offset = 0;
		landing->lent = 0;
		landing->is_pending = true;
		landing->is_copied = rx->n_lent >= PMU_LANDINGS_LENT;
		read_control(d, h, landing);
		rx->pending[i] = index;
	}
}

/* ---- from landings to the channel ---- */

static void landing_done(struct pmu_rx *rx, uint32_t index)
{
	struct pmu_landing *landing = &rx->landings[index];

	if (!landing->is_pending && !landing->lent)
		rx->free_landings[rx->n_free_landings++] = index;
}

static void count_drop(struct pmu_dev *d, uint32_t rail, enum drop_reason reason)
{
	d->env.rails[rail < d->dev.n_rails ? rail : 0].drops[reason]++;
}

static void lend(struct pmu_rx *rx, uint32_t index, uint8_t *data, struct pm_rx *out)
{
	if (!rx->landings[index].lent++)
		rx->n_lent++;
	out->data = data;
	out->token = index;
}

static void copy(struct pmu_rx *rx, const uint8_t *data, uint32_t len, struct pm_rx *out)
{
	uint32_t slot = rx->free_slots[--rx->n_free_slots];

	out->data = rx->slots + (size_t)slot * rx->slot_bytes;
	out->token = TOKEN_SLOT + slot;
	copy_bytes(out->data, data, len);
	rx->copies++;
}

/* Gives the next datagram of a landing: 1, 0 (it was dropped), or -1: no slot to copy it to. */
static int hand_out(struct pmu_dev *d, uint32_t index, struct pm_rx *out)
{
	struct pmu_rx *rx = &d->rx;
	struct pmu_landing *landing = &rx->landings[index];
	uint8_t *data = landing->bytes + landing->offset;
	uint32_t len = landing->len - landing->offset;
	uint32_t rail = landing->rail;

	if (len > landing->segment)
		len = landing->segment;
	if (!len || rail >= d->dev.n_rails || len > d->payload) {
		landing->offset += len;
		count_drop(d, rail,
			   !len               ? DROP_TRUNCATED
			   : len > d->payload ? DROP_MALFORMED
					      : DROP_RAIL);
		return 0;
	}
	if (!landing->is_copied && !(landing->offset & 7))
		lend(rx, index, data, out);
	else if (rx->n_free_slots)
		copy(rx, data, len, out);
	else
		return -1;
	landing->offset += len;
	out->len = len;
	out->rail = rail;
	return 1;
}

/*
 * Lends up to @n datagrams of a landing in place, as long as they need no judgement; returns their
 * number. hand_out judges the others one by one.
 */
static int lend_run(struct pmu_dev *d, uint32_t index, struct pm_rx *out, int n)
{
	struct pmu_landing *landing = &d->rx.landings[index];
	uint32_t at = landing->offset, left = landing->len - at, len = landing->segment;
	int given = 0;

	if (landing->is_copied || landing->rail >= d->dev.n_rails || !len || len > d->payload)
		return 0;
	for (; given < n && left && !(at & 7); at += len, left -= len) {
		if (len > left)
			len = left;
		out[given++] = (struct pm_rx){.data = landing->bytes + at,
					      .len = len,
					      .rail = landing->rail,
					      .token = index};
	}
	landing->offset = at;
	if (given && !landing->lent)
		d->rx.n_lent++;
	landing->lent += (uint32_t)given;
	return given;
}

int pmu_rx_burst(struct pm_dev *dev, struct pm_rx *out, int n)
{
	struct pmu_dev *d = pmu_of(dev);
	struct pmu_rx *rx = &d->rx;
	int given = 0;

	if (rx->next_pending == rx->n_pending) {
		if (rx->fd < 0)
			return 0;
		receive(d);
	}
	while (given < n && rx->next_pending < rx->n_pending) {
		uint32_t index = rx->pending[rx->next_pending];
		struct pmu_landing *landing = &rx->landings[index];
		int got = lend_run(d, index, &out[given], n - given);

		if (!got)
			got = hand_out(d, index, &out[given]);
		if (got < 0)
			break;
		given += got;
		if (landing->offset >= landing->len) {
			landing->is_pending = false;
			landing_done(rx, index);
			rx->next_pending++;
		}
	}
	return given;
}

void pmu_rx_return(struct pm_dev *dev, uint64_t token)
{
	struct pmu_rx *rx = &pmu_of(dev)->rx;
	struct pmu_landing *landing;

	if (token >= TOKEN_SLOT) {
		assert(token - TOKEN_SLOT < rx->n_slots && rx->n_free_slots < rx->n_slots);
		rx->free_slots[rx->n_free_slots++] = (uint32_t)(token - TOKEN_SLOT);
		return;
	}
	assert(token < PMU_LANDINGS);
	landing = &rx->landings[token];
	assert(landing->lent);
	if (--landing->lent)
		return;
	rx->n_lent--;
	landing_done(rx, (uint32_t)token);
}
