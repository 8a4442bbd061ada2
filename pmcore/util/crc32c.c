// SPDX-License-Identifier: BSD-3-Clause
/*
 * crc32c - two implementations of one function: the SSE4.2 instruction and slicing-by-8 tables
 * (Kounavis, Berry 2005). The tables are computed when the library is loaded and constant after.
 */
#include "pmcore/util/crc32c.h"

#include <endian.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */

static uint32_t table[8][256]; /* [k][b]: the effect of byte b followed by k zero bytes */

__attribute__((constructor)) static void fill_table(void)
{
	uint32_t byte, crc;
	int k;

	for (byte = 0; byte < 256; byte++) {
		crc = byte;
		for (k = 0; k < 8; k++)
			crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
		table[0][byte] = crc;
	}
	for (byte = 0; byte < 256; byte++)
		for (k = 1; k < 8; k++)
			table[k][byte] = (table[k - 1][byte] >> 8) ^
					 table[0][table[k - 1][byte] & 0xff];
}

static uint32_t step_8_bytes(uint32_t crc, const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	word = le64toh(word) ^ crc;
	return table[7][word & 0xff] ^ table[6][word >> 8 & 0xff] ^ table[5][word >> 16 & 0xff] ^
	       table[4][word >> 24 & 0xff] ^ table[3][word >> 32 & 0xff] ^
	       table[2][word >> 40 & 0xff] ^ table[1][word >> 48 & 0xff] ^ table[0][word >> 56];
}

uint32_t crc32c_portable(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	crc = ~crc;
	for (; len >= 8; len -= 8, p += 8)
		crc = step_8_bytes(crc, p);
	for (; len; len--, p++)
		crc = (crc >> 8) ^ table[0][(crc ^ *p) & 0xff];
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data,
							       size_t len)
{
	const uint8_t *p = data;
	uint64_t state = (uint32_t)~crc, word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, sizeof(word));
		state = __builtin_ia32_crc32di(state, word);
	}
	crc = state;
	for (; len; len--, p++)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return ~crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_sse42(crc, data, len);
#endif
	return crc32c_portable(crc, data, len);
}
