// SPDX-License-Identifier: BSD-3-Clause
/*
 * eth_door: packets to the socket of their context, nothing to the kernel, nothing counted twice.
 */
#include <errno.h>

#include "tests/harness/tap.h"
#include "tests/unit/pm-ethernet/bpf/bed.h"

static struct bed bed;
static struct bed_frame frame, out;

static void check_handed_over(uint16_t body)
{
	bed_packet_in(&frame, BED_PORT, body);
	bed_redirects(&bed, BED_DOOR, &frame, false, &out);
	is_mem(out.bytes, frame.bytes, frame.length);
}

TAP_TEST(eth_door__hands_packets_over)
{
	if (bed_open(&bed, 0, false)) {
		check_handed_over(0);
		check_handed_over(1400);
	}
	bed_close(&bed);
}

TAP_TEST(eth_door__hands_over_packets_of_several_buffers)
{
	if (bed_open(&bed, 0, true))
		check_handed_over(8900);
	bed_close(&bed);
}

/* A frame to @context must be dropped: there is no socket. */
static void check_no_socket(uint16_t context)
{
	bed_packet_in(&frame, context, 40);
	bed_drops(&bed, BED_DOOR, &frame, ETH_DROP_DETACHED);
}

TAP_TEST(eth_door__no_socket_behind_it)
{
	if (bed_open(&bed, 0, false)) {
		check_no_socket(0);
		check_no_socket(BED_DIRECT);
		check_no_socket(BED_ALIEN);
		check_no_socket(ETH_CONTEXTS - 1);
		check_no_socket(ETH_CONTEXTS);
		check_no_socket(0xffff);
		bed_remove(bed.doors, BED_PORT);
		check_no_socket(BED_PORT);
	}
	bed_close(&bed);
}

/*
 * Frames that the kernel itself sends into the port, and frames that are too short or of another
 * version.
 */
TAP_TEST(eth_door__other_frames)
{
	if (bed_open(&bed, 0, false)) {
		bed_packet_in(&frame, BED_PORT, 40);
		frame.head.type = htons(0x86dd);
		bed_drops(&bed, BED_DOOR, &frame, ETH_DROP_TYPE);
		frame.length = 14;
		bed_drops(&bed, BED_DOOR, &frame, ETH_DROP_TYPE);
		frame.head.type = BED_TYPE;
		frame.head.version++;
		bed_drops(&bed, BED_DOOR, &frame, ETH_DROP_SHORT);
		frame.length = ETH_HEAD;
		bed_drops(&bed, BED_DOOR, &frame, ETH_DROP_VERSION);
	}
	bed_close(&bed);
}

TAP_TEST(eth_door__truncated_at_every_length)
{
	uint32_t length;

	if (bed_open(&bed, 0, false)) {
		bed_packet_in(&frame, BED_PORT, 40);
		for (length = 0; length <= 120; length++) {
			frame.length = length;
			if (length < 14) /* no Ethernet frame: the test run refuses it */
				is_int(bed_run(&bed, BED_DOOR, &frame, &out), -EINVAL);
			else if (length < ETH_HEAD)
				bed_drops(&bed, BED_DOOR, &frame, ETH_DROP_SHORT);
			else
				bed_redirects(&bed, BED_DOOR, &frame, false, &out);
		}
	}
	bed_close(&bed);
}
