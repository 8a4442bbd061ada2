// SPDX-License-Identifier: BSD-3-Clause
/*
 * ETH_WATCH and ETH_ECHO: the kernel answers its neighbours, notes their answers, and believes
 * nobody else.
 */
#include <bpf/bpf.h>
#include <string.h>

#include "pmcore/util/clock.h"
#include "tests/harness/tap.h"
#include "tests/unit/pm-ethernet/bpf/bed.h"

#define RAIL 1
#define BODY 28 /* up to the shortest frame */

static const uint16_t cube[] = {3, 4, 3};
/* Host 7 is at 0,2,0: on its line of rail 1 there are 1, 4 and 10. */
enum { NEIGHBOUR = 4, NEIGHBOUR_AT = 1, STRANGER = 7 + 1 };

static const struct eth_counters noted = {.control = 1};
static struct bed bed;
static struct bed_frame frame, out;
static struct eth_grid grid;

static bool open_cube(void)
{
	if (!bed_open(&bed, RAIL, false))
		return false;
	bed_set_grid(&bed, cube, 3, 3, &grid);
	return !tap_has_failed();
}

static void control(uint8_t kind, uint32_t from, uint32_t to)
{
	bed_packet_in(&frame, 0, 0);
	frame.length = ETH_HEAD + BODY;
	frame.head.kind = kind;
	frame.head.src_host = from;
	frame.head.dst_host = to;
	memcpy(frame.head.src_mac, bed_neighbour(RAIL, NEIGHBOUR_AT, true).mac, ETH_MAC);
	memset(frame.head.dst_mac, 0xff, ETH_MAC);
}

static uint64_t pulse(uint32_t rail, uint32_t at)
{
	uint32_t place = rail * ETH_LINE_MAX + at;
	uint64_t ns = 0;

	is_int(bpf_map_lookup_elem(bed.pulses, &place, &ns), 0);
	return ns;
}

/* How many pulses were ever noted. */
static uint32_t n_pulses(void)
{
	uint32_t n = 0;

	for (uint32_t rail = 0; rail < ETH_RAILS; rail++)
		for (uint32_t at = 0; at < 8; at++)
			n += pulse(rail, at) != 0;
	return n + (pulse(ETH_RAILS - 1, ETH_LINE_MAX - 1) != 0);
}

TAP_TEST(eth_nic__answers_a_watch)
{
	uint8_t nic[ETH_MAC] = {2, 0, 0, 0, 0, 0x10 + RAIL};
	struct eth_frame want;

	if (open_cube()) {
		control(ETH_WATCH, NEIGHBOUR, 0xffffffff);
		want = frame.head;
		bed_does(&bed, BED_NIC, &frame, XDP_REDIRECT, &noted, &out);
		memcpy(want.dst_mac, frame.head.src_mac, ETH_MAC);
		memcpy(want.src_mac, nic, ETH_MAC);
		want.kind = ETH_ECHO;
		want.dst_host = NEIGHBOUR;
		want.src_host = BED_HOST;
		is_mem(&out.head, &want, sizeof(want));
		frame.length = ETH_HEAD;
		bed_does(&bed, BED_NIC, &frame, XDP_REDIRECT, &noted, &out);
		bed_remove_nic(&bed, RAIL);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_RAIL);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__answers_no_watch_of_others)
{
	if (open_cube()) {
		control(ETH_WATCH, STRANGER, 0xffffffff);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		control(ETH_WATCH, 0, 0xffffffff);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		control(ETH_WATCH, 0xffffffff, 0xffffffff);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		control(ETH_WATCH, NEIGHBOUR, 0xffffffff);
		frame.head.src_mac[0] |= 1;
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_GROUP);
		control(ETH_WATCH, NEIGHBOUR, 0xffffffff);
		frame.length = ETH_HEAD - 1;
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_SHORT);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__notes_an_echo)
{
	uint64_t before, after;

	if (open_cube()) {
		control(ETH_ECHO, NEIGHBOUR, BED_HOST);
		before = clock_monotonic_ns();
		bed_does(&bed, BED_NIC, &frame, XDP_DROP, &noted, &out);
		after = clock_monotonic_ns();
		ok(pulse(RAIL, NEIGHBOUR_AT) >= before && pulse(RAIL, NEIGHBOUR_AT) <= after);
		is_int(n_pulses(), 1);
		/* also of one that is closed: that is how it is found to be back */
		bed_set_neighbour(&bed, RAIL, NEIGHBOUR_AT, false);
		bed_does(&bed, BED_NIC, &frame, XDP_DROP, &noted, &out);
		ok(pulse(RAIL, NEIGHBOUR_AT) > after);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__believes_no_other_echo)
{
	struct eth_point far = {.at = {0, ETH_LINE_MAX, 0}, .is_known = 1};

	if (open_cube()) {
		control(ETH_ECHO, NEIGHBOUR, BED_FAR_HOST);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_HOST);
		control(ETH_ECHO, STRANGER, BED_HOST);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		control(ETH_ECHO, 0, BED_HOST);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		control(ETH_ECHO, BED_POINTS + 1, BED_HOST);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		control(ETH_ECHO, 0xffffffff, BED_HOST);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		control(ETH_ECHO, grid.n_points + 1, BED_HOST);
		bed_put(bed.points, grid.n_points, &far);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_POINT);
		/* another machine of that id, or the host before discovery found it */
		control(ETH_ECHO, NEIGHBOUR, BED_HOST);
		frame.head.src_mac[5]++;
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_SOURCE);
		is_int(n_pulses(), 0);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__without_a_grid_nobody_is_watched)
{
	if (bed_open(&bed, RAIL, false)) {
		control(ETH_WATCH, NEIGHBOUR, 0xffffffff);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_KIND);
		control(ETH_ECHO, NEIGHBOUR, BED_HOST);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_KIND);
		is_int(n_pulses(), 0);
	}
	bed_close(&bed);
}
