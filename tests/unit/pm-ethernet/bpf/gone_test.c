// SPDX-License-Identifier: BSD-3-Clause
/* A packet that asks and finds no context goes back as news of that; nothing else does. */
#include <string.h>

#include "tests/harness/tap.h"
#include "tests/unit/pm-ethernet/bpf/bed.h"

static struct bed bed;
static struct bed_frame frame, out;

/* The frame comes back, turned around, its packet as it was. */
static void comes_back(enum bed_program program)
{
	struct eth_frame want = frame.head;

	memcpy(want.dst_mac, frame.head.src_mac, ETH_MAC);
	memcpy(want.src_mac, frame.head.dst_mac, ETH_MAC);
	want.kind = ETH_GONE;
	want.ttl = ETH_TTL;
	want.flags = 0;
	want.dst_host = frame.head.src_host;
	want.src_host = frame.head.dst_host;
	want.dst_context = frame.head.src_context;
	want.src_context = frame.head.dst_context;
	/* behind a port there is nobody at tc: it comes by the inbox */
	if (BED_IS_TC && program == BED_FROM_PORT)
		want.in_rail = frame.head.rail;
	is_int(bed_run(&bed, program, &frame, &out), BED_ANSWERS);
	is_int(out.length, frame.length);
	is_mem(&out.head, &want, sizeof(want));
	is_mem(out.bytes + ETH_HEAD, frame.bytes + ETH_HEAD, frame.length - ETH_HEAD);
}

TAP_TEST(eth_nic__answers_a_packet_that_asks)
{
	if (bed_open(&bed, 0, false)) {
		bed_packet_in(&frame, 77, 40);
		frame.head.dst_mac[0] = 2;
		frame.head.flags = ETH_F_ASK;
		comes_back(BED_NIC);
		/* a context of another job is none of ours */
		bed_packet_in(&frame, BED_ALIEN, 40);
		frame.head.dst_mac[0] = 2;
		frame.head.flags = ETH_F_ASK;
		comes_back(BED_NIC);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__answers_nobody_else)
{
	if (bed_open(&bed, 0, false)) {
		bed_packet_in(&frame, 77, 40);
		frame.head.dst_mac[0] = 2;
		frame.head.flags = 0;
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_CONTEXT);
		frame.head.flags = ETH_F_ASK;
		frame.head.dst_mac[0] = 3; /* to a group */
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_CONTEXT);
		frame.head.dst_mac[0] = 2;
		frame.head.src_mac[0] |= 1; /* from one */
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_CONTEXT);
		frame.head.src_mac[0] &= ~1;
		frame.head.kind = ETH_GONE; /* an answer */
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_CONTEXT);
		/* it has its context: it goes there */
		bed_packet_in(&frame, BED_DIRECT, 40);
		frame.head.flags = ETH_F_ASK;
		bed_redirects(&bed, BED_NIC, &frame, true, &out);
		/* suspended is not gone */
		bed_packet_in(&frame, BED_DETACHED, 40);
		frame.head.flags = ETH_F_ASK;
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_DETACHED);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__an_answer_reaches_its_context)
{
	if (bed_open(&bed, 0, false)) {
		bed_packet_in(&frame, BED_DIRECT, 40);
		frame.head.kind = ETH_GONE;
		bed_redirects(&bed, BED_NIC, &frame, true, &out);
		frame.packet.key++; /* made up by somebody without the key */
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_KEY);
	}
	bed_close(&bed);
}

TAP_TEST(eth_port__answers_for_this_host_and_lets_nobody_make_one_up)
{
	if (bed_open(&bed, 0, false)) {
		bed_packet_out(&frame, 40);
		frame.head.dst_host = BED_HOST;
		frame.head.dst_context = 77;
		frame.head.dst_mac[0] = 2;
		frame.head.flags = ETH_F_ASK;
		comes_back(BED_FROM_PORT);
		bed_packet_out(&frame, 40);
		frame.head.kind = ETH_GONE;
		bed_drops(&bed, BED_FROM_PORT, &frame, ETH_DROP_KIND);
	}
	bed_close(&bed);
}
