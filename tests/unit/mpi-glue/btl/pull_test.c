// SPDX-License-Identifier: BSD-3-Clause
/* btl_pm_pull: long puts, which the target reads: both sides, no room, and what may not be. */
#include <errno.h>
#include <string.h>

#include "tests/unit/mpi-glue/btl/btl_fake.h"

#define LONG ((size_t)2 * FAKE_MTU)

static char data[LONG];
static _Alignas(8) char memory[LONG + 8];
static mca_btl_base_registration_handle_t *region;

static void begin(void)
{
	btl_long_read = LONG;
	btl_begin();
	btl_long_read = 0;
}

static int put(size_t size)
{
	return btl_pm_put(&btl_pm.super, btl_peer, data, FAR_AWAY, NULL, &btl_far, size, 0, 0,
			  btl_called, NULL, data);
}

static void answer(enum active_kind kind, uint64_t id, int error)
{
	struct active_result m = {
		.head = {.kind = (uint8_t)kind, .length = error ? (uint32_t)error : 1}, .id = id};

	btl_arrive(&m, sizeof(m), NULL, 0);
}

/* The id of the request that was sent, which is forgotten. */
static uint64_t take_pull(void)
{
	size_t size;
	const struct active_pull *m = (const struct active_pull *)btl_sent(&size);
	uint64_t id;

	if (!ok(m != NULL))
		return 0;
	is_int(m->request.head.kind, ACTIVE_PULL);
	is_int(active_parse(m, size), sizeof(*m));
	is_int(m->length, LONG);
	is_int(m->request.region, btl_far.region);
	is_int(m->request.address, FAR_AWAY);
	id = m->request.id;
	fake_drop();
	return id;
}

TAP_TEST(put__the_target_reads_it)
{
	begin();
	is_int(put(LONG), OPAL_SUCCESS);
	ok(fake.locked == data && fake.locked_size == LONG);
	is_int(fake.n_reads, 0);
	answer(ACTIVE_DONE, take_pull(), 0);
	is_int(btl_calls.n, 1);
	is_int(btl_calls.status, OPAL_SUCCESS);
	is_int(fake.unlocks, 1);
	btl_finish();
}

TAP_TEST(put__refused_or_lost)
{
	begin();
	is_int(put(LONG), OPAL_SUCCESS);
	answer(ACTIVE_RESULT, take_pull(), EACCES);
	is_int(btl_calls.status, OPAL_ERR_BAD_PARAM);
	is_int(put(LONG), OPAL_SUCCESS);
	fake_arrive_error(PEER, EPIPE);
	mtl_pm_progress();
	is_int(btl_calls.n, 2);
	is_int(btl_calls.status, OPAL_ERR_UNREACH);
	is_int(fake.locks, fake.unlocks);
	btl_finish();
}

TAP_TEST(put__waits_for_room_and_is_exposed_once)
{
	begin();
	fake.send_buffers = 0;
	is_int(put(LONG), OPAL_SUCCESS);
	mtl_pm_progress();
	is_int(fake.locks, 1);
	fake.send_buffers = 9;
	mtl_pm_progress();
	answer(ACTIVE_DONE, take_pull(), 0);
	is_int(btl_calls.n, 1);
	btl_finish();
}

/* PM writes it then. */
TAP_TEST(put__shorter_or_without_room_for_a_region)
{
	begin();
	is_int(put(LONG - 1), OPAL_SUCCESS);
	is_int(fake.n_reads, 1);
	ok(fake.reads[0].is_write);
	fake.lock_error = ENOMEM;
	is_int(put(LONG), OPAL_SUCCESS);
	is_int(fake.n_reads, 2);
	ok(fake.reads[1].is_write && !fake_sent());
	fake.reads[0].rc = fake.reads[1].rc = 0;
	mtl_pm_progress();
	is_int(btl_calls.n, 2);
	btl_finish();
}

/* ---- the target ---- */

static void arrive(uint64_t id, size_t offset)
{
	struct active_pull m = {.request = {.head = {.kind = ACTIVE_PULL},
					    .id = id,
					    .region = region->region,
					    .address = (uintptr_t)memory + offset},
				.length = LONG,
				.handle = {1, 2, 3, 4}};

	btl_arrive(&m, sizeof(m), NULL, 0);
}

static void begin_target(void)
{
	btl_begin();
	region = btl_pm_register_mem(&btl_pm.super, NULL, memory, sizeof(memory),
				     MCA_BTL_REG_FLAG_REMOTE_WRITE);
}

static void finish_target(void)
{
	is_int(btl_pm_deregister_mem(&btl_pm.super, region), OPAL_SUCCESS);
	btl_finish();
}

/* The oldest answer is this one of the id; it is forgotten. */
static void is_answer(enum active_kind kind, uint64_t id, uint32_t number)
{
	size_t size;
	const struct active_result *m = (const struct active_result *)btl_sent(&size);

	if (!ok(m != NULL))
		return;
	is_int(m->head.kind, kind);
	is_int(m->head.length, number);
	is_int(m->id, id);
	fake_drop();
}

TAP_TEST(target__reads_and_answers)
{
	begin_target();
	arrive(5, 8);
	is_int(fake.n_reads, 1);
	ok(!fake.reads[0].is_write && fake.reads[0].to == memory + 8);
	is_int(fake.reads[0].size, LONG);
	is_int(fake.reads[0].from, 0);
	ok(!fake_sent());
	fake.reads[0].rc = 0;
	mtl_pm_progress();
	is_answer(ACTIVE_DONE, 5, 1);
	finish_target();
}

TAP_TEST(target__more_than_an_honest_peer_asks_for)
{
	begin_target();
	fake.read_error = ENOBUFS;
	for (uint64_t i = 0; i <= ACTIVE_PULLS_MAX; i++)
		arrive(i, 0);
	is_int(btl_pm.damaged, 1);
	ok(!fake_sent());
	finish_target();
}

TAP_TEST(put__so_many_are_exposed_at_a_time)
{
	begin();
	for (uint32_t i = 0; i <= ACTIVE_PULLS_MAX; i++)
		is_int(put(LONG), OPAL_SUCCESS);
	is_int(fake.locks, ACTIVE_PULLS_MAX);
	answer(ACTIVE_DONE, take_pull(), 0);
	is_int(fake.locks, ACTIVE_PULLS_MAX + 1);
	fake_arrive_error(PEER, EPIPE);
	mtl_pm_progress();
	is_int(btl_calls.n, ACTIVE_PULLS_MAX + 1);
	btl_finish();
}

TAP_TEST(target__not_outside_of_the_region)
{
	begin_target();
	arrive(6, 9);
	is_int(fake.n_reads, 0);
	is_answer(ACTIVE_RESULT, 6, EACCES);
	finish_target();
}

TAP_TEST(target__a_read_that_waits_or_fails)
{
	begin_target();
	fake.read_error = ENOBUFS;
	arrive(7, 0);
	ok(!fake_sent());
	fake.read_error = 0;
	mtl_pm_progress();
	is_int(fake.n_reads, 1);
	fake.reads[0].rc = EACCES;
	mtl_pm_progress();
	is_answer(ACTIVE_RESULT, 7, EACCES);
	/* one that runs when all ends */
	arrive(8, 0);
	is_int(fake.n_reads, 2);
	finish_target();
}
