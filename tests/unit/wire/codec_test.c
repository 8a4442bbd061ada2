// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of the codec: each golden packet is encoded and decoded, each rule of wire_decode is broken
 * once, and random damage is never let through as something that runs out of the packet.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/wire/codec.h"
#include "tests/harness/tap.h"

#define KEY 0x0123456789abcdefull

/* A packet under construction or test. */
struct packet {
	_Alignas(8) uint8_t data[1024];
	uint32_t len; /* bytes of data in use */
};

/* The header most vectors share. */
static struct wire_header common_header(enum wire_type type)
{
	return (struct wire_header){.version = WIRE_VERSION,
				    .type = (uint8_t)type,
				    .credit = 32,
				    .key = KEY,
				    .src = 1,
				    .dst = 2};
}

static void begin(struct packet *p)
{
	memset(p, 0, sizeof(*p));
	p->len = sizeof(struct wire_header);
}

/* Puts a message header behind what there is; gives the place of its payload. */
static uint8_t *add_msg(struct packet *p, enum wire_kind kind, uint32_t op, uint32_t length)
{
	struct wire_msg msg = {.length = (uint16_t)length, .kind = (uint8_t)kind, .op = op};
	uint8_t *payload;

	p->len = (p->len + 7) & ~7u;
	wire_put_msg(p->data + p->len, &msg);
	payload = p->data + p->len + sizeof(msg);
	p->len += (uint32_t)sizeof(msg) + length;
	return payload;
}

static void finish(struct packet *p, struct wire_header header)
{
	header.length = (uint16_t)(p->len - sizeof(header));
	wire_put_header(p->data, &header);
}

static bool load_golden(const char *name, struct packet *p)
{
	char path[128], line[256], *at, *end;
	FILE *file;

	begin(p);
	p->len = 0;
	snprintf(path, sizeof(path), "tests/golden/wire/%s.hex", name);
	file = fopen(path, "r");
	if (!okf(file != NULL, "can't open %s: run this from the top of the tree", path))
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#')
			continue;
		for (at = line; p->len < sizeof(p->data); at = end) {
			unsigned long byte = strtoul(at, &end, 16);

			if (end == at)
				break;
			p->data[p->len++] = (uint8_t)byte;
		}
	}
	fclose(file);
	return true;
}

/* The packet that we wrote equals the golden one byte for byte, and the golden one decodes. */
static bool is_golden(const char *name, const struct packet *p, struct wire_header *ret_header)
{
	struct packet golden;

	if (!load_golden(name, &golden))
		return false;
	is_int(p->len, golden.len);
	return is_mem(p->data, golden.data, golden.len) &&
	       is_int(wire_decode(golden.data, golden.len, 0, ret_header), DROP_NONE);
}

static void build_datagram(struct packet *p)
{
	struct wire_header h = common_header(WIRE_DATA);

	begin(p);
	memcpy(add_msg(p, WIRE_DATAGRAM, 0, 5), "hello", 5);
	h.flags = 2 << WIRE_F_ECHO_SHIFT;
	h.rail = 1;
	h.seq = 7;
	h.rail_seq = 9;
	h.ack = 3;
	h.sack = 5;
	h.rail_ack = 11;
	finish(p, h);
}

TAP_TEST(wire_decode__golden_datagram)
{
	struct wire_msg_view view;
	struct wire_header h;
	struct packet p;
	uint32_t cursor = 0;

	build_datagram(&p);
	must(is_golden("datagram", &p, &h));
	is_int(h.type, WIRE_DATA);
	is_int((h.flags & WIRE_F_ECHO_MASK) >> WIRE_F_ECHO_SHIFT, 2);
	is_int(h.rail, 1);
	is_int(h.length, 13);
	is_int(h.credit, 32);
	ok(h.key == KEY);
	is_int(h.src, 1);
	is_int(h.dst, 2);
	is_int(h.seq, 7);
	is_int(h.rail_seq, 9);
	is_int(h.ack, 3);
	is_int(h.sack, 5);
	is_int(h.rail_ack, 11);
	is_int(wire_next_msg(p.data, &h, &cursor, &view), 1);
	is_int(view.msg.kind, WIRE_DATAGRAM);
	is_int(view.msg.length, 5);
	is_mem(view.payload, "hello", 5);
	is_int(wire_next_msg(p.data, &h, &cursor, &view), 0);
	is_int(wire_next_msg(p.data, &h, &cursor, &view), 0);
}

TAP_TEST(wire_seal__golden_crc)
{
	struct wire_header h;
	struct packet p;

	build_datagram(&p);
	wire_seal(p.data, p.len);
	is_golden("datagram-crc", &p, &h);
}

TAP_TEST(wire_next_msg__golden_two_messages)
{
	struct wire_header h = common_header(WIRE_DATA);
	struct wire_msg_view view;
	struct packet p;
	uint32_t cursor = 0;

	begin(&p);
	memcpy(add_msg(&p, WIRE_DATAGRAM, 0, 3), "abc", 3);
	memcpy(add_msg(&p, WIRE_DATAGRAM, 0, 8), "01234567", 8);
	h.seq = 0xffffffff;
	h.rail_seq = 0xfffffffe;
	h.ack = 0xfffffffd;
	h.sack = 0x80000001;
	finish(&p, h);
	must(is_golden("two-messages", &p, &h));
	is_int(h.seq, 0xffffffff);
	is_int(h.sack, 0x80000001);
	is_int(wire_next_msg(p.data, &h, &cursor, &view), 1);
	is_int(view.msg.length, 3);
	is_mem(view.payload, "abc", 3);
	is_int(wire_next_msg(p.data, &h, &cursor, &view), 1);
	is_int(view.msg.length, 8);
	is_mem(view.payload, "01234567", 8);
	is_int((uintptr_t)view.payload % 8, 0);
	is_int(wire_next_msg(p.data, &h, &cursor, &view), 0);
}

/* Decodes the only message of a golden packet. */
static bool only_msg(const char *name, const struct packet *p, struct wire_msg_view *ret)
{
	struct wire_header h;
	uint32_t cursor = 0;

	return is_golden(name, p, &h) && is_int(wire_next_msg(p->data, &h, &cursor, ret), 1);
}

TAP_TEST(wire_get_read__golden)
{
	struct wire_read body = {0x1111222233334444, 0x10, 0x20, 0x100000000}, got;
	struct wire_header h = common_header(WIRE_DATA);
	struct wire_msg_view view;
	struct packet p;

	begin(&p);
	wire_put_read(add_msg(&p, WIRE_READ, 0x10203, sizeof(body)), &body);
	h.seq = 1;
	finish(&p, h);
	must(only_msg("read", &p, &view));
	is_int(view.msg.op, 0x10203);
	is_int(wire_get_read(&view, &got), 0);
	is_mem(&got, &body, sizeof(body));
	view.msg.length--;
	is_int(wire_get_read(&view, &got), -EBADMSG);
}

TAP_TEST(wire_get_place__golden)
{
	struct wire_place body = {0x180000000}, got;
	struct wire_header h = common_header(WIRE_DATA);
	struct wire_msg_view view;
	struct packet p;
	uint8_t *payload;

	begin(&p);
	payload = add_msg(&p, WIRE_PLACE, 0x10203, sizeof(body) + 4);
	wire_put_place(payload, &body);
	memcpy(payload + sizeof(body), "DATA", 4);
	h.seq = 2;
	finish(&p, h);
	wire_seal(p.data, p.len);
	must(only_msg("place", &p, &view));
	is_int(wire_get_place(&view, &got), 0);
	is_mem(&got, &body, sizeof(body));
	is_mem(view.payload + sizeof(body), "DATA", 4);
	view.msg.length = sizeof(body) - 1;
	is_int(wire_get_place(&view, &got), -EBADMSG);
}

TAP_TEST(wire_get_refuse__golden_refuse_and_written)
{
	struct wire_refuse body = {.error = EACCES}, got;
	struct wire_header h = common_header(WIRE_DATA);
	struct wire_msg_view view;
	struct packet p;

	begin(&p);
	wire_put_refuse(add_msg(&p, WIRE_REFUSE, 0x10203, sizeof(body)), &body);
	h.seq = 3;
	finish(&p, h);
	must(only_msg("refuse", &p, &view));
	is_int(wire_get_refuse(&view, &got), 0);
	is_int(got.error, EACCES);
	view.msg.length--;
	is_int(wire_get_refuse(&view, &got), -EBADMSG);
	begin(&p);
	body.error = 0;
	wire_put_refuse(add_msg(&p, WIRE_WRITTEN, 0x40506, sizeof(body)), &body);
	h.seq = 5;
	finish(&p, h);
	must(only_msg("written", &p, &view));
	is_int(wire_get_refuse(&view, &got), 0);
	is_int(got.error, 0);
}

TAP_TEST(wire_get_write__golden)
{
	struct wire_write body = {0xaaaabbbbccccdddd, 8, 4096, 0x5555666677778888}, got;
	struct wire_header h = common_header(WIRE_DATA);
	struct wire_msg_view view;
	struct packet p;

	begin(&p);
	wire_put_write(add_msg(&p, WIRE_WRITE, 0x40506, sizeof(body)), &body);
	h.seq = 4;
	finish(&p, h);
	must(only_msg("write", &p, &view));
	is_int(wire_get_write(&view, &got), 0);
	is_mem(&got, &body, sizeof(body));
	view.msg.length--;
	is_int(wire_get_write(&view, &got), -EBADMSG);
}

static void build_ack(struct packet *p, uint32_t n_words)
{
	static const uint64_t bitmap[WIRE_WINDOW_MAX / 64 + 1] = {0x8000000000000001, 0xff};
	struct wire_header h = common_header(WIRE_ACK);
	struct wire_ack ack = {.n_words = n_words};
	uint32_t i;

	for (i = 0; i < WIRE_RAILS; i++)
		ack.rail_next[i] = 100 + i;
	begin(p);
	wire_put_ack(p->data + p->len, &ack, bitmap);
	p->len += (uint32_t)(sizeof(ack) + n_words * 8);
	h.seq = 6;
	h.ack = 100;
	h.sack = 1;
	h.credit = 0xfffe;
	finish(p, h);
}

TAP_TEST(wire_get_ack__golden)
{
	uint64_t bitmap[WIRE_WINDOW_MAX / 64];
	struct wire_header h;
	struct wire_ack ack;
	struct packet p;
	uint32_t i;

	build_ack(&p, 2);
	must(is_golden("ack", &p, &h));
	is_int(h.credit, 0xfffe);
	memset(bitmap, 0xee, sizeof(bitmap));
	wire_get_ack(p.data, &h, &ack, bitmap);
	is_int(ack.n_words, 2);
	for (i = 0; i < WIRE_RAILS; i++)
		is_int(ack.rail_next[i], 100 + i);
	ok(bitmap[0] == 0x8000000000000001);
	ok(bitmap[1] == 0xff);
	for (i = 2; i < WIRE_WINDOW_MAX / 64; i++)
		ok(bitmap[i] == 0);
	build_ack(&p, WIRE_WINDOW_MAX / 64);
	is_int(wire_decode(p.data, p.len, 0, &h), DROP_NONE);
	build_ack(&p, WIRE_WINDOW_MAX / 64 + 1);
	is_int(wire_decode(p.data, p.len, 0, &h), DROP_MALFORMED);
}

TAP_TEST(wire_decode__golden_probe)
{
	struct wire_header h = common_header(WIRE_PROBE);
	struct packet p;

	begin(&p);
	h.flags = WIRE_F_ACK_NOW;
	h.rail = 7;
	h.seq = 6;
	h.rail_seq = 0x80000000;
	finish(&p, h);
	wire_seal(p.data, p.len);
	must(is_golden("probe", &p, &h));
	is_int(h.flags & WIRE_F_ACK_NOW, WIRE_F_ACK_NOW);
	is_int(h.rail, 7);
}

TAP_TEST(wire_decode__every_truncation)
{
	struct wire_header h;
	struct packet p;
	uint32_t len;

	build_datagram(&p);
	for (len = 0; len < p.len; len++)
		is_int(wire_decode(p.data, len, 0, &h), DROP_TRUNCATED);
	for (len = p.len; len < 200; len++)
		is_int(wire_decode(p.data, len, 0, &h), DROP_NONE); /* padding by the link */
	wire_seal(p.data, p.len);
	is_int(wire_decode(p.data, 200, 1, &h), DROP_NONE);
}

/* Sets one byte of a good datagram packet and decodes. */
static enum drop_reason with_byte(uint32_t at, uint8_t value)
{
	struct wire_header h;
	struct packet p;

	build_datagram(&p);
	p.data[at] = value;
	return wire_decode(p.data, p.len, 0, &h);
}

TAP_TEST(wire_decode__bad_fields)
{
	is_int(with_byte(0, 0), DROP_VERSION);
	is_int(with_byte(0, WIRE_VERSION + 1), DROP_VERSION);
	is_int(with_byte(1, 0), DROP_TYPE);
	is_int(with_byte(1, 4), DROP_TYPE);
	is_int(with_byte(1, WIRE_ACK), DROP_MALFORMED);
	is_int(with_byte(1, WIRE_PROBE), DROP_MALFORMED);
	is_int(with_byte(3, 8), DROP_RAIL);
	is_int(with_byte(3, 7), DROP_NONE);
	is_int(with_byte(4, 14), DROP_TRUNCATED);
	is_int(with_byte(4, 12), DROP_MALFORMED);
	is_int(with_byte(4, 7), DROP_MALFORMED);
	is_int(with_byte(4, 0), DROP_NONE); /* an emptied packet */
	is_int(with_byte(48, 6), DROP_MALFORMED);
	is_int(with_byte(48, 4), DROP_MALFORMED); /* the last one is not padded */
	is_int(with_byte(48, 0), DROP_MALFORMED);
	is_int(with_byte(49, 1), DROP_MALFORMED);
	is_int(with_byte(50, 0), DROP_MALFORMED);
	is_int(with_byte(50, 7), DROP_MALFORMED);
}

TAP_TEST(wire_decode__header_is_untouched_on_error)
{
	struct wire_header h, before;
	struct packet p;

	memset(&h, 0x5a, sizeof(h));
	before = h;
	build_datagram(&p);
	p.data[50] = 0;
	is_int(wire_decode(p.data, p.len, 0, &h), DROP_MALFORMED);
	is_mem(&h, &before, sizeof(h));
}

TAP_TEST(wire_decode_header__does_not_look_at_the_body)
{
	struct wire_header h;
	struct packet p;

	build_datagram(&p);
	wire_seal(p.data, p.len);
	p.data[50] = 0;
	is_int(wire_decode_header(p.data, p.len, &h), DROP_NONE);
	is_int(wire_check_body(p.data, 0, &h), DROP_CRC);
	h.flags &= (uint8_t)~WIRE_F_CRC;
	is_int(wire_check_body(p.data, 0, &h), DROP_MALFORMED);
	is_int(wire_check_body(p.data, 1, &h), DROP_CRC);
	is_int(wire_decode_header(p.data, p.len - 1, &h), DROP_TRUNCATED);
}

TAP_TEST(wire_decode__crc_finds_every_single_and_double_flip)
{
	struct wire_header h;
	struct packet p;
	uint32_t a, b;

	build_datagram(&p);
	is_int(wire_decode(p.data, p.len, 1, &h), DROP_CRC); /* required and missing */
	wire_seal(p.data, p.len);
	is_int(wire_decode(p.data, p.len, 1, &h), DROP_NONE);
	is_int(wire_decode(p.data, p.len, 0, &h), DROP_NONE);
	for (a = 0; a < p.len * 8; a++) {
		p.data[a / 8] ^= (uint8_t)(1 << a % 8);
		ok(wire_decode(p.data, p.len, 1, &h) != DROP_NONE);
		for (b = 0; b < a; b++) {
			p.data[b / 8] ^= (uint8_t)(1 << b % 8);
			ok(wire_decode(p.data, p.len, 1, &h) != DROP_NONE);
			p.data[b / 8] ^= (uint8_t)(1 << b % 8);
		}
		p.data[a / 8] ^= (uint8_t)(1 << a % 8);
	}
}

/*
 * Walks what wire_decode let through, inside an exact heap block so that ASan sees a step beyond.
 */
static void walk(const struct packet *p)
{
	uint64_t bitmap[WIRE_WINDOW_MAX / 64];
	uint8_t *exact = malloc(p->len ? p->len : 1);
	struct wire_msg_view view;
	struct wire_header h;
	struct wire_ack ack;
	uint32_t cursor = 0, n = 0;

	memcpy(exact, p->data, p->len);
	if (wire_decode(exact, p->len, 0, &h) == DROP_NONE) {
		ok(h.rail < WIRE_RAILS);
		while (h.type == WIRE_DATA && wire_next_msg(exact, &h, &cursor, &view)) {
			ok(view.payload + view.msg.length <= exact + p->len);
			n++;
		}
		okf(n <= p->len / sizeof(struct wire_msg), "%u messages", n);
		if (h.type == WIRE_ACK)
			wire_get_ack(exact, &h, &ack, bitmap);
	}
	free(exact);
}

TAP_TEST(wire_decode__random_damage)
{
	uint64_t state = tap_seed();
	struct packet p;
	int step, flips;

	for (step = 0; step < 50000; step++) {
		if (step % 3 == 0)
			build_ack(&p, (uint32_t)(tap_rand(&state) % 66));
		else
			build_datagram(&p);
		if (step % 3 == 2) {
			memcpy(add_msg(&p, WIRE_DATAGRAM, 0, 9), "123456789", 9);
			p.data[4] = (uint8_t)(p.len - sizeof(struct wire_header));
		}
		for (flips = (int)(tap_rand(&state) % 4); flips; flips--)
			p.data[tap_rand(&state) % p.len] = (uint8_t)tap_rand(&state);
		if (tap_rand(&state) % 4 == 0)
			p.len = (uint32_t)(tap_rand(&state) % (p.len + 1));
		walk(&p);
	}
}

TAP_TEST(wire_put_words__as_wire_put_header)
{
	uint8_t expected[sizeof(struct wire_header)], data[sizeof(expected)];
	uint64_t state = tap_seed();
	struct wire_header header;
	struct wire_words words;

	for (int i = 0; i < 1000; i++) {
		uint32_t ahead = (uint32_t)tap_rand(&state) % 64;
		uint16_t length = (uint16_t)tap_rand(&state);
		uint8_t flags = (uint8_t)tap_rand(&state);

		for (size_t at = 0; at < sizeof(header); at++)
			((uint8_t *)&header)[at] = (uint8_t)tap_rand(&state);
		wire_pack_header(&header, &words);
		wire_put_words(data, &words, ahead, length, flags);
		header.length = length;
		header.flags |= flags;
		header.seq += ahead;
		header.rail_seq += ahead;
		wire_put_header(expected, &header);
		is_mem(data, expected, sizeof(data));
	}
}

/*
 * Whatever is let through as alike is decoded to what was said, and a change anywhere else is seen.
 */
TAP_TEST(wire_is_like__as_wire_decode_header)
{
	struct wire_header first = common_header(WIRE_DATA), header, decoded;
	struct wire_numbers numbers;
	uint64_t state = tap_seed();
	struct wire_words words;
	uint8_t data[64] = {0};
	int alike = 0;

	first.flags = 3 << WIRE_F_ECHO_SHIFT;
	first.ack = 77;
	first.sack = 5;
	first.rail_ack = 9;
	wire_pack_header(&first, &words);
	for (int i = 0; i < 4000; i++) {
		uint32_t len = tap_rand(&state) % 8 ? 64 : (uint32_t)tap_rand(&state) % 64;
		bool is_like;

		header = first;
		header.rail = (uint8_t)(tap_rand(&state) % 9);
		header.length = (uint16_t)(tap_rand(&state) % 18);
		header.seq = (uint32_t)tap_rand(&state);
		header.rail_seq = (uint32_t)tap_rand(&state);
		wire_put_header(data, &header);
		if (tap_rand(&state) % 4 == 0)
			data[tap_rand(&state) % sizeof(header)] ^= 1 << tap_rand(&state) % 8;
		is_like = wire_is_like(data, len, &words, &numbers);
		alike += is_like;
		if (wire_decode_header(data, len, &decoded) != DROP_NONE) {
			ok(!is_like);
			continue;
		}
		ok(is_like == (decoded.type == first.type && decoded.flags == first.flags &&
			       decoded.credit == first.credit && decoded.key == first.key &&
			       decoded.src == first.src && decoded.dst == first.dst &&
			       decoded.ack == first.ack && decoded.sack == first.sack &&
			       decoded.rail_ack == first.rail_ack));
		if (!is_like)
			continue;
		is_int(numbers.seq, decoded.seq);
		is_int(numbers.rail_seq, decoded.rail_seq);
		is_int(numbers.rail, decoded.rail);
		is_int(numbers.length, decoded.length);
	}
	ok(alike > 1000);
}
