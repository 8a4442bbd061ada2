/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring - the message ring of one ordered pair: one producer, one consumer, no lock, no atomic
 * read-modify-write. Works on memory it is given; knows no segment, process or system call.
 *
 *   cells  64-byte lines; a message of up to PMS_INLINE bytes is one of them and moves as one line
 *   bytes  longer messages, contiguous; the cell says where
 *
 * Producer: a long message may be filled in place, one at a time (reserve ... send_reserved); messages are
 * ordered by the moment they are sent, not reserved. Consumer: messages are lent in place (poll, take) and
 * released in any order; the freed prefix is published a quarter of the ring at a time, or when idle.
 *
 * What the other side wrote is not trusted: pms_ring_decode and the head check are the two places where it
 * comes in.
 */
#ifndef PM_SHMEM_RING_H
#define PM_SHMEM_RING_H

#include <stdbool.h>
#include <string.h>

#include "pm-shmem/layout.h"

struct pms_ring_tx {
	struct pms_cell *cells;
	uint32_t tail;  /* position of the next cell to fill */
	uint32_t limit; /* position that may not be filled yet */
	uint32_t mask;  /* cells - 1 */
	uint32_t freed; /* consumer's head as last seen */
	uint8_t *bytes;
	struct pms_ring_head *heads;
	uint64_t *marks;     /* per cell: byte position that is free once the cell is */
	uint64_t byte_tail;  /* position of the next byte to lend, counted without wrapping */
	uint64_t byte_head;  /* position of the first byte that may still be read */
	uint64_t open_mark;  /* byte_tail before the open reservation */
	uint64_t open_start; /* position of the open reservation */
	uint32_t open_len;   /* its length, 0 = none is open */
	uint32_t capacity;   /* of bytes, power of two */
};

struct pms_ring_rx {
	const struct pms_cell *cells;
	uint32_t next;        /* position of the next cell to read */
	uint32_t mask;        /* cells - 1 */
	uint32_t free;        /* all cells before it have been released */
	uint32_t published;   /* what the producer knows of it */
	uint32_t early;       /* cells released behind one that is not */
	uint32_t freed_bytes; /* released since the last publication */
	uint32_t capacity;    /* of bytes */
	uint32_t max_len;     /* longest message, bytes */
	const uint8_t *bytes;
	struct pms_ring_head *heads;
	uint64_t *released; /* bit per cell: released early */
};

/* What a cell says. */
struct pms_message {
	const void *data;
	uint32_t len;  /* bytes */
	uint32_t kind; /* enum pms_kind */
};

/* @memory: pms_ring_bytes(ring) bytes, zero at first; @start: position of the first message.
 * -ENOMEM. The memory stays the caller's. */
int pms_ring_tx_init(struct pms_ring_tx *tx, void *memory, uint32_t ring, uint32_t start);
void pms_ring_tx_fini(struct pms_ring_tx *tx);
int pms_ring_rx_init(struct pms_ring_rx *rx, void *memory, uint32_t ring, uint32_t max_len,
		     uint32_t start);
void pms_ring_rx_fini(struct pms_ring_rx *rx);

/* Looks how far the consumer is; true if there is a cell to fill. */
bool pms_ring_refresh(struct pms_ring_tx *tx);

static inline bool pms_ring_has_cell(struct pms_ring_tx *tx)
{
	return tx->tail != tx->limit || pms_ring_refresh(tx);
}

/* Publishes the next cell, whose data is written. */
static inline void pms_ring_seal(struct pms_ring_tx *tx, uint32_t len, uint32_t kind)
{
	struct pms_cell *cell = &tx->cells[tx->tail & tx->mask];

	tx->marks[tx->tail & tx->mask] = tx->open_len ? tx->open_mark : tx->byte_tail;
	tx->tail++;
	/* release: whoever sees the word sees the message. Pairs with pms_ring_poll. */
	atomic_store_explicit(&cell->word,
			      (uint64_t)tx->tail | (uint64_t)len << 32 | (uint64_t)kind << 56,
			      memory_order_release);
}

/*
 * Fills and publishes a cell. @data: at most PMS_INLINE bytes in room that is a multiple of 8.
 * There is a cell: pms_ring_has_cell.
 */
static inline void pms_ring_put(struct pms_ring_tx *tx, const void *data, uint32_t len,
				uint32_t kind)
{
	struct pms_cell *cell = &tx->cells[tx->tail & tx->mask];
	const uint64_t *from = data;
	uint32_t words = (len + 7) / 8;

	/* word by word: a wider load would not get what the user has just stored forwarded */
	for (uint32_t i = 0; i < words; i++)
		atomic_store_explicit(&cell->data[i], from[i], memory_order_relaxed);
	pms_ring_seal(tx, len, kind);
}

/* The same from memory of any alignment that ends at @data + @len. */
static inline void pms_ring_put_any(struct pms_ring_tx *tx, const void *data, uint32_t len,
				    uint32_t kind)
{
	struct pms_cell *cell = &tx->cells[tx->tail & tx->mask];
	const uint8_t *from = data;
	uint32_t words = len / 8, rest = len % 8;
	uint64_t word = 0;

	for (uint32_t i = 0; i < words; i++) {
		memcpy(&word, from + 8 * i, 8);
		atomic_store_explicit(&cell->data[i], word, memory_order_relaxed);
	}
	if (rest) {
		word = 0;
		memcpy(&word, from + 8 * words, rest);
		atomic_store_explicit(&cell->data[words], word, memory_order_relaxed);
	}
	pms_ring_seal(tx, len, kind);
}

/* Whether a message of @len bytes could be sent now. */
bool pms_ring_has_room(struct pms_ring_tx *tx, uint32_t len);
/* Room for @len bytes to be filled in place, or NULL: no room, or another reservation is open. */
void *pms_ring_reserve(struct pms_ring_tx *tx, uint32_t len);
/* The open reservation. */
static inline void *pms_ring_reserved(const struct pms_ring_tx *tx)
{
	return tx->bytes + (tx->open_start & (tx->capacity - 1));
}
/* Sends the reservation with @len bytes, 1..reserved; always possible. */
void pms_ring_send_reserved(struct pms_ring_tx *tx, uint32_t len);
void pms_ring_discard_reserved(struct pms_ring_tx *tx);
/* Sends a copy; false when there is no room. */
bool pms_ring_send_copy(struct pms_ring_tx *tx, const void *data, uint32_t len);

static inline const struct pms_cell *pms_ring_next(const struct pms_ring_rx *rx)
{
	return &rx->cells[rx->next & rx->mask];
}

/* The word of the next cell, or 0 when nothing is there. */
static inline uint64_t pms_ring_poll(const struct pms_ring_rx *rx)
{
	/* acquire: pairs with the release in pms_ring_seal */
	uint64_t word = atomic_load_explicit(&pms_ring_next(rx)->word, memory_order_acquire);

	return (uint32_t)word == rx->next + 1 ? word : 0;
}

/* What the cell at @position holds, from the word that poll gave. False: no message that a sound
 * producer would send. */
static inline bool pms_ring_decode(const struct pms_ring_rx *rx, uint32_t position, uint64_t word,
				   struct pms_message *ret)
{
	const struct pms_cell *cell = &rx->cells[position & rx->mask];
	uint64_t offset;

	ret->len = (uint32_t)(word >> 32) & 0xffffff;
	ret->kind = (uint32_t)(word >> 56);
	ret->data = (const void *)cell->data;
	if (ret->kind == PMS_KIND_INLINE)
		return ret->len - 1 < PMS_INLINE;
	if (ret->kind != PMS_KIND_BYTES)
		return (ret->kind == PMS_KIND_READ || ret->kind == PMS_KIND_WRITE) &&
		       ret->len == sizeof(struct pms_request);
	offset = atomic_load_explicit(&cell->data[0], memory_order_relaxed);
	if (ret->len - 1 >= rx->max_len || offset >= rx->capacity ||
	    ret->len > rx->capacity - offset)
		return false;
	ret->data = rx->bytes + offset;
	return true;
}

/* The next cell has been read: its message is lent until pms_ring_release of its position. */
static inline uint32_t pms_ring_take(struct pms_ring_rx *rx)
{
	return rx->next++;
}

/* Frees cells released early that have come first. */
void pms_ring_free_early(struct pms_ring_rx *rx);
void pms_ring_release_early(struct pms_ring_rx *rx, uint32_t position);

/* Gives a taken message back; true when it is time to publish. */
static inline bool pms_ring_release(struct pms_ring_rx *rx, uint32_t position, uint32_t len)
{
	if (position == rx->free) {
		rx->free++;
		if (rx->early)
			pms_ring_free_early(rx);
	} else {
		pms_ring_release_early(rx, position);
	}
	rx->freed_bytes += len;
	return rx->free - rx->published > rx->mask / 4 || rx->freed_bytes > rx->capacity / 4;
}

static inline bool pms_ring_is_unpublished(const struct pms_ring_rx *rx)
{
	return rx->free != rx->published;
}

static inline void pms_ring_publish(struct pms_ring_rx *rx)
{
	rx->published = rx->free;
	rx->freed_bytes = 0;
	/* release: our reads of the messages come before. Pairs with pms_ring_refresh, whose caller
	 * overwrites them. */
	atomic_store_explicit(&rx->heads->head, rx->free, memory_order_release);
}

/* Whether a message is lent and not yet released. */
static inline bool pms_ring_is_lent(const struct pms_ring_rx *rx)
{
	return rx->next - rx->free != rx->early;
}

#endif
