/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * splitmix - numbers from a state of 64 bits, and its finalizer: every input bit reaches every
 * output bit (splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014). Nothing secret may hang on it.
 */
#ifndef PM_UTIL_SPLITMIX_H
#define PM_UTIL_SPLITMIX_H

#include <stdint.h>

#define SPLITMIX_GOLDEN 0x9e3779b97f4a7c15ull

static inline uint64_t splitmix_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* The next number; changes the state. */
static inline uint64_t splitmix_next(uint64_t *state)
{
	*state += SPLITMIX_GOLDEN;
	return splitmix_mix(*state);
}

#endif
