/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packetpool - the free transmit buffers of a packet device: what its tx_alloc and tx_free do, and
 * how a buffer comes back that was freed while the device still held it. Where the bytes lie is the
 * device's business. Inline, since every packet passes here twice.
 */
#ifndef PMCORE_UTIL_PACKETPOOL_H
#define PMCORE_UTIL_PACKETPOOL_H

#include <assert.h>
#include <stddef.h>

#include "pm_device.h"

struct packetpool {
	struct pm_packet *free; /* linked by next; the last that came back is the first to go */
	uint32_t n_free;
};

static inline void packetpool_put(struct packetpool *pool, struct pm_packet *p)
{
	p->is_freed = false;
	p->next = pool->free;
	pool->free = p;
	pool->n_free++;
}

/* An empty buffer, or NULL. */
static inline struct pm_packet *packetpool_take(struct packetpool *pool)
{
	struct pm_packet *p = pool->free;

	if (!p)
		return NULL;
	pool->free = p->next;
	pool->n_free--;
	p->next = NULL;
	p->len = 0;
	return p;
}

/* Its user needs it no more: back at once, or when the device lets go of it. */
static inline void packetpool_give(struct packetpool *pool, struct pm_packet *p)
{
	assert(!p->is_freed);
	if (p->busy)
		p->is_freed = true;
	else
		packetpool_put(pool, p);
}

/* The device holds it once less. */
static inline void packetpool_let_go(struct packetpool *pool, struct pm_packet *p)
{
	if (!--p->busy && p->is_freed)
		packetpool_put(pool, p);
}

#endif
