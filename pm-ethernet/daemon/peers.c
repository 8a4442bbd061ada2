// SPDX-License-Identifier: BSD-3-Clause
/* peers - see peers.h. Open addressing by a hash of the host id; hosts are never forgotten. */
#include "pm-ethernet/daemon/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PEERS_MAX (ETH_HOSTS / 4 * 3)

static const uint8_t no_mac[ETH_MAC];

bool ethd_ear_is_used(const struct ethd_ear *ear)
{
	return memcmp(ear->mac, no_mac, ETH_MAC) != 0;
}

/* The place where @id is, or would be. */
static uint32_t place_of(const struct ethd_peers *peers, uint32_t id)
{
	uint32_t place = id * 2654435769u % ETH_HOSTS;

	while (peers->places[place] && peers->places[place]->id != id)
		place = (place + 1) % ETH_HOSTS;
	return place;
}

struct ethd_peer *ethd_peers_find(const struct ethd_peers *peers, uint32_t id)
{
	return peers->places[place_of(peers, id)];
}

static int find_or_add(struct ethd_peers *peers, uint32_t id, struct ethd_peer **ret)
{
	uint32_t place = place_of(peers, id);

	if (!peers->places[place]) {
		if (peers->n_peers >= PEERS_MAX) {
			peers->no_room++;
			return -ENOSPC;
		}
		peers->places[place] = calloc(1, sizeof(struct ethd_peer));
		if (!peers->places[place])
			return -ENOMEM;
		peers->places[place]->id = id;
		peers->n_peers++;
	}
	*ret = peers->places[place];
	return 0;
}

/*
 * A rail has one interface of a host. Several machines may answer: rails in one segment, or two
 * machines of one id. The living one then stays, unless the newcomer is the same machine and either
 * took the old one's place or has the rail's very number.
 */
static bool may_replace(const struct ethd_peer *peer, uint32_t rail, const struct eth_query *answer)
{
	const struct ethd_ear *ear = &peer->ears[rail];

	if (!ethd_ear_is_used(ear) || memcmp(ear->mac, answer->src_mac, ETH_MAC) == 0)
		return true;
	if (!ear->is_alive)
		return true;
	return peer->nonce == answer->nonce && (answer->rail == ear->rail || answer->rail == rail);
}

int ethd_peers_heard(struct ethd_peers *peers, uint32_t rail, const struct eth_query *answer,
		     uint64_t now_ns, struct ethd_peer **ret)
{
	struct ethd_peer *peer;
	struct ethd_ear *ear;
	int r;

	r = find_or_add(peers, answer->src_host, &peer);
	if (r < 0)
		return r;
	*ret = peer;
	ear = &peer->ears[rail];
	if (!may_replace(peer, rail, answer)) {
		if (peer->nonce != answer->nonce)
			memcpy(ear->rival, answer->src_mac, ETH_MAC);
		return 0;
	}
	if (memcmp(ear->rival, answer->src_mac, ETH_MAC) == 0)
		memset(ear->rival, 0, ETH_MAC);
	peer->nonce = answer->nonce;
	memcpy(peer->host_name, answer->host_name, sizeof(peer->host_name));
	memcpy(ear->mac, answer->src_mac, ETH_MAC);
	memcpy(ear->rail_name, answer->rail_name, sizeof(ear->rail_name));
	ear->rail = answer->rail;
	ear->mtu = answer->mtu;
	ear->rtt_ns = now_ns - answer->stamp < UINT32_MAX ? (uint32_t)(now_ns - answer->stamp) : 0;
	ear->heard_ns = now_ns;
	ear->is_alive = true;
	ear->is_asked = false;
	ear->unanswered = 0;
	ear->due_ns = UINT64_MAX;
	return 1;
}

static void set_due(struct ethd_peers *peers, struct ethd_ear *ear, uint64_t due_ns)
{
	ear->due_ns = due_ns;
	if (due_ns < peers->due_ns)
		peers->due_ns = due_ns;
}

void ethd_peers_asked(struct ethd_peers *peers, uint32_t rail, uint64_t now_ns)
{
	uint32_t place;

	for (place = 0; place < ETH_HOSTS; place++) {
		struct ethd_peer *peer = peers->places[place];

		if (!peer || !ethd_ear_is_used(&peer->ears[rail]) || peer->ears[rail].is_asked)
			continue;
		peer->ears[rail].is_asked = true;
		set_due(peers, &peer->ears[rail], now_ns + ETHD_ANSWER_NS);
	}
}

void ethd_peers_cut(struct ethd_peers *peers, uint32_t rail, ethd_peers_tell *tell, void *arg)
{
	uint32_t place;

	for (place = 0; place < ETH_HOSTS; place++) {
		struct ethd_peer *peer = peers->places[place];

		if (!peer || !ethd_ear_is_used(&peer->ears[rail]))
			continue;
		peer->ears[rail].is_asked = false;
		peer->ears[rail].due_ns = UINT64_MAX;
		if (peer->ears[rail].is_alive) {
			peer->ears[rail].is_alive = false;
			tell(arg, peer, rail, ETHD_PEERS_LOST);
		}
	}
}

/* Something of this ear is due: the answer is late, or the host is to be asked again. */
static void serve_ear(struct ethd_peers *peers, struct ethd_peer *peer, uint32_t rail,
		      uint64_t now_ns, ethd_peers_tell *tell, void *arg)
{
	struct ethd_ear *ear = &peer->ears[rail];
	uint64_t wait_ns;

	if (!ear->is_asked) {
		ear->is_asked = true;
		set_due(peers, ear, now_ns + ETHD_ANSWER_NS);
		tell(arg, peer, rail, ETHD_PEERS_ASK);
		return;
	}
	wait_ns = ear->unanswered < 6 ? ETHD_REASK_NS << ear->unanswered : ETHD_REASK_MAX_NS;
	ear->is_asked = false;
	ear->unanswered++;
	set_due(peers, ear, now_ns + wait_ns);
	if (ear->unanswered >= ETHD_UNANSWERED_MAX && ear->is_alive) {
		ear->is_alive = false;
		tell(arg, peer, rail, ETHD_PEERS_LOST);
	}
}

uint64_t ethd_peers_timer(struct ethd_peers *peers, uint64_t now_ns, ethd_peers_tell *tell,
			  void *arg)
{
	uint32_t place, rail;

	if (now_ns < peers->due_ns)
		return peers->due_ns;
	peers->due_ns = UINT64_MAX;
	for (place = 0; place < ETH_HOSTS; place++) {
		struct ethd_peer *peer = peers->places[place];

		if (!peer)
			continue;
		for (rail = 0; rail < ETH_RAILS; rail++) {
			struct ethd_ear *ear = &peer->ears[rail];

			if (!ethd_ear_is_used(ear))
				continue;
			if (ear->due_ns <= now_ns)
				serve_ear(peers, peer, rail, now_ns, tell, arg);
			else
				set_due(peers, ear, ear->due_ns);
		}
	}
	return peers->due_ns;
}

void ethd_peers_clear(struct ethd_peers *peers)
{
	uint32_t place;

	for (place = 0; place < ETH_HOSTS; place++)
		free(peers->places[place]);
	memset(peers, 0, sizeof(*peers));
}
