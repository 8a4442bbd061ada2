// SPDX-License-Identifier: BSD-3-Clause
/* Tests of the board: hosts are found again, apart from each other, and whole while they change. */
#include "pm-ethernet/board.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

#define HOSTS_MAX (ETH_HOSTS / 4 * 3)

static struct eth_heard heard_of(uint32_t n)
{
	struct eth_heard heard = {
		.rail = (uint8_t)(n % ETH_RAILS), .is_alive = 1, .mtu = 1500, .rtt_ns = n};

	memcpy(heard.mac, &n, sizeof(n));
	heard.mac[5] = 1;
	return heard;
}

static int note(struct eth_board *board, uint32_t id, uint32_t rail, uint32_t n)
{
	struct eth_heard heard = heard_of(n);

	return eth_board_note(board, id, rail, &heard);
}

TAP_TEST(eth_board_find__never_heard)
{
	struct eth_board *board = calloc(1, sizeof(*board));
	struct eth_heard got[ETH_RAILS];

	must(board);
	ok(!eth_board_find(board, 0, got));
	ok(!eth_board_find(board, 7, got));
	free(board);
}

TAP_TEST(eth_board_note__rails_apart)
{
	struct eth_board *board = calloc(1, sizeof(*board));
	struct eth_heard got[ETH_RAILS], want[ETH_RAILS] = {0};

	must(board);
	want[1] = heard_of(11);
	want[7] = heard_of(77);
	is_int(note(board, 5, 1, 3), 0);
	is_int(note(board, 5, 7, 77), 0);
	is_int(note(board, 5, 1, 11), 0);
	is_int(board->n_hosts, 1);
	must(eth_board_find(board, 5, got));
	is_mem(got, want, sizeof(want));
	free(board);
}

/* Ids that a network really has: small numbers, MAC tails, the ends of the range. */
TAP_TEST(eth_board_note__many_hosts)
{
	static const uint32_t starts[] = {0, 0x02000000u, 0xfffffc00u};
	struct eth_board *board = calloc(1, sizeof(*board));
	struct eth_heard got[ETH_RAILS];
	uint32_t s, i, id;

	must(board);
	for (s = 0; s < 3; s++)
		for (i = 0; i < 1024; i++)
			is_int(note(board, starts[s] + i, 0, starts[s] ^ i), 0);
	is_int(board->n_hosts, 3 * 1024);
	for (s = 0; s < 3; s++)
		for (i = 0; i < 1024; i++) {
			id = starts[s] + i;
			must(eth_board_find(board, id, got));
			is_int(got[0].rtt_ns, starts[s] ^ i);
		}
	ok(!eth_board_find(board, 5000, got));
	free(board);
}

TAP_TEST(eth_board_note__when_full)
{
	struct eth_board *board = calloc(1, sizeof(*board));
	struct eth_heard got[ETH_RAILS];
	uint32_t i;

	must(board);
	for (i = 0; i < HOSTS_MAX; i++)
		is_int(note(board, i * 2654435761u, 0, i), 0);
	is_int(note(board, 1, 0, 1), -ENOSPC);
	is_int(board->n_hosts, HOSTS_MAX);
	ok(!eth_board_find(board, 1, got));
	is_int(note(board, 2654435761u, 0, 99), 0);
	must(eth_board_find(board, 2654435761u, got));
	is_int(got[0].rtt_ns, 99);
	free(board);
}

/* The place stays odd for ever: neither readers nor the next writer may hang. */
TAP_TEST(eth_board_find__writer_died_half_way)
{
	struct eth_board *board = calloc(1, sizeof(*board));
	struct eth_heard got[ETH_RAILS];
	uint32_t i;

	must(board);
	is_int(note(board, 3, 0, 1), 0);
	for (i = 0; i < ETH_HOSTS; i++)
		board->hosts[i].version |= board->hosts[i].version ? 1 : 0;
	ok(!eth_board_find(board, 3, got));
	is_int(note(board, 3, 0, 2), 0);
	must(eth_board_find(board, 3, got));
	is_int(got[0].rtt_ns, 2);
	free(board);
}

TAP_TEST(eth_board_note__version_wraps)
{
	struct eth_board *board = calloc(1, sizeof(*board));
	struct eth_heard got[ETH_RAILS];
	uint32_t i;

	must(board);
	is_int(note(board, 3, 0, 1), 0);
	for (i = 0; i < ETH_HOSTS; i++)
		if (board->hosts[i].version)
			board->hosts[i].version = 0xfffffffeu;
	is_int(note(board, 3, 0, 2), 0);
	must(eth_board_find(board, 3, got));
	is_int(got[0].rtt_ns, 2);
	is_int(board->n_hosts, 1);
	free(board);
}

#define ROUNDS 20000

static void *write_rounds(void *arg)
{
	uint32_t i;

	for (i = 1; i <= ROUNDS; i++)
		if (note(arg, 9, i % ETH_RAILS, i))
			return arg;
	return NULL;
}

static bool is_whole(const struct eth_heard *heard)
{
	struct eth_heard want;

	if (heard->rtt_ns == 0)
		return heard->mac[5] == 0;
	want = heard_of(heard->rtt_ns);
	return memcmp(heard, &want, sizeof(want)) == 0;
}

TAP_TEST(eth_board_find__while_written)
{
	struct eth_board *board = calloc(1, sizeof(*board));
	struct eth_heard got[ETH_RAILS];
	uint32_t last = 0, rail, newest;
	pthread_t writer;
	void *failed;

	must(board);
	is_int(pthread_create(&writer, NULL, write_rounds, board), 0);
	while (last < ROUNDS) {
		if (!eth_board_find(board, 9, got))
			continue;
		newest = 0;
		for (rail = 0; rail < ETH_RAILS; rail++) {
			must(is_whole(&got[rail]));
			newest = got[rail].rtt_ns > newest ? got[rail].rtt_ns : newest;
		}
		must(newest >= last);
		last = newest;
	}
	is_int(pthread_join(writer, &failed), 0);
	ok(!failed);
	free(board);
}
