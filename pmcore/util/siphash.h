/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * siphash - SipHash-2-4 (Aumasson, Bernstein 2012): a keyed hash of short inputs that tells nothing
 * about its key, nor about the hash of another input.
 */
#ifndef PM_UTIL_SIPHASH_H
#define PM_UTIL_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* Of @len bytes under the key whose little-endian halves are @key0 and @key1. Any thread. */
uint64_t siphash(uint64_t key0, uint64_t key1, const void *data, size_t len);

#endif
