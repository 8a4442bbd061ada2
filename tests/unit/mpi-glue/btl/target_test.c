// SPDX-License-Identifier: BSD-3-Clause
/*
 * btl_pm_target: requests of a peer on memory that is registered, and on memory that is not, for
 * that, or no longer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/mpi-glue/btl/btl_fake.h"

#define ROOM 256

static _Alignas(8) char memory[ROOM];
static mca_btl_base_registration_handle_t *region;

static void begin(uint32_t access)
{
	btl_begin();
	memset(memory, 0, sizeof(memory));
	region = btl_pm_register_mem(&btl_pm.super, NULL, memory, sizeof(memory), access);
	ok(region && fake.locked == memory && fake.locked_size == ROOM);
}

static void finish(void)
{
	is_int(btl_pm_deregister_mem(&btl_pm.super, region), OPAL_SUCCESS);
	btl_finish();
}

static struct active_request request(enum active_kind kind, uint64_t id, size_t offset)
{
	return (struct active_request){.head = {.kind = (uint8_t)kind},
				       .id = id,
				       .region = region->region,
				       .address = (uintptr_t)memory + offset};
}

static void put(uint64_t id, size_t offset, const void *data, size_t size)
{
	struct active_request m = request(ACTIVE_PUT, id, offset);

	btl_arrive(&m, sizeof(m), data, size);
}

static void get(uint64_t id, size_t offset, size_t size)
{
	struct active_request m = request(ACTIVE_GET, id, offset);

	m.head.length = (uint32_t)size;
	btl_arrive(&m, sizeof(m), NULL, 0);
}

/* The oldest answer is a result of that operation; it is forgotten. */
static void is_result(uint64_t id, int error, const void *data, size_t size)
{
	size_t length;
	const struct active_result *m = (const struct active_result *)btl_sent(&length);

	if (!ok(m != NULL))
		return;
	is_int(m->head.kind, ACTIVE_RESULT);
	is_int(m->id, id);
	is_int(m->head.length, error);
	is_int(length, sizeof(*m) + size);
	ok(!size || !memcmp(m + 1, data, size));
	fake_drop();
}

static void is_done(const uint64_t *ids, uint32_t n)
{
	size_t length;
	const struct active_head *m = (const struct active_head *)btl_sent(&length);

	if (!ok(m != NULL))
		return;
	is_int(m->kind, ACTIVE_DONE);
	is_int(m->length, n);
	is_int(length, sizeof(*m) + n * sizeof(*ids));
	ok(!memcmp(m + 1, ids, n * sizeof(*ids)));
	fake_drop();
}

TAP_TEST(requests__inside_the_region)
{
	uint64_t id = 5;

	begin(MCA_BTL_REG_FLAG_ACCESS_ANY);
	put(5, ROOM - 4, "abcd", 4);
	ok(!memcmp(memory + ROOM - 4, "abcd", 4));
	is_done(&id, 1);
	get(6, ROOM - 4, 4);
	is_result(6, 0, "abcd", 4);
	ok(!fake_sent());
	finish();
}

TAP_TEST(requests__outside_of_it)
{
	static const size_t offsets[] = {ROOM - 7, ROOM, ROOM + 1, SIZE_MAX, SIZE_MAX - 6};

	begin(MCA_BTL_REG_FLAG_ACCESS_ANY);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		put(i, offsets[i], "12345678", 8);
		is_result(i, EACCES, NULL, 0);
		get(i, offsets[i], 8);
		is_result(i, EACCES, NULL, 0);
	}
	for (size_t i = 0; i < ROOM; i++)
		if (memory[i])
			okf(false, "byte %zu was written", i);
	ok(!fake_sent());
	finish();
}

TAP_TEST(requests__that_the_region_is_not_for)
{
	begin(MCA_BTL_REG_FLAG_REMOTE_READ);
	put(1, 0, "x", 1);
	is_result(1, EACCES, NULL, 0);
	get(3, 0, 1);
	is_result(3, 0, "", 1);
	finish();
	begin(MCA_BTL_REG_FLAG_REMOTE_WRITE);
	get(4, 0, 1);
	is_result(4, EACCES, NULL, 0);
	finish();
}

TAP_TEST(requests__a_region_that_is_gone)
{
	struct active_request m;

	begin(MCA_BTL_REG_FLAG_ACCESS_ANY);
	m = request(ACTIVE_PUT, 1, 0);
	is_int(btl_pm_deregister_mem(&btl_pm.super, region), OPAL_SUCCESS);
	btl_arrive(&m, sizeof(m), "x", 1);
	is_result(1, EACCES, NULL, 0);
	m.region = 0;
	btl_arrive(&m, sizeof(m), "x", 1);
	is_result(1, EACCES, NULL, 0);
	ok(!memory[0]);
	btl_finish();
}

TAP_TEST(requests__more_than_an_answer_holds)
{
	static char large[2 * FAKE_MTU];
	struct active_request m;

	btl_begin();
	region = btl_pm_register_mem(&btl_pm.super, NULL, large, sizeof(large),
				     MCA_BTL_REG_FLAG_ACCESS_ANY);
	m = request(ACTIVE_GET, 1, 0);
	m.address = (uintptr_t)large;
	m.head.length = FAKE_MTU - sizeof(struct active_result) + 1;
	btl_arrive(&m, sizeof(m), NULL, 0);
	is_result(1, EACCES, NULL, 0);
	m.head.length--;
	btl_arrive(&m, sizeof(m), NULL, 0);
	is_result(1, 0, large, m.head.length);
	finish();
}

/* Puts of one round are answered together. */
TAP_TEST(puts__answered_together)
{
	uint64_t ids[ACTIVE_DONE_MAX + 3];
	struct {
		struct active_request m;
		uint64_t data;
	} puts[ACTIVE_DONE_MAX + 3];

	begin(MCA_BTL_REG_FLAG_ACCESS_ANY);
	for (size_t i = 0; i < ACTIVE_DONE_MAX + 3; i++) {
		struct iovec part = {&puts[i], sizeof(puts[i])};

		ids[i] = 100 + i;
		puts[i].m = request(ACTIVE_PUT, ids[i], 8 * (i % 8));
		puts[i].data = i;
		fake_arrive(PEER, &part, 1);
	}
	mtl_pm_progress();
	is_done(ids, ACTIVE_DONE_MAX);
	is_done(ids + ACTIVE_DONE_MAX, 3);
	ok(!fake_sent());
	finish();
}

/* The progress thread polls, and Open MPI is not called. */
TAP_TEST(requests__are_answered_by_the_poll_itself)
{
	struct iovec part;
	uint64_t id = 5;
	struct {
		struct active_request m;
		char data[8];
	} bytes = {.data = "abcdefg"};

	begin(MCA_BTL_REG_FLAG_ACCESS_ANY);
	ok(mtl_pm.serves_client);
	bytes.m = request(ACTIVE_PUT, id, 0);
	part = (struct iovec){&bytes, sizeof(bytes)};
	fake_arrive(PEER, &part, 1);
	mtl_pm_enter();
	mtl_pm.is_helping = true;
	mtl_pm_poll();
	mtl_pm.is_helping = false;
	mtl_pm_leave();
	is_str(memory, "abcdefg");
	is_done(&id, 1);
	ok(!mtl_pm.has_client_work && !mtl_pm.is_client_due);
	is_int(btl_pm_deregister_mem(&btl_pm.super, region), OPAL_SUCCESS);
	ok(!mtl_pm.serves_client);
	btl_finish();
}

TAP_TEST(answers__wait_for_room_in_their_order)
{
	uint64_t id = 9;

	begin(MCA_BTL_REG_FLAG_ACCESS_ANY);
	fake.send_buffers = 0;
	get(7, 0, 4);
	get(8, 0, 8);
	put(9, 0, "abc", 3);
	ok(!fake_sent());
	fake.send_buffers = 9;
	mtl_pm_progress();
	is_result(7, 0, "\0\0\0", 4);
	is_result(8, 0, "\0\0\0\0\0\0\0", 8);
	is_done(&id, 1);
	finish();
}

TAP_TEST(answers__that_no_honest_peer_has_asked_for)
{
	begin(MCA_BTL_REG_FLAG_ACCESS_ANY);
	fake.send_buffers = 0;
	btl_peer->n_answers = ACTIVE_ASKED_MAX - 2;
	for (uint32_t i = 0; i < 3; i++)
		get(i, 0, 4);
	is_int(btl_pm.damaged, 1);
	fake.send_buffers = 9;
	mtl_pm_progress();
	for (uint32_t i = 0; i < 2; i++)
		is_result(i, 0, "\0\0\0", 4);
	ok(!fake_sent());
	finish();
}

TAP_TEST(register__refused_by_pm)
{
	btl_begin();
	fake.lock_error = ENOMEM;
	ok(!btl_pm_register_mem(&btl_pm.super, NULL, memory, ROOM, MCA_BTL_REG_FLAG_ACCESS_ANY));
	is_int(btl_pm.regions.used, 0);
	btl_finish();
}
