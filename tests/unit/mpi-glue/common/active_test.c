// SPDX-License-Identifier: BSD-3-Clause
/* active: every kind at its right length, one byte less and more, and lies in its fields. */
#include "mpi-glue/common/active.h"
#include "tests/harness/tap.h"

#include <errno.h>
#include <string.h>

/* Room for any datagram of these tests. */
static union {
	struct active_head head;
	struct active_pull pull;
	unsigned char bytes[512];
} d;

static void make(enum active_kind kind, uint32_t length)
{
	memset(&d, 0, sizeof(d));
	d.head.kind = (uint8_t)kind;
	d.head.length = length;
}

TAP_TEST(active_parse__unknown_kinds)
{
	make(0, 0);
	is_int(active_parse(&d, 64), -EBADMSG);
	make(ACTIVE_KINDS, 0);
	is_int(active_parse(&d, 64), -EBADMSG);
	make(255, 0);
	is_int(active_parse(&d, 64), -EBADMSG);
}

TAP_TEST(active_parse__messages)
{
	make(ACTIVE_MESSAGE, 0);
	is_int(active_parse(&d, 7), -EBADMSG);
	is_int(active_parse(&d, 8), 8);
	is_int(active_parse(&d, 400), 8);
	d.head.tag = ACTIVE_TAG_MAX;
	is_int(active_parse(&d, 8), 8);
	d.head.tag = ACTIVE_TAG_MAX + 1;
	is_int(active_parse(&d, 8), -EBADMSG);
	make(ACTIVE_FIRST, 100);
	d.head.tag = ACTIVE_TAG_MAX + 1;
	is_int(active_parse(&d, 107), -EBADMSG);
	make(ACTIVE_FIRST, 100);
	is_int(active_parse(&d, 8), -EBADMSG);
	is_int(active_parse(&d, 107), 8);
	is_int(active_parse(&d, 108), -EBADMSG);
	make(ACTIVE_FIRST, ACTIVE_LENGTH_MAX + 1);
	is_int(active_parse(&d, 100), -EBADMSG);
	make(ACTIVE_MORE, 0);
	is_int(active_parse(&d, 8), -EBADMSG);
	is_int(active_parse(&d, 9), 8);
}

TAP_TEST(active_parse__requests)
{
	make(ACTIVE_PUT, 0);
	is_int(active_parse(&d, 32), -EBADMSG);
	is_int(active_parse(&d, 33), 32);
	make(ACTIVE_GET, 8);
	is_int(active_parse(&d, 31), -EBADMSG);
	is_int(active_parse(&d, 32), 32);
	is_int(active_parse(&d, 33), -EBADMSG);
	make(ACTIVE_GET, 0);
	is_int(active_parse(&d, 32), -EBADMSG);
}

TAP_TEST(active_parse__a_put_that_is_pulled)
{
	make(ACTIVE_PULL, 0);
	is_int(active_parse(&d, 72), -EBADMSG);
	d.pull.length = 1;
	is_int(active_parse(&d, 71), -EBADMSG);
	is_int(active_parse(&d, 72), 72);
	is_int(active_parse(&d, 73), -EBADMSG);
}

/* Two pieces of 1 and 9 bytes take 32 and 40. */
TAP_TEST(active_parse__several_puts)
{
	struct active_piece *first, *second;
	const size_t size = 16 + 32 + 40;

	make(ACTIVE_PUTS, 2);
	first = (struct active_piece *)(d.bytes + 16);
	second = (struct active_piece *)(d.bytes + 16 + 32);
	first->length = 1;
	second->length = 9;
	is_int(active_piece_size(8), 32);
	is_int(active_parse(&d, size), 16);
	for (size_t n = 0; n < size; n++)
		is_int(active_parse(&d, n), -EBADMSG);
	is_int(active_parse(&d, size + 1), -EBADMSG);
	is_int(active_parse(&d, size + 8), -EBADMSG);
	d.head.length = 1;
	is_int(active_parse(&d, size), -EBADMSG);
	d.head.length = 3;
	is_int(active_parse(&d, size), -EBADMSG);
	d.head.length = UINT32_MAX;
	is_int(active_parse(&d, size), -EBADMSG);
	d.head.length = 0;
	is_int(active_parse(&d, size), -EBADMSG);
	is_int(active_parse(&d, 16), -EBADMSG);
	d.head.length = 2;
	second->length = 17;
	is_int(active_parse(&d, size), -EBADMSG);
	second->length = 16;
	is_int(active_parse(&d, size), 16);
	for (uint64_t length = UINT64_MAX - 40; length; length++) {
		second->length = length;
		is_int(active_parse(&d, size), -EBADMSG);
	}
	second->length = 0;
	is_int(active_parse(&d, size), -EBADMSG);
}

TAP_TEST(active_parse__answers)
{
	make(ACTIVE_RESULT, 0);
	is_int(active_parse(&d, 16), -EBADMSG);
	is_int(active_parse(&d, 17), 16);
	make(ACTIVE_RESULT, EACCES);
	is_int(active_parse(&d, 16), 16);
	is_int(active_parse(&d, 17), -EBADMSG);
	make(ACTIVE_DONE, 0);
	is_int(active_parse(&d, 8), -EBADMSG);
	make(ACTIVE_DONE, 3);
	is_int(active_parse(&d, 31), -EBADMSG);
	is_int(active_parse(&d, 32), 8);
	is_int(active_parse(&d, 40), -EBADMSG);
	make(ACTIVE_DONE, ACTIVE_DONE_MAX + 1);
	is_int(active_parse(&d, 8 + 8 * (ACTIVE_DONE_MAX + 1)), -EBADMSG);
	make(ACTIVE_DONE, UINT32_MAX);
	is_int(active_parse(&d, 512), -EBADMSG);
}
