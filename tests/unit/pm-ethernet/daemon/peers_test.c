// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of peers: who is kept on a rail, when silence is death, and when the silent are asked
 * again.
 */
#include "pm-ethernet/daemon/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

#define SECOND 1000000000ull
#define START (100 * SECOND)

/* How many events the timer has reported, and the peer and the rail of the last one. */
struct told {
	uint32_t asks, losses;
	uint32_t id, rail;
};

static void tell(void *arg, struct ethd_peer *peer, uint32_t rail, enum ethd_peers_event event)
{
	struct told *told = arg;

	told->asks += event == ETHD_PEERS_ASK;
	told->losses += event == ETHD_PEERS_LOST;
	told->id = peer->id;
	told->rail = rail;
}

/* Machine @mac answers with host id @id from its rail @their. */
static struct eth_query answer(uint32_t id, uint8_t mac, uint8_t their)
{
	return (struct eth_query){.kind = ETH_ANSWER,
				  .src_mac = {0x02, 0, 0, 0, mac, their},
				  .src_host = id,
				  .nonce = mac,
				  .stamp = START - 1000,
				  .mtu = 1500,
				  .rail = their,
				  .n_rails = 4,
				  .rail_name = "eth1",
				  .host_name = "node"};
}

static int hear(struct ethd_peers *peers, uint32_t rail, struct eth_query query,
		struct ethd_peer **ret)
{
	return ethd_peers_heard(peers, rail, &query, START, ret);
}

TAP_TEST(ethd_peers_heard__first_time)
{
	struct ethd_peers *peers = calloc(1, sizeof(*peers));
	struct ethd_peer *peer = NULL;

	must(peers);
	ok(!ethd_peers_find(peers, 7));
	is_int(hear(peers, 2, answer(7, 9, 1), &peer), 1);
	must(peer && peer == ethd_peers_find(peers, 7));
	is_int(peers->n_peers, 1);
	is_int(peer->ears[2].rtt_ns, 1000);
	is_int(peer->ears[2].rail, 1);
	is_int(peer->ears[2].is_alive, 1);
	is_str(peer->host_name, "node");
	ok(!ethd_ear_is_used(&peer->ears[1]));
	ethd_peers_clear(peers);
	is_int(peers->n_peers, 0);
	free(peers);
}

/* Both machines' rails in one segment: each rail pairs with the one of its number. */
TAP_TEST(ethd_peers_heard__rails_in_one_segment)
{
	struct ethd_peers *peers = calloc(1, sizeof(*peers));
	struct ethd_peer *peer = NULL;
	uint32_t rail;

	must(peers);
	for (rail = 0; rail < 2; rail++) {
		is_int(hear(peers, rail, answer(7, 9, (uint8_t)!rail), &peer), 1);
		is_int(hear(peers, rail, answer(7, 9, (uint8_t)rail), &peer), 1);
		is_int(hear(peers, rail, answer(7, 9, (uint8_t)!rail), &peer), 0);
		is_int(peer->ears[rail].rail, rail);
		is_int(peer->ears[rail].rival[0], 0);
	}
	ethd_peers_clear(peers);
	free(peers);
}

/* Another card in the old one's place: nobody waits for the old one to fall silent. */
TAP_TEST(ethd_peers_heard__interface_replaced)
{
	struct ethd_peers *peers = calloc(1, sizeof(*peers));
	struct eth_query other = answer(7, 9, 1);
	struct ethd_peer *peer = NULL;

	must(peers);
	is_int(hear(peers, 0, answer(7, 9, 1), &peer), 1);
	other.src_mac[3] = 0x77;
	is_int(hear(peers, 0, other, &peer), 1);
	is_mem(peer->ears[0].mac, other.src_mac, ETH_MAC);
	ethd_peers_clear(peers);
	free(peers);
}

TAP_TEST(ethd_peers_heard__two_machines_of_one_id)
{
	struct ethd_peers *peers = calloc(1, sizeof(*peers));
	struct ethd_peer *peer = NULL;

	must(peers);
	is_int(hear(peers, 0, answer(7, 9, 1), &peer), 1);
	is_int(hear(peers, 0, answer(7, 10, 0), &peer), 0);
	is_int(peer->ears[0].mac[4], 9);
	is_int(peer->ears[0].rival[4], 10);
	peer->ears[0].is_alive = false;
	is_int(hear(peers, 0, answer(7, 10, 0), &peer), 1);
	is_int(peer->ears[0].mac[4], 10);
	is_int(peer->ears[0].rival[4], 0);
	ethd_peers_clear(peers);
	free(peers);
}

TAP_TEST(ethd_peers_heard__when_full)
{
	struct ethd_peers *peers = calloc(1, sizeof(*peers));
	struct ethd_peer *peer = NULL;
	uint32_t id;

	must(peers);
	for (id = 0; id < ETH_HOSTS / 4 * 3; id++)
		is_int(hear(peers, 0, answer(id * 77, 1, 0), &peer), 1);
	is_int(hear(peers, 0, answer(5, 1, 0), &peer), -ENOSPC);
	is_int(peers->no_room, 1);
	is_int(hear(peers, 1, answer(77, 1, 0), &peer), 1);
	ethd_peers_clear(peers);
	free(peers);
}

TAP_TEST(ethd_peers_timer__silence_is_death)
{
	struct ethd_peers *peers = calloc(1, sizeof(*peers));
	struct told told = {0};
	struct ethd_peer *peer = NULL;
	uint64_t now = START;
	int i;

	must(peers);
	is_int(hear(peers, 3, answer(7, 9, 1), &peer), 1);
	ok(ethd_peers_timer(peers, now, tell, &told) == UINT64_MAX);
	ethd_peers_asked(peers, 3, now);
	now = ethd_peers_timer(peers, now, tell, &told);
	ok(now == START + ETHD_ANSWER_NS);
	for (i = 0; i < 4 && told.losses == 0; i++)
		now = ethd_peers_timer(peers, now, tell, &told);
	is_int(told.losses, 0);
	is_int(told.asks, 2);
	now = ethd_peers_timer(peers, now, tell, &told);
	is_int(told.losses, 1);
	is_int(told.id, 7);
	is_int(told.rail, 3);
	ok(!peer->ears[3].is_alive);
	ok(now - START < 12 * SECOND);
	ethd_peers_clear(peers);
	free(peers);
}

TAP_TEST(ethd_peers_timer__an_answer_in_time)
{
	struct ethd_peers *peers = calloc(1, sizeof(*peers));
	struct told told = {0};
	struct ethd_peer *peer = NULL;

	must(peers);
	is_int(hear(peers, 0, answer(7, 9, 0), &peer), 1);
	ethd_peers_asked(peers, 0, START);
	is_int(hear(peers, 0, answer(7, 9, 0), &peer), 1);
	ok(ethd_peers_timer(peers, START + SECOND, tell, &told) == UINT64_MAX);
	is_int(told.asks, 0);
	is_int(peer->ears[0].unanswered, 0);
	ethd_peers_clear(peers);
	free(peers);
}

TAP_TEST(ethd_peers_timer__the_dead_less_and_less_often)
{
	struct ethd_peers *peers = calloc(1, sizeof(*peers));
	struct told told = {0};
	struct ethd_peer *peer = NULL;
	uint64_t now = START;

	must(peers);
	is_int(hear(peers, 0, answer(7, 9, 0), &peer), 1);
	ethd_peers_asked(peers, 0, now);
	while (now < START + 3600 * SECOND)
		now = ethd_peers_timer(peers, now, tell, &told);
	is_int(told.losses, 1);
	okf(told.asks >= 50 && told.asks <= 65, "asked %u times in an hour", told.asks);
	is_int(hear(peers, 0, answer(7, 9, 0), &peer), 1);
	ok(peer->ears[0].is_alive);
	ethd_peers_clear(peers);
	free(peers);
}

TAP_TEST(ethd_peers_cut__only_that_rail)
{
	struct ethd_peers *peers = calloc(1, sizeof(*peers));
	struct told told = {0};
	struct ethd_peer *peer = NULL;

	must(peers);
	is_int(hear(peers, 0, answer(7, 9, 0), &peer), 1);
	is_int(hear(peers, 1, answer(7, 9, 1), &peer), 1);
	ethd_peers_asked(peers, 1, START);
	ethd_peers_cut(peers, 1, tell, &told);
	ethd_peers_cut(peers, 1, tell, &told);
	is_int(told.losses, 1);
	is_int(told.rail, 1);
	ok(peer->ears[0].is_alive);
	ok(!peer->ears[1].is_alive);
	ok(ethd_peers_timer(peers, START + 60 * SECOND, tell, &told) == UINT64_MAX);
	is_int(told.asks, 0);
	ethd_peers_clear(peers);
	free(peers);
}
