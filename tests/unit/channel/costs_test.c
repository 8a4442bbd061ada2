// SPDX-License-Identifier: BSD-3-Clause
/* costs: quantiles of a histogram. */
#include "pmcore/channel/costs.h"

#include "tests/harness/tap.h"

static uint32_t middle_of(uint32_t cost)
{
	struct costs costs;

	costs_clear(&costs);
	for (int i = 0; i < 100; i++)
		costs_add(&costs, cost);
	return costs_quantile(&costs, 50);
}

TAP_TEST(costs__each_cost_is_told_to_six_percent)
{
	for (uint32_t cost = 32; cost < 1u << 17; cost += 1 + cost / 100) {
		uint32_t told = middle_of(cost);

		okf(told * 100 >= cost * 94 && told * 100 <= cost * 106, "%u is told as %u", cost,
		    told);
	}
}

TAP_TEST(costs__ends)
{
	struct costs costs;

	costs_clear(&costs);
	is_int(costs_quantile(&costs, 50), 0);
	ok(middle_of(0) <= 64);
	ok(middle_of(31) <= 64);
	ok(middle_of(UINT32_MAX) >= 120000);
	ok(middle_of(UINT32_MAX) <= 1u << 17);
}

TAP_TEST(costs__quantiles_of_many)
{
	struct costs costs;

	costs_clear(&costs);
	for (uint32_t i = 1; i <= 10000; i++)
		costs_add(&costs, i);
	is_int(costs.n, 10000);
	for (uint32_t part = 5; part < 100; part += 5) {
		uint32_t told = costs_quantile(&costs, part);

		okf(told >= part * 98 && told <= part * 102, "%u percent: %u", part, told);
	}
}

TAP_TEST(costs__a_few_dear_ones_do_not_count)
{
	struct costs costs;

	costs_clear(&costs);
	for (uint32_t i = 0; i < 100; i++)
		costs_add(&costs, i < 40 ? 50000 : 1000);
	ok(costs_quantile(&costs, 50) < 1060);
	ok(costs_quantile(&costs, 75) > 47000);
}

/* A bucket that is full takes no more, and the number of all stays that of the buckets. */
TAP_TEST(costs__more_than_a_bucket_holds)
{
	struct costs costs;

	costs_clear(&costs);
	for (uint32_t i = 0; i < 70000; i++)
		costs_add(&costs, 1000);
	is_int(costs.n, UINT16_MAX);
	costs_add(&costs, 5000);
	is_int(costs.n, UINT16_MAX + 1);
	ok(costs_quantile(&costs, 99) < 1060);
}
