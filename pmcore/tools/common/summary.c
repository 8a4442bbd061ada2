// SPDX-License-Identifier: BSD-3-Clause
/* summary - order statistics by sorting. */
#include "pmcore/tools/common/summary.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double summary_percentile(const double *sorted, size_t count, double percent)
{
	size_t rank = (size_t)ceil(percent / 100 * (double)count);

	if (rank < 1)
		rank = 1;
	return sorted[rank < count ? rank - 1 : count - 1];
}

void summary_of(double *samples, size_t count, struct summary *ret_summary)
{
	double sum = 0;

	assert(count > 0);
	qsort(samples, count, sizeof(*samples), compare);
	for (size_t i = 0; i < count; i++)
		sum += samples[i];
	*ret_summary = (struct summary){
		.count = count,
		.min = samples[0],
		.max = samples[count - 1],
		.mean = sum / (double)count,
		.median = (samples[(count - 1) / 2] + samples[count / 2]) / 2,
		.p90 = summary_percentile(samples, count, 90),
		.p99 = summary_percentile(samples, count, 99),
	};
}

void summary_histogram(const double *sorted, size_t count, size_t n_bins, uint64_t *ret_counts,
		       double *ret_ends)
{
	double min = sorted[0] > 1e-9 ? sorted[0] : 1e-9;
	double ratio = pow(sorted[count - 1] / min, 1 / (double)n_bins);
	size_t at = 0;

	for (size_t bin = 0; bin < n_bins; bin++) {
		size_t first = at;

		ret_ends[bin] = min * pow(ratio, (double)bin + 1);
		if (bin == n_bins - 1)
			ret_ends[bin] = sorted[count - 1]; /* rounding must not lose the last one */
		while (at < count && (sorted[at] < ret_ends[bin] || bin == n_bins - 1))
			at++;
		ret_counts[bin] = at - first;
	}
}
