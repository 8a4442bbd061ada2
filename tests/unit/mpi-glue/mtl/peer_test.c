// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_peer: the limits of a peer by its device, by parameters, and where a stream leads to it.
 */
#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define NODE 3
#define EAGER ((ssize_t)(FAKE_MTU - sizeof(struct envelope)))

static const struct mtl_pm_peer *peer_by(const char *device, uint64_t long_read)
{
	fake_open(device);
	fake.long_read = long_read;
	return mtl_pm_peer_of_node(NODE);
}

TAP_TEST(peer__limits_of_each_device)
{
	static const struct {
		const char *device;
		ssize_t middle, packed;
		size_t pull, head, post;
		bool aligns, gathers, has_ways;
	} all[] = {
		{"shmem", 65535, 65536, WAYS_MIN - 1, 0, 2024, true, false, true},
		{"self", 32768, 32768, 0, 0, 0, false, false, false},
		{"ethernet", 262144, 524288, 0, 131072, 0, false, true, false},
		{"udp", 262144, 524288, 0, 131072, 0, false, true, false},
		{"verbs", 32768, 32768, 0, 98304, 0, false, true, false},
		{"unheard-of", 32768, 32768, 0, 0, 0, false, true, false},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct mtl_pm_peer *peer = peer_by(all[i].device, 0);

		tap_diag("%s", all[i].device);
		is_int(peer->eager_limit, EAGER);
		is_int(peer->middle_limit, all[i].middle);
		is_int(peer->packed_limit, all[i].packed);
		is_int(peer->pull_limit, all[i].pull);
		is_int(peer->head_limit, all[i].head);
		is_int(peer->post_limit, all[i].post);
		ok(peer->aligns == all[i].aligns && peer->gathers == all[i].gathers);
		ok(!peer->ways == !all[i].has_ways);
		ok(!peer->stages && !peer->burst_limit);
		fake_close();
	}
}

TAP_TEST(peer__a_stream_leads_to_it)
{
	const struct mtl_pm_peer *peer = peer_by("udp", 131072);

	is_int(peer->middle_limit, 131071);
	is_int(peer->shared_limit, 131071);
	is_int(peer->packed_limit, 524288);
	is_int(peer->head_limit, 0);
	ok(peer->stages);
	is_int(peer->burst_limit, 8192);
	fake_close();
}

TAP_TEST(peer__parameters_count_more)
{
	struct mtl_pm_peer *peer;

	fake_open("shmem");
	fake.long_read = 131072;
	mtl_pm.middle_limit = 1000;
	mtl_pm.pull_limit = 2000;
	mtl_pm.head_limit = 3000;
	peer = mtl_pm_peer_of_node(NODE);
	is_int(peer->middle_limit, 1000);
	is_int(peer->shared_limit, 1000);
	is_int(peer->packed_limit, 1000);
	is_int(peer->pull_limit, 2000);
	is_int(peer->head_limit, 3000);
	is_int(peer->burst_limit, 0);
	ok(!peer->ways);
	fake_close();
}

TAP_TEST(peer__one_for_each_node)
{
	struct mtl_pm_peer *peer;

	fake_open("udp");
	peer = mtl_pm_peer_of_node(NODE);
	ok(peer && mtl_pm_peer_of_node(NODE) == peer);
	ok(mtl_pm_peer_of_node(NODE + 1) != peer);
	is_int(peer->node, NODE);
	fake_close();
}

TAP_TEST(peer_busy__is_in_the_list_once)
{
	struct mtl_pm_peer *peer;
	int n = 0;

	fake_open("udp");
	peer = mtl_pm_peer_of_node(NODE);
	mtl_pm_peer_busy(peer);
	mtl_pm_peer_busy(peer);
	TAILQ_FOREACH(peer, &mtl_pm.busy, busy)
		n++;
	is_int(n, 1);
	fake_close();
}
