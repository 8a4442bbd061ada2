// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>

#include "pm-shmem/layout.h"
#include "tests/unit/pm-shmem/links.h"

static struct node a, b;
static struct pm_link_peer *to_b;

static bool begin(const char *options)
{
	links_begin();
	return is_int(node_open(&a, 1, options), 0) && is_int(node_open(&b, 2, options), 0) &&
	       is_int(node_add(&a, 2, &b, &to_b), 0);
}

static void end(void)
{
	node_close(&a);
	node_close(&b);
	links_end();
}

static bool expect(uint32_t len, uint64_t seed)
{
	struct pm_inbound in;

	if (!is_int(node_receive(&b, &in), 1))
		return false;
	if (!is_int(in.len, len) || !is_int(in.src, 1) || !ok(is_filled(in.buf, len, seed)))
		return false;
	OPS->release(b.link, in.cookie);
	return true;
}

TAP_TEST(send__every_length)
{
	must(begin(NULL));
	is_int(OPS->mtu(a.link, to_b), 16384);
	for (uint32_t len = 1; len <= 16384; len++)
		if (!is_int(node_send(&a, to_b, len, len), 0) || !expect(len, len))
			break;
	is_int(a.stats.tx_messages, 16384);
	is_int(b.stats.rx_messages, 16384);
	is_int(a.stats.tx_bytes, b.stats.rx_bytes);
	end();
}

TAP_TEST(send__order_is_that_of_send)
{
	void *bufs[20];
	uint64_t cookies[20];

	must(begin(NULL));
	for (uint32_t round = 0; round < 200; round++) {
		for (uint32_t i = 0; i < 20; i++) {
			must(is_int(OPS->get_send(a.link, to_b, 1 + i * 97, &bufs[i], &cookies[i]),
				    0));
			fill(bufs[i], 1 + i * 97, i);
		}
		/* 7 has no divisor in common with 20: every buffer once */
		for (uint32_t k = 0; k < 20; k++)
			is_int(OPS->send(a.link, to_b, cookies[k * 7 % 20], 1 + k * 7 % 20 * 97),
			       0);
		for (uint32_t k = 0; k < 20; k++)
			if (!expect(1 + k * 7 % 20 * 97, k * 7 % 20))
				return;
	}
	end();
}

TAP_TEST(send__a_lent_buffer_is_a_promise)
{
	void *bufs[100];
	uint64_t cookies[100];
	uint32_t sent = 0;

	must(begin("shmem.ring=16384,shmem.mtu=4096"));
	for (uint32_t i = 0; i < 100; i++) {
		must(is_int(OPS->get_send(a.link, to_b, 2000 + i, &bufs[i], &cookies[i]), 0));
		fill(bufs[i], 2000 + i, i);
	}
	/* far more than the ring holds */
	for (uint32_t i = 0; i < 100; i++)
		is_int(OPS->send(a.link, to_b, cookies[99 - i], 2000 + 99 - i), 0);
	is_int(OPS->send_done(a.link, to_b), -EAGAIN);
	is_int(OPS->send_done(a.link, NULL), -EAGAIN);
	is_int(node_send(&a, to_b, 8, 0), -EAGAIN);
	for (uint64_t start = clock_monotonic_ns(); sent < 100;) {
		struct pm_inbound in;

		is_int(OPS->receive(a.link, &in), 0);
		if (OPS->receive(b.link, &in) == 1) {
			is_int(in.len, 2000 + 99 - sent);
			ok(is_filled(in.buf, in.len, 99 - sent));
			OPS->release(b.link, in.cookie);
			sent++;
		}
		must(clock_monotonic_ns() - start < PATIENCE_NS);
	}
	is_int(OPS->send_done(a.link, to_b), 0);
	is_int(OPS->send_done(a.link, NULL), 0);
	is_int(node_send(&a, to_b, 8, 0), 0);
	end();
}

TAP_TEST(send__discarded_and_shortened)
{
	uint64_t cookie, second;
	void *buf;

	must(begin(NULL));
	for (uint32_t i = 0; i < 1000; i++) {
		must(is_int(OPS->get_send(a.link, to_b, 16384, &buf, &cookie), 0));
		is_int(OPS->get_send(a.link, to_b, 16384, &buf, &second), 0);
		fill(buf, 100, i);
		is_int(OPS->send(a.link, to_b, cookie, 0), 0);
		is_int(OPS->send(a.link, to_b, second, 100), 0);
		must(expect(100, i));
	}
	end();
}

/* Datagrams of 16 bytes of head and up to @part of data. */
static int post_row(const uint8_t *data, uint64_t len, uint32_t part, uint64_t *ret_done)
{
	const struct pm_row_head head = {"sixteen bytes...", 16, part};
	const struct pm_row row = {.first = head, .others = head, .data = data, .len = len};

	return OPS->post_row(a.link, to_b, &row, ret_done);
}

/* In cells, and those that are too long for them in the byte ring. */
TAP_TEST(post_row__each_has_the_head)
{
	static uint8_t data[20000];
	const uint32_t parts[] = {1, 40, 2024, 2025, 9000};
	struct pm_inbound in;
	uint64_t done, at;

	must(begin(NULL));
	fill(data, sizeof(data), 5);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		uint64_t len = 2 * parts[i] + 1;

		is_int(post_row(data, len, parts[i], &done), 0);
		is_int(done, len);
		for (at = 0; at < len; at += in.len - 16) {
			must(is_int(node_receive(&b, &in), 1));
			is_int(in.len, 16 + (len - at < parts[i] ? len - at : parts[i]));
			is_mem(in.buf, "sixteen bytes...", 16);
			is_mem((uint8_t *)in.buf + 16, data + at, in.len - 16);
			OPS->release(b.link, in.cookie);
		}
	}
	end();
}

TAP_TEST(post_row__says_how_much_a_full_ring_took)
{
	static uint8_t data[200000];
	struct pm_inbound in;
	uint64_t done, taken = 0;

	must(begin(NULL));
	is_int(post_row(data, sizeof(data), 1000, &done), -EAGAIN);
	ok(done > 20000 && done < sizeof(data) && done % 1000 == 0);
	while (node_receive(&b, &in) == 1) {
		taken += in.len - 16;
		OPS->release(b.link, in.cookie);
		if (taken == done)
			break;
	}
	is_int(taken, done);
	end();
}

TAP_TEST(post__as_long_as_a_datagram_may_be)
{
	static uint8_t data[16384];
	struct pm_inbound in;

	must(begin(NULL));
	fill(data, sizeof(data), 3);
	for (uint32_t len = 1; len <= sizeof(data); len += 113) {
		is_int(OPS->post(a.link, to_b, data, len), 0);
		must(is_int(node_receive(&b, &in), 1));
		is_int(in.len, len);
		is_mem(in.buf, data, len);
		OPS->release(b.link, in.cookie);
	}
	end();
}

TAP_TEST(get_send__full_ring_says_again)
{
	struct pm_inbound in;
	uint32_t sent = 0;

	must(begin(NULL));
	while (!node_send(&a, to_b, 8, sent))
		sent++;
	is_int(sent, 65536 / 2 / PMS_CELL);
	is_int(a.stats.no_buffer, 1);
	for (; sent > 0; sent--) {
		must(is_int(node_receive(&b, &in), 1));
		is_int(in.len, 8);
		OPS->release(b.link, in.cookie);
	}
	/* what was released is told to the sender at the latest when nothing is left to do */
	for (int i = 0; i < 100; i++)
		OPS->receive(b.link, &in);
	is_int(node_send(&a, to_b, 8, 1), 0);
	end();
}

TAP_TEST(send__both_ways_and_many_rounds)
{
	struct pm_link_peer *to_a;

	must(begin("shmem.ring=16384,shmem.mtu=2048"));
	must(is_int(node_add(&b, 1, &a, &to_a), 0));
	for (uint32_t i = 0; i < 50000; i++) {
		struct pm_inbound in;

		if (!is_int(node_send(&a, to_b, 1 + i % 2000, i), 0) || !expect(1 + i % 2000, i))
			break;
		if (!is_int(node_send(&b, to_a, 1 + i % 300, i), 0) ||
		    !is_int(node_receive(&a, &in), 1) || !ok(is_filled(in.buf, 1 + i % 300, i)))
			break;
		OPS->release(a.link, in.cookie);
	}
	end();
}
