/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure - one ping-pong of one size: checked data, batches, processor time, steps, and the JSON
 * line that rank 0 prints.
 */
#ifndef TESTS_BENCH_DESIGNS_MEASURE_H
#define TESTS_BENCH_DESIGNS_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/bench/designs/design.h"

struct measurement {
	double seconds;   /* that a size gets */
	int operations;   /* round trips, and no measurement; 0: as many as fit into the seconds */
	bool is_stepped;  /* takes the time of each step, which makes messages a little slower */
	bool is_paused;   /* each round trip begins after a pause that is left to chance: see -p */
	bool has_no_line; /* no probe of the cache line time */
};

/* Memory for messages and their pattern; before the first measurement. */
void measure_start(void);
/* Both ranks call it. Ends the program where data are wrong. */
void measure(struct end *end, size_t bytes, const struct measurement *how);

#endif
