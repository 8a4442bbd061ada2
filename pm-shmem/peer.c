// SPDX-License-Identifier: BSD-3-Clause
/*
 * peer - contact, death and parting of the other processes. Owns the life of struct pm_link_peer:
 * it is made by peer_add or by the first message from a process, and kept while that process lives,
 * since the positions of the rings live in it. A process that closed (LEFT) or was killed (DEAD) is
 * let go of when its messages have been received and given back, and the composite has no more use
 * of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pm-shmem/bulk.h"
#include "pm-shmem/device.h"
#include "pm-shmem/liveness.h"

static struct pm_link_peer *get_peer(struct pms_link *link, uint32_t index)
{
	struct pms_slot *slots = link->seg.slots;
	struct pm_link_peer *peer = link->peers[index];

	if (peer)
		return peer;
	peer = aligned_alloc(PMS_LINE, (sizeof(*peer) + PMS_LINE - 1) & ~(size_t)(PMS_LINE - 1));
	if (!peer)
		return NULL;
	memset(peer, 0, sizeof(*peer));
	peer->index = index;
	peer->node = slots[index].node;
	peer->queue_tail = &peer->queue;
	peer->waker.slot = &slots[index];
	peer->waker.fd = -1;
	link->peers[index] = peer;
	return peer;
}

static void leave_inbound(struct pms_link *link, struct pm_link_peer *peer)
{
	if (!peer->is_inbound)
		return;
	peer->is_inbound = false;
	for (uint32_t i = 0; i < link->n_inbound; i++)
		if (link->inbound[i] == peer)
			link->inbound[i] = link->inbound[--link->n_inbound];
	if (link->hot == peer)
		link->hot = NULL;
}

/* Messages that wait to leave for the peer never do. */
static void drop_queue(struct pms_link *link, struct pm_link_peer *peer)
{
	pms_bulk_unsent(link, peer);
	pms_queue_drop(link, peer);
}

void pms_peer_free(struct pms_link *link, struct pm_link_peer *peer)
{
	uint32_t index = peer->index;

	leave_inbound(link, peer);
	drop_queue(link, peer);
	pms_bulk_fini(link, peer);
	if (peer->state == PMS_PEER_DEAD && !peer->is_reported)
		link->n_dying--;
	if (peer->waker.fd >= 0)
		close(peer->waker.fd);
	if (peer->tx_memory) {
		pms_ring_tx_fini(&peer->tx);
		pms_segment_unmap(&link->seg, PMS_PART_RING, peer->tx_memory);
	}
	if (peer->rx_memory) {
		pms_ring_rx_fini(&peer->rx);
		pms_segment_unmap(&link->seg, PMS_PART_RING, peer->rx_memory);
	}
	pms_segment_forget(&link->seg, index);
	link->contacts[index / 64] &= ~(1ull << (index & 63));
	link->peers[index] = NULL;
	free(peer);
}

/* ---- contact ---- */

static int connect_out(struct pms_link *link, struct pm_link_peer *peer)
{
	struct pms_segment *seg = &link->seg;
	int err;

	if (peer->tx_memory)
		return 0;
	/*
	 * both ways: once we can ask, the answer must not fail, and now another device may be taken
	 */
	err = pms_segment_reserve(seg, seg->index, peer->index);
	if (!err)
		err = pms_segment_reserve(seg, peer->index, seg->index);
	if (err)
		return err;
	err = pms_segment_map(seg, seg->index, peer->index, PMS_PART_RING, &peer->tx_memory);
	if (err)
		return err;
	err = pms_ring_tx_init(&peer->tx, peer->tx_memory, seg->ring, 0);
	if (err) {
		pms_segment_unmap(seg, PMS_PART_RING, peer->tx_memory);
		peer->tx_memory = NULL;
	}
	return err;
}

int pms_peer_add(struct pm_link *base, uint32_t node, const void *addr, size_t len,
		 struct pm_link_peer **ret_peer)
{
	struct pms_link *link = pms_of(base);
	struct pm_link_peer *peer;
	uint32_t index;
	int err = pms_segment_find(&link->seg, addr, len, &index);

	if (err == -EPIPE)
		snprintf(link->env.why, link->env.why_size,
			 "node %u: its process on this host has ended", node);
	if (err)
		return err;
	peer = get_peer(link, index);
	if (!peer)
		return -ENOMEM;
	if (peer->node != node)
		return -EINVAL;
	pms_peer_check(link, peer);
	if (peer->state != PMS_PEER_ALIVE) {
		snprintf(link->env.why, link->env.why_size, "node %u: %s", node, peer->why);
		return -EPIPE;
	}
	err = connect_out(link, peer);
	if (err) {
		snprintf(link->env.why, link->env.why_size,
			 "%s: no room for the ring to node %u: make the file system larger or "
			 "shmem.ring "
			 "smaller",
			 link->env.conf->shmem_dir, node);
		return err;
	}
	link->stats->peers += !peer->is_added;
	peer->is_added = true;
	peer->has_lost = false;
	*ret_peer = peer;
	return 0;
}

static int connect_in(struct pms_link *link, uint32_t index)
{
	struct pms_segment *seg = &link->seg;
	struct pm_link_peer *peer = get_peer(link, index);
	int err;

	if (!peer)
		return -ENOMEM;
	if (peer->is_inbound)
		return 0;
	err = pms_segment_map(seg, index, seg->index, PMS_PART_RING, &peer->rx_memory);
	if (err)
		return err;
	err = pms_ring_rx_init(&peer->rx, peer->rx_memory, seg->ring, seg->mtu, 0);
	if (err) {
		pms_segment_unmap(seg, PMS_PART_RING, peer->rx_memory);
		peer->rx_memory = NULL;
		return err;
	}
	peer->is_inbound = true;
	link->inbound[link->n_inbound++] = peer;
	return 0;
}

void pms_peer_meet(struct pms_link *link)
{
	const struct pms_slot *self = &link->seg.slots[link->seg.index];

	for (uint32_t i = 0; i < PMS_SLOTS; i++) {
		uint64_t bit = 1ull << (i & 63);
		uint64_t now = atomic_load_explicit(&self->contacts[i / 64], memory_order_acquire);

		if (!(now & bit) || link->contacts[i / 64] & bit)
			continue;
		/* short of memory: the bit stays new, and the next look tries again */
		if (i == link->seg.index || !connect_in(link, i))
			link->contacts[i / 64] |= bit;
	}
}

/* ---- death and parting ---- */

void pms_peer_kill(struct pms_link *link, struct pm_link_peer *peer, const char *why)
{
	if (peer->state == PMS_PEER_DEAD)
		return;
	peer->state = PMS_PEER_DEAD;
	peer->is_open = false;
	link->n_dying++;
	link->stats->peers_dead++;
	snprintf(peer->why, sizeof(peer->why), "process %u on this host: %s",
		 link->seg.slots[peer->index].pid, why);
	drop_queue(link, peer);
	pms_bulk_abort(link, peer);
}

void pms_peer_condemn(struct pms_link *link, struct pm_link_peer *peer, const char *why)
{
	pms_peer_kill(link, peer, why);
	leave_inbound(link, peer);
}

bool pms_is_gone(struct pm_link *base, struct pm_link_peer *peer)
{
	/* a first contact that was not met yet may be its own */
	return peer->state != PMS_PEER_ALIVE && !pms_has_contact(pms_of(base)) &&
	       !(peer->is_inbound && pms_ring_poll(&peer->rx));
}

void pms_peer_check(struct pms_link *link, struct pm_link_peer *peer)
{
	struct pms_segment *seg = &link->seg;
	bool is_held;

	if (peer->state != PMS_PEER_ALIVE)
		return;
	/* the lock before the state: one that leaves changes them in the other order */
	is_held = pms_slot_is_held(seg->dir.file, peer->index);
	if (atomic_load_explicit(&seg->slots[peer->index].state, memory_order_acquire) ==
	    PMS_SLOT_LEFT) {
		peer->state = PMS_PEER_LEFT;
		peer->is_open = false;
		snprintf(peer->why, sizeof(peer->why), "it closed its context");
		drop_queue(link, peer);
		pms_bulk_abort(link, peer);
	} else if (!is_held) {
		pms_peer_kill(link, peer, "it ended without closing its context");
	}
}

/* Whether nothing more comes from the peer and nothing of it is lent. */
static bool is_drained(const struct pm_link_peer *peer)
{
	return !peer->is_inbound || !pms_ring_poll(&peer->rx);
}

static bool is_free_to_go(const struct pm_link_peer *peer)
{
	if (peer->state == PMS_PEER_ALIVE || peer->is_added || !is_drained(peer))
		return false;
	if (peer->state == PMS_PEER_DEAD && !peer->is_reported)
		return false;
	return !peer->rx_memory || !pms_ring_is_lent(&peer->rx);
}

void pms_peer_check_all(struct pms_link *link)
{
	for (uint32_t i = 0; i < PMS_SLOTS; i++) {
		struct pm_link_peer *peer = link->peers[i];

		if (!peer)
			continue;
		pms_peer_check(link, peer);
		if (is_free_to_go(peer))
			pms_peer_free(link, peer);
	}
}

bool pms_peer_report(struct pms_link *link, uint32_t *ret_node)
{
	for (uint32_t i = 0; i < PMS_SLOTS; i++) {
		struct pm_link_peer *peer = link->peers[i];

		if (!peer || peer->state != PMS_PEER_DEAD || peer->is_reported || !is_drained(peer))
			continue;
		peer->is_reported = true;
		link->n_dying--;
		snprintf(link->env.why, link->env.why_size, "node %u: %s", peer->node, peer->why);
		*ret_node = peer->node;
		return true;
	}
	return false;
}

void pms_peer_del(struct pm_link *base, struct pm_link_peer *peer)
{
	struct pms_link *link = pms_of(base);

	drop_queue(link, peer);
	pms_bulk_abort(link, peer);
	link->stats->peers -= peer->is_added;
	peer->is_added = false;
	if (is_free_to_go(peer))
		pms_peer_free(link, peer);
}
