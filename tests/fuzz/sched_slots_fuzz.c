// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any JSON as a slot table: what is let through has a row at every time, and it comes out the same
 * twice; else a sentence.
 */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/slots.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check(const struct slots *slots)
{
	uint64_t until = 0;

	require(slots->n_rows >= 1 && slots->n_rows <= SLOTS_ROWS_MAX);
	require(slots->quantum_ns >= SLOTS_QUANTUM_MIN_NS);
	require(slots_row(slots, INT64_MAX, &until) < slots->n_rows && until > INT64_MAX);
	for (size_t i = 0; i < slots->n_jobs; i++)
		require(slots->n_rows == 64 || slots->jobs[i].rows >> slots->n_rows == 0);
}

static void check_again(const struct slots *slots)
{
	json_t *first = slots_encode(slots), *second;
	struct slots *again = NULL;
	char why[128] = "";

	require(first != NULL);
	require(!slots_decode(&again, first, why, sizeof(why)));
	second = slots_encode(again);
	require(second && json_equal(first, second));
	slots_free(again);
	json_decref(first);
	json_decref(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *from = json_loadb((const char *)data, size,
				  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	struct slots *slots = NULL;
	char why[128] = "";
	int err;

	if (!from)
		return 0;
	err = slots_decode(&slots, from, why, sizeof(why));
	json_decref(from);
	require(memchr(why, 0, sizeof(why)) != NULL);
	if (err) {
		require(err == -EINVAL && why[0] && !slots);
		return 0;
	}
	check(slots);
	check_again(slots);
	slots_free(slots);
	return 0;
}
