// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/chunkring.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

static struct pms_chunk_tx tx;
static struct pms_chunk_rx rx;
static void *memory;

static bool begin(void)
{
	memory = aligned_alloc(4096, PMS_BULK_BYTES);
	if (!ok(memory))
		return false;
	memset(memory, 0, PMS_BULK_BYTES);
	pms_chunk_tx_init(&tx, memory);
	pms_chunk_rx_init(&rx, memory);
	return true;
}

static void put(uint32_t op)
{
	const struct pms_chunk what = {.op = op, .kind = PMS_CHUNK_DATA, .len = 4};

	memcpy(pms_chunk_data(&tx), &op, sizeof(op));
	pms_chunk_put(&tx, &what);
}

static bool take(uint32_t op)
{
	struct pms_chunk chunk;
	const uint8_t *data;
	bool is_same;

	if (!ok(pms_chunk_decode(&rx, &chunk, &data)))
		return false;
	is_same = chunk.op == op && memcmp(data, &op, sizeof(op)) == 0;
	pms_chunk_take(&rx);
	return ok(is_same);
}

TAP_TEST(chunk_has_room__full_and_freed)
{
	must(begin());
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < PMS_CHUNKS; i++) {
			ok(pms_chunk_has_room(&tx));
			put(i);
		}
		ok(!pms_chunk_has_room(&tx));
		for (uint32_t i = 0; i < PMS_CHUNKS; i++) {
			ok(pms_chunk_poll(&rx));
			take(i);
		}
		ok(!pms_chunk_poll(&rx));
	}
	free(memory);
}

TAP_TEST(chunk_has_room__nonsense_head)
{
	must(begin());
	for (uint32_t i = 0; i < PMS_CHUNKS; i++)
		put(i);
	atomic_store(&tx.head->head, PMS_CHUNKS + 1);
	ok(!pms_chunk_has_room(&tx));
	atomic_store(&tx.head->head, UINT64_MAX);
	ok(!pms_chunk_has_room(&tx));
	free(memory);
}

TAP_TEST(chunk_decode__nonsense)
{
	struct pms_chunk chunk;
	const uint8_t *data;

	must(begin());
	put(1);
	ok(pms_chunk_decode(&rx, &chunk, &data));
	tx.head->chunks[0].len = PMS_CHUNK_BYTES + 1;
	ok(!pms_chunk_decode(&rx, &chunk, &data));
	tx.head->chunks[0].len = 1;
	tx.head->chunks[0].kind = 0;
	ok(!pms_chunk_decode(&rx, &chunk, &data));
	tx.head->chunks[0].kind = PMS_CHUNK_CANCEL + 1;
	ok(!pms_chunk_decode(&rx, &chunk, &data));
	tx.head->chunks[0].kind = PMS_CHUNK_REFUSE;
	tx.head->chunks[0].error = 5;
	ok(!pms_chunk_decode(&rx, &chunk, &data));
	free(memory);
}

TAP_TEST(chunk_is_blocked__tells_of_a_sleeping_producer)
{
	must(begin());
	put(1);
	pms_chunk_take(&rx);
	ok(!pms_chunk_is_blocked(&rx));
	put(2);
	atomic_store(&tx.head->blocked, 1);
	pms_chunk_take(&rx);
	ok(pms_chunk_is_blocked(&rx));
	free(memory);
}

#define STRESS 100000

static void *produce(void *arg)
{
	for (uint32_t i = 0; i < STRESS; i++) {
		while (!pms_chunk_has_room(&tx))
			sched_yield();
		put(i);
	}
	return arg;
}

TAP_TEST(chunkring__two_threads)
{
	pthread_t thread;

	must(begin());
	must(!pthread_create(&thread, NULL, produce, NULL));
	for (uint32_t i = 0; i < STRESS; i++) {
		while (!pms_chunk_poll(&rx))
			sched_yield();
		take(i);
	}
	pthread_join(thread, NULL);
	free(memory);
}
