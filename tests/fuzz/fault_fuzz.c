// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any text as a fault script: it is taken and everything is in range, or refused with a sentence
 * and no change.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check_ranges(const struct fault_script *script)
{
	for (int r = 0; r < PM_RAILS_MAX; r++) {
		const struct fault_rules *rules = &script->rails[r];

		for (int a = 0; a < FAULT_ACTIONS; a++)
			require(rules->ppm[a] <= 1000000);
		/* how is said only where the action is */
		require(rules->distance <= 64 && rules->delay_ns <= 10000000000ull);
		require(!rules->ppm[FAULT_REORDER] || rules->distance);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct fault_script script, before;
	char why[64] = "";

	require(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	memset(&script, 0x55, sizeof(script));
	before = script;
	if (fault_parse(text, &script, why, sizeof(why))) {
		require(why[0] && memchr(why, 0, sizeof(why)));
		require(!memcmp(&script, &before, sizeof(before)));
	} else {
		check_ranges(&script);
	}
	free(text);
	return 0;
}
