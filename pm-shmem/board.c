// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/board.h"

static const struct pms_export *place_of(const struct pms_board *board, uint64_t rkey)
{
	return &board->exports[rkey % PMS_EXPORTS];
}

static uint64_t key_of(const struct pms_export *export, memory_order order)
{
	return atomic_load_explicit(&export->rkey, order);
}

void pms_board_clear(struct pms_board *board)
{
	for (uint32_t i = 0; i < PMS_EXPORTS; i++)
		atomic_store_explicit(&board->exports[i].rkey, 0, memory_order_relaxed);
	/* as in pms_board_remove */
	atomic_thread_fence(memory_order_release);
}

void pms_board_add(struct pms_board *board, uint64_t rkey, const void *addr, uint64_t len)
{
	struct pms_export *export = &board->exports[rkey % PMS_EXPORTS];

	if (key_of(export, memory_order_relaxed))
		return;
	atomic_store_explicit(&export->addr, (uintptr_t)addr, memory_order_relaxed);
	atomic_store_explicit(&export->len, len, memory_order_relaxed);
	/*
	 * release: address, length and data are written before. Pairs with the acquire of
	 * pms_board_find.
	 */
	atomic_store_explicit(&export->rkey, rkey, memory_order_release);
}

void pms_board_remove(struct pms_board *board, uint64_t rkey)
{
	struct pms_export *export = &board->exports[rkey % PMS_EXPORTS];

	if (key_of(export, memory_order_relaxed) != rkey)
		return;
	atomic_store_explicit(&export->rkey, 0, memory_order_relaxed);
	/* before any write to the memory; pairs with the fence of pms_board_has */
	atomic_thread_fence(memory_order_release);
}

bool pms_board_find(const struct pms_board *board, uint64_t rkey, uint64_t offset, uint64_t len,
		    uint64_t *ret_addr)
{
	const struct pms_export *export = place_of(board, rkey);
	uint64_t has;

	if (!rkey || key_of(export, memory_order_acquire) != rkey)
		return false;
	has = atomic_load_explicit(&export->len, memory_order_relaxed);
	if (offset > has || len > has - offset)
		return false;
	*ret_addr = atomic_load_explicit(&export->addr, memory_order_relaxed) + offset;
	return true;
}

bool pms_board_has(const struct pms_board *board, uint64_t rkey)
{
	/* the copy comes before the look */
	atomic_thread_fence(memory_order_acquire);
	return key_of(place_of(board, rkey), memory_order_relaxed) == rkey;
}
