// SPDX-License-Identifier: BSD-3-Clause
#include "pm-udp/stream/wire.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

/* In a request. */
#define HOW_AT 23
#define GAP_AT 24

static const struct pmt_greeting greeting = {.from = 3, .to = 70000, .nonce = 0x1122334455667788};

TAP_TEST(greeting__round_trip_and_damaged)
{
	uint8_t bytes[PMT_GREETING];
	struct pmt_greeting out;

	pmt_greeting_put(bytes, &greeting);
	is_int(pmt_greeting_get(bytes, &out), 0);
	ok(out.from == greeting.from && out.to == greeting.to && out.nonce == greeting.nonce);
	for (size_t i = 0; i < 4; i++) {
		bytes[i] ^= 1;
		is_int(pmt_greeting_get(bytes, &out), -EINVAL);
		bytes[i] ^= 1;
		bytes[12 + i] = 1;
		is_int(pmt_greeting_get(bytes, &out), -EINVAL);
		bytes[12 + i] = 0;
	}
}

TAP_TEST(request__round_trip_and_no_end)
{
	struct pmt_request in = {.rkey = 7,
				 .offset = UINT64_MAX - PMT_LENGTH_MAX,
				 .length = PMT_LENGTH_MAX,
				 .how = PMT_LENT},
			   out;
	uint8_t bytes[PMT_REQUEST];

	pmt_request_put(bytes, &in);
	is_int(pmt_request_get(bytes, &out), 0);
	ok(out.rkey == in.rkey && out.offset == in.offset && out.length == in.length);
	is_int(out.how, PMT_LENT);
	in.offset++;
	pmt_request_put(bytes, &in);
	is_int(pmt_request_get(bytes, &out), -EINVAL);
}

TAP_TEST(request__ends_with_zeros)
{
	struct pmt_request in = {.rkey = 7, .length = 1}, out;
	uint8_t bytes[PMT_REQUEST];

	for (size_t i = GAP_AT + 2; i < PMT_REQUEST; i++) {
		pmt_request_put(bytes, &in);
		bytes[i] = 1;
		is_int(pmt_request_get(bytes, &out), -EINVAL);
	}
}

/* Before data that are copied, and not before none. */
TAP_TEST(request__gap)
{
	struct pmt_request in = {.rkey = 7, .length = 1, .gap = PMT_GAP_MAX}, out;
	uint8_t bytes[PMT_REQUEST];

	pmt_request_put(bytes, &in);
	is_int(pmt_request_get(bytes, &out), 0);
	is_int(out.gap, PMT_GAP_MAX);
	in.gap++;
	pmt_request_put(bytes, &in);
	is_int(pmt_request_get(bytes, &out), -EINVAL);
	in.gap = 1;
	in.how = PMT_LENT;
	pmt_request_put(bytes, &in);
	is_int(pmt_request_get(bytes, &out), -EINVAL);
	in.how = PMT_COPIED;
	in.length = 0;
	pmt_request_put(bytes, &in);
	is_int(pmt_request_get(bytes, &out), -EINVAL);
}

TAP_TEST(request__asked_in_an_unknown_way)
{
	struct pmt_request in = {.rkey = 7, .length = 1}, out;
	uint8_t bytes[PMT_REQUEST];

	pmt_request_put(bytes, &in);
	is_int(pmt_request_get(bytes, &out), 0);
	is_int(out.how, PMT_COPIED);
	bytes[HOW_AT] = PMT_LENT + 1;
	is_int(pmt_request_get(bytes, &out), -EINVAL);
	bytes[HOW_AT] = 255;
	is_int(pmt_request_get(bytes, &out), -EINVAL);
}

TAP_TEST(tag__depends_on_everything)
{
	uint64_t tag = pmt_tag(1, PMT_OWNER, &greeting, 5);
	struct pmt_greeting other = greeting;

	ok(tag == pmt_tag(1, PMT_OWNER, &greeting, 5));
	ok(tag != pmt_tag(2, PMT_OWNER, &greeting, 5));
	ok(tag != pmt_tag(1, PMT_READER, &greeting, 5));
	ok(tag != pmt_tag(1, PMT_OWNER, &greeting, 6));
	other.from++;
	ok(tag != pmt_tag(1, PMT_OWNER, &other, 5));
	other = greeting;
	other.to++;
	ok(tag != pmt_tag(1, PMT_OWNER, &other, 5));
	other = greeting;
	other.nonce++;
	ok(tag != pmt_tag(1, PMT_OWNER, &other, 5));
}

TAP_TEST(answer_and_proof__round_trip)
{
	const struct pmt_answer in = {0x0102030405060708, 0xfffefdfcfbfaf9f8};
	uint8_t bytes[PMT_ANSWER];
	struct pmt_answer out;

	pmt_answer_put(bytes, &in);
	is_int(bytes[0], 8);
	pmt_answer_get(bytes, &out);
	ok(out.nonce == in.nonce && out.tag == in.tag);
	pmt_proof_put(bytes, in.tag);
	ok(pmt_proof_get(bytes) == in.tag);
}
