// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/limit.h"

#include <limits.h>

#include "tests/harness/tap.h"

TAP_TEST(limit_of__ranks)
{
	is_int(limit_of(0, 1), 4096);
	is_int(limit_of(0, 64), 4096);
	is_int(limit_of(0, 512), 32768);
	is_int(limit_of(0, UINT32_MAX), INT_MAX);
}

TAP_TEST(limit_of__said)
{
	is_int(limit_of(100, 512), 100);
}
