// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/wire.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

TAP_TEST(pmv_header__round_trip_and_damaged)
{
	const struct pmv_header in = {PMV_MESSAGE, 0x1234};
	struct pmv_header out;
	uint8_t p[64] = {0};

	pmv_header_put(p, &in);
	is_int(pmv_header_get(p, 9, &out), 0);
	ok(out.kind == PMV_MESSAGE && out.credits == 0x1234);
	is_int(pmv_header_get(p, 8, &out), -EINVAL); /* a message of nothing */
	is_int(pmv_header_get(p, 7, &out), -EINVAL);
	p[0] = 0;
	is_int(pmv_header_get(p, 9, &out), -EINVAL);
	p[0] = PMV_REVOKE + 1;
	is_int(pmv_header_get(p, 9, &out), -EINVAL);
	p[0] = PMV_CREDIT;
	is_int(pmv_header_get(p, 8, &out), 0);
	is_int(pmv_header_get(p, 9, &out), -EINVAL);
	p[1] = 1;
	is_int(pmv_header_get(p, 8, &out), -EINVAL);
	p[1] = 0;
	p[7] = 1;
	is_int(pmv_header_get(p, 8, &out), -EINVAL);
}

TAP_TEST(pmv_control__round_trip)
{
	const struct pmv_control in = {.rkey = 0x1122334455667788,
				       .op = 9,
				       .error = 13,
				       .addr = 0xfff0,
				       .len = 77,
				       .key = 5,
				       .is_writable = true};
	struct pmv_control out;
	uint8_t p[64];
	size_t size = pmv_control_size(PMV_GRANT);

	pmv_control_put(p + PMV_HEADER, PMV_GRANT, &in);
	is_int(pmv_control_get(p, size, PMV_GRANT, &out), 0);
	ok(out.rkey == in.rkey && out.op == 9 && out.error == 13 && out.addr == 0xfff0 &&
	   out.len == 77 && out.key == 5 && out.is_writable);
	is_int(pmv_control_get(p, size - 1, PMV_GRANT, &out), -EINVAL);
	pmv_control_put(p + PMV_HEADER, PMV_ASK, &in);
	is_int(pmv_control_get(p, pmv_control_size(PMV_ASK), PMV_ASK, &out), 0);
	ok(out.rkey == in.rkey && out.op == 9 && !out.addr);
	pmv_control_put(p + PMV_HEADER, PMV_REVOKE, &in);
	is_int(pmv_control_get(p, pmv_control_size(PMV_REVOKE), PMV_REVOKE, &out), 0);
	ok(out.rkey == in.rkey && !out.op);
}

TAP_TEST(pmv_control_get__damaged)
{
	struct pmv_control c = {.addr = UINT64_MAX - 5, .len = 6}, out;
	size_t size = pmv_control_size(PMV_GRANT);
	uint8_t p[64];

	pmv_control_put(p + PMV_HEADER, PMV_GRANT, &c);
	is_int(pmv_control_get(p, size, PMV_GRANT, &out), -EINVAL);
	c.len = 5;
	pmv_control_put(p + PMV_HEADER, PMV_GRANT, &c);
	is_int(pmv_control_get(p, size, PMV_GRANT, &out), 0);
	/* -error must stay one */
	c.error = 4096;
	pmv_control_put(p + PMV_HEADER, PMV_GRANT, &c);
	is_int(pmv_control_get(p, size, PMV_GRANT, &out), -EINVAL);
}

TAP_TEST(pmv_greeting__round_trip)
{
	const struct pmv_greeting in = {PMV_HAVE_YOURS, 1,        2,  3,         4,
					0x123456,       0x654321, 40, 1ull << 40};
	struct pmv_greeting out;
	uint8_t p[PMV_GREETING_BYTES];

	pmv_greeting_put(p, &in, 99);
	is_int(pmv_greeting_get(p, sizeof(p), 99, &out), 0);
	ok(!memcmp(&in, &out, sizeof(in)));
	is_int(pmv_greeting_get(p, sizeof(p), 98, &out), -EINVAL);
	is_int(pmv_greeting_get(p, sizeof(p) - 1, 99, &out), -EINVAL);
}

/* The tag covers every bit. */
TAP_TEST(pmv_greeting_get__each_bit_flipped)
{
	const struct pmv_greeting in = {0, 1, 2, 3, 4, 5, 6, 7, 8};
	struct pmv_greeting out;
	uint8_t p[PMV_GREETING_BYTES];

	pmv_greeting_put(p, &in, 99);
	for (size_t bit = 0; bit < sizeof(p) * 8; bit++) {
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		is_int(pmv_greeting_get(p, sizeof(p), 99, &out), -EINVAL);
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

TAP_TEST(pmv_greeting_get__of_the_job_and_damaged)
{
	static const struct pmv_greeting bad[] = {
		{8, 1, 2, 3, 4, 5, 6, 7, 8},       {0, 1, 2, 0, 4, 5, 6, 7, 8},
		{0, 1, 2, 3, 0, 5, 6, 7, 8},       {0, 1, 2, 3, 4, 1 << 24, 6, 7, 8},
		{0, 1, 2, 3, 4, 5, 1 << 24, 7, 8}, {0, 1, 2, 3, 4, 5, 6, 1 << 16, 8},
	};
	struct pmv_greeting out;
	uint8_t p[PMV_GREETING_BYTES];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		pmv_greeting_put(p, &bad[i], 99);
		okf(pmv_greeting_get(p, sizeof(p), 99, &out) == -EINVAL, "case %zu", i);
	}
}
