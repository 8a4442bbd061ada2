/* SPDX-License-Identifier: BSD-3-Clause */
/* copy: by each way every alignment and length copies what memcpy does, and nothing beside it. */
#include "pmcore/util/copy.h"

#include "tests/harness/tap.h"

#define MOST 400
#define EDGE 64

static uint8_t from[MOST + 2 * EDGE], to[MOST + 2 * EDGE] __attribute__((aligned(64)));

static bool is_exact(enum copy_way way, size_t begin, size_t source, size_t len)
{
	memset(to, 0xee, sizeof(to));
	copy_by(way, to + begin, from + source, len);
	copy_end();
	for (size_t i = 0; i < sizeof(to); i++) {
		bool is_inside = i >= begin && i < begin + len;

		if (to[i] != (is_inside ? from[source + i - begin] : 0xee))
			return false;
	}
	return true;
}

static void try_all(enum copy_way way)
{
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t begin = 0; begin < EDGE; begin++)
		for (size_t len = 0; len <= MOST; len++)
			if (!okf(is_exact(way, begin, len % EDGE, len), "%zu bytes to %zu", len,
				 begin))
				return;
}

TAP_TEST(copy_past_caches__as_memcpy)
{
	try_all(COPY_PAST_CACHES);
}

TAP_TEST(copy_string__as_memcpy)
{
	try_all(COPY_STRING);
}

TAP_TEST(copy_ordinary__as_memcpy)
{
	try_all(COPY_ORDINARY);
}
