// SPDX-License-Identifier: BSD-3-Clause
/* atomic: each operation on 32 and 64 bits, its neighbours untouched; threads that add at once. */
#include "pmcore/util/atomic.h"
#include "tests/harness/tap.h"

#include <pthread.h>

#define ADDS 100000
#define THREADS 4

static const struct {
	enum atomic_op op;
	int64_t before, operand, compare, after;
} cases[] = {
	{ATOMIC_ADD, 5, 7, 0, 12},           {ATOMIC_ADD, 5, -7, 0, -2},
	{ATOMIC_AND, 12, 10, 0, 8},          {ATOMIC_OR, 12, 10, 0, 14},
	{ATOMIC_XOR, 12, 10, 0, 6},          {ATOMIC_SWAP, 12, 10, 0, 10},
	{ATOMIC_COMPARE_SWAP, 4, 9, 4, 9},   {ATOMIC_COMPARE_SWAP, 4, 9, 5, 4},
	{ATOMIC_COMPARE_SWAP, -1, 9, -1, 9},
};

TAP_TEST(atomic_apply__each_operation)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t wide = cases[i].before;
		int32_t narrow[] = {0x5a5a5a5a, (int32_t)cases[i].before, 0x5a5a5a5a};
		uint64_t operand = (uint64_t)cases[i].operand, compare = (uint64_t)cases[i].compare;

		is_int((int64_t)atomic_apply(cases[i].op, false, &wide, operand, compare),
		       cases[i].before);
		is_int(wide, cases[i].after);
		is_int((int32_t)atomic_apply(cases[i].op, true, &narrow[1], operand, compare),
		       cases[i].before);
		is_int(narrow[1], cases[i].after);
		ok(narrow[0] == 0x5a5a5a5a && narrow[2] == 0x5a5a5a5a);
	}
}

TAP_TEST(atomic_apply__32_bits_wrap_around)
{
	uint32_t number = UINT32_MAX;

	is_int((int64_t)atomic_apply(ATOMIC_ADD, true, &number, 2, 0), UINT32_MAX);
	is_int(number, 1);
}

TAP_TEST(atomic_is_op__those_of_the_table)
{
	ok(!atomic_is_op(0));
	ok(atomic_is_op(ATOMIC_ADD));
	ok(atomic_is_op(ATOMIC_COMPARE_SWAP));
	ok(!atomic_is_op(ATOMIC_OPS));
	ok(!atomic_is_op(255));
}

static void *add(void *arg)
{
	for (int i = 0; i < ADDS; i++)
		atomic_apply(ATOMIC_ADD, false, arg, 1, 0);
	return NULL;
}

TAP_TEST(atomic_apply__at_once_by_threads)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;

	for (int i = 0; i < THREADS; i++)
		is_int(pthread_create(&threads[i], NULL, add, &sum), 0);
	/* the processor's own operations are atomic with them */
	for (int i = 0; i < ADDS; i++)
		__atomic_add_fetch(&sum, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		is_int(pthread_join(threads[i], NULL), 0);
	is_int((int64_t)sum, (int64_t)ADDS * (THREADS + 1));
}
