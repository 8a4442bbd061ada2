// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-udp/rx.c: slices of merged datagrams, buffers held in any order, hostile datagrams.
 */
#include "pm-udp/device.h"

#include <arpa/inet.h>
#include <netinet/udp.h>

#include "tests/unit/pm-udp/pair.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

/* A stranger's socket that sends to the device's port on loopback. */
static int stranger(const struct side *s, struct sockaddr_in *to)
{
	*to = (struct sockaddr_in){.sin_family = AF_INET,
				   .sin_port = htons(pmu_of(s->dev)->port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static void all_buffers_are_home(struct pair *p)
{
	const struct pmu_rx *rx = &pmu_of(p->side[1].dev)->rx;

	is_int(rx->n_free_landings, PMU_LANDINGS);
	is_int(rx->n_free_slots, rx->n_slots);
	is_int(rx->n_lent, 0);
}

TAP_TEST(rx_burst__small_arrays_of_a_merged_run)
{
	struct pair p;
	uint32_t got = 0, seq;
	struct pm_rx rx[3];

	if (!pair_open_loopback(&p, "")) {
		pair_close(&p);
		return;
	}
	for (uint32_t i = 0; i < 50; i++)
		is_int(post(&p.side[0], 0, 3 * i, 200), 0);
	p.side[0].dev->ops->tx_kick(p.side[0].dev);
	for (int n; got < 50 && (n = burst(&p.side[1], rx, 3, 1000)) > 0;)
		for (int i = 0; i < n; i++, got++) {
			check_packet(&rx[i], 200, &seq);
			is_int(seq, 3 * got);
			p.side[1].dev->ops->rx_return(p.side[1].dev, rx[i].token);
		}
	is_int(got, 50);
	ok(pmu_of(p.side[0].dev)->rails[0].calls < 5);
	all_buffers_are_home(&p);
	pair_close(&p);
}

TAP_TEST(rx_return__as_many_held_as_promised_and_returned_in_any_order)
{
	struct pair p;
	struct side *a = &p.side[0], *b = &p.side[1];
	uint32_t most, sent = 0, got = 0, seq;
	uint64_t seed = tap_seed();
	struct pm_rx *held;

	if (!pair_open_loopback(&p, "udp.mtu=1500,channel.send_buffers=4096")) {
		pair_close(&p);
		return;
	}
	most = b->dev->rx_buffers;
	held = calloc(most, sizeof(*held));
	while (got < most && !tap_has_failed()) {
		int n;

		/* singles and runs, which land in different ways */
		for (uint32_t i = 0, group = 1 + tap_rand(&seed) % 60; i < group && sent < most;
		     i++)
			is_int(post(a, 0, sent++, 300), 0);
		a->dev->ops->tx_kick(a->dev);
		while (got < sent) {
			n = burst(b, held + got, (int)(most - got), 2000);
			if (!okf(n > 0, "stuck with %u held", got))
				break;
			got += (uint32_t)n;
		}
	}
	is_int(got, most);
	for (uint32_t i = 0; i < got; i++) {
		uint32_t j = i + (uint32_t)(tap_rand(&seed) % (got - i));
		struct pm_rx x = held[j];

		held[j] = held[i];
		check_packet(&x, 300, &seq);
		b->dev->ops->rx_return(b->dev, x.token);
	}
	all_buffers_are_home(&p);
	free(held);
	pair_close(&p);
}

TAP_TEST(rx_burst__no_buffer_left)
{
	struct pair p;
	struct side *a = &p.side[0], *b = &p.side[1];
	struct pm_rx *held = calloc(20000, sizeof(*held));
	uint32_t sent = 0, got = 0, seq;
	int n;

	if (!pair_open_loopback(&p, "udp.gso=0")) {
		pair_close(&p);
		return;
	}
	do {
		for (int i = 0; i < 16; i++)
			is_int(post(a, 0, sent++, 100), 0);
		a->dev->ops->tx_kick(a->dev);
		for (got += (uint32_t)(n = burst(b, held + got, 64, 100)); n && got < sent;)
			got += (uint32_t)(n = burst(b, held + got, 64, 100));
	} while (n && sent < 19000);
	ok(got >= b->dev->rx_buffers && got < sent);
	/* arrivals must not keep a sleeper awake while nothing can be taken */
	is_int(b->dev->ops->arm(b->dev), 0);
	ok(!is_readable(b, 0));
	b->dev->ops->disarm(b->dev);
	/* one comes back: one more can be taken */
	b->dev->ops->rx_return(b->dev, held[--got].token);
	is_int(burst(b, held + got, 1, 1000), 1);
	check_packet(&held[got], 100, &seq);
	is_int(seq, got + 1);
	for (uint32_t i = 0; i <= got; i++)
		b->dev->ops->rx_return(b->dev, held[i].token);
	while ((n = burst(b, held, 64, 50)))
		while (n)
			b->dev->ops->rx_return(b->dev, held[--n].token);
	all_buffers_are_home(&p);
	free(held);
	pair_close(&p);
}

TAP_TEST(rx_burst__segments_of_odd_size)
{
	struct pair p;
	struct sockaddr_in to;
	uint8_t bytes[1010];
	struct pm_rx rx[64];
	int fd, got = 0, n, segment = 101;

	if (!pair_open_loopback(&p, "")) {
		pair_close(&p);
		return;
	}
	fd = stranger(&p.side[1], &to);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment))) {
		tap_skip("no UDP_SEGMENT in this kernel");
	} else {
		is_int(sendto(fd, bytes, sizeof(bytes), 0, (void *)&to, sizeof(to)), sizeof(bytes));
		while (got < 10 && (n = burst(&p.side[1], rx, 4, 1000)) > 0)
			for (int i = 0; i < n; i++, got++) {
				ok(!((uintptr_t)rx[i].data & 7));
				is_int(rx[i].len, 101);
				is_mem(rx[i].data, bytes + got * 101, 101);
				p.side[1].dev->ops->rx_return(p.side[1].dev, rx[i].token);
			}
		is_int(got, 10);
		ok(pmu_of(p.side[1].dev)->rx.copies > 0);
		all_buffers_are_home(&p);
	}
	close(fd);
	pair_close(&p);
}

TAP_TEST(rx_burst__hostile_datagrams)
{
	static uint8_t bytes[65507];
	struct pair p;
	struct sockaddr_in to;
	struct pm_rx rx[8];
	int fd, n, total = 0;
	static const size_t lens[] = {0, 1, 65507, 60000, 1473, 7, 0, 1472};

	if (!pair_open_loopback(&p, "udp.mtu=1500")) {
		pair_close(&p);
		return;
	}
	fd = stranger(&p.side[1], &to);
	for (int i = 0; i < 8; i++)
		is_int(sendto(fd, bytes, lens[i], 0, (void *)&to, sizeof(to)), lens[i]);
	/* 1, 7 and 1472 bytes are packets as far as a device knows */
	for (int empty = 0; empty < 20;) {
		n = p.side[1].dev->ops->rx_burst(p.side[1].dev, rx, 8);
		empty = n ? 0 : empty + 1;
		total += n;
		for (int i = 0; i < n; i++) {
			ok(rx[i].len == 1 || rx[i].len == 7 || rx[i].len == 1472);
			p.side[1].dev->ops->rx_return(p.side[1].dev, rx[i].token);
		}
	}
	is_int(total, 3);
	is_int(p.side[1].rails[0].drops[DROP_TRUNCATED], 2);
	is_int(p.side[1].rails[0].drops[DROP_MALFORMED], 3);
	all_buffers_are_home(&p);
	close(fd);
	pair_close(&p);
}

TAP_TEST(rx_burst__to_an_address_that_is_no_rail)
{
	struct pair p = {.net = {-1, {-1, -1}}};
	struct sockaddr_in to;
	struct pm_rx rx[8];
	int fd;

	if (geteuid() || !net_make(&p.net, 2, 1500)) {
		net_drop(&p.net);
		tap_skip("no network namespaces with veth here (needs root and iproute2)");
		return;
	}
	if (is_int(side_open(&p, 1, "udp.rails=t0+t1"), 0)) {
		enter(&p.net, 1);
		fd = stranger(&p.side[1], &to);
		enter(&p.net, -1);
		is_int(sendto(fd, "12345678", 8, 0, (void *)&to, sizeof(to)), 8);
		is_int(burst(&p.side[1], rx, 8, 20), 0);
		is_int(p.side[1].rails[0].drops[DROP_RAIL], 1);
		all_buffers_are_home(&p);
		close(fd);
	}
	pair_close(&p);
}
