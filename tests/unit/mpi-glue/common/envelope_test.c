// SPDX-License-Identifier: BSD-3-Clause
/* envelope: every kind at its right length, one byte less and more, and lies in its fields. */
#include "mpi-glue/common/envelope.h"
#include "tests/harness/tap.h"

#include <errno.h>
#include <string.h>

/* Room for any datagram of these tests. */
static union {
	struct envelope base;
	struct envelope_first first;
	struct envelope_rts rts;
	struct envelope_control control;
	unsigned char bytes[256];
} d;

static void make(enum envelope_kind kind)
{
	memset(&d, 0, sizeof(d));
	d.base.kind_context = kind;
}

TAP_TEST(envelope_parse__whole_messages)
{
	make(ENVELOPE_EAGER);
	d.base.kind_context = envelope_pack(ENVELOPE_EAGER, ENVELOPE_CONTEXT_MAX);
	is_int(envelope_parse(&d, 16), 16);
	is_int(envelope_parse(&d, 200), 16);
	is_int(envelope_parse(&d, 15), -EBADMSG);
	is_int(envelope_context(&d.base), ENVELOPE_CONTEXT_MAX);
	is_int(envelope_kind(&d), ENVELOPE_EAGER);
	make(ENVELOPE_EAGER_SYNC);
	is_int(envelope_parse(&d, 24), 24);
	is_int(envelope_parse(&d, 23), -EBADMSG);
}

TAP_TEST(envelope_parse__exact_lengths)
{
	static const struct {
		enum envelope_kind kind;
		int length;
	} exact[] = {{ENVELOPE_ACK, 16},   {ENVELOPE_PULL, 32},    {ENVELOPE_FIN, 16},
		     {ENVELOPE_CHOKE, 16}, {ENVELOPE_UNCHOKE, 16}, {ENVELOPE_READ, 16},
		     {ENVELOPE_COPY, 16}};

	for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++) {
		make(exact[i].kind);
		is_int(envelope_parse(&d, (size_t)exact[i].length), exact[i].length);
		is_int(envelope_parse(&d, (size_t)exact[i].length - 1), -EBADMSG);
		is_int(envelope_parse(&d, (size_t)exact[i].length + 1), -EBADMSG);
	}
}

TAP_TEST(envelope_parse__announcement_with_a_head)
{
	make(ENVELOPE_RTS);
	is_int(envelope_parse(&d, 72), 72);
	is_int(envelope_parse(&d, 71), -EBADMSG);
	is_int(envelope_parse(&d, 73), -EBADMSG); /* more than the head it tells of */
	d.rts.size = 1000;
	d.rts.head = 10;
	is_int(envelope_parse(&d, 72), 72);
	is_int(envelope_parse(&d, 82), 72);
	is_int(envelope_parse(&d, 83), -EBADMSG);
	d.rts.head = 1000;
	is_int(envelope_parse(&d, 82), 72);
	d.rts.head = 1001; /* longer than the message */
	is_int(envelope_parse(&d, 82), -EBADMSG);
	d.rts.head = 10;
	d.base.source = -1;
	is_int(envelope_parse(&d, 82), -EBADMSG);
}

TAP_TEST(envelope_parse__pad_before_data)
{
	static const struct {
		enum envelope_kind kind;
		int length;
	} padded[] = {{ENVELOPE_EAGER, 16},
		      {ENVELOPE_EAGER_SYNC, 24},
		      {ENVELOPE_FIRST, 24},
		      {ENVELOPE_MORE, 16},
		      {ENVELOPE_DATA, 16}};

	for (size_t i = 0; i < sizeof(padded) / sizeof(padded[0]); i++) {
		size_t head = (size_t)padded[i].length;

		make(padded[i].kind);
		if (padded[i].kind == ENVELOPE_FIRST)
			d.first.size = 100;
		envelope_set_pad(&d, ENVELOPE_ALIGN - 1);
		is_int(envelope_parse(&d, head + ENVELOPE_ALIGN + 9), head + ENVELOPE_ALIGN - 1);
		is_int(envelope_parse(&d, head + ENVELOPE_ALIGN - 2), -EBADMSG);
		envelope_set_pad(&d, ENVELOPE_ALIGN);
		is_int(envelope_parse(&d, head + ENVELOPE_ALIGN + 9), -EBADMSG);
		envelope_set_pad(&d, UINT32_MAX);
		is_int(envelope_parse(&d, head + ENVELOPE_ALIGN + 9), -EBADMSG);
	}
}

TAP_TEST(envelope_parse_part__only_of_its_kind)
{
	make(ENVELOPE_MORE);
	is_int(envelope_parse_part(&d, 17, ENVELOPE_MORE), 16);
	is_int(envelope_parse_part(&d, 17, ENVELOPE_DATA), -EBADMSG);
	is_int(envelope_parse_part(&d, 16, ENVELOPE_MORE), -EBADMSG);
	is_int(envelope_parse_part(&d, 3, ENVELOPE_MORE), -EBADMSG);
	make(ENVELOPE_EAGER);
	is_int(envelope_parse_part(&d, 64, ENVELOPE_MORE), -EBADMSG);
}

TAP_TEST(envelope_parse__parts_carry_data)
{
	make(ENVELOPE_MORE);
	is_int(envelope_parse(&d, 17), 16);
	is_int(envelope_parse(&d, 16), -EBADMSG);
	make(ENVELOPE_DATA);
	is_int(envelope_parse(&d, 17), 16);
	is_int(envelope_parse(&d, 16), -EBADMSG);
}

TAP_TEST(envelope_parse__first_part_longer_than_message)
{
	make(ENVELOPE_FIRST);
	d.first.size = 10;
	is_int(envelope_parse(&d, 24 + 10), 24);
	is_int(envelope_parse(&d, 24 + 11), -EBADMSG);
}

TAP_TEST(envelope_parse__negative_source)
{
	make(ENVELOPE_EAGER);
	d.base.source = -1;
	is_int(envelope_parse(&d, 16), -EBADMSG);
	make(ENVELOPE_RTS);
	d.base.source = INT32_MIN;
	is_int(envelope_parse(&d, 64), -EBADMSG);
}

TAP_TEST(envelope_parse__unknown_kinds)
{
	for (int kind = 0; kind < 256; kind++) {
		if (kind >= ENVELOPE_EAGER && kind < ENVELOPE_KINDS)
			continue;
		make((enum envelope_kind)kind);
		okf(envelope_parse(&d, 64) == -EBADMSG, "kind %d", kind);
	}
	make(ENVELOPE_ACK);
	d.control.kind |= 0x100;
	is_int(envelope_parse(&d, 16), -EBADMSG);
	is_int(envelope_parse(&d, 0), -EBADMSG);
}

TAP_TEST(envelope_parse__random_bytes_stay_inside)
{
	uint64_t state = tap_seed();

	for (int i = 0; i < 200000; i++) {
		size_t len = tap_rand(&state) % 100;
		int head;

		for (size_t j = 0; j < 32; j++)
			d.bytes[j] = (unsigned char)tap_rand(&state);
		d.bytes[0] %= ENVELOPE_KINDS + 1;
		head = envelope_parse(&d, len);
		okf(head == -EBADMSG || (head >= 16 && (size_t)head <= len), "length %zu head %d",
		    len, head);
	}
}
