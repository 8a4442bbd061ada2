/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cache line that two cores hand to and fro: one side asks, the other side answers. Owns the
 * protocol on the line and the reading of the clock. Knows neither what the two sides are (threads,
 * processes) nor what is near or far.
 */
#ifndef TESTS_BENCH_SRC_LINE_H
#define TESTS_BENCH_SRC_LINE_H

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define LINE_BATCH 200        /* round trips between two readings of the clock */
#define LINE_BATCHES_MAX 4096 /* of one measurement */
#define LINE_END (-1)         /* the asking side is done; the answering side resets the line to 0 */

/* The line holds an odd number while an answer is due. */
typedef _Atomic long line_t;

static inline double line_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static inline int line_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* LINE_BATCH round trips that begin with the even number @turn; returns the next one. */
static inline long line_bounce(line_t *line, long turn)
{
	for (int i = 0; i < LINE_BATCH; i++, turn += 2) {
		atomic_store_explicit(line, turn + 1, memory_order_release);
		while (atomic_load_explicit(line, memory_order_acquire) != turn + 2)
			;
	}
	return turn;
}

/*
 * The asking side. Measures for @limit_ns and returns the median over batches of the time of one
 * way, in ns. The line is 0 before and after.
 */
static inline double line_ask(line_t *line, double limit_ns)
{
	static double times[LINE_BATCHES_MAX];
	long turn = line_bounce(line, 0);
	double start = line_now_ns(), last = start, now;
	int n = 0;

	do {
		turn = line_bounce(line, turn);
		now = line_now_ns();
		times[n++] = (now - last) / (2 * LINE_BATCH);
		last = now;
	} while (n < LINE_BATCHES_MAX && now - start < limit_ns);
	atomic_store(line, LINE_END);
	while (atomic_load(line) != 0)
		;
	qsort(times, (size_t)n, sizeof(*times), line_by_value);
	return times[n / 2];
}

/* The answering side. Returns when the asking side is done. */
static inline void line_answer(line_t *line)
{
	for (;;) {
		long turn = atomic_load_explicit(line, memory_order_acquire);

		if (turn == LINE_END)
			break;
		if (turn & 1)
			atomic_store_explicit(line, turn + 1, memory_order_release);
	}
	atomic_store(line, 0);
}

#endif
