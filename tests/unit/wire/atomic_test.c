// SPDX-License-Identifier: BSD-3-Clause
/* atomic: both datagrams there and back, and every way in which one can be wrong. */
#include "pmcore/wire/atomic.h"
#include "tests/harness/tap.h"

#include <string.h>

static const struct wire_atomic request = {.kind = WIRE_ATOMIC,
					   .id = 0x1122334455667788,
					   .op = 6,
					   .width = 8,
					   .rkey = 0xfedcba9876543210,
					   .offset = 1ull << 40,
					   .operand = ~0ull,
					   .compare = 3};
static const struct wire_atomic answer = {.kind = WIRE_ATOMIC_ANSWER,
					  .id = 0x8877665544332211,
					  .error = 13,
					  .before = 0x0102030405060708};
static uint8_t bytes[WIRE_ATOMIC_BYTES + 1];

static void put(const struct wire_atomic *m)
{
	memset(bytes, 0xee, sizeof(bytes));
	is_int(wire_atomic_put(bytes, m),
	       m->kind == WIRE_ATOMIC ? WIRE_ATOMIC_BYTES : WIRE_ATOMIC_ANSWER_BYTES);
}

TAP_TEST(wire_atomic__there_and_back)
{
	struct wire_atomic got;

	put(&request);
	ok(wire_is_atomic(bytes, WIRE_ATOMIC_BYTES) && !wire_is_atomic(bytes, 0));
	ok(wire_atomic_get(bytes, WIRE_ATOMIC_BYTES, &got));
	ok(got.kind == WIRE_ATOMIC && got.id == request.id && got.op == 6 && got.width == 8);
	ok(got.rkey == request.rkey && got.offset == request.offset);
	ok(got.operand == request.operand && got.compare == 3);
	put(&answer);
	ok(wire_is_atomic(bytes, WIRE_ATOMIC_ANSWER_BYTES));
	ok(wire_atomic_get(bytes, WIRE_ATOMIC_ANSWER_BYTES, &got));
	ok(got.kind == WIRE_ATOMIC_ANSWER && got.id == answer.id);
	ok(got.error == 13 && got.before == answer.before);
}

TAP_TEST(wire_atomic__other_lengths)
{
	struct wire_atomic got;

	for (uint32_t len = 0; len <= sizeof(bytes); len++) {
		put(&request);
		okf(wire_atomic_get(bytes, len, &got) == (len == WIRE_ATOMIC_BYTES), "%u bytes",
		    len);
		put(&answer);
		okf(wire_atomic_get(bytes, len, &got) == (len == WIRE_ATOMIC_ANSWER_BYTES),
		    "%u bytes", len);
	}
}

TAP_TEST(wire_atomic__other_heads)
{
	struct wire_atomic got;

	/* kind; operation, width and zeros */
	for (uint32_t at = 0; at < 8; at++)
		for (uint32_t value = 0; value < 256; value++) {
			bool is_good = at == 0   ? value == WIRE_ATOMIC
				       : at == 1 ? value && value <= 6
				       : at == 2 ? value == 4 || value == 8
						 : !value;

			put(&request);
			bytes[at] = (uint8_t)value;
			okf(wire_atomic_get(bytes, WIRE_ATOMIC_BYTES, &got) == is_good,
			    "request, byte %u is %u", at, value);
			/* the error is of two bytes, up to 4095 */
			is_good = at == 0  ? value == WIRE_ATOMIC_ANSWER
				  : at < 4 ? !value
				  : at < 5 ? true
				  : at < 6 ? value < 16
					   : !value;
			put(&answer);
			bytes[at] = (uint8_t)value;
			okf(wire_atomic_get(bytes, WIRE_ATOMIC_ANSWER_BYTES, &got) == is_good,
			    "answer, byte %u is %u", at, value);
		}
}
