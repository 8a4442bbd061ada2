// SPDX-License-Identifier: BSD-3-Clause
/* A device on a host of a hypercrossbar; the board is the daemon's part, played by the test. */
#include <errno.h>

#include "tests/unit/pm-ethernet/rig.h"

static struct rig *grid_open(uint8_t attachment)
{
	struct rig_options w = RIG_DIRECT;
	struct rig *r;

	w.attachment = attachment;
	w.n_rails = 4;
	r = rig_open(w);
	is_int(rig_grid(r, 2), 0);
	return r;
}

/* ---- opening ---- */

TAP_TEST(ways_init__no_grid_changes_nothing)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_dev_peer *peer;

	is_int(eth_ways_init(&r->d), 0);
	is_int(r->d.is_steering, false);
	is_int(eth_ways_lanes(&r->d), 2);
	peer = rig_peer(r, 1);
	is_int(((struct eth_peer *)peer)->sockets[1], 1);
	rig_close(r, true);
}

TAP_TEST(ways_init__rails_left_out)
{
	struct rig *r = rig_open(RIG_DIRECT);

	is_int(rig_grid(r, 2), -EINVAL);
	ok(strstr(r->why, "ethernet.rails leaves out eth2"));
	rig_close(r, true);
}

TAP_TEST(ways_init__rails_of_other_mtu)
{
	struct rig *r = grid_open(ETH_PORT);

	r->d.granted.rails[2].mtu = 9000;
	is_int(eth_ways_init(&r->d), -EINVAL);
	ok(strstr(r->why, "eth0 is 1500 and that of eth2 is 9000"));
	rig_close(r, true);
}

TAP_TEST(ways_init__damaged_grid)
{
	struct rig *r = grid_open(ETH_DIRECT);
	struct eth_grid *grid = &r->board.grid.grid, good = *grid;

	grid->n_dims = ETH_DIMS + 1;
	is_int(eth_ways_init(&r->d), -EPROTO);
	*grid = good;
	grid->rail[1][1] = 200;
	is_int(eth_ways_init(&r->d), -EPROTO);
	*grid = good;
	grid->n_lanes[0] = ETH_RAILS + 1;
	is_int(eth_ways_init(&r->d), -EPROTO);
	*grid = good;
	is_int(eth_ways_init(&r->d), 0);
	is_int(eth_ways_lanes(&r->d), 2);
	rig_close(r, true);
}

/* ---- peers ---- */

static void check_rails(uint8_t attachment)
{
	struct rig *r = grid_open(attachment);
	struct pm_dev_peer *peer;
	const struct eth_peer *p;

	is_int(rig_grid_peer(r, 9, &peer), 0xc); /* at 2,2: along y */
	is_int(rig_grid_peer(r, 1, &peer), 0x3); /* at 0,0: along x */
	is_int(rig_grid_peer(r, 3, &peer), 0x3); /* at 0,2: along x first */
	p = (const struct eth_peer *)peer;
	is_int(eth_peer_mtu(&r->d.dev, peer), eth_payload(1500));
	is_int(p->heads[1].rail, 1);
	is_int(p->heads[1].dst_host, 3);
	is_int(p->heads[1].ttl, ETH_TTL);
	rig_close(r, true);
}

TAP_TEST(peer_add__rails_of_the_first_link_direct)
{
	check_rails(ETH_DIRECT);
}

TAP_TEST(peer_add__rails_of_the_first_link_port)
{
	check_rails(ETH_PORT);
}

TAP_TEST(peer_add__own_host_is_reached_as_ever)
{
	struct rig *r = grid_open(ETH_PORT);
	struct pm_dev_peer *peer;

	is_int(rig_grid_peer(r, RIG_HOST, &peer), 0xf);
	is_int(((struct eth_peer *)peer)->sockets[3], 0);
	rig_close(r, true);
	r = grid_open(ETH_DIRECT);
	is_int(rig_grid_peer(r, RIG_HOST, &peer), -EHOSTUNREACH);
	rig_close(r, true);
}

TAP_TEST(peer_add__no_way_names_what_is_closed)
{
	struct rig *r = grid_open(ETH_PORT);
	struct pm_dev_peer *peer;

	for (uint32_t rail = 0; rail < 4; rail++)
		for (uint32_t to = 0; to < 3; to++)
			rig_neighbour(r, rail, to, false);
	r->board.rails[1].is_up = 0;
	is_int(rig_grid_peer(r, 3, &peer), -ENETUNREACH);
	is_str(r->why,
	       "ethernet: node 3: no way to host 3 at 0,2 is open: towards 0,0 eth0 gets no "
	       "answer, eth1 is down, and there is no detour; see pm-ethernetctl peers");
	is_int(r->d.n_peers, 0);
	/* one neighbour is enough, wherever the way goes from there */
	rig_neighbour(r, 3, 1, true);
	is_int(rig_grid_peer(r, 3, &peer), 0x3);
	rig_close(r, true);
}

TAP_TEST(peer_add__strangers_to_the_grid)
{
	struct rig *r = grid_open(ETH_DIRECT);
	struct pm_dev_peer *peer;

	is_int(rig_grid_peer(r, 10, &peer), -ENETUNREACH);
	ok(strstr(r->why, "host 10 is not in the hypercrossbar of 9 points"));
	is_int(rig_grid_peer(r, 0, &peer), -ENETUNREACH);
	r->board.grid.points[2].is_known = 0;
	is_int(rig_grid_peer(r, 3, &peer), -ENETUNREACH);
	ok(strstr(r->why, "host 3"));
	r->board.grid.points[0] = r->board.grid.points[RIG_HOST - 1];
	is_int(rig_grid_peer(r, 1, &peer), -ENETUNREACH);
	ok(strstr(r->why, "host 1 stands where this host stands"));
	rig_close(r, true);
}

TAP_TEST(peer_add__far_host_of_other_mtu)
{
	struct rig *r = grid_open(ETH_PORT);
	struct pm_dev_peer *peer;

	for (uint32_t i = 0; i < 4; i++)
		r->d.granted.rails[i].mtu = 9000;
	is_int(eth_ways_init(&r->d), 0);
	is_int(rig_grid_peer(r, 3, &peer), -EINVAL);
	ok(strstr(r->why, "host 3") && strstr(r->why, "9000") && strstr(r->why, "is 1500"));
	rig_close(r, true);
}

/* ---- sending ---- */

/* Posts a packet of @type on a rail; true: it left by a socket, with that head. */
static bool sends(struct rig *r, struct pm_dev_peer *peer, uint32_t rail, uint8_t type, uint32_t by,
		  struct eth_frame *ret)
{
	struct pm_packet *p = eth_tx_alloc(&r->d.dev);
	struct xdp_desc desc;

	memset(p->data, 0, 64);
	p->data[offsetof(struct wire_header, type)] = type;
	p->len = 64;
	is_int(eth_tx_post(&r->d.dev, rail, peer, p), 0);
	eth_tx_free(&r->d.dev, p);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	if (!rig_take(r, by, &desc))
		return false;
	memcpy(ret, r->memory + desc.addr, sizeof(*ret));
	rig_done(r, by, desc.addr);
	return true;
}

/* Makes the device read the board again, as it does when it is asked for the state of a rail. */
static void settle(struct rig *r)
{
	pm_ethernet_ops.rail_state(&r->d.dev, 0);
}

TAP_TEST(tx_post__another_lane_when_one_is_closed)
{
	struct rig *r = grid_open(ETH_DIRECT);
	struct pm_dev_peer *peer;
	struct eth_frame head;

	is_int(rig_grid_peer(r, 3, &peer), 0x3);
	must(sends(r, peer, 0, WIRE_DATA, 0, &head));
	is_mem(head.dst_mac, "\2\0\11\11\0\0", ETH_MAC);
	is_mem(head.src_mac, r->d.granted.rails[0].mac, ETH_MAC);
	is_int(head.flags, 0);
	rig_neighbour(r, 0, 0, false);
	settle(r);
	must(sends(r, peer, 0, WIRE_DATA, 1, &head));
	is_int(head.rail, 0); /* still, that is the rail the receiver sees */
	is_mem(head.dst_mac, "\2\0\11\11\1\0", ETH_MAC);
	is_mem(head.src_mac, r->d.granted.rails[1].mac, ETH_MAC);
	is_int(head.flags, 0);
	rig_neighbour(r, 0, 0, true);
	settle(r);
	ok(sends(r, peer, 0, WIRE_DATA, 0, &head));
	rig_close(r, true);
}

TAP_TEST(tx_post__detour_says_what_is_late)
{
	struct rig *r = grid_open(ETH_DIRECT);
	struct pm_dev_peer *both, *along_x;
	struct eth_frame head;

	is_int(rig_grid_peer(r, 3, &both), 0x3);
	is_int(rig_grid_peer(r, 1, &along_x), 0x3);
	rig_neighbour(r, 0, 0, false);
	rig_neighbour(r, 1, 0, false);
	/* along y first, to 2,2; x is late */
	must(sends(r, both, 1, WIRE_DATA, 3, &head));
	is_mem(head.dst_mac, "\2\0\11\11\3\2", ETH_MAC);
	is_int(head.flags, 1 << ETH_LATE_SHIFT);
	is_int(head.rail, 1);
	/* who is asked for an echo is asked on this way as well */
	must(sends(r, both, 1, WIRE_PROBE, 3, &head));
	is_int(head.flags, 1 << ETH_LATE_SHIFT | ETH_F_ASK);
	must(sends(r, both, 1, WIRE_DATA, 3, &head));
	is_int(head.flags, 1 << ETH_LATE_SHIFT);
	/* aside along y, which is late */
	must(sends(r, along_x, 0, WIRE_DATA, 2, &head));
	is_int(head.flags, (8 | 2) << ETH_LATE_SHIFT);
	rig_close(r, true);
}

TAP_TEST(tx_post__without_a_way_packets_are_lost_until_there_is_one)
{
	struct rig *r = grid_open(ETH_DIRECT);
	struct pm_dev_peer *peer;
	struct eth_frame head;

	is_int(rig_grid_peer(r, 9, &peer), 0xc);
	must(sends(r, peer, 2, WIRE_DATA, 2, &head));
	eth_completion_reap(&r->d, 2);
	for (uint32_t rail = 0; rail < 4; rail++)
		for (uint32_t to = 0; to < 3; to++)
			rig_neighbour(r, rail, to, false);
	settle(r);
	for (int i = 0; i < 3; i++)
		for (uint32_t by = 0; by < 4; by++)
			ok(!sends(r, peer, 2 + (by & 1), WIRE_DATA, by, &head));
	is_int(r->d.n_astray, 12);
	is_int(r->d.pool.n_free, RIG_TX_PACKETS);
	rig_neighbour(r, 3, 2, true);
	settle(r);
	ok(sends(r, peer, 2, WIRE_DATA, 3, &head));
	ok(sends(r, peer, 3, WIRE_DATA, 3, &head));
	is_int(r->d.n_astray, 12);
	rig_close(r, true);
}

/* Full rings are no closed ways. */
TAP_TEST(tx_post__full_socket_of_a_detour)
{
	struct rig *r = grid_open(ETH_DIRECT);
	struct pm_dev_peer *peer;
	struct pm_packet *p;
	int n = 0, err;

	is_int(rig_grid_peer(r, 9, &peer), 0xc);
	rig_neighbour(r, 2, 2, false);
	settle(r);
	do {
		p = eth_tx_alloc(&r->d.dev);
		p->len = 64;
		err = eth_tx_post(&r->d.dev, 2, peer, p);
		n += !err;
	} while (!err && n <= RIG_RING);
	is_int(err, -EAGAIN);
	is_int(r->d.sockets[3].outstanding, n);
	is_int(r->d.n_astray, 0);
	rig_close(r, true);
}

TAP_TEST(tx_post__a_port_leaves_it_to_the_kernel)
{
	struct rig *r = grid_open(ETH_PORT);
	struct pm_dev_peer *peer;
	struct eth_frame head;

	is_int(rig_grid_peer(r, 3, &peer), 0x3);
	for (uint32_t to = 0; to < 3; to++) {
		rig_neighbour(r, 0, to, false);
		rig_neighbour(r, 1, to, false);
	}
	must(sends(r, peer, 1, WIRE_DATA, 0, &head));
	is_int(head.rail, 1);
	is_int(head.flags, 0);
	is_int(head.dst_host, 3);
	rig_close(r, true);
}

/* ---- rails ---- */

static void check_states(uint8_t attachment)
{
	struct rig *r = grid_open(attachment);

	for (uint32_t rail = 0; rail < 4; rail++)
		is_int(pm_ethernet_ops.rail_state(&r->d.dev, rail), PM_RAIL_UP);
	r->board.rails[0].is_up = 0;
	is_int(pm_ethernet_ops.rail_state(&r->d.dev, 0), PM_RAIL_DOWN);
	is_int(pm_ethernet_ops.rail_state(&r->d.dev, 1), PM_RAIL_UP);
	/* no lane is left along x: the frames of both go along y first */
	r->board.rails[1].is_gone = 1;
	is_int(pm_ethernet_ops.rail_state(&r->d.dev, 0), PM_RAIL_UP);
	is_int(pm_ethernet_ops.rail_state(&r->d.dev, 1), PM_RAIL_UP);
	rig_close(r, true);
}

TAP_TEST(rail_state__down_only_beside_another_lane_direct)
{
	check_states(ETH_DIRECT);
}

TAP_TEST(rail_state__down_only_beside_another_lane_port)
{
	check_states(ETH_PORT);
}

TAP_TEST(rail_state__one_dimension_has_no_detours)
{
	struct rig_options w = RIG_DIRECT;
	struct rig *r;

	w.n_rails = 4;
	r = rig_open(w);
	is_int(rig_grid(r, 1), 0);
	for (uint32_t rail = 0; rail < 4; rail++)
		r->board.rails[rail].is_up = 0;
	for (uint32_t rail = 0; rail < 4; rail++)
		is_int(pm_ethernet_ops.rail_state(&r->d.dev, rail), PM_RAIL_DOWN);
	rig_close(r, true);
}

/* Packets in the ring of a dead interface are withdrawn, also where a detour keeps the rail up. */
TAP_TEST(rail_state__dead_interface_holds_no_packets)
{
	struct rig *r = grid_open(ETH_DIRECT);
	struct pm_dev_peer *peer;
	struct pm_packet *p = eth_tx_alloc(&r->d.dev);

	is_int(rig_grid_peer(r, 1, &peer), 0x3);
	p->len = 64;
	is_int(eth_tx_post(&r->d.dev, 0, peer, p), 0);
	r->board.rails[0].is_up = r->board.rails[1].is_up = 0;
	is_int(p->busy, 1);
	is_int(pm_ethernet_ops.rail_state(&r->d.dev, 0), PM_RAIL_UP);
	is_int(p->busy, 0);
	eth_tx_free(&r->d.dev, p);
	rig_close(r, true);
}

/* ---- receiving ---- */

/* From a host that shares no line with us: it came by a relay, on the rail of the last link. */
static void check_relayed(uint8_t attachment)
{
	struct rig *r = grid_open(attachment);
	struct eth_frame head = rig_head(r, 3);
	struct pm_rx rx;

	head.src_host = 3;
	head.rail = 0;
	head.ttl = ETH_TTL - 2;
	head.flags = 2 << ETH_LATE_SHIFT;
	ok(rig_receive(r, attachment == ETH_PORT ? 0 : 3, head, 100, 'r'));
	is_int(eth_rx_burst(&r->d.dev, &rx, 1), 1);
	is_int(rx.rail, 3);
	is_int(rx.len, 100);
	eth_rx_return(&r->d.dev, rx.token);
	rig_close(r, true);
}

TAP_TEST(rx_burst__frame_of_a_far_host_direct)
{
	check_relayed(ETH_DIRECT);
}

TAP_TEST(rx_burst__frame_of_a_far_host_port)
{
	check_relayed(ETH_PORT);
}

/* A refusal comes back by whatever way. */
TAP_TEST(peer_event__far_context_is_gone)
{
	struct rig *r = grid_open(ETH_DIRECT);
	struct eth_frame head = rig_head(r, 2);
	struct pm_dev_peer *peer;
	struct pm_rx rx;
	uint32_t node = 0;

	is_int(rig_grid_peer(r, 3, &peer), 0x3);
	head.kind = ETH_GONE;
	head.src_host = 3;
	ok(rig_receive(r, 2, head, 100, 0));
	is_int(eth_rx_burst(&r->d.dev, &rx, 1), 0);
	is_int(eth_peer_event(&r->d.dev, &node), 1);
	is_int(node, 3);
	rig_close(r, true);
}
