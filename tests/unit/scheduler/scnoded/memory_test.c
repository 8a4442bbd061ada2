// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/memory.h"

#include "tests/harness/tap.h"

#define GIB (UINT64_C(1) << 30)

TAP_TEST(memory_of__share)
{
	is_int(memory_of(0, 1, 100 * GIB, 90), 90 * GIB);
	is_int(memory_of(0, 4096, 100 * GIB, 1), GIB);
	is_int(memory_of(0, 1, 100 * GIB, 100), 100 * GIB);
}

TAP_TEST(memory_of__asked)
{
	is_int(memory_of(GIB, 4, 100 * GIB, 90), 4 * GIB);
	is_int(memory_of(9 * GIB, 10, 100 * GIB, 90), 90 * GIB);
	is_int(memory_of(9 * GIB + 1, 10, 100 * GIB, 90), 0);
	is_int(memory_of(JOB_MEMORY_MAX, ORDER_HOST_RANKS_MAX, 100 * GIB, 90), 0);
	is_int(memory_of(UINT64_MAX, UINT32_MAX, 100 * GIB, 90), 0); /* no overflow */
}

TAP_TEST(memory_text__units)
{
	char text[32];

	memory_text(1 << 20, text, sizeof(text));
	is_str(text, "1 MiB");
	memory_text(1536 << 20, text, sizeof(text));
	is_str(text, "1.5 GiB");
	memory_text(JOB_MEMORY_MAX, text, sizeof(text));
	is_str(text, "1024 TiB");
}
