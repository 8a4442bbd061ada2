/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atomic - read-modify-write operations that one process asks another for, on numbers of 32 and 64
 * bits. They are atomic towards the processor's own as well.
 */
#ifndef PMCORE_UTIL_ATOMIC_H
#define PMCORE_UTIL_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

enum atomic_op {
	ATOMIC_ADD = 1,
	ATOMIC_AND,
	ATOMIC_OR,
	ATOMIC_XOR,
	ATOMIC_SWAP,
	ATOMIC_COMPARE_SWAP,
	ATOMIC_OPS,
};

static inline bool atomic_is_op(uint8_t op)
{
	return op && op < ATOMIC_OPS;
}

/*
 * Carries it out on the number at @address, which is aligned to its size; the value before. With
 * @is_32bit the upper halves of the operands mean nothing, and that of the value is 0.
 */
uint64_t atomic_apply(enum atomic_op op, bool is_32bit, void *address, uint64_t operand,
		      uint64_t compare);

#endif
