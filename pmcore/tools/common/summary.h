/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * summary - what a set of samples says: median, mean, percentiles and a histogram. Pure; sorts the
 * caller's samples in place.
 */
#ifndef TOOLS_SUMMARY_H
#define TOOLS_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

/* All in the unit of the samples. */
struct summary {
	size_t count;        /* of samples */
	double min, max;     /* the extremes */
	double mean, median; /* the middle, twice */
	double p90, p99;     /* percentiles, nearest rank */
};

/* @count of at least 1. */
void summary_of(double *samples, size_t count, struct summary *ret_summary);
/* Nearest-rank percentile of sorted samples, @percent in (0, 100]. */
double summary_percentile(const double *sorted, size_t count, double percent);

/*
 * Counts of sorted samples in @n_bins bins of equal ratio between the least and the greatest; bin i
 * ends at ret_ends[i]. All samples equal: they are in the last bin.
 */
void summary_histogram(const double *sorted, size_t count, size_t n_bins, uint64_t *ret_counts,
		       double *ret_ends);

#endif
