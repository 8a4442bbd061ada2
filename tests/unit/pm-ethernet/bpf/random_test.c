// SPDX-License-Identifier: BSD-3-Clause
/*
 * Random frames through each program: every one is redirected, or passed, or dropped under exactly
 * one reason, and counted accordingly, whatever it holds.
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

/* The kernel runs a program at tc on no IP packet that is shorter than its header. */
static void make_runnable(void)
{
	const uint32_t most = 14 + 40;

	if ((frame.head.type == htons(0x0800) || frame.head.type == htons(0x86dd)) &&
	    frame.length < most)
		frame.length = most;
}

static void make_frame(uint64_t *rand)
{
	uint32_t kind = tap_rand(rand) % 16, spoils;

	if (!kind) {
		frame.length = 14 + tap_rand(rand) % 200;
		put_random(frame.bytes, frame.length, rand);
		make_runnable();
		return;
	}
	if (kind & 1)
		bed_packet_in(&frame, kind & 2 ? BED_PORT : BED_DIRECT, tap_rand(rand) % 200);
	else
		bed_packet_out(&frame, tap_rand(rand) % 200);
	for (spoils = tap_rand(rand) % 4; spoils; spoils--)
		spoil(rand);
	make_runnable();
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

/* Adds what one frame with this verdict must count; false: the verdict is not allowed. */
static bool add(struct tally *t, enum bed_program program, int verdict)
{
	bool is_ours = frame.head.type == BED_TYPE;

	if (verdict == BED_ANSWERS && is_ours && frame.head.kind == ETH_PACKET &&
	    frame.head.flags == ETH_F_ASK && out.head.kind == ETH_GONE)
		verdict = XDP_TX;
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
		return is_ours && program != BED_DOOR && out.head.kind == ETH_GONE;
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

/*
 * In a grid, where host 9 is a neighbour, 5 to 10 are on our line, and there are no more than 12.
 */
static void make_grid_frame(uint64_t *rand)
{
	static const uint8_t kinds[] = {ETH_PACKET, ETH_PACKET, ETH_GONE, ETH_WATCH, ETH_ECHO};

	make_frame(rand);
	if (tap_rand(rand) % 2)
		return;
	bed_packet_in(&frame, tap_rand(rand) % 2 ? BED_PORT : 77, tap_rand(rand) % 200);
	frame.head.kind = kinds[tap_rand(rand) % sizeof(kinds)];
	frame.head.dst_host = tap_rand(rand) % 14;
	frame.head.flags = tap_rand(rand) % 2 ? ETH_F_ASK : tap_rand(rand);
	frame.head.src_mac[0] = 2;
	memcpy(frame.head.src_mac, bed_neighbour(RAIL, 2, true).mac, ETH_MAC);
	memcpy(frame.head.dst_mac, (uint8_t[]){2, 0, 0, 0, 0, 0x10 + RAIL}, ETH_MAC);
	if (tap_rand(rand) % 4 == 0)
		spoil(rand);
}

/* Every frame ends in one place, and is counted there. */
static bool is_accounted(const struct eth_counters *was, const struct eth_counters *is, int verdict)
{
	uint64_t taken = is->rx_frames - was->rx_frames,
		 relayed = is->relayed_frames - was->relayed_frames,
		 control = is->control - was->control, drops = 0;

	for (int i = 0; i < ETH_DROPS; i++)
		drops += is->drops[i] - was->drops[i];
	switch (verdict) {
	case XDP_REDIRECT: /* or an echo, or a refusal on its way back */
		if (out.head.kind == ETH_ECHO)
			return control == 1 && !drops && !taken && !relayed &&
			       frame.head.kind == ETH_WATCH;
		return taken + relayed + drops == 1 && !control &&
		       (!drops || (out.head.kind == ETH_GONE && frame.head.kind == ETH_PACKET)) &&
		       relayed == (is->relayed_bytes - was->relayed_bytes) / frame.length;
	case XDP_DROP: /* an echo; or one reason, and a second one where a refusal found no way */
		return !taken && !relayed &&
		       (control ? control == 1 && !drops : drops == 1 || drops == 2);
	case XDP_PASS:
		return !taken && !relayed && !drops &&
		       !memcmp(out.bytes, frame.bytes, frame.length);
	default:
		return false;
	}
}

TAP_TEST(eth_nic__random_frames_in_a_grid)
{
	static const uint16_t dims[] = {2, 6};
	struct eth_counters was, is;
	uint32_t seen[8] = {0}, echoes = 0, i;
	uint64_t rand = tap_seed();
	struct eth_grid grid;
	int verdict;

	if (bed_open(&bed, RAIL, false))
		bed_set_grid(&bed, dims, 2, BED_NICS, &grid);
	for (i = 0; i < FRAMES / BED_PROGRAMS && !tap_has_failed(); i++) {
		make_grid_frame(&rand);
		bed_count(&bed, RAIL, &was);
		verdict = bed_run(&bed, BED_NIC, &frame, &out);
		bed_count(&bed, RAIL, &is);
		echoes += verdict == XDP_REDIRECT && out.head.kind == ETH_ECHO;
		okf(is_accounted(&was, &is, verdict), "frame %u: verdict %d, counted else", i,
		    verdict);
		okf(out.length == frame.length, "frame %u: length", i);
		seen[verdict & 7]++;
	}
	ok(seen[XDP_REDIRECT] > FRAMES / 100 && seen[XDP_DROP] > FRAMES / 100);
	ok(echoes > FRAMES / 1000 && is.relayed_frames > FRAMES / 1000);
	bed_close(&bed);
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
	if (BED_IS_TC) {
		tap_skip("there is no door at tc");
		return;
	}
	run_random(BED_DOOR);
	bed_close(&bed);
}
