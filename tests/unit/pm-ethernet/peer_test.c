// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>

#include "pm-ethernet/blob.h"
#include "tests/unit/pm-ethernet/rig.h"

static const struct eth_blob sample = {
	.host = 0x89abcdef,
	.context = 1023,
	.is_port = true,
	.n_rails = 2,
	.rails = {{3, {2, 0, 0, 0, 9, 3}, 1500}, {1, {2, 0, 0, 0, 9, 1}, 9000}},
};

TAP_TEST(blob_pack__and_back)
{
	struct eth_blob back;
	uint8_t buf[ETH_BLOB_MAX];

	is_int(eth_blob_pack(&sample, buf, 29), -ENOSPC);
	is_int(eth_blob_pack(&sample, buf, sizeof(buf)), 30);
	is_int(eth_blob_unpack(buf, 30, &back), 0);
	is_int(back.host, sample.host);
	is_int(back.context, 1023);
	is_int(back.is_port, true);
	is_int(back.n_rails, 2);
	is_int(back.rails[0].host_rail, 3);
	is_int(back.rails[1].mtu, 9000);
	is_mem(back.rails[1].mac, sample.rails[1].mac, ETH_MAC);
}

TAP_TEST(blob_unpack__damaged)
{
	struct eth_blob back = {.n_rails = 77};
	uint8_t good[ETH_BLOB_MAX], buf[ETH_BLOB_MAX];
	static const struct {
		uint8_t at, value;
	} wrong[] = {{0, 2}, {1, 0},  {1, 3},  {1, 9},  {8, 2},  {9, 1},
		     {3, 4}, {10, 8}, {11, 1}, {13, 0}, {14, 1}, {20, 3}};

	eth_blob_pack(&sample, good, sizeof(good));
	for (size_t len = 0; len < 30; len++)
		is_int(eth_blob_unpack(good, len, &back), -EINVAL);
	is_int(eth_blob_unpack(good, 31, &back), -EINVAL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memcpy(buf, good, sizeof(buf));
		buf[wrong[i].at] = wrong[i].value;
		if (wrong[i].at == 13) /* the MTU becomes too small with both of its bytes */
			buf[12] = 67;
		okf(eth_blob_unpack(buf, 30, &back) == -EINVAL, "byte %u as %u", wrong[i].at,
		    wrong[i].value);
	}
	is_int(back.n_rails, 77);
}

/* Adds the peer of @blob; *ret_rails is what it was given. */
static int add(struct rig *r, const struct eth_blob *blob, uint32_t *ret_rails)
{
	uint8_t buf[ETH_BLOB_MAX];
	struct pm_dev_peer *peer;
	int len = eth_blob_pack(blob, buf, sizeof(buf));

	return eth_peer_add(&r->d.dev, 1, buf, (size_t)len, &peer, ret_rails);
}

/* Rails 1 and 2 of a host with other wiring than ours. */
static struct eth_blob neighbour(void)
{
	return (struct eth_blob){
		.host = 9,
		.context = 5,
		.n_rails = 2,
		.rails = {{1, {2, 0, 0, 0, 9, 1}, 1500}, {2, {2, 0, 0, 0, 9, 2}, 1500}},
	};
}

TAP_TEST(peer_add__as_heard_on_crossed_wires)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct eth_blob blob = neighbour();
	struct eth_heard heard = {.rail = 2, .is_alive = 1, .mtu = 1500};
	uint32_t rails = 0;

	memcpy(heard.mac, blob.rails[1].mac, ETH_MAC);
	is_int(eth_board_note(&r->board, 9, 1, &heard), 0);
	is_int(add(r, &blob, &rails), 0);
	/* our second rail has heard nothing, and rail 2 over there is on our first */
	is_int(rails, 1);
	is_mem(r->d.peers[0]->heads[0].dst_mac, blob.rails[1].mac, ETH_MAC);
	is_int(r->d.peers[0]->heads[0].rail, 1);
	eth_peer_del(&r->d.dev, (struct pm_dev_peer *)r->d.peers[0]);
	memcpy(heard.mac, blob.rails[0].mac, ETH_MAC);
	is_int(eth_board_note(&r->board, 9, 2, &heard), 0);
	is_int(add(r, &blob, &rails), 0);
	is_int(rails, 3);
	is_mem(r->d.peers[0]->heads[1].dst_mac, blob.rails[0].mac, ETH_MAC);
	rig_close(r, true);
}

TAP_TEST(peer_add__not_heard_goes_by_number)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct eth_blob blob = neighbour();
	uint32_t rails = 0;

	blob.n_rails = 1;
	blob.rails[0].host_rail = 2;
	is_int(add(r, &blob, &rails), 0);
	is_int(rails, 2);
	is_int(eth_peer_mtu(&r->d.dev, (struct pm_dev_peer *)r->d.peers[0]), 1480);
	blob.rails[0].host_rail = 5;
	is_int(add(r, &blob, &rails), -EHOSTUNREACH);
	rig_close(r, true);
}

TAP_TEST(peer_add__mtu_mismatch_names_both)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct eth_blob blob = neighbour();
	uint32_t rails = 0;

	strcpy(r->d.granted.rails[1].name, "eth1");
	blob.rails[1].mtu = 9000;
	is_int(add(r, &blob, &rails), -EINVAL);
	ok(strstr(r->why, "eth1") != NULL);
	ok(strstr(r->why, "host 9") != NULL);
	ok(strstr(r->why, "1500") != NULL);
	ok(strstr(r->why, "9000") != NULL);
	is_int(r->d.n_peers, 0);
	rig_close(r, true);
}

TAP_TEST(peer_add__same_host_only_between_ports)
{
	struct rig_options w = RIG_DIRECT;
	struct rig *r = rig_open(w);
	struct eth_blob blob = neighbour();
	uint32_t rails = 0;

	blob.host = RIG_HOST;
	blob.is_port = true;
	is_int(add(r, &blob, &rails), -EHOSTUNREACH);
	rig_close(r, true);
	w.attachment = ETH_PORT;
	r = rig_open(w);
	is_int(add(r, &blob, &rails), 0);
	is_int(rails, 3);
	blob.is_port = false;
	is_int(add(r, &blob, &rails), -EHOSTUNREACH);
	rig_close(r, true);
}

TAP_TEST(peer_address__is_what_was_granted)
{
	struct rig *r = rig_open(RIG_DIRECT);
	uint8_t buf[ETH_BLOB_MAX];
	struct eth_blob blob;
	int len = eth_peer_address(&r->d.dev, buf, sizeof(buf));

	is_int(eth_blob_unpack(buf, (size_t)len, &blob), 0);
	is_int(blob.host, RIG_HOST);
	is_int(blob.context, RIG_CONTEXT);
	is_int(blob.is_port, false);
	is_int(blob.n_rails, 2);
	is_int(blob.rails[1].host_rail, 2);
	rig_close(r, true);
}

/* A probe of ours came back: the kernel over there knows no such context. */
TAP_TEST(peer_event__context_is_gone)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct eth_frame head = rig_head(r, 1);
	struct pm_rx rx;
	uint32_t node = 0;

	rig_peer(r, 11);
	head.kind = ETH_GONE;
	head.src_context = 6; /* somebody we do not know */
	ok(rig_receive(r, 0, head, 100, 0));
	is_int(eth_rx_burst(&r->d.dev, &rx, 1), 0);
	is_int(eth_peer_event(&r->d.dev, &node), 0);
	head.src_context = 5;
	ok(rig_receive(r, 0, head, 100, 0));
	ok(rig_receive(r, 0, head, 100, 0));
	is_int(eth_rx_burst(&r->d.dev, &rx, 1), 0);
	is_int(eth_peer_event(&r->d.dev, &node), 1);
	is_int(node, 11);
	ok(strstr(r->why, "host 9") && strstr(r->why, "context 5"));
	is_int(eth_peer_event(&r->d.dev, &node), 0);
	rig_close(r, true);
}

/* One interface is enough; without any, everybody is out of reach and told why. */
TAP_TEST(peer_event__no_interface_is_left)
{
	struct rig *r = rig_open(RIG_DIRECT);
	uint32_t node = 0;

	rig_peer(r, 11);
	r->board.rails[1].is_gone = 1;
	is_int(pm_ethernet_ops.rail_state(&r->d.dev, 0), PM_RAIL_DOWN);
	is_int(eth_peer_event(&r->d.dev, &node), 0);
	r->d.sockets[1].is_unbound = true;
	is_int(pm_ethernet_ops.rail_state(&r->d.dev, 1), PM_RAIL_DOWN);
	is_int(eth_peer_event(&r->d.dev, &node), 1);
	is_int(node, 11);
	ok(strstr(r->why, "no interface of this host is left"));
	is_int(eth_peer_event(&r->d.dev, &node), 0);
	rig_close(r, true);
}
