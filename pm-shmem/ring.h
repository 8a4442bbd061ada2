/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring - the message ring of one ordered pair: one producer, one consumer, no lock, no atomic
 * read-modify-write. Works on memory it is given; knows no segment, process or system call.
 *
 *   cells  a message of up to PMS_INLINE bytes lies in as many as it needs, one behind the other,
 *   so that no line
 *          moves that does not hold some of it; short ones share lines
 *   bytes  longer messages, contiguous; a cell says where
 *
 * Producer: a long message may be filled in place, one at a time (reserve ... send_reserved);
 * messages are ordered by the moment they are sent, not reserved. Consumer: messages are lent in
 * place (poll, take) and released in any order; the freed prefix is published a quarter of the ring
 * at a time, or when idle.
 *
 * Data that the other side wrote is not trusted: pms_ring_decode and the head check are the two
 * places where it comes in.
 */
#ifndef PM_SHMEM_RING_H
#define PM_SHMEM_RING_H

#include <stdbool.h>
#include <string.h>

#include "pm-shmem/layout.h"
#include "pmcore/util/copy.h"

/*
 * Cells between the next message and the line that is fetched: the receiver looks at the next one
 * again and again.
 */
#define PMS_AHEAD 4
#define PMS_FEW 2 /* of a message that fetches it */

struct pms_ring_tx {
	struct pms_cell *cells;
	uint32_t tail;  /* position of the next message: cells filled so far */
	uint32_t limit; /* position that may not be filled yet */
	uint32_t mask;  /* cells - 1 */
	uint32_t freed; /* consumer's head as last seen */
	uint8_t *bytes;
	struct pms_ring_head *heads;
	uint64_t *marks; /* of the last cell of a message: byte position that is free once it is */
	uint64_t *written;   /* bit per cell: data lie where a word would */
	uint64_t byte_tail;  /* position of the next byte to lend, counted without wrapping */
	uint64_t byte_head;  /* position of the first byte that may still be read */
	uint64_t open_mark;  /* byte_tail before the open reservation */
	uint64_t open_start; /* position of the open reservation */
	uint32_t open_len;   /* its length, 0 = none is open */
	uint32_t capacity;   /* of bytes, power of two */
};

struct pms_ring_rx {
	const struct pms_cell *cells;
	uint32_t next;        /* position of the next message to read */
	uint32_t mask;        /* cells - 1 */
	uint32_t free;        /* all cells before it have been released */
	uint32_t published;   /* what the producer knows of it */
	uint32_t early;       /* cells released behind one that is not */
	uint32_t freed_bytes; /* released since the last publication */
	uint32_t capacity;    /* of bytes */
	uint32_t max_len;     /* longest message, bytes */
	uint32_t max_inline;  /* longest one in cells, bytes */
	const uint8_t *bytes;
	struct pms_ring_head *heads;
	uint64_t *released; /* bit per cell: released early */
	/* of the first cell of a message: cells of those that are released with it */
	uint32_t *more;
};

/* A message, as its first cell describes it. */
struct pms_message {
	const void *data;
	uint32_t len;   /* bytes */
	uint32_t kind;  /* enum pms_kind */
	uint32_t cells; /* that it takes */
};

/* @memory: pms_ring_bytes(ring) bytes, zero at first; @start: position of the first message.
 * -ENOMEM. The memory stays the caller's. */
int pms_ring_tx_init(struct pms_ring_tx *tx, void *memory, uint32_t ring, uint32_t start);
void pms_ring_tx_fini(struct pms_ring_tx *tx);
int pms_ring_rx_init(struct pms_ring_rx *rx, void *memory, uint32_t ring, uint32_t max_len,
		     uint32_t start);
void pms_ring_rx_fini(struct pms_ring_rx *rx);

/* Looks how far the consumer is; true if there are @n cells to fill. */
bool pms_ring_refresh(struct pms_ring_tx *tx, uint32_t n);

static inline bool pms_ring_has_cells(struct pms_ring_tx *tx, uint32_t n)
{
	return tx->limit - tx->tail >= n || pms_ring_refresh(tx, n);
}

/* Whether a message of @len bytes, up to PMS_INLINE, fits without another look at the consumer. */
static inline bool pms_ring_is_open(const struct pms_ring_tx *tx, uint32_t len)
{
	return tx->limit - tx->tail >= pms_cells_of(len);
}

/* Sets @n bits, fewer than 64, from @at on. */
static inline void pms_ring_mark(uint64_t *bits, uint32_t at, uint32_t n)
{
	uint64_t some = (1ull << n) - 1;

	bits[at / 64] |= some << (at % 64);
	if (at % 64 + n > 64)
		bits[at / 64 + 1] |= some >> (64 - at % 64);
}

/*
 * Data lie in these cells but the first. They may look like the word of a message, so the word
 * behind them is cleared before anybody looks there. This word belongs to the producer. If the ring
 * is full, it is the word of the oldest message: no data lie there, so it is not cleared.
 */
static inline void pms_ring_clear_ahead(struct pms_ring_tx *tx, uint32_t n)
{
	uint32_t at = tx->tail & tx->mask, next = (tx->tail + n) & tx->mask;
	uint32_t last = at + n - 1 > tx->mask ? tx->mask : at + n - 1;
	uint64_t bit = 1ull << (next % 64);

	if (last > at)
		pms_ring_mark(tx->written, at + 1, last - at);
	if (tx->written[next / 64] & bit) {
		tx->written[next / 64] &= ~bit;
		atomic_store_explicit(&tx->cells[next].word, 0, memory_order_relaxed);
	}
}

/*
 * The line will be written soon: it leaves the other core's cache now, not when the store waits for
 * it.
 */
static inline void pms_prefetch_to_write(const void *line)
{
#ifdef __x86_64__
	/* without an option for it the compiler's builtin fetches the line to be read */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/* Publishes the next @n cells, whose data are written. */
static inline __attribute__((always_inline)) void pms_ring_seal(struct pms_ring_tx *tx, uint32_t n,
								uint32_t len, uint32_t kind)
{
	struct pms_cell *cell = &tx->cells[tx->tail & tx->mask];
	uint64_t word = (uint64_t)(tx->tail + 1) | (uint64_t)len << 32 | (uint64_t)kind << 56;

	pms_ring_clear_ahead(tx, n);
	tx->tail += n;
	/* a longer message writes many lines, of which this would be one more */
	if (n <= PMS_FEW)
		pms_prefetch_to_write(&tx->cells[(tx->tail + PMS_AHEAD) & tx->mask]);
	tx->marks[(tx->tail - 1) & tx->mask] = tx->open_len ? tx->open_mark : tx->byte_tail;
	/* release: whoever sees the word sees the message. Pairs with pms_ring_poll. */
	atomic_store_explicit(&cell->word, word, memory_order_release);
}

/* Where the body of the message at @position lies: behind its word. */
static inline uint8_t *pms_ring_body(const struct pms_cell *cells, uint32_t index)
{
	return (uint8_t *)(uintptr_t)cells + (size_t)index * PMS_CELL + sizeof(uint64_t);
}

/*
 * Copies word by word: a wider load would not get what the user has just stored forwarded. @to:
 * aligned; up to 7 bytes behind @len may be written.
 */
static inline void pms_ring_copy_words(uint8_t *to, const void *data, uint32_t len)
{
	_Atomic uint64_t *words = (_Atomic uint64_t *)(uintptr_t)to;
	const uint8_t *from = data;
	uint32_t n = len / 8, rest = len % 8;
	uint64_t word = 0;

	for (uint32_t i = 0; i < n; i++) {
		memcpy(&word, from + 8 * i, 8);
		atomic_store_explicit(&words[i], word, memory_order_relaxed);
	}
	if (rest) {
		word = 0;
		memcpy(&word, from + 8 * n, rest);
		atomic_store_explicit(&words[n], word, memory_order_relaxed);
	}
}

/*
 * Fills and publishes cells with @data, up to PMS_INLINE bytes of any alignment. There is room:
 * pms_ring_has_cells.
 */
static inline void pms_ring_put(struct pms_ring_tx *tx, const void *data, uint32_t len,
				uint32_t kind)
{
	uint8_t *to = pms_ring_body(tx->cells, tx->tail & tx->mask);

	if (len <= PMS_SHORT)
		pms_ring_copy_words(to, data, len);
	else
		copy_bytes(to, data, len);
	pms_ring_seal(tx, pms_cells_of(len), len, kind);
}

/*
 * The same with a head of @head_len bytes in front of @len bytes of data, together up to
 * PMS_INLINE.
 */
static inline void pms_ring_put_both(struct pms_ring_tx *tx, const void *head, uint32_t head_len,
				     const void *data, uint32_t len)
{
	uint8_t *to = pms_ring_body(tx->cells, tx->tail & tx->mask);

	if (head_len <= PMS_SHORT)
		pms_ring_copy_words(to, head, head_len);
	else
		memcpy(to, head, head_len);
	copy_bytes(to + head_len, data, len);
	pms_ring_seal(tx, pms_cells_of(head_len + len), head_len + len, PMS_KIND_INLINE);
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

/*
 * Decodes the message at @position, whose word poll gave. False: no sound producer would send it.
 */
static inline bool pms_ring_decode(const struct pms_ring_rx *rx, uint32_t position, uint64_t word,
				   struct pms_message *ret)
{
	uint64_t offset;

	ret->len = (uint32_t)(word >> 32) & 0xffffff;
	ret->kind = (uint32_t)(word >> 56);
	ret->data = pms_ring_body(rx->cells, position & rx->mask);
	ret->cells = pms_cells_of(ret->len);
	if (ret->kind == PMS_KIND_INLINE)
		return ret->len - 1 < rx->max_inline;
	if (ret->kind == PMS_KIND_CARRIED)
		return ret->len - 1 < PMS_SHORT;
	if (ret->kind != PMS_KIND_BYTES)
		return (ret->kind == PMS_KIND_READ || ret->kind == PMS_KIND_WRITE) &&
		       ret->len == sizeof(struct pms_request);
	ret->cells = pms_cells_of(sizeof(offset));
	offset = atomic_load_explicit((const _Atomic uint64_t *)ret->data, memory_order_relaxed);
	if (ret->len - 1 >= rx->max_len || offset >= rx->capacity ||
	    ret->len > rx->capacity - offset)
		return false;
	ret->data = rx->bytes + offset;
	return true;
}

/*
 * The next message has been read, in @n cells: it is lent until pms_ring_release of its position.
 */
static inline uint32_t pms_ring_take(struct pms_ring_rx *rx, uint32_t n)
{
	uint32_t position = rx->next;

	rx->next += n;
	return position;
}

/*
 * The next message, in @n cells, will be released with the one at @first, behind which it was
 * taken.
 */
static inline void pms_ring_take_with(struct pms_ring_rx *rx, uint32_t first, uint32_t n)
{
	rx->more[first & rx->mask] += n;
	rx->next += n;
}

/* Frees cells released early that have come first. */
void pms_ring_free_early(struct pms_ring_rx *rx);
void pms_ring_release_early(struct pms_ring_rx *rx, uint32_t position, uint32_t n);

/*
 * Gives a taken message of @n cells and @bytes of the byte ring back, and those that were taken
 * with it; true when it is time to publish.
 */
static inline bool pms_ring_release(struct pms_ring_rx *rx, uint32_t position, uint32_t n,
				    uint32_t bytes)
{
	uint32_t *more = &rx->more[position & rx->mask];

	n += *more;
	*more = 0;
	if (position == rx->free) {
		rx->free += n;
		if (rx->early)
			pms_ring_free_early(rx);
	} else {
		pms_ring_release_early(rx, position, n);
	}
	rx->freed_bytes += bytes;
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
