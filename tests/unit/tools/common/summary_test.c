// SPDX-License-Identifier: BSD-3-Clause
/* summary - order statistics of small sets worked out by hand. */
#include "pmcore/tools/common/summary.h"

#include "tests/harness/tap.h"

TAP_TEST(summary_of__one_sample)
{
	double samples[] = {3};
	struct summary s;

	summary_of(samples, 1, &s);
	ok(s.min == 3 && s.max == 3 && s.mean == 3 && s.median == 3 && s.p90 == 3 && s.p99 == 3);
}

TAP_TEST(summary_of__unsorted)
{
	double samples[] = {9, 1, 4, 2};
	struct summary s;

	summary_of(samples, 4, &s);
	ok(s.min == 1);
	ok(s.max == 9);
	ok(s.mean == 4);
	ok(s.median == 3);
	ok(s.p90 == 9);
	is_int(s.count, 4);
}

TAP_TEST(summary_percentile__nearest_rank)
{
	double sorted[100];

	for (int i = 0; i < 100; i++)
		sorted[i] = i + 1;
	ok(summary_percentile(sorted, 100, 90) == 90);
	ok(summary_percentile(sorted, 100, 99) == 99);
	ok(summary_percentile(sorted, 100, 100) == 100);
	ok(summary_percentile(sorted, 100, 0.1) == 1);
	ok(summary_percentile(sorted, 10, 99) == 10);
}

TAP_TEST(summary_histogram__counts_every_sample_once)
{
	double sorted[] = {1, 1.5, 3, 5, 9, 16}, ends[4];
	uint64_t counts[4];

	summary_histogram(sorted, 6, 4, counts, ends);
	ok(ends[0] > 1.99 && ends[0] < 2.01);
	ok(ends[3] == 16);
	is_int(counts[0], 2);
	is_int(counts[1], 1);
	is_int(counts[2], 1);
	is_int(counts[3], 2);
}

TAP_TEST(summary_histogram__all_equal)
{
	double sorted[] = {2, 2, 2}, ends[3];
	uint64_t counts[3];

	summary_histogram(sorted, 3, 3, counts, ends);
	is_int(counts[0] + counts[1] + counts[2], 3);
	ok(ends[2] == 2);
}
