// SPDX-License-Identifier: BSD-3-Clause
/*
 * btl_pm_onesided: what is sent for an operation, and how it ends: by its answer, by a refusal, by
 * an answer that nobody asked for, by the death of its peer.
 */
#include <errno.h>
#include <string.h>

#include "tests/unit/mpi-glue/btl/btl_fake.h"

static char data[2 * FAKE_MTU];

static int put(size_t size)
{
	return btl_pm_put(&btl_pm.super, btl_peer, data, FAR_AWAY + 64, NULL, &btl_far, size, 0, 0,
			  btl_called, NULL, data);
}

static int get(size_t size)
{
	return btl_pm_get(&btl_pm.super, btl_peer, data, FAR_AWAY, NULL, &btl_far, size, 0, 0,
			  btl_called, NULL, data);
}

/* The number of the operation whose request was sent last; the request is forgotten. */
static uint64_t take_id(enum active_kind kind)
{
	size_t size;
	const struct active_request *m = btl_sent(&size);
	uint64_t id;

	if (!ok(m != NULL))
		return 0;
	is_int(m->head.kind, kind);
	id = m->id;
	fake_drop();
	return id;
}

static void answer_done(uint64_t id)
{
	struct active_head head = {.kind = ACTIVE_DONE, .length = 1};

	btl_arrive(&head, sizeof(head), &id, sizeof(id));
}

static void answer_result(uint64_t id, int error, const void *bytes, size_t size)
{
	struct active_result m = {.head = {.kind = ACTIVE_RESULT, .length = (uint32_t)error},
				  .id = id};

	btl_arrive(&m, sizeof(m), bytes, size);
}

TAP_TEST(put__ends_when_the_target_says_so)
{
	const struct active_request *m;
	size_t size;

	btl_begin();
	memset(data, 0x5a, sizeof(data));
	is_int(put(100), OPAL_SUCCESS);
	m = btl_sent(&size);
	is_int(size, sizeof(*m) + 100);
	is_int(active_parse(m, size), sizeof(*m));
	is_int(m->region, btl_far.region);
	is_int(m->address, FAR_AWAY + 64);
	ok(!memcmp(m + 1, data, 100));
	mtl_pm_progress();
	is_int(btl_calls.n, 0);
	answer_done(take_id(ACTIVE_PUT));
	is_int(btl_calls.n, 1);
	is_int(btl_calls.status, OPAL_SUCCESS);
	ok(btl_calls.data == data);
	btl_finish();
}

TAP_TEST(get__brings_the_data)
{
	char bytes[48];

	btl_begin();
	memset(data, 0, sizeof(data));
	memset(bytes, 7, sizeof(bytes));
	is_int(get(sizeof(bytes)), OPAL_SUCCESS);
	answer_result(take_id(ACTIVE_GET), 0, bytes, sizeof(bytes));
	is_int(btl_calls.n, 1);
	is_int(btl_calls.status, OPAL_SUCCESS);
	ok(!memcmp(data, bytes, sizeof(bytes)) && !data[sizeof(bytes)]);
	btl_finish();
}

TAP_TEST(get__data_of_another_length_are_refused)
{
	char bytes[64] = {1};

	btl_begin();
	memset(data, 0, sizeof(data));
	is_int(get(48), OPAL_SUCCESS);
	answer_result(take_id(ACTIVE_GET), 0, bytes, sizeof(bytes));
	is_int(btl_calls.n, 1);
	is_int(btl_calls.status, OPAL_ERR_BAD_PARAM);
	ok(!data[0]);
	btl_finish();
}

TAP_TEST(atomic__the_value_before)
{
	uint64_t got = 0;
	uint32_t got_narrow[2] = {0, 5};

	btl_begin();
	is_int(btl_pm_atomic_cswap(&btl_pm.super, btl_peer, &got, FAR_AWAY, NULL, &btl_far, 3, 4, 0,
				   0, btl_called, NULL, NULL),
	       OPAL_SUCCESS);
	is_int(btl_pm_atomic_fop(&btl_pm.super, btl_peer, got_narrow, FAR_AWAY + 4, NULL, &btl_far,
				 MCA_BTL_ATOMIC_ADD, 1, MCA_BTL_ATOMIC_FLAG_32BIT, 0, btl_called,
				 NULL, NULL),
	       OPAL_SUCCESS);
	is_int(fake.n_reads, 2);
	is_int(fake.reads[0].atomic.kind, PM_ATOMIC_COMPARE_SWAP);
	is_int(fake.reads[0].atomic.width, 8);
	is_int(fake.reads[0].atomic.compare, 3);
	is_int(fake.reads[0].atomic.operand, 4);
	is_int(fake.reads[1].atomic.kind, PM_ATOMIC_ADD);
	is_int(fake.reads[1].atomic.width, 4);
	is_int(fake.reads[1].from, 4);
	/* it is behind the other one, so nobody asks for it */
	fake.reads[1].rc = 0;
	fake.reads[1].before = 9;
	mtl_pm_progress();
	is_int(btl_calls.n, 0);
	fake.reads[0].rc = 0;
	fake.reads[0].before = 0x1111222233334444;
	mtl_pm_progress();
	is_int(btl_calls.n, 2);
	ok(got == 0x1111222233334444);
	is_int(got_narrow[0], 9);
	is_int(got_narrow[1], 5);
	ok(!fake_sent());
	btl_finish();
}

TAP_TEST(atomic__refused_by_the_target)
{
	uint64_t got = 77;

	btl_begin();
	is_int(btl_pm_atomic_fop(&btl_pm.super, btl_peer, &got, FAR_AWAY, NULL, &btl_far,
				 MCA_BTL_ATOMIC_ADD, 1, 0, 0, btl_called, NULL, NULL),
	       OPAL_SUCCESS);
	fake.reads[0].rc = EACCES;
	mtl_pm_progress();
	is_int(btl_calls.n, 1);
	is_int(btl_calls.status, OPAL_ERR_BAD_PARAM);
	is_int(got, 77);
	btl_finish();
}

TAP_TEST(atomic__what_the_target_could_not_do)
{
	btl_begin();
	is_int(btl_pm_atomic_op(&btl_pm.super, btl_peer, FAR_AWAY + 4, &btl_far, MCA_BTL_ATOMIC_ADD,
				1, 0, 0, btl_called, NULL, NULL),
	       OPAL_ERR_NOT_SUPPORTED);
	is_int(btl_pm_atomic_op(&btl_pm.super, btl_peer, FAR_AWAY, &btl_far, MCA_BTL_ATOMIC_LAND, 1,
				0, 0, btl_called, NULL, NULL),
	       OPAL_ERR_NOT_SUPPORTED);
	is_int(btl_pm_atomic_op(&btl_pm.super, btl_peer, FAR_AWAY, &btl_far, MCA_BTL_ATOMIC_ADD, 1,
				MCA_BTL_ATOMIC_FLAG_FLOAT, 0, btl_called, NULL, NULL),
	       OPAL_ERR_NOT_SUPPORTED);
	ok(!fake_sent() && !fake.n_reads);
	btl_finish();
}

TAP_TEST(operations__refused_by_the_target)
{
	btl_begin();
	is_int(put(8), OPAL_SUCCESS);
	answer_result(take_id(ACTIVE_PUT), EACCES, NULL, 0);
	is_int(btl_calls.n, 1);
	is_int(btl_calls.status, OPAL_ERR_BAD_PARAM);
	/* DONE is an answer to puts only */
	is_int(get(8), OPAL_SUCCESS);
	answer_done(take_id(ACTIVE_GET));
	is_int(btl_calls.n, 2);
	is_int(btl_calls.status, OPAL_ERR_BAD_PARAM);
	btl_finish();
}

TAP_TEST(operations__answers_that_nobody_asked_for)
{
	uint64_t id;

	btl_begin();
	is_int(put(8), OPAL_SUCCESS);
	id = take_id(ACTIVE_PUT);
	answer_done(id);
	answer_done(id);
	answer_result(id, 0, data, 8);
	answer_done(0);
	answer_done(UINT64_MAX);
	is_int(btl_calls.n, 1);
	is_int(btl_pm.damaged, 4);
	btl_finish();
}

/* An operation that PM had no buffer for can't be answered: it was not sent. */
TAP_TEST(operations__wait_for_room)
{
	btl_begin();
	fake.send_buffers = 0;
	is_int(put(8), OPAL_SUCCESS);
	is_int(put(16), OPAL_SUCCESS);
	for (uint64_t i = 0; i < 4; i++)
		answer_done(1ull << 32 | i);
	is_int(btl_calls.n, 0);
	is_int(btl_pm.damaged, 4);
	fake.send_buffers = 9;
	mtl_pm_progress();
	answer_done(take_id(ACTIVE_PUT));
	answer_done(take_id(ACTIVE_PUT));
	is_int(btl_calls.n, 2);
	ok(!fake_sent());
	btl_finish();
}

TAP_TEST(operations__too_long_for_a_datagram)
{
	btl_begin();
	is_int(put(FAKE_MTU - sizeof(struct active_request) + 1), OPAL_SUCCESS);
	is_int(get(FAKE_MTU), OPAL_SUCCESS);
	ok(!fake_sent());
	is_int(fake.n_reads, 2);
	ok(fake.reads[0].is_write && !fake.reads[1].is_write);
	is_int(fake.reads[0].from, 64);
	mtl_pm_progress();
	is_int(btl_calls.n, 0);
	fake.reads[1].rc = 0;
	mtl_pm_progress();
	is_int(btl_calls.n, 1);
	is_int(btl_calls.status, OPAL_SUCCESS);
	fake.reads[0].rc = EACCES;
	mtl_pm_progress();
	is_int(btl_calls.n, 2);
	is_int(btl_calls.status, OPAL_ERR_BAD_PARAM);
	btl_finish();
}

/* osc/rdma gives no handle for memory that this process has mapped. */
TAP_TEST(operations__on_memory_of_our_own)
{
	char here[16] = {0};
	uint64_t number = 5, old = 0;

	btl_begin();
	memset(data, 3, 16);
	is_int(btl_pm_put(&btl_pm.super, btl_peer, data, (uintptr_t)here, NULL, NULL, 16, 0, 0,
			  btl_called, NULL, NULL),
	       OPAL_SUCCESS);
	ok(!memcmp(here, data, 16));
	is_int(btl_calls.n, 0);
	mtl_pm_progress();
	is_int(btl_calls.n, 1);
	is_int(btl_pm_atomic_fop(&btl_pm.super, btl_peer, &old, (uintptr_t)&number, NULL, NULL,
				 MCA_BTL_ATOMIC_ADD, 2, 0, 0, btl_called, NULL, NULL),
	       OPAL_SUCCESS);
	mtl_pm_progress();
	is_int(btl_calls.n, 2);
	is_int(number, 7);
	is_int(old, 5);
	/* nothing to move is over as well */
	is_int(put(0), OPAL_SUCCESS);
	mtl_pm_progress();
	is_int(btl_calls.n, 3);
	ok(!fake_sent());
	btl_finish();
}

TAP_TEST(operations__share_packets_from_the_second_on)
{
	btl_begin();
	for (int i = 0; i < 6; i++)
		is_int(put(300), OPAL_SUCCESS);
	for (int i = 0; i < 6; i++) {
		is_int(fake_sent()->is_corked, i >= 1);
		fake_drop();
	}
	mtl_pm_progress();
	is_int(fake.corks, fake.uncorks);
	btl_finish();
}

/* The target keeps an answer for each, so they have a limit. */
TAP_TEST(operations__wait_behind_many_without_an_answer)
{
	char bytes[8] = {1};
	uint64_t first = 0;

	btl_begin();
	for (uint32_t i = 0; i <= ACTIVE_ASKED_MAX; i++)
		is_int(get(sizeof(bytes)), OPAL_SUCCESS);
	for (uint32_t i = 0; i < ACTIVE_ASKED_MAX; i++) {
		uint64_t id = take_id(ACTIVE_GET);

		first = first ? first : id;
	}
	mtl_pm_progress();
	ok(!fake_sent());
	answer_result(first, 0, bytes, sizeof(bytes));
	take_id(ACTIVE_GET);
	ok(!fake_sent());
	btl_finish();
}

TAP_TEST(death__ends_operations_and_the_job)
{
	btl_begin();
	is_int(put(8), OPAL_SUCCESS);
	fake.send_buffers = 0;
	is_int(get(8), OPAL_SUCCESS);
	fake_arrive_error(PEER, EPIPE);
	mtl_pm_progress();
	is_int(btl_calls.n, 2);
	is_int(btl_calls.status, OPAL_ERR_UNREACH);
	is_int(btl_calls.errors, 1);
	ok(strstr(btl_calls.why, "btl/pm: rank 3: ") == btl_calls.why);
	/* what begins later fails too, and nobody is told again */
	is_int(put(8), OPAL_SUCCESS);
	fake_arrive_error(PEER, EPIPE);
	mtl_pm_progress();
	is_int(btl_calls.n, 3);
	is_int(btl_calls.errors, 1);
	btl_finish();
}

/* A process that Open MPI has let go may die. */
TAP_TEST(death__of_a_process_that_has_left)
{
	btl_begin();
	is_int(btl_pm_del_procs(&btl_pm.super, 1, NULL, &btl_peer), OPAL_SUCCESS);
	fake_arrive_error(PEER, EPIPE);
	mtl_pm_progress();
	is_int(btl_calls.errors, 0);
	btl_finish();
}
