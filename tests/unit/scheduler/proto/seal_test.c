// SPDX-License-Identifier: BSD-3-Clause
/*
 * seal: one side pulls the bytes that the other side pushes, in whatever pieces they come; any
 * other bytes are refused.
 */
#include "scheduler/proto/seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

#define WIRE_MAX (4 * SEAL_RECORD_MAX)

static enum seal_cipher cipher;

/* A test with each cipher that this processor has. */
#define SEAL_TEST(name)                                                                            \
	static void name(void);                                                                    \
	TAP_TEST(name##_of_each_cipher)                                                            \
	{                                                                                          \
		for (cipher = SEAL_XCHACHA20; cipher <= seal_cipher_best(); cipher++)              \
			name();                                                                    \
	}                                                                                          \
	static void name(void)

/* Both ends of a connection, and what a has sent. */
struct ends {
	struct seal a, b;
	size_t size;
	char wire[WIRE_MAX];
};

static void setup(struct ends *ends)
{
	unsigned char opening[2][SEAL_OPENING_BYTES];
	struct seal_keys a, b;

	is_int(seal_keys_make(&a), 0);
	is_int(seal_keys_make(&b), 0);
	is_int(seal_begin(&ends->a, &a, b.public, false, cipher, opening[0]), 0);
	is_int(seal_begin(&ends->b, &b, a.public, true, cipher, opening[1]), 0);
	memcpy(ends->wire, opening[0], SEAL_OPENING_BYTES);
	ends->size = SEAL_OPENING_BYTES;
}

static void push(struct ends *ends, const char *text, bool is_last)
{
	ends->size += seal_push(&ends->a, ends->wire + ends->size, text, strlen(text), is_last);
}

/* Pulls all of @wire; the text of all records, and what the last call said. */
static int pull_all(struct seal *seal, const char *wire, size_t size, char *text, size_t room)
{
	size_t at = 0, n, used, length = 0;
	char plain[WIRE_MAX];
	int got = 0;

	while (at < size && (got = seal_pull(seal, wire + at, size - at, plain, &n, &used)) > 0) {
		at += used;
		if (!ok(length + n < room))
			return -E2BIG;
		memcpy(text + length, plain, n);
		length += n;
	}
	text[length] = '\0';
	return got;
}

SEAL_TEST(seal_pull__what_was_pushed)
{
	static struct ends ends;
	char text[64];

	setup(&ends);
	push(&ends, "one", false);
	push(&ends, "", false);
	push(&ends, "two", true);
	ok(!memmem(ends.wire, ends.size, "one", 3) && !memmem(ends.wire, ends.size, "two", 3));
	is_int(pull_all(&ends.b, ends.wire, ends.size, text, sizeof(text)), 1);
	is_str(text, "onetwo");
	ok(ends.b.is_ended);
}

SEAL_TEST(seal_pull__the_longest_record_in_pieces)
{
	static struct ends ends;
	static char long_one[SEAL_PLAIN_MAX], plain[SEAL_RECORD_MAX];
	size_t n, used, at = SEAL_OPENING_BYTES;
	char text[8];

	setup(&ends);
	memset(long_one, 'x', sizeof(long_one));
	ends.size += seal_push(&ends.a, ends.wire + at, long_one, sizeof(long_one), false);
	is_int(ends.size - at, SEAL_RECORD_MAX);
	is_int(seal_wants(&ends.b, ends.wire, 0), SEAL_OPENING_BYTES);
	is_int(seal_pull(&ends.b, ends.wire, at - 1, plain, &n, &used), 0);
	is_int(pull_all(&ends.b, ends.wire, at, text, sizeof(text)), 1);
	is_int(seal_wants(&ends.b, ends.wire + at, 3), 4);
	is_int(seal_wants(&ends.b, ends.wire + at, 4), SEAL_RECORD_MAX);
	is_int(seal_pull(&ends.b, ends.wire + at, 3, plain, &n, &used), 0);
	is_int(seal_pull(&ends.b, ends.wire + at, SEAL_RECORD_MAX - 1, plain, &n, &used), 0);
	is_int(seal_pull(&ends.b, ends.wire + at, SEAL_RECORD_MAX, plain, &n, &used), 1);
	is_int(n, SEAL_PLAIN_MAX);
	is_int(used, SEAL_RECORD_MAX);
	is_mem(plain, long_one, sizeof(long_one));
}

/* One bit, anywhere behind the opening and the lengths. */
SEAL_TEST(seal_pull__altered)
{
	static struct ends ends, spoilt;
	char text[64];
	size_t n_taken = 0;

	setup(&ends);
	push(&ends, "one", false);
	for (size_t at = 0; at < ends.size; at++) {
		spoilt = ends;
		spoilt.wire[at] = (char)(spoilt.wire[at] ^ 1);
		/* A length that is longer than what is there waits for the rest. */
		if (pull_all(&spoilt.b, spoilt.wire, spoilt.size, text, sizeof(text)) > 0 || *text)
			n_taken++;
	}
	is_int(n_taken, 0);
}

SEAL_TEST(seal_pull__repeated_left_out_reordered)
{
	static struct ends ends;
	size_t at[4];
	struct seal fresh;
	char text[64], wire[256];

	setup(&ends);
	fresh = ends.b;
	for (int i = 0; i < 3; i++) {
		at[i] = ends.size;
		push(&ends, "abc", false);
	}
	at[3] = ends.size;
	/* The first one twice. */
	memcpy(wire, ends.wire, at[1]);
	memcpy(wire + at[1], ends.wire + at[0], at[1] - at[0]);
	is_int(pull_all(&ends.b, wire, 2 * at[1] - at[0], text, sizeof(text)), -EBADMSG);
	is_str(text, "abc");
	/* Without the second one, which is with the last two in the other order as well. */
	ends.b = fresh;
	memcpy(wire + at[1], ends.wire + at[2], at[3] - at[2]);
	is_int(pull_all(&ends.b, wire, at[1] + at[3] - at[2], text, sizeof(text)), -EBADMSG);
	is_str(text, "abc");
	/* Behind the last one. */
	ends.b = fresh;
	push(&ends, "end", true);
	push(&ends, "more", false);
	is_int(pull_all(&ends.b, ends.wire, ends.size, text, sizeof(text)), -EBADMSG);
	is_str(text, "abcabcabcend");
}

/* To the side that sent it, or to a connection with another key. */
SEAL_TEST(seal_pull__of_another_connection)
{
	static struct ends ends, other;
	char text[64];

	setup(&ends);
	setup(&other);
	push(&ends, "one", false);
	is_int(pull_all(&other.b, ends.wire, ends.size, text, sizeof(text)), -EBADMSG);
	is_int(pull_all(&ends.a, ends.wire, ends.size, text, sizeof(text)), -EBADMSG);
}

SEAL_TEST(seal_pull__lengths)
{
	static const struct {
		const char *bytes;
		int got;
	} cases[] = {
		{"\0\0\0\0", -EBADMSG}, {"\0\0\0\x10", -EBADMSG}, {"\0\0\0\x11", 0},
		{"\0\1\0\x11", 0},      {"\0\1\0\x12", -EBADMSG}, {"\xff\xff\xff\xff", -EBADMSG},
	};
	static struct ends ends;
	size_t n, used;
	char text[8];

	setup(&ends);
	is_int(pull_all(&ends.b, ends.wire, ends.size, text, sizeof(text)), 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_int(seal_pull(&ends.b, cases[i].bytes, 4, text, &n, &used), cases[i].got);
}

SEAL_TEST(seal__goes_on_from_a_copy)
{
	static struct ends ends;
	struct seal copy;
	size_t half;
	char text[64];

	setup(&ends);
	push(&ends, "one", false);
	half = ends.size;
	is_int(pull_all(&ends.b, ends.wire, half, text, sizeof(text)), 1);
	copy = ends.b;
	seal_forget(&ends.b);
	push(&ends, "two", false);
	is_int(pull_all(&copy, ends.wire + half, ends.size - half, text, sizeof(text)), 1);
	is_str(text, "two");
}

TAP_TEST(seal_cipher_read__names)
{
	enum seal_cipher got = SEAL_AES256;

	is_int(seal_cipher_read(&got, "xchacha20poly1305"), 0);
	is_int(got, SEAL_XCHACHA20);
	is_int(seal_cipher_read(&got, seal_cipher_name(SEAL_AES256)), 0);
	is_int(got, SEAL_AES256);
	is_int(seal_cipher_read(&got, ""), -EPROTO);
	is_int(seal_cipher_read(&got, "aes256gcm "), -EPROTO);
	is_int(got, SEAL_AES256);
}

TAP_TEST(seal_key_read__digits_of_a_key)
{
	struct seal_keys keys;
	unsigned char key[SEAL_KEY_BYTES];
	char text[SEAL_KEY_HEX + 1];

	is_int(seal_keys_make(&keys), 0);
	seal_key_text(text, keys.public);
	is_int(seal_key_read(key, text), 0);
	is_mem(key, keys.public, sizeof(key));
	text[SEAL_KEY_HEX - 1] = '0';
	text[SEAL_KEY_HEX] = '\0';
	is_int(seal_key_read(key, text), -EPROTO);
	text[SEAL_KEY_HEX - 2] = '\0';
	is_int(seal_key_read(key, text), -EPROTO);
	text[SEAL_KEY_HEX - 2] = 'A';
	text[SEAL_KEY_HEX - 1] = '\0';
	is_int(seal_key_read(key, text), -EPROTO);
	is_int(seal_key_read(key, ""), -EPROTO);
}

/* A point from which no secret comes: anybody would know the keys. */
TAP_TEST(seal_begin__no_key)
{
	static const unsigned char zero[SEAL_KEY_BYTES];
	unsigned char opening[SEAL_OPENING_BYTES];
	struct seal_keys keys;
	struct seal seal;

	is_int(seal_keys_make(&keys), 0);
	is_int(seal_begin(&seal, &keys, zero, false, SEAL_XCHACHA20, opening), -EPROTO);
}
