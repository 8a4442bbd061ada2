/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * costs - what packets of one kind cost, as a histogram, for a few of them may have waited for
 * something else. Pure.
 */
#ifndef PM_CHANNEL_COSTS_H
#define PM_CHANNEL_COSTS_H

#include <stdint.h>

#define COSTS_PART_BITS 4 /* 16 buckets for an octave, each 3 to 6 percent wide */
#define COSTS_PARTS (1u << COSTS_PART_BITS)
#define COSTS_FIRST 5    /* the first bucket has all below it and from 2^5 on ... */
#define COSTS_OCTAVES 12 /* ... and the last one ends at 2^17, and has all above */
#define COSTS_BUCKETS (COSTS_OCTAVES * COSTS_PARTS)

struct costs {
	uint32_t n;                     /* packets */
	uint16_t bucket[COSTS_BUCKETS]; /* of them, by their costs */
};

void costs_clear(struct costs *costs);
/* One more, of any cost. */
void costs_add(struct costs *costs, uint32_t cost);
/*
 * The cost that @part percent (1..99) of the packets do not exceed, between 2^5 and 2^17 to 6
 * percent at worst: costs in a bucket are taken to lie at equal distances. 0 without any packet.
 */
uint32_t costs_quantile(const struct costs *costs, uint32_t part);

#endif
