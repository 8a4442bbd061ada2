/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atomic - the two datagrams of an atomic operation, which links carry: a request, and the answer
 * to it. Little-endian:
 *   request  u8 kind, u8 operation, u8 width, 5 bytes 0, u64 id, u64 rkey, u64 offset, u64 operand,
 *            u64 compare
 *   answer   u8 kind, 3 bytes 0, u32 error, u64 id, u64 value before
 */
#ifndef PM_WIRE_ATOMIC_H
#define PM_WIRE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* First byte. Lower numbers are those of device/takeover_frame.c. */
enum wire_atomic_kind { WIRE_ATOMIC = 16, WIRE_ATOMIC_ANSWER };

#define WIRE_ATOMIC_BYTES 48
#define WIRE_ATOMIC_ANSWER_BYTES 24

struct wire_atomic {
	uint8_t kind;  /* enum wire_atomic_kind */
	uint64_t id;   /* the asker's name of the operation; the answer repeats it */
	uint8_t op;    /* enum atomic_op */
	uint8_t width; /* of the number, bytes: 4 or 8 */
	uint64_t rkey, offset;
	uint64_t operand, compare;
	uint32_t error;  /* answer: errno of a refusal, or 0 */
	uint64_t before; /* answer: the value that was there */
};

/* Writes a request or an answer to @buf, up to WIRE_ATOMIC_BYTES; the bytes written. */
uint32_t wire_atomic_put(uint8_t *buf, const struct wire_atomic *m);
/* False: nothing that we send. */
bool wire_atomic_get(const void *data, uint32_t len, struct wire_atomic *ret);
/* Does a carried datagram of @len bytes begin as one of these? */
static inline bool wire_is_atomic(const void *data, uint32_t len)
{
	return len && *(const uint8_t *)data >= WIRE_ATOMIC;
}

#endif
