// SPDX-License-Identifier: BSD-3-Clause
/* pattern - any part of a stream can be written and verified, and any wrong byte is found. */
#include "pmcore/tools/common/pattern.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

#define LEN 80u

TAP_TEST(pattern_fill__every_part_is_the_same_stream)
{
	uint8_t whole[LEN], part[LEN + 1];

	pattern_fill(whole, LEN, 42, 0);
	for (size_t start = 0; start < LEN; start++) {
		for (size_t len = 0; start + len <= LEN; len++) {
			part[len] = 0xee;
			pattern_fill(part, len, 42, start);
			if (!is_mem(part, whole + start, len))
				return;
			is_int(part[len], 0xee);
		}
	}
}

TAP_TEST(pattern_check__good_parts)
{
	uint8_t whole[LEN];
	struct pattern_fault fault;

	pattern_fill(whole, LEN, 1, 0);
	for (size_t start = 0; start < LEN; start++)
		for (size_t len = 0; start + len <= LEN; len++)
			okf(pattern_check(whole + start, len, 1, start, &fault) == 0,
			    "%zu bytes at %zu", len, start);
}

TAP_TEST(pattern_check__first_wrong_byte)
{
	uint8_t data[LEN];
	struct pattern_fault fault;

	for (size_t start = 0; start < 9; start++) {
		for (size_t bad = 0; bad < LEN; bad++) {
			pattern_fill(data, LEN, 5, start);
			data[bad] ^= 0x40;
			data[LEN - 1] ^= bad == LEN - 1 ? 0 : 1;
			must(is_int(pattern_check(data, LEN, 5, start, &fault), -EBADMSG));
			is_int(fault.offset, start + bad);
			is_int(fault.got, data[bad]);
			is_int(fault.expected, data[bad] ^ 0x40);
		}
	}
}

TAP_TEST(pattern_check__other_seed_or_place)
{
	uint8_t data[64];
	struct pattern_fault fault;

	pattern_fill(data, sizeof(data), 100, 0);
	is_int(pattern_check(data, sizeof(data), 101, 0, &fault), -EBADMSG);
	is_int(pattern_check(data, sizeof(data), 100, 8, &fault), -EBADMSG);
	is_int(pattern_check(data, sizeof(data), 100, 1, &fault), -EBADMSG);
}

TAP_TEST(pattern_check__zeros_are_wrong)
{
	uint8_t data[4096] = {0};
	struct pattern_fault fault;

	is_int(pattern_check(data, sizeof(data), 0, 0, &fault), -EBADMSG);
}
