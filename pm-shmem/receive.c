// SPDX-License-Identifier: BSD-3-Clause
/*
 * receive - polling and releasing. The ring that brought the last message is looked at first; a poll that
 * finds nothing in it looks at the others and at first contacts, and only every few empty polls at what is
 * rarely new: released cells that nobody was told of, dead peers. With one active peer a poll that finds a
 * message reads one line.
 *
 * Cookie of a lent message: bits 0..31 position in the ring, 32..39 slot of the peer, 40..63 length;
 * SAVED + address for a restored one.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "pm-shmem/bulk.h"
#include "pm-shmem/device.h"

#define BURST 32             /* messages from one ring before the others get their turn */
#define IDLE_CHORES 16       /* empty polls between looks at rare things, power of two */
#define IDLE_CLOCK 64        /* empty polls between looks at the clock, power of two */
#define CHECK_NS 40000000ull /* between tests of who is alive */

static uint64_t coarse_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

void pms_publish(struct pms_link *link, struct pm_link_peer *peer)
{
	pms_ring_publish(&peer->rx);
	pms_wake_fence(&peer->waker);
	if (atomic_load_explicit(&peer->rx.heads->blocked, memory_order_relaxed))
		pms_wake_peer(link, peer);
}

void pms_publish_all(struct pms_link *link)
{
	for (uint32_t i = 0; i < link->n_inbound; i++)
		if (pms_ring_is_unpublished(&link->inbound[i]->rx))
			pms_publish(link, link->inbound[i]);
}

static inline void give_back(struct pms_link *link, struct pm_link_peer *peer, uint32_t position,
			     uint32_t len)
{
	if (unlikely(pms_ring_release(&peer->rx, position, len)))
		pms_publish(link, peer);
}

void pms_release(struct pm_link *base, uint64_t cookie)
{
	struct pms_link *link = pms_of(base);

	if (unlikely(!(cookie >> 40))) {
		pms_saved_release(link, (uint32_t)cookie);
		return;
	}
	give_back(link, link->peers[cookie >> 32 & 0xff], (uint32_t)cookie,
		  (uint32_t)(cookie >> 40));
}

static inline int lend(struct pms_link *link, struct pm_link_peer *peer, const void *data,
		       uint32_t len, uint32_t position, struct pm_inbound *ret)
{
	ret->buf = (void *)(uintptr_t)data;
	ret->len = len;
	ret->src = peer->node;
	ret->cookie = (uint64_t)position | (uint64_t)peer->index << 32 | (uint64_t)len << 40;
	link->stats->rx_messages++;
	link->stats->rx_bytes += len;
	return 1;
}

/* The message of a full cell; 0 when it was for us, not for the user, or is nonsense. */
static int deliver(struct pms_link *link, struct pm_link_peer *peer, uint64_t word,
		   struct pm_inbound *ret)
{
	uint32_t position = pms_ring_take(&peer->rx);
	struct pms_message message;

	if (unlikely(!pms_ring_decode(&peer->rx, position, word, &message))) {
		give_back(link, peer, position, 0);
		pms_peer_condemn(link, peer, "it wrote nonsense into its message ring");
		return 0;
	}
	if (message.kind >= PMS_KIND_READ) {
		pms_serve_request(link, peer, &message);
		give_back(link, peer, position, 0);
		return 0;
	}
	return lend(link, peer, message.data, message.len, position, ret);
}

/* Looks once at each inbound ring, going on behind the one that had its turn last. */
static int poll_rings(struct pms_link *link, struct pm_inbound *ret)
{
	for (uint32_t n = link->n_inbound; n > 0; n--) {
		uint32_t i = link->next_inbound < link->n_inbound ? link->next_inbound : 0;
		struct pm_link_peer *peer = link->inbound[i];
		uint64_t word = pms_ring_poll(&peer->rx);

		link->next_inbound = i + 1;
		if (!word)
			continue;
		if (deliver(link, peer, word, ret)) {
			link->hot = peer;
			link->burst = 0;
			return 1;
		}
	}
	return 0;
}

/* What need not be looked at in every poll. */
static void chores(struct pms_link *link)
{
	uint64_t now;

	pms_publish_all(link);
	if (link->idle & (IDLE_CLOCK - 1))
		return;
	now = coarse_ns();
	if (now - link->checked_ns < CHECK_NS)
		return;
	link->checked_ns = now;
	pms_peer_check_all(link);
}

/* What a poll does beside looking for messages. */
static void rounds(struct pms_link *link)
{
	if (link->n_queued)
		pms_send_queued(link);
	if (link->n_bulk)
		pms_bulk_progress(link);
	/* at once: a program that only sends polls rarely, and may be asked to stop by a first contact */
	if (unlikely(pms_has_contact(link)))
		pms_peer_meet(link);
	if ((++link->idle & (IDLE_CHORES - 1)) == 0)
		chores(link);
}

__attribute__((noinline)) static int receive_slow(struct pms_link *link, struct pm_inbound *ret)
{
	if (unlikely(link->saved != NULL))
		return pms_saved_take(link, ret);
	/* a flood from one peer must not hold up the rest */
	if (link->burst >= BURST) {
		link->burst = 0;
		link->hot = NULL;
		rounds(link);
	}
	if (poll_rings(link, ret))
		return 1;
	rounds(link);
	if (unlikely(link->n_dying) && pms_peer_report(link, &ret->src))
		return -EPIPE;
	return 0;
}

int pms_receive(struct pm_link *base, struct pm_inbound *ret)
{
	struct pms_link *link = pms_of(base);
	struct pm_link_peer *hot = link->hot;
	uint64_t word;

	if (likely(hot != NULL) && likely(link->burst < BURST)) {
		word = pms_ring_poll(&hot->rx);
		if (word) {
			uint32_t len = (uint32_t)(word >> 32) & 0xffffff;

			link->burst++;
			/* the common case of deliver */
			if (likely(word >> 56 == PMS_KIND_INLINE && len - 1 < PMS_INLINE)) {
				const void *data = pms_ring_next(&hot->rx)->data;

				return lend(link, hot, data, len, pms_ring_take(&hot->rx), ret);
			}
			if (deliver(link, hot, word, ret))
				return 1;
		}
	}
	return receive_slow(link, ret);
}
