// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/util/siphash.h"

#define WORD sizeof(uint64_t)

static uint64_t rotate(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

static void mix(uint64_t v[4], int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

static void take(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	mix(v, 2);
	v[0] ^= word;
}

/* Up to eight bytes as a little-endian number. */
static uint64_t read_word(const uint8_t *at, size_t len)
{
	uint64_t word = 0;

	while (len--)
		word = word << 8 | at[len];
	return word;
}

uint64_t siphash(uint64_t key0, uint64_t key1, const void *data, size_t len)
{
	uint64_t v[4] = {key0 ^ 0x736f6d6570736575ull, key1 ^ 0x646f72616e646f6dull,
			 key0 ^ 0x6c7967656e657261ull, key1 ^ 0x7465646279746573ull};
	const uint8_t *at = data;
	size_t left;

	for (left = len; left >= WORD; left -= WORD, at += WORD)
		take(v, read_word(at, WORD));
	take(v, read_word(at, left) | (uint64_t)len << 56);
	v[2] ^= 0xff;
	mix(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
