// SPDX-License-Identifier: BSD-3-Clause
/*
 * lane_send - packets of a lane on their way out. Either device has a pool of its own, and packets
 * of both may go either way. Those of the frames' pool are posted as they are, for the kernel
 * copies what goes by datagrams. Those of the datagrams' pool, which leave best in one piece, are
 * copied to go by frames.
 */
#include "pmcore/device/lane_private.h"
#include "pmcore/util/copy.h"

#include <errno.h>
#include <string.h>

struct pm_packet *lane_tx_alloc(struct pm_dev *dev)
{
	return lane_of(dev)->frames->ops->tx_alloc(lane_of(dev)->frames);
}

struct pm_packet *lane_tx_alloc_bulk(struct pm_dev *dev)
{
	struct lane_dev *l = lane_of(dev);
	struct pm_packet *packet = l->datagrams ? l->ops.tx_alloc(l->datagrams) : NULL;

	if (!packet)
		return lane_tx_alloc(dev);
	packet->is_bulk = true;
	return packet;
}

void lane_tx_free(struct pm_dev *dev, struct pm_packet *packet)
{
	struct lane_dev *l = lane_of(dev);

	if (packet->is_bulk)
		l->ops.tx_free(l->datagrams, packet);
	else
		l->frames->ops->tx_free(l->frames, packet);
}

/* Frames only when there is no datagram, so that a run is of one kind. */
uint32_t lane_tx_alloc_run(struct pm_dev *dev, bool is_bulk, uint32_t n,
			   struct pm_packet **ret_packets)
{
	struct lane_dev *l = lane_of(dev);
	uint32_t got = 0, i;

	if (is_bulk && l->datagrams)
		got = l->ops.tx_alloc_run(l->datagrams, true, n, ret_packets);
	for (i = 0; i < got; i++)
		ret_packets[i]->is_bulk = true;
	return got ? got : l->frames->ops->tx_alloc_run(l->frames, false, n, ret_packets);
}

void lane_tx_free_run(struct pm_dev *dev, struct pm_packet *const *packets, uint32_t n)
{
	struct lane_dev *l = lane_of(dev);
	uint32_t i, alike;

	for (i = 0; i < n; i += alike) {
		alike = 1;
		while (i + alike < n && packets[i + alike]->is_bulk == packets[i]->is_bulk)
			alike++;
		if (packets[i]->is_bulk)
			l->ops.tx_free_run(l->datagrams, packets + i, alike);
		else
			l->frames->ops->tx_free_run(l->frames, packets + i, alike);
	}
}

static void kick_datagrams(struct lane_dev *l)
{
	memset(l->posted, 0, sizeof(l->posted));
	l->ops.tx_kick(l->datagrams);
}

/* A datagram that is full leaves while the next one is filled. */
static int post_datagram(struct lane_dev *l, uint32_t rail, struct lane_peer *peer,
			 struct pm_packet *packet)
{
	int err = l->ops.tx_post(l->datagrams, rail, peer->datagrams, packet);

	if (err)
		return err;
	l->warmth = LANE_WARM_LOOKS;
	if (++l->posted[rail] == l->datagrams->burst)
		kick_datagrams(l);
	return 0;
}

static int post_frame(struct lane_dev *l, uint32_t rail, struct lane_peer *peer,
		      struct pm_packet *packet)
{
	struct pm_packet *copy;
	int err;

	if (!packet->is_bulk && !packet->more_len)
		return l->frames->ops->tx_post(l->frames, rail, peer->frames, packet);
	copy = l->frames->ops->tx_alloc(l->frames);
	if (!copy)
		return -EAGAIN;
	copy_bytes(copy->data, packet->data, packet->len);
	if (packet->more_len)
		copy_bytes(copy->data + packet->len, packet->more, packet->more_len);
	copy->len = pm_packet_bytes(packet);
	err = l->frames->ops->tx_post(l->frames, rail, peer->frames, copy);
	l->frames->ops->tx_free(l->frames, copy);
	return err;
}

int lane_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *dev_peer,
		 struct pm_packet *packet)
{
	struct lane_dev *l = lane_of(dev);
	struct lane_peer *peer = lane_peer_of(dev_peer);

	if (rail >= l->first)
		return post_datagram(l, rail - l->first, peer, packet);
	return post_frame(l, rail, peer, packet);
}

/* Datagrams as post_datagram. */
static uint32_t post_datagrams(struct lane_dev *l, uint32_t rail, struct lane_peer *peer,
			       struct pm_packet *const *packets, uint32_t n)
{
	uint32_t done = 0, room, want, got;

	do {
		room = l->datagrams->burst - l->posted[rail];
		want = n - done < room ? n - done : room;
		got = l->ops.tx_post_run(l->datagrams, rail, peer->datagrams, packets + done, want);
		done += got;
		l->posted[rail] += got;
		if (got == room)
			kick_datagrams(l);
	} while (done < n && got == want);
	if (done)
		l->warmth = LANE_WARM_LOOKS;
	return done;
}

uint32_t lane_tx_post_run(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *dev_peer,
			  struct pm_packet *const *packets, uint32_t n)
{
	struct lane_dev *l = lane_of(dev);
	struct lane_peer *peer = lane_peer_of(dev_peer);
	uint32_t done = 0;

	if (rail >= l->first)
		return post_datagrams(l, rail - l->first, peer, packets, n);
	while (done < n && !post_frame(l, rail, peer, packets[done]))
		done++;
	return done;
}

void lane_tx_kick(struct pm_dev *dev)
{
	struct lane_dev *l = lane_of(dev);

	l->frames->ops->tx_kick(l->frames);
	if (l->datagrams)
		kick_datagrams(l);
}
