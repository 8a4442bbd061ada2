// SPDX-License-Identifier: BSD-3-Clause
/*
 * Random frames through each program: every one is redirected, or passed, or dropped under exactly one
 * reason, and counted accordingly, whatever it holds.
 */
#include <string.h>

#include "tests/harness/tap.h"
#include "tests/unit/pm-ethernet/bpf/bed.h"

#define FRAMES 200000 /* in all */
#define RAIL 3
#define LENGTH_MAX 1514

struct tally {
	uint64_t taken, taken_bytes, control, drops;
};

static struct bed bed;
static struct bed_frame frame, out;

static void put_random(uint8_t *at, uint32_t length, uint64_t *rand)
{
	uint32_t i;

	for (i = 0; i < length; i++)
		at[i] = tap_rand(rand);
}

/* Spoils one field, mostly with a number that means something. */
static void spoil(uint64_t *rand)
{
	uint32_t value = tap_rand(rand) % 12;

	if (value == 11)
		value = tap_rand(rand);
	switch (tap_rand(rand) % 12) {
	case 0:
		frame.head.type = htons(value + 0x88b0);
		break;
	case 1:
		frame.head.version = value;
		break;
	case 2:
		frame.head.kind = value;
		break;
	case 3:
		frame.head.rail = value;
		break;
	case 4:
		frame.head.dst_host = value;
		break;
	case 5:
		frame.head.src_host = value;
		break;
	case 6:
		frame.head.dst_context = value;
		break;
	case 7:
		frame.head.src_context = value;
		break;
	case 8:
		frame.packet.length = value;
		break;
	case 9:
		frame.packet.key = BED_KEY + value;
		break;
	case 10:
		frame.length = 14 + tap_rand(rand) % (LENGTH_MAX - 13);
		break;
	default:
		put_random(frame.bytes + tap_rand(rand) % 80, 1 + tap_rand(rand) % 8, rand);
	}
}

static void make_frame(uint64_t *rand)
{
	uint32_t kind = tap_rand(rand) % 16, spoils;

	if (!kind) {
		frame.length = 14 + tap_rand(rand) % 200;
		put_random(frame.bytes, frame.length, rand);
		return;
	}
	if (kind & 1)
		bed_packet_in(&frame, kind & 2 ? BED_PORT : BED_DIRECT, tap_rand(rand) % 200);
	else
		bed_packet_out(&frame, tap_rand(rand) % 200);
	for (spoils = tap_rand(rand) % 4; spoils; spoils--)
		spoil(rand);
}

static struct tally tally(uint32_t row)
{
	struct eth_counters counters;
	struct tally ret;
	int i;

	bed_count(&bed, row, &counters);
	ret = (struct tally){counters.rx_frames, counters.rx_bytes, counters.control, 0};
	for (i = 0; i < ETH_DROPS; i++)
		ret.drops += counters.drops[i];
	is_int(counters.drops[ETH_DROP_NONE], 0);
	return ret;
}

/* What the counters must say of one frame with this verdict; false: a verdict that may not be. */
static bool add(struct tally *t, enum bed_program program, int verdict)
{
	bool is_ours = frame.head.type == BED_TYPE;

	switch (verdict) {
	case XDP_REDIRECT:
		t->taken += program != BED_DOOR;
		t->taken_bytes += program != BED_DOOR ? frame.length : 0;
		return is_ours;
	case XDP_DROP:
		t->drops++;
		return is_ours || program != BED_NIC;
	case XDP_TX: /* the answer to a packet that asked */
		t->drops++;
		return is_ours && program != BED_DOOR && frame.head.kind == ETH_PACKET &&
		       frame.head.flags == ETH_F_ASK && out.head.kind == ETH_GONE;
	case XDP_PASS:
		t->control += is_ours;
		return program == BED_NIC && !memcmp(out.bytes, frame.bytes, frame.length);
	default:
		return false;
	}
}

static void run_random(enum bed_program program)
{
	uint32_t row = program == BED_NIC ? RAIL : ETH_RAILS, seen[8] = {0}, i;
	uint64_t rand = tap_seed() + program;
	struct tally want, got;
	int verdict;

	if (!bed_open(&bed, RAIL, false))
		return;
	want = tally(row);
	for (i = 0; i < FRAMES / BED_PROGRAMS && !tap_has_failed(); i++) {
		make_frame(&rand);
		verdict = bed_run(&bed, program, &frame, &out);
		okf(add(&want, program, verdict), "frame %u: verdict %d", i, verdict);
		okf(out.length == frame.length, "frame %u: length", i);
		got = tally(row);
		okf(!memcmp(&got, &want, sizeof(got)), "frame %u: verdict %d, counted else", i,
		    verdict);
		seen[verdict & 7]++;
	}
	/* Not a test of one outcome only. */
	ok(seen[XDP_REDIRECT] > FRAMES / 100);
	ok(seen[XDP_DROP] > FRAMES / 100);
	ok(!!seen[XDP_PASS] == (program == BED_NIC));
}

TAP_TEST(eth_nic__random_frames)
{
	run_random(BED_NIC);
	bed_close(&bed);
}

TAP_TEST(eth_port__random_frames)
{
	run_random(BED_FROM_PORT);
	bed_close(&bed);
}

TAP_TEST(eth_door__random_frames)
{
	run_random(BED_DOOR);
	bed_close(&bed);
}
