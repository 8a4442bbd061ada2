/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packetblock - the free transmit buffers of a device that sends many packets in one piece. The
 * buffers of a block lie one behind the other and are handed out in that order, so what is taken in
 * a row can leave as one range of memory. A block whose buffers are all back begins again with its
 * first one: a program that has one packet on its way uses the same few cache lines for ever.
 *
 * When no block is whole, single buffers that have come back serve as well, so packets that wait
 * for long keep no others from being taken. Where the bytes lie is the device's business. Inline,
 * since every packet passes here twice.
 *
 * A block that is whole again, and none of whose packets was shown to the network
 * (pm_packet.is_shown), is the next one to be taken: its bytes are in this core's caches. One of
 * which some were shown is taken after those that have been whole for longer. So runs cross from
 * one block into the next one in memory, and a buffer rests for a while: its cache lines may still
 * be on their way to a reader. As long as enough others rest, no block is taken for the first time:
 * its memory would have to be found first.
 *
 * The network may still read the bytes of a shown packet that is freed unacked. Its buffer is held
 * back. When the rest of its block is free the device gives the block other memory (renew), and all
 * of it can be taken.
 */
#ifndef PMCORE_UTIL_PACKETBLOCK_H
#define PMCORE_UTIL_PACKETBLOCK_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "pm_device.h"

#define PACKETBLOCK_MAX 64u /* buffers of a block */
#define PACKETBLOCK_NONE UINT32_MAX

struct packetblock {
	uint64_t free;       /* bit i: its buffer i can be taken */
	uint64_t held;       /* bit i: its buffer i is held back */
	uint32_t next, prev; /* of its list, PACKETBLOCK_NONE ends */
	bool was_shown;      /* some packet that came back since it was last begun */
};

/* Blocks of which some buffers are free, or all. The one being taken from is in no list. */
struct packetblock_list {
	uint32_t head, tail; /* PACKETBLOCK_NONE: it is empty */
};

struct packetblocks {
	struct pm_packet *packets; /* block b has those from b * per_block on */
	struct packetblock *blocks;
	uint32_t n_blocks, per_block;
	uint64_t inverse; /* of per_block: 2^32 over it, rounded up */
	uint64_t whole;   /* the bits of a block with all of them free */
	uint32_t n_rest;  /* so many whole blocks rest before a new one is taken */
	/* blocks that have been taken from; the others follow them in the array */
	uint32_t n_taken;
	uint32_t n_whole; /* those of them in the list of whole ones */
	uint32_t current; /* buffers are taken from this one */
	/* ... from this bit on; what has come back before it waits for another turn */
	uint32_t cursor;
	struct packetblock_list wholes, parts;
	/* whole blocks that need no rest, the last one first; each leads to the next */
	uint32_t warm;
	uint32_t n_free;
	uint32_t n_held; /* buffers held back */
	/*
	 * Gives the block other memory at the same place; false: that failed. NULL: no packet is
	 * ever shown.
	 */
	bool (*renew)(struct packetblocks *all, uint32_t block);
};

static inline void packetblock_append(struct packetblocks *all, struct packetblock_list *list,
				      uint32_t b)
{
	struct packetblock *block = &all->blocks[b];

	block->next = PACKETBLOCK_NONE;
	block->prev = list->tail;
	if (list->tail != PACKETBLOCK_NONE)
		all->blocks[list->tail].next = b;
	else
		list->head = b;
	list->tail = b;
}

static inline void packetblock_unlink(struct packetblocks *all, struct packetblock_list *list,
				      uint32_t b)
{
	struct packetblock *block = &all->blocks[b];

	if (block->prev == PACKETBLOCK_NONE)
		list->head = block->next;
	else
		all->blocks[block->prev].next = block->next;
	if (block->next != PACKETBLOCK_NONE)
		all->blocks[block->next].prev = block->prev;
	else
		list->tail = block->prev;
}

/*
 * All of @packets, @n_blocks times @per_block (1..PACKETBLOCK_MAX), are free at first. @n_rest:
 * whole blocks that rest before a new one is taken. 0 or -ENOMEM; the caller keeps the array and
 * calls packetblocks_fini.
 */
static inline int packetblocks_init(struct packetblocks *all, struct pm_packet *packets,
				    uint32_t n_blocks, uint32_t per_block, uint32_t n_rest)
{
	uint32_t b;

	assert(n_blocks && per_block && per_block <= PACKETBLOCK_MAX);
	assert((uint64_t)n_blocks * per_block * per_block <= 1ull << 32);
	*all = (struct packetblocks){.packets = packets,
				     .n_blocks = n_blocks,
				     .per_block = per_block,
				     .inverse = ((1ull << 32) + per_block - 1) / per_block,
				     .whole = UINT64_MAX >> (PACKETBLOCK_MAX - per_block),
				     .n_rest = n_rest,
				     .n_taken = 1,
				     .wholes = {PACKETBLOCK_NONE, PACKETBLOCK_NONE},
				     .parts = {PACKETBLOCK_NONE, PACKETBLOCK_NONE},
				     .warm = PACKETBLOCK_NONE,
				     .n_free = n_blocks * per_block};
	all->blocks = calloc(n_blocks, sizeof(*all->blocks));
	if (!all->blocks)
		return -ENOMEM;
	for (b = 0; b < n_blocks; b++)
		all->blocks[b].free = all->whole;
	return 0;
}

static inline void packetblocks_fini(struct packetblocks *all)
{
	free(all->blocks);
	all->blocks = NULL;
}

/*
 * The whole block to go on with: the one that is next in memory, or the one that has been whole for
 * longest.
 */
static inline uint32_t packetblock_whole(const struct packetblocks *all)
{
	uint32_t b = all->current + 1;

	return b < all->n_taken && all->blocks[b].free == all->whole ? b : all->wholes.head;
}

/* The current block is used up: goes on with another one, which there is. */
static inline void packetblock_turn(struct packetblocks *all)
{
	bool has_new = all->n_taken < all->n_blocks;

	if (all->blocks[all->current].free)
		packetblock_append(all, &all->parts, all->current);
	all->cursor = 0;
	if (all->warm != PACKETBLOCK_NONE) {
		all->current = all->warm;
		all->warm = all->blocks[all->current].next;
	} else if (all->n_whole && (all->n_whole >= all->n_rest || !has_new)) {
		all->current = packetblock_whole(all);
		packetblock_unlink(all, &all->wholes, all->current);
		all->n_whole--;
	} else if (has_new) {
		all->current = all->n_taken++;
	} else {
		all->current = all->parts.head;
		packetblock_unlink(all, &all->parts, all->current);
	}
	all->blocks[all->current].was_shown = false;
}

/* An empty buffer, or NULL. */
static inline struct pm_packet *packetblocks_take(struct packetblocks *all)
{
	struct packetblock *block = &all->blocks[all->current];
	uint64_t ahead = all->cursor < all->per_block ? block->free >> all->cursor : 0;
	struct pm_packet *p;
	uint32_t bit;

	if (__builtin_expect(!ahead, 0)) {
		if (!all->n_free)
			return NULL;
		packetblock_turn(all);
		block = &all->blocks[all->current];
		ahead = block->free;
	}
	bit = all->cursor + (uint32_t)__builtin_ctzll(ahead);
	block->free &= ~(1ull << bit);
	all->cursor = bit + 1;
	all->n_free--;
	p = &all->packets[all->current * all->per_block + bit];
	p->next = NULL;
	p->len = 0;
	return p;
}

/*
 * The next up to @most buffers of the current block that lie in a row; their number, 0: none is
 * left in it.
 */
static inline uint32_t packetblock_take_row(struct packetblocks *all, uint32_t most,
					    struct pm_packet **ret_packets)
{
	struct packetblock *block = &all->blocks[all->current];
	uint64_t ahead = all->cursor < all->per_block ? block->free >> all->cursor : 0;
	uint32_t bit, n, i;
	struct pm_packet *p;

	if (!ahead || !most)
		return 0;
	bit = all->cursor + (uint32_t)__builtin_ctzll(ahead);
	ahead = block->free >> bit;
	n = ~ahead ? (uint32_t)__builtin_ctzll(~ahead) : PACKETBLOCK_MAX;
	n = n < most ? n : most;
	block->free &= ~(UINT64_MAX >> (PACKETBLOCK_MAX - n) << bit);
	all->cursor = bit + n;
	all->n_free -= n;
	p = &all->packets[all->current * all->per_block + bit];
	for (i = 0; i < n; i++, p++) {
		p->next = NULL;
		p->len = 0;
		ret_packets[i] = p;
	}
	return n;
}

/* Up to @n empty buffers, as packetblocks_take hands them out one by one; their number. */
static inline uint32_t packetblocks_take_run(struct packetblocks *all, uint32_t n,
					     struct pm_packet **ret_packets)
{
	uint32_t done = 0, got;

	while (done < n) {
		got = packetblock_take_row(all, n - done, ret_packets + done);
		done += got;
		if (got)
			continue;
		if (!all->n_free)
			break;
		packetblock_turn(all);
	}
	return done;
}

/* It is whole. */
static inline void packetblock_rest(struct packetblocks *all, uint32_t b)
{
	if (all->blocks[b].was_shown) {
		packetblock_append(all, &all->wholes, b);
		all->n_whole++;
	} else {
		all->blocks[b].next = all->warm;
		all->warm = b;
	}
}

/*
 * One of its buffers that are in use less: whole now, it waits for its turn. @had_free: it had free
 * ones before.
 */
static inline void packetblock_came_back(struct packetblocks *all, uint32_t b, bool had_free)
{
	struct packetblock *block = &all->blocks[b];

	if (b == all->current) {
		if (block->free == all->whole)
			all->cursor = 0;
	} else if (block->free == all->whole) {
		if (had_free)
			packetblock_unlink(all, &all->parts, b);
		packetblock_rest(all, b);
	} else if (!had_free && block->free) {
		packetblock_append(all, &all->parts, b);
	}
}

/* The network may still read the buffer: it is held back. */
static inline void packetblocks_hold(struct packetblocks *all, uint32_t b, uint64_t bit)
{
	all->blocks[b].held |= bit;
	all->n_held++;
}

/*
 * Nothing of the block is in use but what is held back: with other memory all of it can be taken.
 */
static inline void packetblocks_renew(struct packetblocks *all, uint32_t b)
{
	struct packetblock *block = &all->blocks[b];
	uint32_t n = (uint32_t)__builtin_popcountll(block->held);
	bool had_free = block->free;

	if ((block->free | block->held) != all->whole || !all->renew(all, b))
		return;
	all->n_held -= n;
	all->n_free += n;
	block->held = 0;
	block->free = all->whole;
	packetblock_came_back(all, b, had_free);
}

static inline void packetblocks_put(struct packetblocks *all, struct pm_packet *p)
{
	/* a division costs as much as all the rest; this is exact up to 2^32 / per_block buffers */
	uint32_t at = (uint32_t)(p - all->packets), b = (uint32_t)(at * all->inverse >> 32);
	struct packetblock *block = &all->blocks[b];
	uint64_t bit = 1ull << (at - b * all->per_block);
	bool is_read = p->is_shown && p->is_kept, had_free = block->free;

	block->was_shown |= p->is_shown;
	p->is_freed = false;
	p->is_shown = false;
	p->is_kept = false;
	p->is_past_caches = false;
	if (__builtin_expect(is_read, 0)) {
		packetblocks_hold(all, b, bit);
	} else {
		block->free |= bit;
		all->n_free++;
		packetblock_came_back(all, b, had_free);
	}
	if (__builtin_expect(block->held != 0, 0))
		packetblocks_renew(all, b);
}

/* Those of @packets at its begin that lie in a row in one block, and come back whole at once. */
static inline uint32_t packetblocks_put_row(struct packetblocks *all,
					    struct pm_packet *const *packets, uint32_t n)
{
	uint32_t at = (uint32_t)(packets[0] - all->packets);
	uint32_t b = (uint32_t)(at * all->inverse >> 32), bit = at - b * all->per_block, i;
	struct packetblock *block = &all->blocks[b];
	bool had_free = block->free;

	if (n > all->per_block - bit)
		n = all->per_block - bit;
	for (i = 0; i < n; i++) {
		struct pm_packet *p = packets[0] + i;

		if (p != packets[i] || p->busy || (p->is_shown && p->is_kept))
			break;
		block->was_shown |= p->is_shown;
		p->is_freed = false;
		p->is_shown = false;
		p->is_kept = false;
		p->is_past_caches = false;
	}
	if (!i)
		return 0;
	block->free |= UINT64_MAX >> (PACKETBLOCK_MAX - i) << bit;
	all->n_free += i;
	packetblock_came_back(all, b, had_free);
	if (__builtin_expect(block->held != 0, 0))
		packetblocks_renew(all, b);
	return i;
}

/* Its user needs it no more: back at once, or when the device lets go of it. */
static inline void packetblocks_give(struct packetblocks *all, struct pm_packet *p)
{
	assert(!p->is_freed);
	if (p->busy)
		p->is_freed = true;
	else
		packetblocks_put(all, p);
}

/* The same for @n packets. */
static inline void packetblocks_give_run(struct packetblocks *all, struct pm_packet *const *packets,
					 uint32_t n)
{
	uint32_t done = 0, row;

	for (; done < n; done += row) {
		row = packetblocks_put_row(all, packets + done, n - done);
		if (row)
			continue;
		packetblocks_give(all, packets[done]);
		row = 1;
	}
}

/* The device holds it once less. */
static inline void packetblocks_let_go(struct packetblocks *all, struct pm_packet *p)
{
	if (!--p->busy && p->is_freed)
		packetblocks_put(all, p);
}

#endif
