// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/ring.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "tests/harness/tap.h"

#define RING 16384u
#define CELLS (RING / 2 / PMS_CELL)
#define MAX_LEN (RING / 2)

static struct pms_ring_tx tx;
static struct pms_ring_rx rx;
static void *memory;

static bool begin_at(uint32_t start)
{
	size_t size = pms_ring_bytes(RING);

	memory = aligned_alloc(4096, size);
	if (!ok(memory))
		return false;
	memset(memory, 0, size);
	return ok(!pms_ring_tx_init(&tx, memory, RING, start)) &&
	       ok(!pms_ring_rx_init(&rx, memory, RING, MAX_LEN, start));
}

static void end(void)
{
	pms_ring_tx_fini(&tx);
	pms_ring_rx_fini(&rx);
	free(memory);
}

static uint8_t pattern(uint64_t seed, uint32_t i)
{
	return (uint8_t)(seed * 131 + i * 3 + (i >> 8));
}

static void fill(uint8_t *buf, uint32_t len, uint64_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		buf[i] = pattern(seed, i);
}

static bool is_filled(const uint8_t *buf, uint32_t len, uint64_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		if (buf[i] != pattern(seed, i))
			return false;
	return true;
}

static bool send_copy(uint32_t len, uint64_t seed)
{
	static _Alignas(8) uint8_t buf[MAX_LEN + 8];

	fill(buf, len, seed);
	if (len > PMS_INLINE)
		return pms_ring_send_copy(&tx, buf, len);
	if (!pms_ring_has_cells(&tx, pms_cells_of(len)))
		return false;
	pms_ring_put(&tx, buf, len, PMS_KIND_INLINE);
	return true;
}

/* Takes the next message; its length, or 0. */
static uint32_t receive(struct pms_message *message, uint32_t *ret_position)
{
	uint64_t word = pms_ring_poll(&rx);

	if (!word)
		return 0;
	if (!ok(pms_ring_decode(&rx, rx.next, word, message)))
		return 0;
	*ret_position = pms_ring_take(&rx, message->cells);
	return message->len;
}

static void release(uint32_t position, const struct pms_message *message)
{
	uint32_t bytes = message->kind == PMS_KIND_BYTES ? message->len : 0;

	if (pms_ring_release(&rx, position, message->cells, bytes))
		pms_ring_publish(&rx);
}

static bool receive_filled(uint32_t len, uint64_t seed)
{
	struct pms_message message;
	uint32_t position;

	if (!is_int(receive(&message, &position), len))
		return false;
	if (!ok(is_filled(message.data, len, seed)))
		return false;
	release(position, &message);
	return true;
}

TAP_TEST(ring_poll__when_empty)
{
	must(begin_at(0));
	ok(!pms_ring_poll(&rx));
	end();
}

TAP_TEST(ring_put__every_length)
{
	must(begin_at(0));
	for (uint32_t len = 1; len <= MAX_LEN; len++) {
		if (!okf(send_copy(len, len), "no room for %u bytes", len) ||
		    !receive_filled(len, len))
			break;
		pms_ring_publish(&rx);
	}
	end();
}

TAP_TEST(ring_put__positions_wrap_at_32_bits)
{
	must(begin_at(UINT32_MAX - 3 * CELLS));
	for (uint32_t i = 0; i < 6 * CELLS; i++)
		if (!ok(send_copy(1 + i % 200, i)) || !receive_filled(1 + i % 200, i))
			break;
	end();
}

TAP_TEST(ring_has_cells__full_until_published)
{
	struct pms_message message;
	uint32_t position;

	must(begin_at(0));
	for (uint32_t i = 0; i < CELLS; i++)
		ok(send_copy(8, i));
	ok(!pms_ring_has_cells(&tx, 1));
	is_int(receive(&message, &position), 8);
	release(position, &message);
	ok(!pms_ring_has_cells(&tx, 1));
	pms_ring_publish(&rx);
	ok(pms_ring_has_cells(&tx, 1));
	ok(!pms_ring_has_cells(&tx, 2));
	end();
}

/* Data that look, wherever a message may begin in a later lap, like the word of a message there. */
static void fill_with_words(uint8_t *buf, uint32_t len, uint32_t position)
{
	for (uint32_t at = PMS_CELL - 8, cell = position + 1; at + 8 <= len;
	     at += PMS_CELL, cell++) {
		uint64_t word = (uint64_t)(cell + CELLS + 1) | 8ull << 32 |
				(uint64_t)PMS_KIND_INLINE << 56;

		memcpy(buf + at, &word, 8);
	}
}

/* Up to @many messages are in the ring, and the positions pass 2^32. */
static void send_words(uint32_t many, uint32_t most)
{
	static uint8_t buf[CELLS][PMS_INLINE];
	uint32_t lens[CELLS], sent = 0, got = 0, position;
	uint64_t random = tap_seed();
	struct pms_message message;

	must(begin_at(UINT32_MAX - 20000));
	while (got < 20000 && !tap_has_failed()) {
		uint32_t len = 1 + (uint32_t)(tap_rand(&random) % most);

		if (sent - got < many && pms_ring_has_cells(&tx, pms_cells_of(len))) {
			fill_with_words(buf[sent % CELLS], len, tx.tail);
			pms_ring_put(&tx, buf[sent % CELLS], len, PMS_KIND_INLINE);
			lens[sent++ % CELLS] = len;
			continue;
		}
		if (!ok(receive(&message, &position)))
			break;
		is_int(message.len, lens[got % CELLS]);
		is_mem(message.data, buf[got % CELLS], message.len);
		release(position, &message);
		pms_ring_publish(&rx);
		if (++got == sent)
			ok(!pms_ring_poll(&rx));
	}
	end();
}

TAP_TEST(ring_put__data_are_never_taken_for_a_message)
{
	send_words(1, PMS_INLINE);
	send_words(1, 100);
	send_words(3, PMS_INLINE);
	send_words(CELLS, 60);
	send_words(CELLS, 500);
	send_words(CELLS, PMS_INLINE);
}

/* The last cell is followed by room that belongs to no other message. */
TAP_TEST(ring_put__a_message_that_begins_in_the_last_cell)
{
	must(begin_at(CELLS - 1));
	ok(send_copy(PMS_INLINE, 1));
	ok(send_copy(8, 2));
	ok(receive_filled(PMS_INLINE, 1));
	ok(receive_filled(8, 2));
	end();
}

TAP_TEST(ring_put_both__head_and_data_follow_each_other)
{
	static _Alignas(8) uint8_t buf[PMS_INLINE];
	uint32_t heads[] = {1, 8, 16, 57, 500};

	must(begin_at(0));
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		for (uint32_t len = heads[i] + 1; len <= PMS_INLINE; len += 61) {
			fill(buf, len, len);
			must(pms_ring_has_cells(&tx, pms_cells_of(len)));
			pms_ring_put_both(&tx, buf, heads[i], buf + heads[i], len - heads[i]);
			if (!receive_filled(len, len))
				break;
			pms_ring_publish(&rx);
		}
	end();
}

TAP_TEST(ring_reserve__others_overtake_it)
{
	uint8_t *open;

	must(begin_at(0));
	for (int round = 0; round < 100; round++) {
		open = pms_ring_reserve(&tx, 1000);
		must(open);
		fill(open, 1000, 7);
		ok(!pms_ring_reserve(&tx, 100));
		ok(send_copy(700, 8));
		ok(send_copy(5, 9));
		pms_ring_send_reserved(&tx, 900);
		ok(send_copy(300, 10));
		if (!receive_filled(700, 8) || !receive_filled(5, 9) || !receive_filled(900, 7) ||
		    !receive_filled(300, 10))
			break;
		pms_ring_publish(&rx);
	}
	end();
}

TAP_TEST(ring_reserve__keeps_its_cell)
{
	uint8_t *open;
	uint32_t sent = 0;

	must(begin_at(0));
	open = pms_ring_reserve(&tx, 500);
	must(open);
	fill(open, 500, 1);
	while (send_copy(8, 2))
		sent++;
	is_int(sent, CELLS - 1);
	pms_ring_send_reserved(&tx, 500);
	while (sent--)
		receive_filled(8, 2);
	receive_filled(500, 1);
	end();
}

TAP_TEST(ring_discard_reserved__space_comes_back)
{
	must(begin_at(0));
	for (int i = 0; i < 1000; i++) {
		must(pms_ring_reserve(&tx, MAX_LEN));
		if (i & 1)
			ok(send_copy(100, i));
		pms_ring_discard_reserved(&tx);
		if (i & 1)
			ok(receive_filled(100, i));
		pms_ring_publish(&rx);
	}
	end();
}

TAP_TEST(ring_send_reserved__shortened_below_a_cell)
{
	uint8_t *open;

	must(begin_at(0));
	for (uint32_t len = 1; len <= 200; len++) {
		open = pms_ring_reserve(&tx, 4000);
		must(open);
		fill(open, 4000, len);
		pms_ring_send_reserved(&tx, len);
		receive_filled(len, len);
		pms_ring_publish(&rx);
	}
	end();
}

TAP_TEST(ring_release__in_any_order)
{
	static struct pms_message messages[CELLS];
	uint64_t random = tap_seed();

	must(begin_at(0));
	for (int round = 0; round < 2000; round++) {
		uint32_t held[CELLS], n = 0, want = 1 + tap_rand(&random) % CELLS;

		while (n < want && send_copy(1 + tap_rand(&random) % 400, n))
			n++;
		for (uint32_t i = 0; i < n; i++)
			ok(receive(&messages[i], &held[i]));
		for (uint32_t left = n; left > 0; left--) {
			uint32_t i = tap_rand(&random) % left;

			release(held[i], &messages[i]);
			held[i] = held[left - 1];
			messages[i] = messages[left - 1];
		}
		is_int(rx.free, rx.next);
		is_int(rx.early, 0);
		ok(!pms_ring_is_lent(&rx));
		pms_ring_publish(&rx);
	}
	end();
}

TAP_TEST(ring_release__a_held_message_stays_untouched)
{
	struct pms_message first, message;
	uint32_t held, position, sent = 0;

	must(begin_at(0));
	ok(send_copy(3000, 42));
	is_int(receive(&first, &held), 3000);
	for (uint32_t i = 0; i < 10000 && send_copy(500, i); i++, sent++) {
		is_int(receive(&message, &position), 500);
		release(position, &message);
		pms_ring_publish(&rx);
	}
	okf(sent > 10 && sent < CELLS, "%u sent", sent);
	ok(is_filled(first.data, 3000, 42));
	release(held, &first);
	pms_ring_publish(&rx);
	ok(send_copy(500, 1));
	end();
}

TAP_TEST(ring_decode__nonsense)
{
	struct pms_message message;
	struct pms_cell *cell;

	must(begin_at(0));
	cell = &tx.cells[0];
	ok(!pms_ring_decode(&rx, 0, (uint64_t)PMS_KIND_INLINE << 56, &message));
	ok(!pms_ring_decode(&rx, 0,
			    (uint64_t)PMS_KIND_INLINE << 56 | (uint64_t)(PMS_INLINE + 1) << 32,
			    &message));
	rx.max_inline = 1000;
	ok(!pms_ring_decode(&rx, 0, (uint64_t)PMS_KIND_INLINE << 56 | 1001ull << 32, &message));
	ok(pms_ring_decode(&rx, 0, (uint64_t)PMS_KIND_INLINE << 56 | 1000ull << 32, &message));
	ok(!pms_ring_decode(&rx, 0, (uint64_t)9 << 56 | 8ull << 32, &message));
	ok(!pms_ring_decode(&rx, 0, (uint64_t)PMS_KIND_READ << 56 | 8ull << 32, &message));
	atomic_store(&cell->body[0], RING - 100);
	ok(pms_ring_decode(&rx, 0, (uint64_t)PMS_KIND_BYTES << 56 | 100ull << 32, &message));
	ok(!pms_ring_decode(&rx, 0, (uint64_t)PMS_KIND_BYTES << 56 | 101ull << 32, &message));
	atomic_store(&cell->body[0], UINT64_MAX - 10);
	ok(!pms_ring_decode(&rx, 0, (uint64_t)PMS_KIND_BYTES << 56 | 100ull << 32, &message));
	/* so far away that the address itself would overflow */
	atomic_store(&cell->body[0], 0xa000000000000000);
	ok(!pms_ring_decode(&rx, 0, (uint64_t)PMS_KIND_BYTES << 56 | 100ull << 32, &message));
	atomic_store(&cell->body[0], 0);
	ok(!pms_ring_decode(&rx, 0, (uint64_t)PMS_KIND_BYTES << 56, &message));
	ok(!pms_ring_decode(&rx, 0, (uint64_t)PMS_KIND_BYTES << 56 | (uint64_t)(MAX_LEN + 1) << 32,
			    &message));
	end();
}

TAP_TEST(ring_refresh__nonsense_head_gives_no_room)
{
	must(begin_at(0));
	for (uint32_t i = 0; i < CELLS; i++)
		send_copy(8, i);
	atomic_store(&tx.heads->head, CELLS + 1);
	ok(!pms_ring_has_cells(&tx, 1));
	atomic_store(&tx.heads->head, UINT32_MAX);
	ok(!pms_ring_has_cells(&tx, 1));
	atomic_store(&tx.heads->head, 1);
	ok(pms_ring_has_cells(&tx, 1));
	end();
}

/* ---- two threads ---- */

#define STRESS 60000

static uint32_t stress_len(uint32_t i)
{
	return i % 7 ? 1 + i * 13 % 300 : 1 + i * 37 % 3000;
}

static void *produce(void *arg)
{
	for (uint32_t i = 0; i < STRESS; i++) {
		uint8_t *room;

		if (i % 3 || stress_len(i) <= PMS_INLINE) {
			while (!send_copy(stress_len(i), i))
				sched_yield();
			continue;
		}
		while (!(room = pms_ring_reserve(&tx, stress_len(i))))
			sched_yield();
		fill(room, stress_len(i), i);
		pms_ring_send_reserved(&tx, stress_len(i));
	}
	return arg;
}

TAP_TEST(ring__two_threads)
{
	struct pms_message message, lent[8] = {{0}};
	uint32_t held[8] = {0};
	pthread_t thread;

	must(begin_at(UINT32_MAX - STRESS / 2));
	must(!pthread_create(&thread, NULL, produce, NULL));
	for (uint32_t i = 0; i < STRESS; i++) {
		uint32_t slot = i * 5 % 8, position, len;

		while (!(len = receive(&message, &position))) {
			if (tap_has_failed())
				abort();
			pms_ring_publish(&rx);
			sched_yield();
		}
		is_int(len, stress_len(i));
		ok(is_filled(message.data, len, i));
		/* released late and out of order */
		if (lent[slot].len)
			release(held[slot], &lent[slot]);
		held[slot] = position;
		lent[slot] = message;
	}
	pthread_join(thread, NULL);
	end();
}
