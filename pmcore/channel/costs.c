// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/channel/costs.h"

#include <string.h>

/* The highest bits after the first one tell the part of an octave. */
static uint32_t bucket_of(uint32_t cost)
{
	uint32_t log, bucket;

	if (cost < 1u << COSTS_FIRST)
		return 0;
	log = 31 - (uint32_t)__builtin_clz(cost);
	bucket =
		(log - COSTS_FIRST) * COSTS_PARTS + (cost >> (log - COSTS_PART_BITS)) % COSTS_PARTS;
	return bucket < COSTS_BUCKETS ? bucket : COSTS_BUCKETS - 1;
}

/* The least cost of a bucket; that of the one behind the last is where this ends. */
static uint32_t begin_of(uint32_t bucket)
{
	uint32_t log = COSTS_FIRST + bucket / COSTS_PARTS;

	return (COSTS_PARTS + bucket % COSTS_PARTS) << (log - COSTS_PART_BITS);
}

void costs_clear(struct costs *costs)
{
	memset(costs, 0, sizeof(*costs));
}

void costs_add(struct costs *costs, uint32_t cost)
{
	uint16_t *n = &costs->bucket[bucket_of(cost)];

	if (*n == UINT16_MAX)
		return;
	(*n)++;
	costs->n++;
}

uint32_t costs_quantile(const struct costs *costs, uint32_t part)
{
	uint64_t below = (uint64_t)costs->n * part; /* in hundredths, as the rest */
	uint32_t i;

	if (!costs->n)
		return 0;
	for (i = 0; i < COSTS_BUCKETS - 1 && below > costs->bucket[i] * 100u; i++)
		below -= costs->bucket[i] * 100u;
	return begin_of(i) +
	       (uint32_t)((begin_of(i + 1) - begin_of(i)) * below / (costs->bucket[i] * 100u));
}
