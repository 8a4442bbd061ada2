// SPDX-License-Identifier: BSD-3-Clause
/* frame: golden bytes both ways, and every way in which lengths or a head can be wrong. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/frame.h"
#include "tests/harness/tap.h"

/* Length of all, length of the head, {"op":"out"}, then "hi". */
static const char golden[] = "\0\0\0\x12\0\0\0\x0c{\"op\":\"out\"}hi";
#define GOLDEN_SIZE (sizeof(golden) - 1)

static int decode(const char *data, size_t size, size_t limit)
{
	struct frame frame = {0};
	size_t used = 0;
	int got = frame_decode(&frame, data, size, limit, &used);

	if (got == 1)
		json_decref(frame.head);
	else
		ok(!frame.head && !used);
	return got;
}

/* A frame with @head as its head and no body. */
static int decode_text(const char *head)
{
	size_t n = strlen(head);
	char data[256] = {0};

	data[3] = (char)(n + 4);
	data[7] = (char)n;
	memcpy(data + 8, head, n);
	return decode(data, n + 8, FRAME_MAX);
}

/* The same, counted only. */
static size_t count(const char *head)
{
	size_t n = strlen(head);
	char data[256] = {0};

	data[3] = (char)(n + 4);
	data[7] = (char)n;
	memcpy(data + 8, head, n);
	is_int(frame_values(data, n + 7), 0);
	return frame_values(data, n + 8);
}

TAP_TEST(frame_values__counts)
{
	ok(count("{\"op\":\"x\"}") >= 3);
	ok(count("{\"op\":\"x\",\"a\":[1,2,{}]}") >= 8);
	ok(count("{\"op\":\"x\",\"a\":[1,2,{}]}") < 16);
	/* Texts count as one, whatever is in them. */
	is_int(count("[\"a,b:c[d{\",\"\\\",,,\"]"), 3);
	is_int(count("[\"not closed,,,,"), 2);
	is_int(count("[\"\\"), 2);
	is_int(count(""), 1);
}

TAP_TEST(frame_values__lengths_that_do_not_fit)
{
	is_int(frame_values("\0\0\0\x08\0\0\0\x20[1,2", 12), 0);
	is_int(frame_values("\0\0\0", 3), 0);
	is_int(frame_values(golden, GOLDEN_SIZE), 3);
}

TAP_TEST(frame_encode__golden)
{
	json_t *head = json_pack("{s:s}", "op", "out");
	size_t size = 0;
	char *got = frame_encode(head, 2, &size);

	must(got != NULL);
	is_int(size, GOLDEN_SIZE - 2);
	is_mem(got, golden, GOLDEN_SIZE - 2);
	free(got);
	json_decref(head);
}

TAP_TEST(frame_encode__head_of_any_size)
{
	for (size_t n = 1; n <= 1u << 20; n = n * 3 + 1) {
		char *text = calloc(1, n + 1), *got;
		struct frame frame = {0};
		size_t size = 0, used = 0;
		json_t *head;

		must(text != NULL);
		memset(text, 'x', n);
		head = json_pack("{s:s, s:s}", "op", "out", "text", text);
		got = frame_encode(head, 0, &size);
		must(got != NULL);
		is_int(frame_decode(&frame, got, size, FRAME_MAX, &used), 1);
		is_int(used, size);
		ok(json_equal(frame.head, head));
		json_decref(frame.head);
		json_decref(head);
		free(got);
		free(text);
	}
}

TAP_TEST(frame_encode__over_the_limit)
{
	json_t *head = json_pack("{s:s}", "op", "out");
	size_t size = 0, room = FRAME_MAX - FRAME_HEAD_BYTES - 12;
	char *got = frame_encode(head, room, &size);

	ok(got != NULL);
	free(got);
	ok(!frame_encode(head, room + 1, &size));
	ok(!frame_encode(head, SIZE_MAX, &size));
	json_decref(head);
}

TAP_TEST(frame_decode__golden)
{
	struct frame frame = {0};
	size_t used = 0;

	must(is_int(frame_decode(&frame, golden, GOLDEN_SIZE, FRAME_MAX, &used), 1));
	is_int(used, GOLDEN_SIZE);
	is_str(json_string_value(json_object_get(frame.head, "op")), "out");
	is_int(frame.body_size, 2);
	is_mem(frame.body, "hi", 2);
	json_decref(frame.head);
}

TAP_TEST(frame_decode__every_shorter_piece)
{
	for (size_t n = 0; n < GOLDEN_SIZE; n++)
		is_int(decode(golden, n, FRAME_MAX), 0);
}

TAP_TEST(frame_decode__limit)
{
	is_int(decode(golden, GOLDEN_SIZE, GOLDEN_SIZE), 1);
	is_int(decode(golden, GOLDEN_SIZE, GOLDEN_SIZE - 1), -EMSGSIZE);
	is_int(decode("\xff\xff\xff\xff", 4, FRAME_MAX), -EMSGSIZE);
	is_int(decode("\x01\0\0\0", 4, FRAME_MAX), -EMSGSIZE);
	is_int(decode("\0\xff\xff\xfc", 4, FRAME_MAX), 0);
}

TAP_TEST(frame_decode__lengths_that_do_not_fit)
{
	is_int(decode("\0\0\0\0", 4, FRAME_MAX), -EPROTO);
	is_int(decode("\0\0\0\3", 4, FRAME_MAX), -EPROTO);
	is_int(decode("\0\0\0\x12\0\0\0\x0f", 8, FRAME_MAX), -EPROTO);
	is_int(decode("\0\0\0\x12\xff\xff\xff\xff", 8, FRAME_MAX), -EPROTO);
	is_int(decode("\0\0\0\4\0\0\0\0", 8, FRAME_MAX), -EPROTO);
}

TAP_TEST(frame_decode__bad_heads)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"\"op\"",
		"{\"op\":1}",
		"{\"op\":null}",
		"{\"op\":\"a\"",
		"{\"op\":\"a\"}x",
		"{\"op\":\"a\",\"op\":\"b\"}",
		"{\"op\":\"a\",\"x\":{\"y\":1,\"y\":2}}",
		"{\"op\":\"\\u0000\"}",
		"{\"op\":\"\xff\"}",
		"{\"op\":\"a\",\"x\":99999999999999999999}",
		"{\"op\":\"a\",\"x\":NaN}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		okf(decode_text(bad[i]) == -EPROTO, "head %s", bad[i]);
	is_int(decode_text("{\"op\":\"a\"}"), 1);
}

TAP_TEST(frame_decode__deep_head)
{
	enum { DEEP = 100000 };
	char *data = calloc(1, FRAME_HEAD_BYTES + DEEP);

	must(data != NULL);
	memset(data + FRAME_HEAD_BYTES, '[', DEEP);
	data[1] = data[5] = (char)(DEEP >> 16);
	data[2] = data[6] = (char)(DEEP >> 8);
	data[3] = (char)((DEEP & 255) + 4);
	data[7] = (char)(DEEP & 255);
	is_int(decode(data, FRAME_HEAD_BYTES + DEEP, FRAME_MAX), -EPROTO);
	free(data);
}

TAP_TEST(preamble__round_trip)
{
	static const char want[] = "OSCORE1\n\x01\x02\x03\x04\x05\x06\x07\x08";
	char got[PREAMBLE_BYTES];
	uint64_t job = 0;

	preamble_encode(got, 0x0102030405060708);
	is_mem(got, want, PREAMBLE_BYTES);
	is_int(preamble_decode(got, &job), 0);
	is_int(job, 0x0102030405060708);
}

TAP_TEST(preamble_decode__wrong_magic)
{
	uint64_t job = 7;

	for (size_t i = 0; i < PREAMBLE_BYTES - sizeof(job); i++) {
		char from[PREAMBLE_BYTES];

		preamble_encode(from, 1);
		from[i] ^= 1;
		is_int(preamble_decode(from, &job), -EPROTO);
	}
	is_int(job, 7);
}
