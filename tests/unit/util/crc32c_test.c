// SPDX-License-Identifier: BSD-3-Clause
/* Tests of CRC32C: published vectors, and the two implementations against each other. */
#include <string.h>

#include "pmcore/util/crc32c.h"
#include "tests/harness/tap.h"

TAP_TEST(crc32c__vectors_of_rfc_3720)
{
	uint8_t data[32];
	int i;

	is_int(crc32c(0, "123456789", 9), 0xe3069283);
	is_int(crc32c(0, "", 0), 0);
	memset(data, 0, sizeof(data));
	is_int(crc32c(0, data, sizeof(data)), 0x8a9136aa);
	memset(data, 0xff, sizeof(data));
	is_int(crc32c(0, data, sizeof(data)), 0x62a8ab43);
	for (i = 0; i < 32; i++)
		data[i] = (uint8_t)i;
	is_int(crc32c(0, data, sizeof(data)), 0x46dd794e);
	is_int(crc32c_portable(0, data, sizeof(data)), 0x46dd794e);
	is_int(crc32c_portable(0, "123456789", 9), 0xe3069283);
}

TAP_TEST(crc32c__any_length_alignment_and_split)
{
	static uint8_t data[512];
	uint64_t state = tap_seed();
	size_t len, at, split;
	int step;

	for (at = 0; at < sizeof(data); at++)
		data[at] = (uint8_t)tap_rand(&state);
	for (step = 0; step < 5000; step++) {
		uint32_t whole;

		at = tap_rand(&state) % 16;
		len = tap_rand(&state) % (sizeof(data) - 16);
		split = tap_rand(&state) % (len + 1);
		whole = crc32c_portable(0, data + at, len);
		is_int(crc32c(0, data + at, len), whole);
		is_int(crc32c(crc32c(0, data + at, split), data + at + split, len - split), whole);
		is_int(crc32c_portable(crc32c(0, data + at, split), data + at + split, len - split),
		       whole);
	}
}
