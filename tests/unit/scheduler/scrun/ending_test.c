/* SPDX-License-Identifier: BSD-3-Clause */
/* ending: the first cause counts. */
#include "scheduler/scrun/ending.h"
#include "tests/harness/tap.h"

TAP_TEST(ending_give__first_counts)
{
	struct ending ending = {0};

	ending_give(&ending, 137, "rank %d", 3);
	ending_give(&ending, 123, "its leader is lost");
	is_int(ending.code, 137);
	is_str(ending.text, "rank 3");
}

TAP_TEST(ending_give__codes_that_exit_cannot_tell)
{
	struct ending high = {0}, low = {0};

	ending_give(&high, 256, "%s", "");
	ending_give(&low, -1, "%s", "");
	is_int(high.code, 255);
	is_int(low.code, 255);
}
