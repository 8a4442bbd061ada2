/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rings - the four rings of an AF_XDP socket: who may write how far. A ring has one producer and
 * one consumer, the kernel at one of the ends; indices run freely. Our index is kept in `ours` and
 * shown to the kernel by a release store (pairs with its acquire load). The kernel's is read by an
 * acquire load (pairs with its release store) into `theirs`. It is read only when the copy that we
 * have does not suffice.
 */
#ifndef PM_ETHERNET_RINGS_H
#define PM_ETHERNET_RINGS_H

#include <linux/if_xdp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0) /* another descriptor of the same packet follows (Linux 6.6) */
#endif

struct eth_ring {
	_Atomic uint32_t *producer, *consumer;
	_Atomic uint32_t *flags; /* XDP_RING_NEED_WAKEUP */
	void *entries;           /* struct xdp_desc (rx, tx) or uint64_t (fill, done) */
	uint32_t size;           /* entries, a power of two */
	uint32_t ours, theirs;   /* see above */
	void *map;
	size_t map_bytes;
};

/* An AF_XDP socket. Rings fill and done are shared with other processes when slots are. */
struct eth_rings {
	struct eth_ring rx, tx, fill, done;
};

/*
 * Maps the rings of a socket, fill and completion those of @owner; sizes in entries. Neither should
 * be bound: before Linux 6.4 that is -EBUSY. 0 or -errno, then nothing is mapped.
 */
int eth_rings_map(int fd, int owner, const uint32_t sizes[4], struct eth_rings *ret);
void eth_rings_unmap(struct eth_rings *rings);

static inline struct xdp_desc *eth_ring_desc(const struct eth_ring *r, uint32_t at)
{
	return &((struct xdp_desc *)r->entries)[at & (r->size - 1)];
}

static inline uint64_t *eth_ring_address(const struct eth_ring *r, uint32_t at)
{
	return &((uint64_t *)r->entries)[at & (r->size - 1)];
}

/* For a ring we produce: entries that may be written, at least @want if there are as many. */
static inline uint32_t eth_ring_room(struct eth_ring *r, uint32_t want)
{
	if (r->size - (r->ours - r->theirs) < want)
		r->theirs = atomic_load_explicit(r->consumer, memory_order_acquire);
	return r->size - (r->ours - r->theirs);
}

/* Gives the kernel the entries that were written, up to ours. */
static inline void eth_ring_submit(struct eth_ring *r)
{
	atomic_store_explicit(r->producer, r->ours, memory_order_release);
}

/* For a ring we consume: entries that can be read. */
static inline uint32_t eth_ring_ready(struct eth_ring *r)
{
	if (r->theirs == r->ours)
		r->theirs = atomic_load_explicit(r->producer, memory_order_acquire);
	return r->theirs - r->ours;
}

/* Gives the entries that were read, up to ours, back to the kernel. */
static inline void eth_ring_release(struct eth_ring *r)
{
	atomic_store_explicit(r->consumer, r->ours, memory_order_release);
}

static inline bool eth_ring_wants_wakeup(const struct eth_ring *r)
{
	return atomic_load_explicit(r->flags, memory_order_relaxed) & XDP_RING_NEED_WAKEUP;
}

#endif
