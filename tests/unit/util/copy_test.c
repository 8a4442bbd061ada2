// SPDX-License-Identifier: BSD-3-Clause
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

/*
 * Long copies whose target lies each number of bytes up to 64 further in its page, or before the
 * source's place in it.
 */
TAP_TEST(copy_bytes__as_memcpy_wherever_it_is_close)
{
	static uint8_t source[4 * COPY_PAGE], target[4 * COPY_PAGE];
	const size_t lens[] = {COPY_PIECE, COPY_PIECE + 1, 2 * COPY_PIECE, 2 * COPY_PIECE + 1,
			       2 * COPY_PAGE + 17};

	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t at = 0; at < 2 * EDGE; at++)
		for (size_t k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
			memset(target, 0xee, sizeof(target));
			copy_bytes(target + at, source + EDGE, lens[k]);
			if (!okf(!memcmp(target + at, source + EDGE, lens[k]) &&
					 target[at + lens[k]] == 0xee &&
					 (!at || target[at - 1] == 0xee),
				 "%zu bytes to %zu", lens[k], at))
				return;
		}
}

TAP_TEST(copy_is_close__by_the_places_in_the_pages)
{
	static uint8_t page[3 * COPY_PAGE] __attribute__((aligned(COPY_PAGE)));

	ok(!copy_is_close(page, page + COPY_PAGE));
	ok(copy_is_close(page + 1, page + COPY_PAGE));
	ok(copy_is_close(page + 2 * COPY_PAGE + 31, page));
	ok(!copy_is_close(page + 32, page + COPY_PAGE));
	ok(!copy_is_close(page + COPY_PAGE, page + 1));
	ok(copy_is_close(page + COPY_PAGE, page + COPY_PAGE - 31));
}
