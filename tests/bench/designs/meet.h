/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * meet - how the two ranks of a measurement find each other: a page of memory that both map from
 * one file. Owns meetings, the exchange of addresses, the probe of the cache line time, and the end
 * of the program by a failure, which ends the other rank as well. Knows nothing of what is
 * measured.
 */
#ifndef TESTS_BENCH_DESIGNS_MEET_H
#define TESTS_BENCH_DESIGNS_MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEET_BLOB_MAX 1024 /* bytes that a rank can give the other one */
#define MEET_LIMIT_S 60 /* of the whole run: then a frame was lost, or the other rank never came */

extern int meet_rank; /* 0 or 1 */

/* Maps the file, which both ranks name; it is created with mode 600 where it is not there. */
void meet_open(const char *path, int rank);

/* Returns when both ranks are here. The ranks spin: each has a core of its own. */
void meet(void);

/* Spins for a time that is left to chance, at most @most_ns; how long it was, ns. */
uint64_t meet_pause(uint64_t most_ns);

/* Both ranks get the number that rank 0 gives. */
uint64_t meet_tell(uint64_t what);

/*
 * Gives the other rank @len bytes and gets as many as it gave, at most MEET_BLOB_MAX; their number.
 */
size_t meet_exchange(const void *ours, size_t len, void *theirs);

/* Time of one way of a cache line, ns, at rank 0; 0 at the other one. Both ranks call it. */
double meet_probe(void);

/* A number that both ranks know and no other run has. */
uint64_t meet_key(void);

/* Ends both ranks with exit status 1: @what failed for the reason that errno holds. */
_Noreturn void die(const char *what);
/* The same for the reason that @why says. */
_Noreturn void die_of(const char *what, const char *why);

#endif
