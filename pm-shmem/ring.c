// SPDX-License-Identifier: BSD-3-Clause
/*
 * The slow half of the message ring: lending of the byte ring, and release out of order. See
 * ring.h.
 *
 * Byte positions count up without wrapping; a message that would wrap starts at the next multiple
 * of the capacity. Space is freed with the cells: the last cell of each message carries (privately,
 * in marks) the byte position that is free once it and all before it are. While a reservation is
 * open, messages sent meanwhile mark only what was lent before it.
 */
#include "pm-shmem/ring.h"
#include "pmcore/util/copy.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t round_up(uint32_t len)
{
	return (len + PMS_LINE - 1) & ~(uint32_t)(PMS_LINE - 1);
}

/* One word more than the bits take: pms_ring_mark may write the one behind the last. */
static uint32_t bit_words(uint32_t cells)
{
	return cells / 64 + 1;
}

static void set_limit(struct pms_ring_tx *tx)
{
	/* an open reservation has its cell set aside: its sending was promised */
	tx->limit = tx->freed + tx->mask + 1 - (tx->open_len != 0);
}

int pms_ring_tx_init(struct pms_ring_tx *tx, void *memory, uint32_t ring, uint32_t start)
{
	uint32_t cells = pms_cells(ring);

	memset(tx, 0, sizeof(*tx));
	tx->marks = calloc(cells, sizeof(*tx->marks));
	tx->written = calloc(bit_words(cells), sizeof(*tx->written));
	if (!tx->marks || !tx->written) {
		pms_ring_tx_fini(tx);
		return -ENOMEM;
	}
	tx->heads = memory;
	tx->cells = (struct pms_cell *)((uint8_t *)memory + PMS_PAGE);
	tx->bytes = (uint8_t *)(tx->cells + cells) + PMS_SPILL;
	tx->mask = cells - 1;
	tx->capacity = ring;
	tx->tail = start;
	tx->freed = start;
	set_limit(tx);
	return 0;
}

void pms_ring_tx_fini(struct pms_ring_tx *tx)
{
	free(tx->marks);
	free(tx->written);
	tx->marks = NULL;
	tx->written = NULL;
}

int pms_ring_rx_init(struct pms_ring_rx *rx, void *memory, uint32_t ring, uint32_t max_len,
		     uint32_t start)
{
	uint32_t cells = pms_cells(ring);

	memset(rx, 0, sizeof(*rx));
	rx->released = calloc(bit_words(cells), sizeof(*rx->released));
	rx->more = calloc(cells, sizeof(*rx->more));
	if (!rx->released || !rx->more) {
		pms_ring_rx_fini(rx);
		return -ENOMEM;
	}
	rx->heads = memory;
	rx->cells = (const struct pms_cell *)((uint8_t *)memory + PMS_PAGE);
	rx->bytes = (const uint8_t *)(rx->cells + cells) + PMS_SPILL;
	rx->mask = cells - 1;
	rx->capacity = ring;
	rx->max_len = max_len;
	rx->max_inline = max_len < PMS_INLINE ? max_len : PMS_INLINE;
	rx->next = start;
	rx->free = start;
	rx->published = start;
	return 0;
}

void pms_ring_rx_fini(struct pms_ring_rx *rx)
{
	free(rx->released);
	free(rx->more);
	rx->released = NULL;
	rx->more = NULL;
}

bool pms_ring_refresh(struct pms_ring_tx *tx, uint32_t n)
{
	/*
	 * acquire: the consumer's reads come before our overwriting. Pairs with pms_ring_publish.
	 */
	uint32_t head = atomic_load_explicit(&tx->heads->head, memory_order_acquire);

	/* a head outside of what was sent is nonsense from a broken peer: no room comes of it */
	if (head != tx->freed && head - tx->freed <= tx->tail - tx->freed) {
		tx->byte_head = tx->marks[(head - 1) & tx->mask];
		tx->freed = head;
		set_limit(tx);
	}
	/* discarded reservations leave bytes that no cell frees */
	if (tx->freed == tx->tail && !tx->open_len)
		tx->byte_head = tx->byte_tail;
	return tx->limit - tx->tail >= n;
}

/* Finds @len contiguous bytes; the position, or -1. */
static int64_t place(struct pms_ring_tx *tx, uint32_t len)
{
	uint32_t offset = tx->byte_tail & (tx->capacity - 1);
	uint64_t start = tx->byte_tail;

	if (offset + len > tx->capacity)
		start += tx->capacity - offset;
	return start + len - tx->byte_head <= tx->capacity ? (int64_t)start : -1;
}

/* The same, looking again at the consumer when it seems full. */
static int64_t find_room(struct pms_ring_tx *tx, uint32_t len)
{
	int64_t start;

	if (!pms_ring_has_cells(tx, 1))
		return -1;
	start = place(tx, round_up(len));
	if (start >= 0)
		return start;
	return pms_ring_refresh(tx, 1) ? place(tx, round_up(len)) : -1;
}

bool pms_ring_has_room(struct pms_ring_tx *tx, uint32_t len)
{
	return len <= PMS_SHORT ? pms_ring_has_cells(tx, pms_cells_of(len))
				: find_room(tx, len) >= 0;
}

/* Publishes a message that lies in the byte ring. */
static void put_bytes(struct pms_ring_tx *tx, uint32_t offset, uint32_t len)
{
	atomic_store_explicit(&tx->cells[tx->tail & tx->mask].body[0], offset,
			      memory_order_relaxed);
	pms_ring_seal(tx, 1, len, PMS_KIND_BYTES);
}

void *pms_ring_reserve(struct pms_ring_tx *tx, uint32_t len)
{
	int64_t start;

	if (tx->open_len)
		return NULL;
	start = find_room(tx, len);
	if (start < 0)
		return NULL;
	tx->open_mark = tx->byte_tail;
	tx->open_start = (uint64_t)start;
	tx->open_len = len;
	tx->byte_tail = tx->open_start + round_up(len);
	tx->limit--;
	return pms_ring_reserved(tx);
}

/* Takes back what lies behind the reservation's first @len bytes, if nothing was lent since. */
static void close_reserved(struct pms_ring_tx *tx, uint32_t len)
{
	if (tx->byte_tail == tx->open_start + round_up(tx->open_len))
		tx->byte_tail = len ? tx->open_start + round_up(len) : tx->open_mark;
	tx->open_len = 0;
	tx->limit++;
}

void pms_ring_send_reserved(struct pms_ring_tx *tx, uint32_t len)
{
	uint32_t offset = tx->open_start & (tx->capacity - 1);

	close_reserved(tx, len);
	put_bytes(tx, offset, len);
}

void pms_ring_discard_reserved(struct pms_ring_tx *tx)
{
	close_reserved(tx, 0);
}

bool pms_ring_send_copy(struct pms_ring_tx *tx, const void *data, uint32_t len)
{
	int64_t start = find_room(tx, len);

	if (start < 0)
		return false;
	copy_bytes(tx->bytes + ((uint64_t)start & (tx->capacity - 1)), data, len);
	tx->byte_tail = (uint64_t)start + round_up(len);
	put_bytes(tx, (uint32_t)start & (tx->capacity - 1), len);
	return true;
}

void pms_ring_free_early(struct pms_ring_rx *rx)
{
	while (rx->early) {
		uint32_t i = rx->free & rx->mask;
		uint64_t bit = 1ull << (i & 63);

		if (!(rx->released[i / 64] & bit))
			return;
		rx->released[i / 64] &= ~bit;
		rx->early--;
		rx->free++;
	}
}

void pms_ring_release_early(struct pms_ring_rx *rx, uint32_t position, uint32_t n)
{
	for (uint32_t i = position; i != position + n; i++)
		pms_ring_mark(rx->released, i & rx->mask, 1);
	rx->early += n;
}
