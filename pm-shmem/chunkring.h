/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunkring - the bulk ring of one ordered pair: PMS_CHUNKS announcements, each with
 * PMS_CHUNK_BYTES of data behind it. Small enough to stay in the caches of both sides, so data is
 * copied twice at cache speed. One producer, one consumer; knows nothing of operations, only that
 * one chunk follows another.
 */
#ifndef PM_SHMEM_CHUNKRING_H
#define PM_SHMEM_CHUNKRING_H

#include <stdbool.h>

#include "pm-shmem/layout.h"

struct pms_chunk_tx {
	struct pms_bulk_head *head;
	uint8_t *data;
	uint64_t tail;  /* position of the next chunk to fill */
	uint64_t freed; /* consumer's head as last seen */
};

struct pms_chunk_rx {
	struct pms_bulk_head *head;
	const uint8_t *data;
	uint64_t next; /* position of the next chunk to read */
};

/* @memory: PMS_BULK_BYTES, zero at first. */
static inline void pms_chunk_tx_init(struct pms_chunk_tx *tx, void *memory)
{
	*tx = (struct pms_chunk_tx){.head = memory, .data = (uint8_t *)memory + PMS_PAGE};
}

static inline void pms_chunk_rx_init(struct pms_chunk_rx *rx, void *memory)
{
	*rx = (struct pms_chunk_rx){.head = memory, .data = (const uint8_t *)memory + PMS_PAGE};
}

static inline bool pms_chunk_has_room(struct pms_chunk_tx *tx)
{
	uint64_t head;

	if (tx->tail - tx->freed < PMS_CHUNKS)
		return true;
	/* acquire: the consumer's reads come before our overwriting. Pairs with pms_chunk_take. */
	head = atomic_load_explicit(&tx->head->head, memory_order_acquire);
	if (head - tx->freed <= tx->tail - tx->freed)
		tx->freed = head;
	return tx->tail - tx->freed < PMS_CHUNKS;
}

/* Where the data of the next chunk goes; there is room. */
static inline uint8_t *pms_chunk_data(const struct pms_chunk_tx *tx)
{
	return tx->data + tx->tail % PMS_CHUNKS * PMS_CHUNK_BYTES;
}

/* Publishes the next chunk as described by @what, whose seq is ignored. */
static inline void pms_chunk_put(struct pms_chunk_tx *tx, const struct pms_chunk *what)
{
	struct pms_chunk *chunk = &tx->head->chunks[tx->tail % PMS_CHUNKS];

	chunk->offset = what->offset;
	chunk->op = what->op;
	chunk->kind = what->kind;
	chunk->len = what->len;
	chunk->error = what->error;
	tx->tail++;
	/* release: whoever sees seq sees line and data. Pairs with pms_chunk_poll. */
	atomic_store_explicit(&chunk->seq, tx->tail, memory_order_release);
}

/* Whether a chunk is there. */
static inline bool pms_chunk_poll(const struct pms_chunk_rx *rx)
{
	const struct pms_chunk *chunk = &rx->head->chunks[rx->next % PMS_CHUNKS];

	/* acquire: pairs with the release in pms_chunk_put */
	return atomic_load_explicit(&chunk->seq, memory_order_acquire) == rx->next + 1;
}

/* Copies the announcement of the chunk that is there. False: nonsense. */
static inline bool pms_chunk_decode(const struct pms_chunk_rx *rx, struct pms_chunk *ret,
				    const uint8_t **ret_data)
{
	const struct pms_chunk *chunk = &rx->head->chunks[rx->next % PMS_CHUNKS];

	ret->offset = chunk->offset;
	ret->op = chunk->op;
	ret->kind = chunk->kind;
	ret->len = chunk->len;
	ret->error = chunk->error;
	*ret_data = rx->data + rx->next % PMS_CHUNKS * PMS_CHUNK_BYTES;
	return ret->len <= PMS_CHUNK_BYTES && ret->kind >= PMS_CHUNK_DATA &&
	       ret->kind <= PMS_CHUNK_CANCEL && ret->error <= 0;
}

/* The chunk has been read. */
static inline void pms_chunk_take(struct pms_chunk_rx *rx)
{
	rx->next++;
	/* release: our reads of the data come before. Pairs with pms_chunk_has_room. */
	atomic_store_explicit(&rx->head->head, rx->next, memory_order_release);
}

/*
 * Whether the producer sleeps until there is room; to be asked with a fence behind pms_chunk_take.
 */
static inline bool pms_chunk_is_blocked(const struct pms_chunk_rx *rx)
{
	return atomic_load_explicit(&rx->head->blocked, memory_order_relaxed);
}

#endif
