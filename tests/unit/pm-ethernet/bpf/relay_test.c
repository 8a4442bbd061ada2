// SPDX-License-Identifier: BSD-3-Clause
/*
 * eth_nic and eth_port in a hypercrossbar: frames for other hosts, refusals, and what is for
 * nobody.
 */
#include <string.h>

#include "tests/harness/tap.h"
#include "tests/unit/pm-ethernet/bpf/bed.h"

struct eth_route_env {
	bool open[ETH_RAILS][16];
};
#define eth_route_is_open(env, rail, to) ((env)->open[rail][to])
#include "pm-ethernet/route.h"

#define RAIL 1
#define RANDOM_FRAMES 20000

static const uint16_t cube[] = {3, 4, 3};
/* In the cube host 7 is at 0,2,0. */
enum { CUBE_X = 7 + 12, CUBE_Y = 7 - 3, CUBE_XY = CUBE_X - 3, CUBE_XYZ = CUBE_XY + 2 };

static struct bed bed;
static struct bed_frame frame, out;
static struct eth_grid grid;

static bool open_cube(uint32_t rail, uint32_t n_rails, bool is_frags)
{
	if (!bed_open(&bed, rail, is_frags))
		return false;
	bed_set_grid(&bed, cube, 3, n_rails, &grid);
	return !tap_has_failed();
}

static uint8_t late_of(const struct bed_frame *f)
{
	return (f->head.flags & ETH_F_LATE) >> ETH_LATE_SHIFT;
}

/* A frame that came to our NIC, for host @id. */
static void packet_for(uint32_t id, uint8_t rail, uint16_t body)
{
	bed_packet_in(&frame, 3, body);
	frame.head.dst_host = id;
	frame.head.rail = rail;
	frame.head.ttl = ETH_TTL;
	frame.head.flags = ETH_F_ASK;
	memcpy(frame.head.dst_mac, (uint8_t[]){2, 0, 0, 0, 0, 0x10 + bed.rail}, ETH_MAC);
}

/* The frame that went on is the one that came, but for its next hop. */
static void check_hop(uint32_t rail, uint32_t to, uint32_t late, uint8_t ttl)
{
	struct eth_neighbour next = bed_neighbour(rail, to, true);
	uint8_t nic[ETH_MAC] = {2, 0, 0, 0, 0, 0x10 + rail};

	is_mem(out.head.dst_mac, next.mac, ETH_MAC);
	is_mem(out.head.src_mac, nic, ETH_MAC);
	is_int(late_of(&out), late);
	is_int(out.head.ttl, ttl);
	memcpy(&out.head, &frame.head, 2 * ETH_MAC);
	out.head.ttl = frame.head.ttl;
	out.head.flags ^= (out.head.flags ^ frame.head.flags) & ETH_F_LATE;
	is_mem(out.bytes, frame.bytes, frame.length);
}

/* Goes on from eth_nic to the neighbour at @to of @rail. */
static void is_relayed(uint32_t rail, uint32_t to, uint32_t late)
{
	struct eth_counters change = {.relayed_frames = 1,
				      .relayed_bytes = frame.length,
				      .detours = late && !late_of(&frame)};

	bed_does(&bed, BED_NIC, &frame, XDP_REDIRECT, &change, &out);
	check_hop(rail, to, late, frame.head.ttl - 1);
}

/* The same from eth_port. */
static void is_sent(uint32_t rail, uint32_t to, uint32_t late)
{
	struct eth_counters change = {
		.rx_frames = 1, .rx_bytes = frame.length, .detours = late != 0};

	bed_does(&bed, BED_FROM_PORT, &frame, XDP_REDIRECT, &change, &out);
	check_hop(rail, to, late, ETH_TTL);
}

TAP_TEST(eth_nic__relays_in_the_order_of_dimensions)
{
	if (open_cube(RAIL, 3, false)) {
		packet_for(CUBE_X, 0, 40);
		is_relayed(0, 1, 0);
		packet_for(CUBE_XYZ, 0, 40);
		is_relayed(0, 1, 0);
		packet_for(CUBE_Y, 0, 40);
		is_relayed(1, 1, 0);
		packet_for(CUBE_Y + 1, 0, 40);
		is_relayed(1, 1, 0);
		packet_for(BED_HOST + 2, 0, 40);
		is_relayed(2, 2, 0);
		packet_for(BED_HOST + 2, 0, 1400);
		frame.head.kind = ETH_GONE;
		is_relayed(2, 2, 0);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__relays_on_each_rail_and_several_buffers)
{
	for (uint32_t rail = 0; rail < ETH_RAILS; rail++) {
		if (open_cube(rail, ETH_RAILS, true)) {
			packet_for(CUBE_XY, rail, BED_LONG);
			is_relayed(grid.rail[0][grid.lane[rail] % 3], 1, 0);
		}
		bed_close(&bed);
	}
}

/* One host of each distance, in grids of 1 to 6 dimensions. */
TAP_TEST(eth_nic__relays_in_one_to_six_dimensions)
{
	static const uint16_t shapes[ETH_DIMS][ETH_DIMS] = {
		{9}, {3, 4}, {3, 4, 3}, {2, 3, 2, 3}, {2, 2, 3, 2, 2}, {2, 2, 3, 2, 2, 2}};

	for (uint32_t n = 1; n <= ETH_DIMS && bed_open(&bed, 0, false); n++) {
		bed_set_grid(&bed, shapes[n - 1], n, n, &grid);
		for (uint32_t id = 1; id <= grid.n_points && !tap_has_failed(); id++) {
			struct eth_point point = bed_point(&grid, id);
			uint32_t dim = eth_route_differs(&grid, &point, 0);

			if (id == BED_HOST)
				continue;
			packet_for(id, 0, 40);
			is_relayed(dim, point.at[dim], 0);
		}
		if (n < ETH_DIMS)
			bed_close(&bed);
	}
	bed_close(&bed);
}

/* The lane of the rail that the sender chose, in whatever dimension the frame goes. */
TAP_TEST(eth_nic__keeps_to_the_lane)
{
	if (open_cube(RAIL, 6, false)) {
		packet_for(CUBE_X, 1, 40);
		is_relayed(0, 1, 0);
		packet_for(CUBE_X, 4, 40);
		is_relayed(3, 1, 0);
		packet_for(CUBE_Y, 5, 40);
		is_relayed(4, 1, 0);
		bed_set_neighbour(&bed, 4, 1, false);
		is_relayed(1, 1, 0);
		packet_for(CUBE_Y, 0, 40);
		is_relayed(1, 1, 0);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__detour_by_another_dimension_that_differs)
{
	if (open_cube(RAIL, 3, false)) {
		packet_for(CUBE_XY, 0, 40);
		bed_set_neighbour(&bed, 0, 1, false);
		is_relayed(1, 1, 1);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__detour_by_a_step_aside)
{
	struct eth_route_env env;
	struct eth_way way;
	struct eth_point dst;

	if (open_cube(RAIL, 3, false)) {
		memset(&env, 1, sizeof(env));
		env.open[0][1] = false;
		bed_set_neighbour(&bed, 0, 1, false);
		packet_for(CUBE_X, 0, 40);
		dst = bed_point(&grid, CUBE_X);
		is_int(eth_route(&env, &grid, &dst, 0, 0, eth_route_salt(BED_FAR_HOST, CUBE_X),
				 &way),
		       0);
		is_int(way.rail, 1);
		is_int(way.late, 2 | ETH_LATE_ASIDE);
		is_relayed(way.rail, way.to, way.late);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__late_comes_last)
{
	if (open_cube(RAIL, 3, false)) {
		packet_for(CUBE_XY, 0, 40);
		frame.head.flags |= 1 << ETH_LATE_SHIFT;
		is_relayed(1, 1, 1);
		packet_for(CUBE_X, 0, 40);
		frame.head.flags |= 1 << ETH_LATE_SHIFT;
		is_relayed(0, 1, 1);
		/* the step aside was made; what is left is the way across, and back */
		packet_for(CUBE_XY, 0, 40);
		frame.head.flags |= (2 | ETH_LATE_ASIDE) << ETH_LATE_SHIFT;
		is_relayed(0, 1, 2);
		/* a second failure is not passed */
		bed_set_neighbour(&bed, 0, 1, false);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_WAY);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__relays_no_more_than_the_frame_may_pass)
{
	if (open_cube(RAIL, 3, false)) {
		packet_for(CUBE_X, 0, 40);
		frame.head.ttl = 2;
		is_relayed(0, 1, 0);
		frame.head.ttl = 1;
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_TTL);
		frame.head.ttl = 0;
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_TTL);
	}
	bed_close(&bed);
}

/*
 * Runs of one call go on with what the one before left: the second finds the address of another
 * NIC.
 */
TAP_TEST(bed_time__each_run_has_the_frame_of_the_one_before)
{
	struct eth_neighbour here = {.mac = {2, 0, 0, 0, 0, 0x10 + RAIL}, .is_open = 1};
	uint32_t ns = 0;

	if (open_cube(RAIL, 3, false)) {
		packet_for(CUBE_X, 0, 40);
		is_int(bed_time(&bed, BED_NIC, &frame, 5, &out, &ns), XDP_DROP);
		is_int(out.head.ttl, ETH_TTL - 1);
		bed_put(bed.neighbours, 1, &here);
		is_int(bed_time(&bed, BED_NIC, &frame, 5, &out, &ns), XDP_REDIRECT);
		is_int(out.head.ttl, ETH_TTL - 5);
		ok(ns);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__drops_what_it_can_not_relay)
{
	struct eth_point defect = {.at = {1, 2, 0}};

	if (open_cube(RAIL, 3, false)) {
		packet_for(0, 0, 40);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		packet_for(grid.n_points + 1, 0, 40);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		packet_for(BED_POINTS + 1, 0, 40);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		packet_for(0xffffffff, 0, 40);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		packet_for(CUBE_X, ETH_RAILS, 40);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_RAIL);
		bed_put(bed.points, CUBE_X - 1, &defect);
		packet_for(CUBE_X, 0, 40);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		for (uint32_t at = 0; at < 4; at++)
			for (uint32_t rail = 0; rail < 3; rail++)
				bed_set_neighbour(&bed, rail, at, false);
		packet_for(CUBE_XYZ, 0, 40);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_WAY);
		bed_set_neighbour(&bed, 0, 1, true);
		bed_remove_nic(&bed, 0);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_RAIL);
	}
	bed_close(&bed);
}

/*
 * A frame that a switch floods, or that is sent to a group, is not relayed by each host that
 * receives it.
 */
TAP_TEST(eth_nic__relays_only_what_was_sent_to_its_address)
{
	if (open_cube(RAIL, 3, false)) {
		packet_for(CUBE_X, 0, 40);
		frame.head.dst_mac[5]++;
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_HOST);
		memset(frame.head.dst_mac, 0xff, ETH_MAC);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_HOST);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__takes_its_own_after_a_detour)
{
	if (open_cube(RAIL, 3, false)) {
		bed_packet_in(&frame, BED_DIRECT, 40);
		frame.head.flags |= 3 << ETH_LATE_SHIFT;
		bed_redirects(&bed, BED_NIC, &frame, true, &out);
	}
	bed_close(&bed);
}

/*
 * A refusal goes where the way to the sender begins, which need not be where the packet came from.
 */
TAP_TEST(eth_nic__refusal_goes_by_route)
{
	struct eth_counters change = {.drops[ETH_DROP_CONTEXT] = 1};
	struct eth_frame want;

	if (open_cube(RAIL, 3, false)) {
		packet_for(BED_HOST, 0, 40);
		frame.head.src_host = CUBE_XYZ;
		frame.head.dst_context = 77;
		frame.head.src_mac[0] = 2;
		frame.head.flags |= 2 << ETH_LATE_SHIFT;
		want = frame.head;
		bed_does(&bed, BED_NIC, &frame, XDP_REDIRECT, &change, &out);
		memcpy(want.dst_mac, bed_neighbour(0, 1, true).mac, ETH_MAC);
		memcpy(want.src_mac, (uint8_t[]){2, 0, 0, 0, 0, 0x10}, ETH_MAC);
		want.kind = ETH_GONE;
		want.ttl = ETH_TTL;
		want.flags = 0;
		want.dst_host = CUBE_XYZ;
		want.src_host = BED_HOST;
		want.dst_context = frame.head.src_context;
		want.src_context = 77;
		is_mem(&out.head, &want, sizeof(want));
		/* and nowhere where there is no way back */
		frame.head.src_host = 999;
		change.drops[ETH_DROP_POINT] = 1;
		bed_does(&bed, BED_NIC, &frame, XDP_DROP, &change, &out);
	}
	bed_close(&bed);
}

TAP_TEST(eth_port__routes_what_processes_send)
{
	if (open_cube(0, 6, false)) {
		bed_packet_out(&frame, 1400);
		frame.head.dst_host = CUBE_XYZ;
		frame.head.rail = 3;
		is_sent(3, 1, 0);
		/* whatever the process wrote for a head */
		frame.head.flags = 0xff;
		frame.head.ttl = 1;
		frame.head.dst_mac[0] = 0x44;
		bed_redirects(&bed, BED_FROM_PORT, &frame, true, &out);
		is_int(out.head.flags, 0xff & ~ETH_F_LATE);
		frame.head.flags = ETH_F_ASK;
		is_sent(3, 1, 0);
		bed_set_neighbour(&bed, 3, 1, false);
		is_sent(0, 1, 0);
		bed_set_neighbour(&bed, 0, 1, false);
		is_sent(4, 1, 1);
		frame.head.rail = 5; /* of the last dimension: its lane counts */
		is_sent(4, 1, 1);
	}
	bed_close(&bed);
}

TAP_TEST(eth_port__no_way_and_no_such_host)
{
	if (open_cube(0, 3, false)) {
		bed_packet_out(&frame, 40);
		frame.head.dst_host = 0;
		bed_drops(&bed, BED_FROM_PORT, &frame, ETH_DROP_POINT);
		frame.head.dst_host = 999;
		bed_drops(&bed, BED_FROM_PORT, &frame, ETH_DROP_POINT);
		for (uint32_t rail = 0; rail < 3; rail++)
			for (uint32_t at = 0; at < 4; at++)
				bed_set_neighbour(&bed, rail, at, false);
		frame.head.dst_host = CUBE_XYZ;
		bed_drops(&bed, BED_FROM_PORT, &frame, ETH_DROP_WAY);
		frame.head.kind = ETH_WATCH;
		bed_drops(&bed, BED_FROM_PORT, &frame, ETH_DROP_KIND);
		frame.head.kind = ETH_ECHO;
		bed_drops(&bed, BED_FROM_PORT, &frame, ETH_DROP_KIND);
	}
	bed_close(&bed);
}

TAP_TEST(eth_port__routes_packets_of_several_buffers)
{
	if (open_cube(0, 3, true)) {
		bed_packet_out(&frame, BED_LONG);
		frame.head.flags = 0;
		frame.head.dst_host = CUBE_Y;
		is_sent(1, 1, 0);
	}
	bed_close(&bed);
}

/* Random frames, holes and heads: what the programs do is what route.h says in user space. */
TAP_TEST(eth_nic__relays_as_the_routing_function_says)
{
	static const uint16_t dims[] = {3, 2, 4, 3};
	static struct eth_route_env env;
	uint64_t rand = tap_seed();
	struct eth_point dst;
	struct eth_way way;
	uint32_t i, late, salt, relayed = 0, lost = 0;

	if (bed_open(&bed, RAIL, false))
		bed_set_grid(&bed, dims, 4, ETH_RAILS, &grid);
	memset(&env, 1, sizeof(env));
	for (i = 0; i < RANDOM_FRAMES && !tap_has_failed(); i++) {
		uint32_t rail = tap_rand(&rand) % ETH_RAILS, at;

		at = tap_rand(&rand) % grid.dims[grid.dim[rail]];
		env.open[rail][at] = tap_rand(&rand) % 3;
		bed_set_neighbour(&bed, rail, at, env.open[rail][at]);
		packet_for(1 + tap_rand(&rand) % grid.n_points, tap_rand(&rand) % ETH_RAILS, 40);
		if (frame.head.dst_host == BED_HOST)
			continue;
		late = tap_rand(&rand) % 2 ? tap_rand(&rand) % 16 : 0;
		frame.head.flags |= late << ETH_LATE_SHIFT;
		frame.head.src_host = tap_rand(&rand);
		salt = eth_route_salt(frame.head.src_host, frame.head.dst_host);
		dst = bed_point(&grid, frame.head.dst_host);
		if (eth_route(&env, &grid, &dst, grid.lane[frame.head.rail], late, salt, &way)) {
			bed_drops(&bed, BED_NIC, &frame, ETH_DROP_WAY);
			lost++;
		} else {
			is_relayed(way.rail, way.to, way.late);
			relayed++;
		}
	}
	ok(relayed > RANDOM_FRAMES / 10 && lost > RANDOM_FRAMES / 100);
	bed_close(&bed);
}
