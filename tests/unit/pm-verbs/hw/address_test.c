// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/hw/address.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

static struct pmv_address sample(uint32_t n)
{
	struct pmv_address a = {.n_rails = n, .buffer_bytes = 4096};

	for (uint32_t i = 0; i < n; i++)
		a.rails[i] = (struct pmv_end){
			{1, 2, [15] = (uint8_t)i}, 0x123456, 1024, 0xabcd, PMV_ROCE_V2, 0};
	return a;
}

TAP_TEST(pmv_address__round_trip)
{
	for (uint32_t n = 1; n <= PM_RAILS_MAX; n++) {
		struct pmv_address a = sample(n), b;
		uint8_t bytes[256];
		int len = pmv_address_encode(&a, bytes, sizeof(bytes));

		is_int(len, PMV_ADDRESS_HEADER + n * PMV_ADDRESS_RAIL);
		is_int(pmv_address_decode(bytes, (size_t)len, &b), 0);
		ok(b.n_rails == n && b.buffer_bytes == 4096);
		ok(b.rails[n - 1].qp == 0x123456 && b.rails[n - 1].lid == 0xabcd &&
		   b.rails[n - 1].mtu == 1024 && b.rails[n - 1].gid[15] == n - 1);
		is_int(pmv_address_encode(&a, bytes, (size_t)len - 1), -ENOSPC);
		is_int(pmv_address_decode(bytes, (size_t)len - 1, &b), -EINVAL);
	}
}

TAP_TEST(pmv_address_decode__damaged)
{
	/* offset, value, what comes of it */
	static const int cases[][3] = {
		{0, 1, -EHOSTUNREACH}, {1, 0, -EINVAL},   {1, 9, -EINVAL},  {2, 1, -EINVAL},
		{4, 1, -EINVAL},       {5, 0, -EINVAL},   {6, 2, -EINVAL},  {27, 1, -EINVAL},
		{31, 3, -EINVAL},      {31, 32, -EINVAL}, {32, 0, -EINVAL}, {32, 4, -EINVAL},
		{33, 1, -EINVAL},
	};
	struct pmv_address a = sample(1), b;
	uint8_t bytes[64];
	int len = pmv_address_encode(&a, bytes, sizeof(bytes));

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t was = bytes[cases[i][0]];

		bytes[cases[i][0]] = (uint8_t)cases[i][1];
		okf(pmv_address_decode(bytes, (size_t)len, &b) == cases[i][2], "byte %d = %d",
		    cases[i][0], cases[i][1]);
		bytes[cases[i][0]] = was;
	}
	is_int(pmv_address_decode(bytes, (size_t)len, &b), 0);
}

TAP_TEST(pmv_address_decode__missing_rails)
{
	struct pmv_address a = sample(2), b;
	uint8_t bytes[64 + PMV_ADDRESS_RAIL];
	int len;

	a.rails[1].skipped = PM_RAILS_MAX - 1;
	len = pmv_address_encode(&a, bytes, sizeof(bytes));
	is_int(pmv_address_decode(bytes, (size_t)len, &b), 0);
	ok(b.rails[0].skipped == 0 && b.rails[1].skipped == PM_RAILS_MAX - 1);
	a.rails[1].skipped++;
	len = pmv_address_encode(&a, bytes, sizeof(bytes));
	is_int(pmv_address_decode(bytes, (size_t)len, &b), -EINVAL);
}

/* Both sides find the same pairs in the same order. */
static void compare(const struct pmv_address *a, const struct pmv_address *b, int want)
{
	struct pmv_pair ab[PM_RAILS_MAX], ba[PM_RAILS_MAX];
	char why[200];
	int n = pmv_address_pairs(a, b, true, ab, why, sizeof(why));

	is_int(n, want);
	is_int(pmv_address_pairs(b, a, false, ba, why, sizeof(why)), want);
	for (int i = 0; i < n; i++)
		ok(ab[i].ours == ba[i].theirs && ab[i].theirs == ba[i].ours);
}

TAP_TEST(pmv_address_pairs__alike_on_both_sides)
{
	struct pmv_address a = sample(2), b = sample(3);

	compare(&a, &b, 2);
	/* equal numbers do not match: all that do */
	a.rails[0].protocol = PMV_ROCE_V1;
	b.rails[1].mtu = 512;
	compare(&a, &b, 2);
	a.rails[0].protocol = PMV_ROCE_V2;
	compare(&a, &b, 1);
	a = sample(8), b = sample(8);
	for (int i = 0; i < 8; i++) {
		a.rails[i].mtu = i < 4 ? 1024 : 4096;
		b.rails[i].mtu = i < 4 ? 4096 : 1024;
	}
	compare(&a, &b, 8);
	b.buffer_bytes = 8192;
	compare(&a, &b, -EHOSTUNREACH);
}

/* Of two wires and three: who lacks one calls the others as before. */
TAP_TEST(pmv_address_pairs__missing_rails)
{
	struct pmv_address a = sample(2), b = sample(1), c = sample(2);
	struct pmv_pair pairs[PM_RAILS_MAX];
	char why[200];

	b.rails[0].skipped = 1;
	compare(&a, &b, 1);
	is_int(pmv_address_pairs(&a, &b, true, pairs, why, sizeof(why)), 1);
	ok(pairs[0].ours == 1 && pairs[0].theirs == 0);
	c.rails[1].skipped = 1;
	compare(&a, &c, 1);
	is_int(pmv_address_pairs(&c, &a, true, pairs, why, sizeof(why)), 1);
	ok(pairs[0].ours == 0 && pairs[0].theirs == 0);
	/* one that nobody else has */
	b.rails[0].skipped = 2;
	compare(&a, &b, 2);
}
