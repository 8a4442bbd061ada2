// SPDX-License-Identifier: BSD-3-Clause
/*
 * sleep - arming: everything that can end a sleep is flagged first, then looked at once more.
 * Wakers are senders of messages and chunks (our slot's sleeping flag) and consumers that make room
 * (the blocked flag of the ring we wait for). A killed peer wakes nobody: with peers in contact a
 * sleep has an end.
 */
#include "pm-shmem/bulk.h"
#include "pm-shmem/device.h"

#define SLEEP_NS 100000000ull /* longest sleep with peers in contact: their deaths are found then */

int pms_poll_fds(struct pm_link *base, int *fds, int room)
{
	if (room < 1)
		return 0;
	fds[0] = pms_of(base)->fifo;
	return 1;
}

static void set_blocked(struct pm_link_peer *peer, bool is_blocked)
{
	if (peer->is_blocked == is_blocked)
		return;
	peer->is_blocked = is_blocked;
	atomic_store_explicit(&peer->tx.heads->blocked, is_blocked, memory_order_relaxed);
}

/* Flags the rings we wait for room in; returns whether any peer is in contact. */
static bool flag_blocked(struct pms_link *link)
{
	bool has_peers = false;

	for (uint32_t i = 0; i < PMS_SLOTS; i++) {
		struct pm_link_peer *peer = link->peers[i];

		if (!peer)
			continue;
		has_peers = true;
		if (peer->tx_memory)
			set_blocked(peer, peer->starved || peer->queue);
		pms_bulk_flag(peer, true);
	}
	return has_peers;
}

/* Now what was refused may be sent. */
static bool is_fed(struct pm_link_peer *peer)
{
	if (peer->is_starved_post && pms_ring_has_cells(&peer->tx, pms_cells_of(peer->starved)))
		return true;
	return pms_ring_has_room(&peer->tx, peer->starved);
}

/* Room has come where there was none. */
static bool has_room(struct pm_link_peer *peer)
{
	if (peer->queue)
		return peer->queue == &peer->in_place ||
		       pms_ring_has_room(&peer->tx, peer->queue->len);
	if (!peer->starved || !is_fed(peer))
		return false;
	peer->starved = 0;
	return true;
}

static bool has_work(struct pms_link *link)
{
	if (link->saved || link->n_dying || pms_has_contact(link))
		return true;
	for (uint32_t i = 0; i < link->n_inbound; i++)
		if (pms_ring_poll(&link->inbound[i]->rx))
			return true;
	for (uint32_t i = 0; i < PMS_SLOTS; i++)
		if (link->peers[i] &&
		    (has_room(link->peers[i]) || pms_bulk_has_work(link->peers[i])))
			return true;
	return false;
}

int pms_arm(struct pm_link *base, uint64_t *timeout_ns)
{
	struct pms_link *link = pms_of(base);
	bool has_peers;

	pms_publish_all(link);
	if (link->n_queued)
		pms_send_queued(link);
	has_peers = flag_blocked(link);
	link->is_armed = true;
	if (++link->sleeps == 0)
		link->sleeps = 1;
	/*
	 * fences: our flags are visible before the look below, or the other side's stores are seen
	 * by it
	 */
	pms_sleep_begin(&link->seg.slots[link->seg.index], link->sleeps);
	if (has_work(link)) {
		pms_disarm(base);
		return 1;
	}
	if (has_peers && *timeout_ns > SLEEP_NS)
		*timeout_ns = SLEEP_NS;
	return 0;
}

void pms_disarm(struct pm_link *base)
{
	struct pms_link *link = pms_of(base);

	if (!link->is_armed)
		return;
	link->is_armed = false;
	pms_sleep_end(&link->seg.slots[link->seg.index], link->fifo);
	for (uint32_t i = 0; i < PMS_SLOTS; i++) {
		struct pm_link_peer *peer = link->peers[i];

		if (peer && peer->tx_memory)
			set_blocked(peer, false);
		if (peer)
			pms_bulk_flag(peer, false);
	}
	/* the next empty poll does all chores: time has passed unseen */
	link->idle = UINT32_MAX;
}
