/* SPDX-License-Identifier: BSD-3-Clause */
/* settings - what a run of scstest is asked to do. */
#ifndef SCSTEST_SETTINGS_H
#define SCSTEST_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "pmcore/tools/common/exchange.h"

#define SETTINGS_SIZE_MAX (4ull << 20)

/* Whom a node talks to. */
enum settings_pattern { PATTERN_RANDOM, PATTERN_ALL_TO_ALL, PATTERN_NEIGHBOUR };

struct settings {
	double seconds;                /* time of traffic; 0 = by count */
	uint64_t count;                /* operations each node begins; 0 = by time */
	uint64_t max_size;             /* of one operation, bytes */
	uint64_t reads;                /* percent of operations that are reads */
	uint64_t writes;               /* percent that are writes */
	uint64_t seed;                 /* of all choices; UINT64_MAX = drawn by chance */
	double limit;                  /* longest silence of the others, s */
	bool json;                     /* one JSON object instead of a table */
	bool alone;                    /* one node, to itself */
	enum settings_pattern pattern; /* whom each node talks to */
	struct exchange_grid grid;     /* of the nodes; none unless PATTERN_NEIGHBOUR */
	const char *pattern_text;      /* name of the pattern */
	const char *dims_text;         /* the grid as it was given; NULL = not at all */
};

/* 0; -ECANCELED: help or version was printed; -EINVAL after saying why. */
int settings_read(int argc, char **argv, struct settings *ret_settings);
/* Whether they suit a job of so many nodes; -EINVAL after saying why not. */
int settings_suit(const struct settings *settings, uint32_t nodes);

#endif
