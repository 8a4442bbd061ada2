// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/conn/wire.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

#define TOKEN 0x12345678u

TAP_TEST(pmv_header__round_trip_and_damaged)
{
	const struct pmv_header in = {PMV_MESSAGE, 0x1234, TOKEN};
	struct pmv_header out;
	uint8_t p[64] = {0};

	pmv_header_put(p, &in);
	is_int(pmv_header_get(p, 9, TOKEN, &out), 0);
	ok(out.kind == PMV_MESSAGE && out.credits == 0x1234);
	is_int(pmv_header_get(p, 8, TOKEN, &out), -EINVAL); /* a message of nothing */
	is_int(pmv_header_get(p, 7, TOKEN, &out), -EBADMSG);
	p[0] = 0;
	is_int(pmv_header_get(p, 9, TOKEN, &out), -EINVAL);
	p[0] = PMV_CARRIED + 1;
	is_int(pmv_header_get(p, 9, TOKEN, &out), -EINVAL);
	p[0] = PMV_CREDIT;
	is_int(pmv_header_get(p, 8, TOKEN, &out), 0);
	is_int(pmv_header_get(p, 9, TOKEN, &out), -EINVAL);
	p[1] = 1;
	is_int(pmv_header_get(p, 8, TOKEN, &out), -EINVAL);
	p[1] = 0;
	is_int(pmv_header_get(p, 8, TOKEN + 1, &out), -EBADMSG);
	p[7] ^= 1;
	is_int(pmv_header_get(p, 8, TOKEN, &out), -EBADMSG);
	p[7] ^= 1;
	p[0] = PMV_CLOSE;
	is_int(pmv_header_get(p, 8, TOKEN, &out), 0);
	is_int(pmv_header_get(p, 9, TOKEN, &out), -EINVAL);
}

/* Each number counts, and so does the direction. */
TAP_TEST(pmv_token__of_one_direction)
{
	const struct pmv_direction out = {1, 2, 3, 4, 5},
				   others[] = {{0, 2, 3, 4, 5}, {1, 0, 3, 4, 5}, {1, 2, 0, 4, 5},
					       {1, 2, 3, 0, 5}, {1, 2, 3, 4, 0}, {1, 4, 5, 2, 3}};
	uint32_t token = pmv_token(99, &out);

	ok(token == pmv_token(99, &out));
	ok(token != pmv_token(98, &out));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		okf(token != pmv_token(99, &others[i]), "direction %zu has the same", i);
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

/* Of a connection that is there. */
static const struct pmv_greeting sound = {
	.flags = PMV_HAVE_YOURS,
	.from = 1,
	.to = 2,
	.epoch = 3,
	.life = 1ull << 60 | 4,
	.heard = 1ull << 61 | 5,
	.qp = 0x123456,
	.psn = 0x654321,
	.credits = 40,
	.received = 1ull << 40,
};

TAP_TEST(pmv_greeting__round_trip)
{
	uint8_t p[PMV_GREETING_BYTES], again[PMV_GREETING_BYTES];
	struct pmv_greeting out;

	pmv_greeting_put(p, &sound, 99);
	is_int(pmv_greeting_get(p, sizeof(p), 99, &out), 0);
	ok(out.flags == sound.flags && out.from == 1 && out.to == 2 && out.epoch == 3);
	ok(out.life == sound.life && out.heard == sound.heard && out.received == sound.received);
	ok(out.qp == sound.qp && out.psn == sound.psn && out.credits == 40);
	pmv_greeting_put(again, &out, 99);
	ok(!memcmp(p, again, sizeof(p)));
	is_int(pmv_greeting_get(p, sizeof(p), 98, &out), -EINVAL);
	is_int(pmv_greeting_get(p, sizeof(p) - 1, 99, &out), -EINVAL);
}

/* The tag covers every bit. */
TAP_TEST(pmv_greeting_get__each_bit_flipped)
{
	struct pmv_greeting out;
	uint8_t p[PMV_GREETING_BYTES];

	pmv_greeting_put(p, &sound, 99);
	for (size_t bit = 0; bit < sizeof(p) * 8; bit++) {
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		is_int(pmv_greeting_get(p, sizeof(p), 99, &out), -EINVAL);
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static int check(const struct pmv_greeting *g)
{
	struct pmv_greeting out;
	uint8_t p[PMV_GREETING_BYTES];

	pmv_greeting_put(p, g, 99);
	return pmv_greeting_get(p, sizeof(p), 99, &out);
}

#define WITH(field, value)                                                                         \
	({                                                                                         \
		struct pmv_greeting g_ = sound;                                                    \
		g_.field = value;                                                                  \
		check(&g_);                                                                        \
	})

TAP_TEST(pmv_greeting_get__of_the_job_and_damaged)
{
	is_int(check(&sound), 0);
	is_int(WITH(flags, 8), -EINVAL);
	is_int(WITH(epoch, 0), -EINVAL);
	is_int(WITH(life, 0), -EINVAL);
	is_int(WITH(qp, 1 << 24), -EINVAL);
	is_int(WITH(psn, 1 << 24), -EINVAL);
	is_int(WITH(credits, 1 << 16), -EINVAL);
}

/* A sender that has not heard of the receiver has received nothing and is not connected. */
TAP_TEST(pmv_greeting_get__not_heard)
{
	struct pmv_greeting g = sound;

	g.heard = 0;
	is_int(check(&g), -EINVAL);
	g.flags = 0;
	is_int(check(&g), -EINVAL);
	g.received = 0;
	is_int(check(&g), 0);
	g.flags = PMV_READY_HERE;
	is_int(check(&g), -EINVAL);
	g.flags = PMV_GOODBYE;
	is_int(check(&g), 0);
}

/* A sender that has no place for a connection sends no queue pair, no credits and no other flag. */
TAP_TEST(pmv_greeting_get__wait)
{
	struct pmv_greeting g = sound;

	g.flags = PMV_WAIT;
	g.qp = g.credits = 0;
	is_int(check(&g), 0);
	g.qp = 1;
	is_int(check(&g), -EINVAL);
	g.qp = 0;
	g.credits = 1;
	is_int(check(&g), -EINVAL);
	g.credits = 0;
	g.flags = PMV_WAIT | PMV_HAVE_YOURS;
	is_int(check(&g), -EINVAL);
}

TAP_TEST(control__lane)
{
	uint8_t p[PMV_CONTROL_MAX] = {PMV_LANE};
	const struct pmv_control in = {.lane = 8, .qp = 0xffffff, .psn = 0xfffffe, .yours = 3};
	size_t size = pmv_control_size(PMV_LANE);
	struct pmv_control bad[] = {in, in, in, in, in, in}, out;

	pmv_control_put(p + PMV_HEADER, PMV_LANE, &in);
	is_int(pmv_control_get(p, size, PMV_LANE, &out), 0);
	ok(!memcmp(&in, &out, sizeof(in)));
	is_int(pmv_control_get(p, size - 1, PMV_LANE, &out), -EINVAL);
	bad[0].lane = 0;
	bad[1].lane = 9;
	bad[2].qp = 1 << 24;
	bad[3].psn = 1 << 24;
	bad[4].yours = 1 << 24;
	bad[5].qp = 0; /* connected to ours, and there is none */
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		pmv_control_put(p + PMV_HEADER, PMV_LANE, &bad[i]);
		is_int(pmv_control_get(p, size, PMV_LANE, &out), -EINVAL);
	}
}

/* Which lane a key is asked for and told for. */
TAP_TEST(control__keys_of_lanes)
{
	static const uint8_t kinds[] = {PMV_ASK, PMV_GRANT};
	uint8_t p[PMV_CONTROL_MAX] = {0};

	for (int i = 0; i < 2; i++) {
		struct pmv_control in = {.rkey = 5, .op = 6, .lane = 8}, out;
		size_t size = pmv_control_size(kinds[i]);

		pmv_control_put(p + PMV_HEADER, kinds[i], &in);
		is_int(pmv_control_get(p, size, kinds[i], &out), 0);
		is_int(out.lane, 8);
		is_int(out.error, 0);
		in.lane = 9;
		pmv_control_put(p + PMV_HEADER, kinds[i], &in);
		is_int(pmv_control_get(p, size, kinds[i], &out), -EINVAL);
	}
}
