// SPDX-License-Identifier: BSD-3-Clause
/*
 * text: what fits is written and ends in a zero, what does not is counted.
 */
#include "pmcore/util/text.h"
#include "tests/harness/tap.h"

TAP_TEST(text_add__fits)
{
	char buf[16];
	struct text text = {.buf = buf, .room = sizeof(buf)};

	text_add(&text, "rail %d", 1);
	text_add(&text, " %s", "up");
	is_str(buf, "rail 1 up");
	is_int(text.len, 9);
}

TAP_TEST(text_add__every_room_around_the_length)
{
	char buf[12];
	size_t room;

	for (room = 1; room <= 10; room++) {
		struct text text = {.buf = buf, .room = room};

		buf[room] = '#';
		text_add(&text, "abcd");
		text_add(&text, "efgh");
		is_int(text.len, 8);
		is_int(buf[room], '#');
		is_int(buf[room - 1 < 8 ? room - 1 : 8], '\0');
		is_mem(buf, "abcdefgh", room - 1 < 8 ? room - 1 : 8);
	}
}

TAP_TEST(text_add__measures_without_a_buffer)
{
	struct text text = {0};

	text_add(&text, "%05d", 7);
	text_add(&text, "x");
	is_int(text.len, 6);
}
