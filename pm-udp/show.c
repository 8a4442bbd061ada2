// SPDX-License-Identifier: BSD-3-Clause
/*
 * show - sends a long run of packets without a copy into the kernel: sendfile of the pages that
 * they lie in. A run of 60 KiB takes 8 us this way and 13 us with a copy. The network reads the
 * pages until the peer has received them, so only packets that the channel keeps as they are until
 * their ack are sent like this.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/utsname.h>

#include "pm-udp/device.h"

/* Bytes. Shorter runs are copied as fast. */
#define SHOW_MIN 24576u
/* Buffers that the channel has at most without anything on its way. */
#define KEPT_BACK 16u
/*
 * Of a program with few messages under way no more than so many runs like the next one are in use.
 * They are those of its message that have just left, and those of the one before, as the peer
 * computes and acks later.
 */
#define OTHER_RUNS 3u
/*
 * While more than this part of the buffers is held back for packets that got lost, all runs are
 * copied.
 */
#define HELD_PART 8

bool pmu_show_is_possible(void)
{
	struct utsname name;
	unsigned int major, minor;

	/*
	 * before Linux 6.5 sendfile made a datagram of each page, or of as many as it found
	 * together
	 */
	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 5));
}

/*
 * Do the packets lie in the arena as the wire wants them: in one piece, if each but the last is
 * filled up to the socket's segment? No packet is longer than that.
 */
static uint32_t bytes_in_one_piece(const struct pmu_dev *d, const struct pmu_rail *rail,
				   uint32_t at, uint32_t n)
{
	const uint8_t *begin = rail->items[at % PMU_RING].packet->data;
	uint32_t bytes = 0;

	if (begin < d->arena.bytes || begin >= d->arena.bytes + d->arena.size)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct pm_packet *p = rail->items[(at + i) % PMU_RING].packet;

		if (!p->is_kept || p->more_len || p->data != begin + bytes ||
		    p->len > rail->segment)
			return 0;
		bytes += i + 1 < n ? rail->segment : p->len;
	}
	return bytes;
}

/* Little but this run of @n packets is on its way, and none waits behind it. */
static bool is_alone(const struct pmu_dev *d, const struct pmu_rail *rail, uint32_t n)
{
	const struct packetblocks *pool = &d->arena.pool;
	uint32_t in_use = d->arena.n_packets - pool->n_free - pool->n_held;

	return rail->tail - rail->head == n && in_use <= (OTHER_RUNS + 1) * n + KEPT_BACK;
}

/*
 * A copy by the kernel is cheap as long as this core's caches have the bytes, and the receiver of
 * copied bytes copies them out faster. Several runs leave sooner uncopied.
 */
static bool is_worth_it(const struct pmu_dev *d, const struct pmu_rail *rail,
			const struct pm_packet *first, uint32_t n)
{
	return first->is_past_caches || !is_alone(d, rail, n);
}

uint32_t pmu_show_bytes(const struct pmu_dev *d, const struct pmu_rail *rail, uint32_t at,
			uint32_t n, uint32_t segment)
{
	const struct pmu_item *first = &rail->items[at % PMU_RING];

	if (!d->dev.can_show || segment != rail->segment || n * segment < SHOW_MIN ||
	    first->peer != rail->connected ||
	    d->arena.pool.n_held > d->arena.n_packets / HELD_PART ||
	    !is_worth_it(d, rail, first->packet, n))
		return 0;
	return bytes_in_one_piece(d, rail, at, n);
}

/* The wire format allows pads. */
static void fill_up(const struct pmu_rail *rail, struct pm_packet *p)
{
	if (p->len < rail->segment)
		memset(p->data + p->len, 0, rail->segment - p->len);
}

int pmu_show_send(struct pmu_dev *d, struct pmu_rail *rail, uint32_t n, uint32_t bytes)
{
	ssize_t sent;
	off_t at = rail->items[rail->head % PMU_RING].packet->data - d->arena.bytes;

	for (uint32_t i = 0; i + 1 < n; i++)
		fill_up(rail, rail->items[(rail->head + i) % PMU_RING].packet);
	sent = sendfile(rail->fd, d->arena.fd, &at, bytes);
	if (sent < 0 && (errno == EINVAL || errno == EOPNOTSUPP || errno == EIO)) {
		d->dev.can_show = false;
		return -EINTR;
	}
	if (sent < 0)
		return -errno;
	rail->shown += n;
	for (uint32_t i = 0; i < n; i++)
		rail->items[(rail->head + i) % PMU_RING].packet->is_shown = true;
	/*
	 * a part has left as datagrams that make no sense, which the peer drops: what is missing is
	 * sent again
	 */
	if ((uint32_t)sent != bytes)
		d->dev.can_show = false;
	return (int)n;
}
