// SPDX-License-Identifier: BSD-3-Clause
/*
 * Refused requests: destruction and deregistration by devices, buffers, nodes that have left, keys
 * beyond the bound.
 */
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"
#include "tests/unit/pm-verbs/unmapping.h"

#define OPS (&pm_verbs_ops)

static bool is_said(int node, const char *what)
{
	char text[4000];

	OPS->dump(nodes[node].link, text, sizeof(text));
	return okf(strstr(text, what) != NULL, "\"%s\" is not in: %s", what, text);
}

static void open_connected(void)
{
	fake_begin(1);
	must(links_open(2, NULL));
	must(links_send(0, 1, 8) == 0);
	links_drain();
}

TAP_TEST(refused__queue_pair_and_path)
{
	open_connected();
	is_int(pmv_of(nodes[0].link)->n_refusals, 0);
	fake_fail(FAKE_DESTROY_QP, 1, EBUSY);
	OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
	for (int i = 0; i < 50; i++)
		pmv_progress(pmv_of(nodes[0].link));
	is_int(pmv_of(nodes[0].link)->n_qps, 0);
	is_said(0, "  1 calls refused by devices, last: a queue pair is not destroyed: Device or");
	links_close();

	open_connected();
	fake_fail(FAKE_DESTROY_AH, 1, EINVAL);
	OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
	for (int i = 0; i < 50; i++)
		pmv_progress(pmv_of(nodes[0].link));
	is_said(0,
		"  1 calls refused by devices, last: an address handle is not destroyed: Invalid");
	links_close();
}

/* The memory is the program's again all the same: nobody who has its key keeps a connection. */
TAP_TEST(refused__region_is_not_deregistered)
{
	static uint8_t region[1000], local[1000];
	uint64_t rkey, len;
	void *addr;

	open_connected();
	must(!region_add(nodes[1].regions, region, sizeof(region), &rkey));
	is_int(links_rma(0, 1, false, rkey, 0, local, 10), 0);
	must(!region_remove(nodes[1].regions, rkey, &addr, &len));
	fake_fail(FAKE_DEREG_MR, 1, EBUSY);
	OPS->unexport(nodes[1].link, rkey, addr, len);
	is_int(nodes[1].peer[0]->stage, PMV_DRAINING);
	is_said(1, "a region of memory is not deregistered: Device or resource busy");
	is_int(links_rma(0, 1, false, rkey, 0, local, 10), -EACCES);
	is_int(nodes[0].peer[1]->epoch, 2);
	is_int(fake.live > 0, 1);
	/* what the fake provider still has is its last object */
	node_close(&nodes[0]);
	node_close(&nodes[1]);
	is_int(fake.live, 1);
	fake_forget();
	links_close();
}

/* It stays registered, and goes at the next occasion. */
TAP_TEST(refused__kept_memory)
{
	static uint8_t region[1000];
	char *local = unmapping_map(4096);
	uint64_t rkey;

	memset(local, 1, 4096);
	open_connected();
	if (pmv_of(nodes[0].link)->local_why[0]) {
		tap_skip("%s", pmv_of(nodes[0].link)->local_why);
		links_close();
		return;
	}
	must(!region_add(nodes[1].regions, region, sizeof(region), &rkey));
	is_int(links_rma(0, 1, false, rkey, 0, local, 10), 0);
	fake_fail(FAKE_DEREG_MR, 1, EBUSY);
	OPS->quiesce(nodes[0].link);
	is_said(0, "1 kept by the device");
	OPS->resume(nodes[0].link);
	links_close();
}

TAP_TEST(refused__buffers)
{
	uint64_t cookie;
	void *buf;
	int err = 0;

	open_connected();
	fake.lockable = fake.locked;
	for (int i = 0; i < 200 && !err; i++)
		err = OPS->get_send(nodes[0].link, nodes[0].peer[1], 8, &buf, &cookie);
	is_int(err, -EAGAIN);
	is_said(0, "no more message buffers can be registered (ulimit -l)");
	fake.lockable = 0;
	links_close();
}

/* The sentence is about the node that is asked for, not about another error before. */
TAP_TEST(refused__one_that_left)
{
	static uint8_t local[8];
	uint32_t op;

	open_connected();
	OPS->peer_del(nodes[1].link, nodes[1].peer[0]);
	links_turn(50);
	for (int i = 0; i < 4; i++) {
		struct pm_link_peer *peer = nodes[0].peer[1];

		strcpy(nodes[0].why, "something else");
		is_int(i == 0   ? links_send(0, 1, 8)
		       : i == 1 ? OPS->read(nodes[0].link, peer, 1, 0, local, 8, &op)
		       : i == 2 ? OPS->probe(nodes[0].link, peer)
				: OPS->send_done(nodes[0].link, peer),
		       -EPIPE);
		is_str(nodes[0].why, "node 1: it has closed its context");
	}
	is_int(OPS->send_done(nodes[0].link, NULL), 0);
	links_close();
}

/* Of many regions the keys of those used first go first. */
TAP_TEST(grants__oldest_go)
{
	static uint8_t region[300][64], local[64];
	uint64_t rkey[300];
	long resent;

	open_connected();
	for (int i = 0; i < 300; i++) {
		links_fill(region[i], 64, (uint64_t)i);
		must(!region_add(nodes[1].regions, region[i], 64, &rkey[i]));
	}
	for (int i = 0; i < 300; i++) {
		is_int(links_rma(0, 1, false, rkey[i], 0, local, 64), 0);
		ok(links_is_filled(local, 64, (uint64_t)i));
	}
	is_int(nodes[0].peer[1]->n_grants, 257);
	links_turn(50);
	resent = fake.resent;
	for (int i = 299; i >= 50; i--)
		is_int(links_rma(0, 1, false, rkey[i], 0, local, 64), 0);
	/* nobody was asked */
	is_int(fake.resent, resent);
	is_int(links_rma(0, 1, false, rkey[0], 0, local, 64), 0);
	ok(fake.resent > resent);
	links_close();
}
