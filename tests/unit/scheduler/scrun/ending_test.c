// SPDX-License-Identifier: BSD-3-Clause
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

TAP_TEST(ending_code__what_is_none)
{
	static const char *const texts[] = {
		"{}",
		"{\"code\":\"0\"}",
		"{\"code\":256}",
		"{\"code\":-1}",
		"{\"code\":4294967296}",
		"{\"code\":0.0}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json_t *head = json_loads(texts[i], 0, NULL);

		is_int(ending_code(head), 255);
		json_decref(head);
	}
}

TAP_TEST(ending_code__what_is_one)
{
	json_t *well = json_pack("{s:i}", "code", 0), *killed = json_pack("{s:i}", "code", 137);

	is_int(ending_code(well), 0);
	is_int(ending_code(killed), 137);
	json_decref(well);
	json_decref(killed);
}
