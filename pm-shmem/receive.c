// SPDX-License-Identifier: BSD-3-Clause
/*
 * receive - polling and releasing. The ring that brought the last message is looked at first. A
 * poll that finds nothing in it looks at the others and at first contacts. Only every few empty
 * polls look at what is rarely new: released cells that nobody was told of, dead peers. With one
 * active peer a poll that finds a message reads one line.
 *
 * Cookie of a lent message: bits 0..31 position in the ring, 32..39 slot of the peer, 40..47 cells,
 * 48..63 lines of the byte ring; the number of a restored one, which has no cells.
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
	pms_wake_fence();
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
			     uint32_t cells, uint32_t bytes)
{
	if (unlikely(pms_ring_release(&peer->rx, position, cells, bytes)))
		pms_publish(link, peer);
}

void pms_release(struct pm_link *base, uint64_t cookie)
{
	struct pms_link *link = pms_of(base);

	if (unlikely(!(cookie >> 40))) {
		pms_saved_release(link, (uint32_t)cookie);
		return;
	}
	give_back(link, link->peers[cookie >> 32 & 0xff], (uint32_t)cookie, cookie >> 40 & 0xff,
		  (uint32_t)(cookie >> 48) * PMS_LINE);
}

static inline void take(struct pm_link_peer *peer, const struct pms_message *message,
			struct pm_inbound *ret)
{
	uint32_t position = pms_ring_take(&peer->rx, message->cells);
	uint64_t lines = message->kind == PMS_KIND_BYTES ? message->len / PMS_LINE : 0;

	ret->buf = (void *)(uintptr_t)message->data;
	ret->len = message->len;
	ret->src = peer->node;
	ret->cookie = (uint64_t)position | (uint64_t)peer->index << 32 |
		      (uint64_t)message->cells << 40 | lines << 48;
}

static inline int lend(struct pms_link *link, struct pm_link_peer *peer,
		       const struct pms_message *message, struct pm_inbound *ret)
{
	take(peer, message, ret);
	link->stats->rx_messages++;
	link->stats->rx_bytes += message->len;
	return 1;
}

/*
 * A one-sided operation of the peer begins. Without memory the peer can't be answered: it waits
 * until we are dead to it.
 */
static void serve(struct pms_link *link, struct pm_link_peer *peer,
		  const struct pms_message *message)
{
	int err = pms_serve_request(link, peer, message);

	if (err == -EINVAL)
		pms_peer_condemn(link, peer, "it asked for two one-sided operations of one name");
	else if (err)
		pms_peer_kill(link, peer, "no memory to serve its one-sided operation");
}

/*
 * The message of which the word is there: 1, or 2 as receive(); 0 when it was for us, not for the
 * user, or is nonsense.
 */
static int deliver(struct pms_link *link, struct pm_link_peer *peer, uint64_t word,
		   struct pm_inbound *ret)
{
	struct pms_message message;
	uint32_t position;

	if (unlikely(!pms_ring_decode(&peer->rx, peer->rx.next, word, &message))) {
		position = pms_ring_take(&peer->rx, 1);
		give_back(link, peer, position, 1, 0);
		pms_peer_condemn(link, peer, "it wrote nonsense into its message ring");
		return 0;
	}
	if (message.kind == PMS_KIND_CARRIED) {
		take(peer, &message, ret);
		return 2;
	}
	if (message.kind >= PMS_KIND_READ) {
		position = pms_ring_take(&peer->rx, message.cells);
		serve(link, peer, &message);
		give_back(link, peer, position, message.cells, 0);
		return 0;
	}
	return lend(link, peer, &message, ret);
}

/*
 * Looks once at each inbound ring but the hot one, which had its look, going on behind the one that
 * had its turn last.
 */
static int poll_rings(struct pms_link *link, struct pm_inbound *ret)
{
	for (uint32_t n = link->n_inbound; n > 0; n--) {
		uint32_t i = link->next_inbound < link->n_inbound ? link->next_inbound : 0;
		struct pm_link_peer *peer = link->inbound[i];
		uint64_t word = peer == link->hot ? 0 : pms_ring_poll(&peer->rx);
		int got;

		link->next_inbound = i + 1;
		if (!word)
			continue;
		got = deliver(link, peer, word, ret);
		if (got) {
			link->hot = peer;
			link->burst = 0;
			return got;
		}
	}
	return 0;
}

/* The work that is not needed in every poll. */
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

/* The work of a poll beside looking for messages. */
static void rounds(struct pms_link *link)
{
	if (link->n_queued)
		pms_send_queued(link);
	if (link->n_bulk)
		pms_bulk_progress(link);
	/*
	 * at once: a program that only sends polls rarely, and may be asked to stop by a first
	 * contact
	 */
	if (unlikely(pms_has_contact(link)))
		pms_peer_meet(link);
	if ((++link->idle & (IDLE_CHORES - 1)) == 0)
		chores(link);
}

__attribute__((noinline)) static int receive_slow(struct pms_link *link, struct pm_inbound *ret)
{
	int got;

	if (unlikely(link->saved != NULL))
		return pms_saved_take(link, ret);
	/* a flood from one peer must not hold up the rest */
	if (link->burst >= BURST) {
		link->burst = 0;
		link->hot = NULL;
		rounds(link);
	}
	got = poll_rings(link, ret);
	if (got)
		return got;
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
	int got;

	if (likely(hot != NULL) && likely(link->burst < BURST)) {
		word = pms_ring_poll(&hot->rx);
		if (word) {
			struct pms_message message = {.len = (uint32_t)(word >> 32) & 0xffffff,
						      .kind = (uint32_t)(word >> 56)};

			link->burst++;
			/* the common case of deliver */
			if (likely(message.kind == PMS_KIND_INLINE &&
				   message.len - 1 < hot->rx.max_inline)) {
				message.data =
					pms_ring_body(hot->rx.cells, hot->rx.next & hot->rx.mask);
				message.cells = pms_cells_of(message.len);
				return lend(link, hot, &message, ret);
			}
			got = deliver(link, hot, word, ret);
			if (got)
				return got;
		}
	}
	return receive_slow(link, ret);
}

uint32_t pms_receive_more(struct pm_link *base, uint64_t cookie, struct iovec *ret_parts,
			  uint32_t room)
{
	struct pms_link *link = pms_of(base);
	struct pm_link_peer *peer = link->peers[cookie >> 32 & 0xff];
	uint32_t n = 0, cells = cookie >> 40 & 0xff;
	struct pms_message message;
	uint64_t word;

	/* a restored one, or others have come behind it already */
	if (!cells || peer->rx.next != (uint32_t)cookie + cells)
		return 0;
	/* to look into the next line costs the sender time, if nothing is there yet */
	if (link->idle != link->idle_before) {
		link->idle_before = link->idle;
		return 0;
	}
	for (; n < room && link->burst < BURST; n++) {
		word = pms_ring_poll(&peer->rx);
		if (word >> 56 != PMS_KIND_INLINE ||
		    !pms_ring_decode(&peer->rx, peer->rx.next, word, &message))
			break;
		link->burst++;
		pms_ring_take_with(&peer->rx, (uint32_t)cookie, message.cells);
		ret_parts[n] = (struct iovec){(void *)(uintptr_t)message.data, message.len};
		link->stats->rx_bytes += message.len;
	}
	link->stats->rx_messages += n;
	return n;
}
