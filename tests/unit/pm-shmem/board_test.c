// SPDX-License-Identifier: BSD-3-Clause
/* board: what is found there, and that a copy counts only if the region was there to its end. */
#include "pm-shmem/board.h"

#include <pthread.h>
#include <sched.h>

#include "tests/harness/tap.h"

#define WORDS 64
#define ROUNDS 20000

static struct pms_board board;
static uint8_t memory[1000];

TAP_TEST(board__a_region)
{
	uint64_t at = 0;

	pms_board_clear(&board);
	ok(!pms_board_find(&board, 5, 0, 1, &at));
	ok(!pms_board_find(&board, 0, 0, 0, &at));
	pms_board_add(&board, 5, memory, sizeof(memory));
	ok(pms_board_find(&board, 5, 10, 990, &at));
	is_int(at, (uintptr_t)memory + 10);
	ok(!pms_board_find(&board, 5, 10, 991, &at));
	ok(!pms_board_find(&board, 5, 1001, 0, &at));
	ok(!pms_board_find(&board, 5, 10, UINT64_MAX, &at));
	ok(!pms_board_find(&board, 5 + PMS_EXPORTS, 0, 1, &at));
	ok(pms_board_has(&board, 5));
	pms_board_remove(&board, 5 + PMS_EXPORTS);
	ok(pms_board_has(&board, 5));
	pms_board_remove(&board, 5);
	ok(!pms_board_has(&board, 5));
	ok(!pms_board_find(&board, 5, 0, 1, &at));
}

TAP_TEST(board__a_place_that_is_taken)
{
	uint64_t at;

	pms_board_clear(&board);
	pms_board_add(&board, 7, memory, 10);
	pms_board_add(&board, 7 + PMS_EXPORTS, memory, 20);
	ok(!pms_board_has(&board, 7 + PMS_EXPORTS));
	ok(pms_board_find(&board, 7, 0, 10, &at));
	pms_board_clear(&board);
	ok(!pms_board_has(&board, 7));
}

/*
 * The owner's side of the race: each word of the memory is the key while the region is there, and 0
 * elsewhen.
 */
static _Atomic uint64_t words[WORDS];
static _Atomic uint64_t last_key;

static void write_words(uint64_t value)
{
	for (int i = 0; i < WORDS; i++)
		atomic_store_explicit(&words[i], value, memory_order_relaxed);
}

static void *own(void *arg)
{
	(void)arg;
	for (uint64_t key = 1; key <= ROUNDS; key++) {
		write_words(key);
		pms_board_add(&board, key, words, sizeof(words));
		atomic_store_explicit(&last_key, key, memory_order_relaxed);
		if (key % 64 == 0)
			sched_yield();
		pms_board_remove(&board, key);
		write_words(0);
	}
	atomic_store(&last_key, UINT64_MAX);
	return NULL;
}

/* One copy; true if it counts, and then it must be sound. */
static bool copy(uint64_t key)
{
	uint64_t seen[WORDS], at;

	if (!pms_board_find(&board, key, 0, sizeof(words), &at))
		return false;
	for (int i = 0; i < WORDS; i++)
		seen[i] = atomic_load_explicit(&words[i], memory_order_relaxed);
	if (!pms_board_has(&board, key))
		return false;
	for (int i = 0; i < WORDS; i++)
		if (!okf(seen[i] == key, "word %d of region %llu is %llu", i,
			 (unsigned long long)key, (unsigned long long)seen[i]))
			break;
	return true;
}

TAP_TEST(board__a_copy_counts_only_if_the_region_was_there_to_its_end)
{
	uint64_t key, tried = 0, counted = 0;
	pthread_t owner;

	pms_board_clear(&board);
	atomic_store(&last_key, 0);
	must(!pthread_create(&owner, NULL, own, NULL));
	while ((key = atomic_load_explicit(&last_key, memory_order_relaxed)) != UINT64_MAX &&
	       !tap_has_failed()) {
		tried++;
		counted += copy(key);
	}
	pthread_join(owner, NULL);
	tap_diag("%llu of %llu copies counted", (unsigned long long)counted,
		 (unsigned long long)tried);
	ok(tried);
}
