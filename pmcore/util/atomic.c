// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/util/atomic.h"

static uint64_t result_of(enum atomic_op op, uint64_t old, uint64_t operand, bool is_equal)
{
	switch (op) {
	case ATOMIC_ADD:
		return old + operand;
	case ATOMIC_AND:
		return old & operand;
	case ATOMIC_OR:
		return old | operand;
	case ATOMIC_XOR:
		return old ^ operand;
	case ATOMIC_COMPARE_SWAP:
		return is_equal ? operand : old;
	default:
		return operand;
	}
}

static uint32_t apply32(enum atomic_op op, uint32_t *address, uint32_t operand, uint32_t compare)
{
	uint32_t old = __atomic_load_n(address, __ATOMIC_RELAXED), new;

	do
		new = (uint32_t)result_of(op, old, operand, old == compare);
	while (!__atomic_compare_exchange_n(address, &old, new, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED));
	return old;
}

static uint64_t apply64(enum atomic_op op, uint64_t *address, uint64_t operand, uint64_t compare)
{
	uint64_t old = __atomic_load_n(address, __ATOMIC_RELAXED), new;

	do
		new = result_of(op, old, operand, old == compare);
	while (!__atomic_compare_exchange_n(address, &old, new, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED));
	return old;
}

uint64_t atomic_apply(enum atomic_op op, bool is_32bit, void *address, uint64_t operand,
		      uint64_t compare)
{
	if (is_32bit)
		return apply32(op, address, (uint32_t)operand, (uint32_t)compare);
	return apply64(op, address, operand, compare);
}
