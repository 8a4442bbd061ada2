// SPDX-License-Identifier: BSD-3-Clause
/*
 * A sealed connection with somebody on the way. The input says in which pieces the bytes of two
 * records come, and where they are altered; the rest of the input follows as it is. seal_pull()
 * lets nothing through but the bytes that were sent, up to the first alteration.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SENT "to be, or not to be"
#define HALF 9 /* bytes of it in the first record */
#define ROOM 4096

static void require(int cond)
{
	if (!cond)
		abort();
}

static size_t sent_wire(struct seal *to, enum seal_cipher cipher, char wire[ROOM])
{
	unsigned char opening[2][SEAL_OPENING_BYTES];
	struct seal_keys a, b;
	struct seal from;
	size_t size = SEAL_OPENING_BYTES;

	require(!seal_keys_make(&a) && !seal_keys_make(&b));
	require(!seal_begin(&from, &a, b.public, false, cipher, opening[0]));
	require(!seal_begin(to, &b, a.public, true, cipher, opening[1]));
	memcpy(wire, opening[0], SEAL_OPENING_BYTES);
	size += seal_push(&from, wire + size, SENT, HALF, false);
	size += seal_push(&from, wire + size, &SENT[HALF], sizeof(SENT) - HALF, true);
	return size;
}

/* Pulls with at first @piece bytes there, then all. The bytes that were let through. */
static size_t pull_all(struct seal *seal, const char *wire, size_t size, size_t piece,
		       char text[ROOM])
{
	size_t at = 0, n, used, length = 0, there = piece < size ? piece : size;

	for (;;) {
		int got = seal_pull(seal, wire + at, there - at, text + length, &n, &used);

		require(got == 1 || got == 0 || got == -EBADMSG);
		if (got == -EBADMSG || (!got && there == size))
			return length;
		require(got == 1 || seal_wants(seal, wire + at, there - at) > there - at);
		if (!got) {
			there = size;
			continue;
		}
		require(used && used <= there - at && n < used);
		at += used;
		length += n;
	}
}

static void run(enum seal_cipher cipher, const uint8_t *data, size_t size)
{
	char wire[ROOM], text[ROOM];
	struct seal seal;
	size_t whole = sent_wire(&seal, cipher, wire), length, rest;

	wire[data[1] % whole] = (char)(wire[data[1] % whole] ^ data[2]);
	rest = size - 3 < sizeof(wire) - whole ? size - 3 : sizeof(wire) - whole;
	memcpy(wire + whole, data + 3, rest);
	length = pull_all(&seal, wire, whole + rest, data[0], text);
	require(length == 0 || length == HALF || length == sizeof(SENT));
	require(!memcmp(text, SENT, length));
	require(data[2] || length == sizeof(SENT));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (enum seal_cipher cipher = 0; size >= 3 && cipher <= seal_cipher_best(); cipher++)
		run(cipher, data, size);
	return 0;
}
