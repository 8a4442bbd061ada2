// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of discover: a rail's socket is one end of a pair, the other end is the network. Whether
 * frames really pass switches and interfaces is shown by tests/system/ethernetctl.t.
 */
#include "pm-ethernet/daemon/discover.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "tests/harness/tap.h"

#define HOST 1
#define SECOND 1000000000ull

static const uint8_t own_mac[ETH_MAC] = {0x02, 0, 0, 0, 1, 1};
static const uint8_t their_mac[ETH_MAC] = {0x02, 0, 0, 0, 2, 1};

/* A daemon of one rail, and its network. */
struct bench {
	struct ethd d;
	int network;
};

static struct bench *open_bench(void)
{
	struct bench *b = calloc(1, sizeof(*b));
	int pair[2];

	b->d.host = HOST;
	b->d.n_rails = 1;
	b->d.options.type = ETH_TYPE_DEFAULT;
	b->d.board = calloc(1, sizeof(*b->d.board));
	b->d.rails[0] = (struct ethd_rail){.name = "eth1", .mtu = 1500};
	memcpy(b->d.rails[0].mac, own_mac, ETH_MAC);
	ok(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) == 0);
	is_int(ethd_discover_open(&b->d), 0);
	b->d.discover->probes[0].fd = pair[0];
	b->network = pair[1];
	return b;
}

static void close_bench(struct bench *b)
{
	ethd_discover_close(&b->d);
	free(b->d.board);
	close(b->network);
	free(b);
}

/* The next frame the daemon sent; false: none. */
static bool sent(struct bench *b, struct eth_query *ret)
{
	uint8_t frame[512];
	ssize_t len = recv(b->network, frame, sizeof(frame), MSG_DONTWAIT);

	return len > 0 &&
	       eth_query_decode(frame, (size_t)len, htons(ETH_TYPE_DEFAULT), ret) == ETH_DROP_NONE;
}

static void drain(struct bench *b)
{
	struct eth_query query;

	while (sent(b, &query))
		;
}

static void deliver(struct bench *b, const struct eth_query *query)
{
	uint8_t frame[ETH_QUERY_BYTES];

	eth_query_put(frame, query, htons(ETH_TYPE_DEFAULT));
	ok(send(b->network, frame, sizeof(frame), 0) == (ssize_t)sizeof(frame));
	ethd_discover_input(&b->d, 0);
}

/* The message of kind @kind that host @id sends. */
static struct eth_query says(enum eth_kind kind, uint32_t id, uint64_t stamp)
{
	struct eth_query query = {.kind = (uint8_t)kind,
				  .dst_host = HOST,
				  .src_host = id,
				  .nonce = id * 1000 + 7,
				  .stamp = stamp,
				  .mtu = 1500,
				  .n_rails = 1,
				  .rail_name = "eth9",
				  .host_name = "other"};

	memcpy(query.dst_mac, own_mac, ETH_MAC);
	memcpy(query.src_mac, their_mac, ETH_MAC);
	return query;
}

/* Brings the rail up; the stamp of the first question. */
static uint64_t come_up(struct bench *b)
{
	struct eth_query query = {0};

	b->d.rails[0].is_up = true;
	ethd_discover_timer(&b->d, clock_monotonic_ns());
	ok(sent(b, &query));
	return query.stamp;
}

TAP_TEST(ethd_discover_timer__rail_comes_up)
{
	struct bench *b = open_bench();
	struct eth_query query;

	ok(ethd_discover_timer(&b->d, clock_monotonic_ns()) == UINT64_MAX);
	ok(!sent(b, &query));
	b->d.rails[0].is_up = true;
	ethd_discover_timer(&b->d, clock_monotonic_ns());
	must(sent(b, &query));
	is_int(query.kind, ETH_QUERY);
	is_int(query.dst_host, ETH_QUERY_ANYONE);
	is_int(query.dst_mac[0], 0xff);
	is_mem(query.src_mac, own_mac, ETH_MAC);
	is_int(query.src_host, HOST);
	is_int(query.mtu, 1500);
	is_str(query.rail_name, "eth1");
	ok(!sent(b, &query));
	close_bench(b);
}

/* Questions in one minute: at once, five times every 2 s, then every 30 s and some. */
TAP_TEST(ethd_discover_timer__fast_then_slow)
{
	struct bench *b = open_bench();
	uint64_t start = clock_monotonic_ns(), now = start;
	struct eth_query query;
	uint32_t fast = 0, slow = 0;

	b->d.rails[0].is_up = true;
	while (now < start + 60 * SECOND) {
		uint64_t next = ethd_discover_timer(&b->d, now);

		while (sent(b, &query))
			*(now <= start + 10 * SECOND ? &fast : &slow) += 1;
		must(next > now);
		now = next;
	}
	is_int(fast, 6);
	is_int(slow, 1);
	close_bench(b);
}

TAP_TEST(ethd_discover_timer__a_new_mtu_is_told)
{
	struct bench *b = open_bench();
	struct eth_query query;

	come_up(b);
	b->d.rails[0].mtu = 9000;
	ethd_discover_timer(&b->d, clock_monotonic_ns());
	must(sent(b, &query));
	is_int(query.mtu, 9000);
	close_bench(b);
}

TAP_TEST(ethd_discover_input__query)
{
	struct eth_query asked = says(ETH_QUERY, 2, 4711), query;
	struct bench *b = open_bench();

	deliver(b, &asked);
	must(sent(b, &query));
	is_int(query.kind, ETH_ANSWER);
	is_int(query.stamp, 4711);
	is_int(query.dst_host, 2);
	is_mem(query.dst_mac, their_mac, ETH_MAC);
	must(sent(b, &query));
	is_int(query.kind, ETH_QUERY);
	is_int(query.dst_host, 2);
	ok(!sent(b, &query));
	is_int(b->d.board->n_hosts, 0);
	deliver(b, &asked);
	must(sent(b, &query));
	is_int(query.kind, ETH_ANSWER);
	ok(!sent(b, &query));
	close_bench(b);
}

TAP_TEST(ethd_discover_input__query_for_another_host)
{
	struct eth_query asked = says(ETH_QUERY, 2, 4711), query;
	struct bench *b = open_bench();

	asked.dst_host = 3;
	deliver(b, &asked);
	ok(!sent(b, &query));
	close_bench(b);
}

TAP_TEST(ethd_discover_input__own_voice)
{
	struct eth_query asked = says(ETH_QUERY, HOST, 4711), query;
	struct bench *b = open_bench();

	asked.nonce = b->d.discover->nonce;
	deliver(b, &asked);
	ok(!sent(b, &query));
	is_str(b->d.duplicate, "");
	close_bench(b);
}

TAP_TEST(ethd_discover_input__answer)
{
	struct eth_heard heard[ETH_RAILS];
	struct bench *b = open_bench();
	struct eth_query query = says(ETH_ANSWER, 2, come_up(b));

	deliver(b, &query);
	must(eth_board_find(b->d.board, 2, heard));
	is_mem(heard[0].mac, their_mac, ETH_MAC);
	is_int(heard[0].is_alive, 1);
	is_int(heard[0].mtu, 1500);
	ok(heard[0].rtt_ns > 0);
	is_int(b->d.discover->probes[0].answers, 1);
	close_bench(b);
}

TAP_TEST(ethd_discover_input__answer_to_no_question)
{
	struct bench *b = open_bench();
	uint64_t stamp = come_up(b);
	struct eth_query query;

	query = says(ETH_ANSWER, 2, stamp + 1);
	deliver(b, &query);
	query = says(ETH_ANSWER, 2, 0);
	deliver(b, &query);
	query = says(ETH_ANSWER, HOST, stamp - 1);
	deliver(b, &query);
	is_int(b->d.discover->probes[0].stale, 3);
	is_int(b->d.board->n_hosts, 0);
	is_str(b->d.duplicate, "");
	close_bench(b);
}

TAP_TEST(ethd_discover_input__damaged)
{
	struct bench *b = open_bench();
	uint8_t frame[ETH_QUERY_BYTES] = {0};
	struct eth_query query;

	ok(send(b->network, frame, 20, 0) == 20);
	ok(send(b->network, frame, sizeof(frame), 0) == (ssize_t)sizeof(frame));
	ethd_discover_input(&b->d, 0);
	is_int(b->d.discover->probes[0].refused[ETH_DROP_SHORT], 1);
	is_int(b->d.discover->probes[0].refused[ETH_DROP_TYPE], 1);
	ok(!sent(b, &query));
	close_bench(b);
}

/* Only a machine that answers our question proves that it has our id. */
TAP_TEST(ethd_discover_input__another_machine_with_our_id)
{
	struct bench *b = open_bench();
	struct eth_query query = says(ETH_QUERY, HOST, 5);

	come_up(b);
	deliver(b, &query);
	is_int(b->d.board->duplicate, 0);
	must(sent(b, &query) && sent(b, &query));
	is_int(query.kind, ETH_QUERY);
	is_int(query.dst_host, HOST);
	query = says(ETH_ANSWER, HOST, query.stamp);
	deliver(b, &query);
	is_int(b->d.board->duplicate, 1);
	ok(strstr(b->d.duplicate, "02:00:00:00:02:01"));
	ok(strstr(b->d.duplicate, "other"));
	ok(strstr(b->d.duplicate, "eth1"));
	is_int(b->d.board->n_hosts, 0);
	ethd_discover_timer(&b->d, clock_monotonic_ns() + 17 * SECOND);
	is_int(b->d.board->duplicate, 0);
	is_str(b->d.duplicate, "");
	close_bench(b);
}

TAP_TEST(ethd_discover_timer__a_silent_host)
{
	struct eth_heard heard[ETH_RAILS];
	struct bench *b = open_bench();
	struct eth_query query = says(ETH_ANSWER, 2, come_up(b));
	uint64_t now = clock_monotonic_ns(), end = now + 12 * SECOND;

	deliver(b, &query);
	while (now < end) {
		now = ethd_discover_timer(&b->d, now);
		drain(b);
	}
	must(eth_board_find(b->d.board, 2, heard));
	is_int(heard[0].is_alive, 0);
	is_mem(heard[0].mac, their_mac, ETH_MAC);
	close_bench(b);
}

TAP_TEST(ethd_discover_timer__carrier_lost)
{
	struct eth_heard heard[ETH_RAILS];
	struct bench *b = open_bench();
	struct eth_query query = says(ETH_ANSWER, 2, come_up(b));

	deliver(b, &query);
	b->d.rails[0].is_up = false;
	ok(ethd_discover_timer(&b->d, clock_monotonic_ns()) == UINT64_MAX);
	must(eth_board_find(b->d.board, 2, heard));
	is_int(heard[0].is_alive, 0);
	close_bench(b);
}
