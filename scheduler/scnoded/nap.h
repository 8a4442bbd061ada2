/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nap - sleep that ends at a moment or when a word changes, and the clock that such moments are of,
 * which is that of slot tables. Apart from turn.c, so that its tests run in a time of their own.
 */
#ifndef SCHEDULER_SCNODED_NAP_H
#define SCHEDULER_SCNODED_NAP_H

#include <stdatomic.h>
#include <stdint.h>

#define NAP_FOREVER UINT64_MAX

/* ns since 1970. */
uint64_t nap_clock_ns(void);
/* A clock that nobody sets. */
uint64_t nap_steady_ns(void);
/* Sleeps until *@word is not @seen any more, or until @until_ns; may end earlier. */
void nap_until(atomic_uint *word, unsigned int seen, uint64_t until_ns);
/* Changes the word and wakes all who sleep by it. */
void nap_end(atomic_uint *word);

#endif
