/* SPDX-License-Identifier: BSD-3-Clause */
/* settings - what a run of scstest is asked to do. */
#ifndef SCSTEST_SETTINGS_H
#define SCSTEST_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#define SETTINGS_SIZE_MAX (4ull << 20)

struct settings {
	double seconds;    /* time of traffic; 0 = by count */
	uint64_t count;    /* operations each node begins; 0 = by time */
	uint64_t max_size; /* of one operation, bytes */
	uint64_t reads;    /* percent of operations that are reads */
	uint64_t writes;   /* percent that are writes */
	uint64_t seed;     /* of all choices; UINT64_MAX = drawn by chance */
	double limit;      /* longest silence of the others, s */
	bool json;         /* one JSON object instead of a table */
	bool alone;        /* one node, to itself */
};

/* 0; -ECANCELED: help or version was printed; -EINVAL after saying why. */
int settings_read(int argc, char **argv, struct settings *ret_settings);

#endif
