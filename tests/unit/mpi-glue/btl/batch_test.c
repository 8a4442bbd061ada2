// SPDX-License-Identifier: BSD-3-Clause
/*
 * btl_pm_batch: short puts share a datagram while others have no answer, and each of them ends; and
 * what the target does with them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/mpi-glue/btl/btl_fake.h"

#define ALONE 1 /* the first one leaves by itself */

static char data[512];

static int put(size_t size, size_t offset)
{
	return btl_pm_put(&btl_pm.super, btl_peer, data, FAR_AWAY + offset, NULL, &btl_far, size, 0,
			  0, btl_called, NULL, data);
}

/* So many puts of @size bytes, behind the one that leaves by itself. */
static void begin(size_t n, size_t size)
{
	btl_begin();
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)i;
	for (size_t i = 0; i < ALONE; i++) {
		is_int(put(8, 0), OPAL_SUCCESS);
		ok(fake_sent() != NULL);
		fake_drop();
	}
	for (size_t i = 0; i < n; i++)
		is_int(put(size, 8 * i), OPAL_SUCCESS);
}

static void answer_done(uint64_t id)
{
	struct active_head head = {.kind = ACTIVE_DONE, .length = 1};

	btl_arrive(&head, sizeof(head), &id, sizeof(id));
}

/* The number of the puts that were sent last, @n of them; they are forgotten. */
static uint64_t take_puts(uint32_t n)
{
	size_t size;
	const struct active_puts *m = (const struct active_puts *)btl_sent(&size);
	uint64_t id;

	if (!ok(m != NULL))
		return 0;
	is_int(m->head.kind, ACTIVE_PUTS);
	is_int(m->head.length, n);
	is_int(active_parse(m, size), sizeof(*m));
	id = m->id;
	fake_drop();
	return id;
}

TAP_TEST(puts__share_a_datagram_until_the_next_poll)
{
	const struct active_piece *piece;
	const struct active_puts *m;
	size_t size;

	begin(3, 12);
	ok(!fake_sent());
	mtl_pm_progress();
	m = (const struct active_puts *)btl_sent(&size);
	is_int(size, sizeof(*m) + 3 * (sizeof(*piece) + 16));
	piece = (const struct active_piece *)((const char *)(m + 1) + sizeof(*piece) + 16);
	is_int(piece->region, btl_far.region);
	is_int(piece->address, FAR_AWAY + 8);
	is_int(piece->length, 12);
	ok(!memcmp(piece + 1, data, 12));
	is_int(btl_calls.n, 0);
	answer_done(take_puts(3));
	is_int(btl_calls.n, 3);
	is_int(btl_calls.status, OPAL_SUCCESS);
	ok(!fake_sent());
	btl_finish();
}

TAP_TEST(puts__a_full_datagram_leaves_at_once)
{
	const size_t each = active_piece_size(8),
		     fit = (FAKE_MTU - sizeof(struct active_puts)) / each;
	uint64_t id;

	begin(fit, 8);
	ok(!fake_sent());
	is_int(put(8, 0), OPAL_SUCCESS);
	id = take_puts((uint32_t)fit);
	mtl_pm_progress();
	answer_done(take_puts(1));
	is_int(btl_calls.n, 1);
	answer_done(id);
	is_int(btl_calls.n, (int)fit + 1);
	btl_finish();
}

/* They go by themselves, and PM may hold them. */
TAP_TEST(puts__of_many_bytes)
{
	begin(1, sizeof(data));
	is_int(fake_sent()->size, sizeof(struct active_request) + sizeof(data));
	ok(fake_sent()->is_corked);
	btl_finish();
}

TAP_TEST(puts__wait_for_room)
{
	begin(2, 8);
	fake.send_buffers = 0;
	mtl_pm_progress();
	ok(!fake_sent());
	is_int(put(8, 0), OPAL_SUCCESS);
	fake.send_buffers = 9;
	mtl_pm_progress();
	answer_done(take_puts(2));
	answer_done(take_puts(1));
	is_int(btl_calls.n, 3);
	btl_finish();
}

TAP_TEST(puts__refused)
{
	struct active_result m = {.head = {.kind = ACTIVE_RESULT, .length = EACCES}};

	begin(2, 8);
	mtl_pm_progress();
	m.id = take_puts(2);
	btl_arrive(&m, sizeof(m), NULL, 0);
	is_int(btl_calls.n, 2);
	is_int(btl_calls.status, OPAL_ERR_BAD_PARAM);
	btl_finish();
}

/* Before and after they were sent. */
TAP_TEST(puts__the_target_dies)
{
	for (int is_sent = 0; is_sent < 2; is_sent++) {
		begin(2, 8);
		if (is_sent)
			mtl_pm_progress();
		fake_arrive_error(PEER, EPIPE);
		mtl_pm_progress();
		is_int(btl_calls.n, ALONE + 2);
		is_int(btl_calls.status, OPAL_ERR_UNREACH);
		is_int(put(8, 0), OPAL_SUCCESS);
		mtl_pm_progress();
		is_int(btl_calls.n, ALONE + 3);
		btl_finish();
	}
}

/* Those that are good are done, and one answer tells of all. */
TAP_TEST(target__several_puts)
{
	static _Alignas(8) char memory[64];
	struct {
		struct active_puts m;
		struct {
			struct active_piece piece;
			char bytes[8];
		} at[3];
	} puts = {.m = {.head = {.kind = ACTIVE_PUTS, .length = 3}, .id = 77}};
	mca_btl_base_registration_handle_t *region;
	const struct active_result *answer;
	size_t size;

	btl_begin();
	region = btl_pm_register_mem(&btl_pm.super, NULL, memory, sizeof(memory),
				     MCA_BTL_REG_FLAG_REMOTE_WRITE);
	for (int i = 0; i < 3; i++) {
		puts.at[i].piece = (struct active_piece){region->region,
							 (uintptr_t)memory + 20 * (size_t)i, 5};
		memcpy(puts.at[i].bytes, "abcde", 5);
	}
	btl_arrive(&puts, sizeof(puts), NULL, 0);
	for (int i = 0; i < 3; i++)
		ok(!memcmp(memory + 20 * i, "abcde\0", 6));
	answer = (const struct active_result *)btl_sent(&size);
	is_int(answer->head.kind, ACTIVE_DONE);
	is_int(answer->id, 77);
	fake_drop();
	memset(memory, 0, sizeof(memory));
	puts.at[1].piece.address += 40;
	btl_arrive(&puts, sizeof(puts), NULL, 0);
	ok(!memcmp(memory, "abcde", 5) && !memory[20] && !memcmp(memory + 40, "abcde", 5));
	answer = (const struct active_result *)btl_sent(&size);
	is_int(answer->head.kind, ACTIVE_RESULT);
	is_int(answer->head.length, EACCES);
	is_int(answer->id, 77);
	fake_drop();
	ok(!fake_sent());
	is_int(btl_pm_deregister_mem(&btl_pm.super, region), OPAL_SUCCESS);
	btl_finish();
}
