// SPDX-License-Identifier: BSD-3-Clause
/* eth_nic: what it takes, what it drops and why, and that it touches nothing else. */
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pmcore/wire/pm_wire.h"
#include "tests/harness/tap.h"
#include "tests/unit/pm-ethernet/bpf/bed.h"

#define RAIL 1

/* Where the programs look is where the channel writes. */
_Static_assert(sizeof(struct wire_header) == ETH_PACKET_HEAD, "size of the packet header");
_Static_assert(offsetof(struct wire_header, length) == ETH_LENGTH_OFFSET, "place of the length");
_Static_assert(offsetof(struct wire_header, key) == ETH_KEY_OFFSET, "place of the key");

static struct bed bed;
static struct bed_frame frame, out;

/* Changes one number of a good frame for BED_DIRECT; it must be dropped for @reason. */
#define BROKEN(field, value, reason)                                                               \
	do {                                                                                       \
		bed_packet_in(&frame, BED_DIRECT, 40);                                             \
		frame.field = (value);                                                             \
		bed_drops(&bed, BED_NIC, &frame, reason);                                          \
	} while (0)

static void on_each_rail(void (*body)(void), bool is_frags)
{
	uint32_t rail;

	for (rail = 0; rail < ETH_RAILS; rail++) {
		if (bed_open(&bed, rail, is_frags))
			body();
		bed_close(&bed);
	}
}

static void drop_for_each_reason(void)
{
	BROKEN(length, ETH_HEAD - 1, ETH_DROP_SHORT);
	BROKEN(length, ETH_HEAD + ETH_PACKET_HEAD - 1, ETH_DROP_SHORT);
	BROKEN(head.version, ETH_VERSION + 1, ETH_DROP_VERSION);
	BROKEN(head.version, 0, ETH_DROP_VERSION);
	BROKEN(head.kind, 0, ETH_DROP_KIND);
	BROKEN(head.kind, ETH_GONE + 1, ETH_DROP_KIND);
	BROKEN(head.dst_host, BED_FAR_HOST, ETH_DROP_HOST);
	BROKEN(head.dst_host, 0, ETH_DROP_HOST);
	BROKEN(head.dst_context, 0, ETH_DROP_CONTEXT);
	BROKEN(head.dst_context, 77, ETH_DROP_CONTEXT);
	BROKEN(head.dst_context, ETH_CONTEXTS, ETH_DROP_CONTEXT);
	BROKEN(head.dst_context, 0xffff, ETH_DROP_CONTEXT);
	BROKEN(packet.key, BED_KEY + 1, ETH_DROP_KEY);
	BROKEN(packet.key, BED_KEY ^ (1ull << 63), ETH_DROP_KEY);
	BROKEN(packet.key, 0, ETH_DROP_KEY);
	BROKEN(head.dst_context, BED_ALIEN, ETH_DROP_KEY);
	BROKEN(head.rail, ETH_RAILS, ETH_DROP_RAIL);
	BROKEN(head.rail, 0xff, ETH_DROP_RAIL);
	BROKEN(head.dst_context, BED_DETACHED, ETH_DROP_DETACHED);
	BROKEN(packet.length, 41, ETH_DROP_LENGTH);
	BROKEN(packet.length, 0xffff, ETH_DROP_LENGTH);
}

TAP_TEST(eth_nic__drops_for_each_reason)
{
	on_each_rail(drop_for_each_reason, false);
}

TAP_TEST(eth_nic__drops_for_each_reason_with_frags)
{
	on_each_rail(drop_for_each_reason, true);
}

/* The frame went on as it came but for the receiver's rail. */
static void check_taken(uint16_t context, uint16_t body)
{
	bed_packet_in(&frame, context, body);
	bed_redirects(&bed, BED_NIC, &frame, true, &out);
	is_int(out.head.in_rail, bed.rail);
	out.head.in_rail = frame.head.in_rail;
	is_mem(out.bytes, frame.bytes, frame.length);
}

static void take_packets(void)
{
	check_taken(BED_DIRECT, 0);
	check_taken(BED_DIRECT, 40);
	check_taken(BED_DIRECT, 1400);
	check_taken(BED_PORT, 1400);
}

TAP_TEST(eth_nic__takes_packets_on_each_rail)
{
	on_each_rail(take_packets, false);
}

static void take_long_packets(void)
{
	take_packets();
	check_taken(BED_DIRECT, BED_LONG);
	check_taken(BED_PORT, BED_LONG);
	frame.packet.length = BED_LONG + 1;
	bed_drops(&bed, BED_NIC, &frame, ETH_DROP_LENGTH);
}

TAP_TEST(eth_nic__takes_packets_of_several_buffers)
{
	on_each_rail(take_long_packets, true);
}

TAP_TEST(eth_nic__takes_a_packet_padded_by_the_link)
{
	if (bed_open(&bed, RAIL, false)) {
		bed_packet_in(&frame, BED_DIRECT, 40);
		frame.length += 4;
		bed_redirects(&bed, BED_NIC, &frame, true, &out);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__context_without_target)
{
	if (bed_open(&bed, RAIL, false)) {
		bed_packet_in(&frame, BED_DIRECT, 40);
		if (BED_IS_TC)
			bed_remove(bed.inboxes, BED_DIRECT);
		else
			bed_remove(bed.sockets, BED_DIRECT * ETH_RAILS + RAIL);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_DETACHED);
		bed_packet_in(&frame, BED_PORT, 40);
		bed_remove(BED_IS_TC ? bed.inboxes : bed.ports, BED_PORT);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_DETACHED);
	}
	bed_close(&bed);
}

/* Frames for a reader that does not read are dropped and counted; a reader that sleeps is woken. */
TAP_TEST(eth_nic__inbox_that_is_full)
{
	struct pollfd p = {.events = POLLIN};
	uint64_t taken;

	if (!BED_IS_TC) {
		tap_skip("there are no inboxes at XDP");
		return;
	}
	if (bed_open(&bed, RAIL, false)) {
		bed_packet_in(&frame, BED_DIRECT, 1400);
		bed.is_reader_asleep = true;
		for (int i = 0; i < BED_INBOX_BYTES / 1536; i++)
			bed_redirects(&bed, BED_NIC, &frame, true, &out);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_FULL);
		/* a shorter one still finds room */
		bed_packet_in(&frame, BED_DIRECT, 40);
		bed_redirects(&bed, BED_NIC, &frame, true, &out);
		/* other contexts have their own */
		bed_packet_in(&frame, BED_PORT, 1400);
		bed_redirects(&bed, BED_NIC, &frame, true, &out);
		taken = bed.direct.taken;
		*bed.direct.consumer = taken;
		p.fd = bed.direct.fd;
		bed_packet_in(&frame, BED_DIRECT, 1400);
		bed_redirects(&bed, BED_NIC, &frame, true, &out);
		is_int(poll(&p, 1, 0), 1);
	}
	bed_close(&bed);
}

/*
 * The position of a reader that sleeps is odd; whoever waits by edges is woken then, and not
 * before.
 */
TAP_TEST(eth_nic__wakes_a_reader_that_sleeps)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int set = epoll_create1(EPOLL_CLOEXEC);

	if (!BED_IS_TC) {
		tap_skip("there are no inboxes at XDP");
		return;
	}
	if (bed_open(&bed, RAIL, false)) {
		bed.is_reader_asleep = true;
		is_int(epoll_ctl(set, EPOLL_CTL_ADD, bed.direct.fd, &event), 0);
		bed_packet_in(&frame, BED_DIRECT, 40);
		bed_redirects(&bed, BED_NIC, &frame, true, &out);
		is_int(epoll_wait(set, &event, 1, 0), 0);
		*bed.direct.consumer = bed.direct.taken | ETH_INBOX_SLEEPS;
		is_int(epoll_wait(set, &event, 1, 0), 0);
		bed_redirects(&bed, BED_NIC, &frame, true, &out);
		is_int(epoll_wait(set, &event, 1, 1000), 1);
	}
	close(set);
	bed_close(&bed);
}

/* Sockets are on queue 0; the kernel would lose a frame of another queue and count it nowhere. */
TAP_TEST(eth_nic__frame_on_another_queue)
{
	uint32_t two_queues;

	if (BED_IS_TC) {
		tap_skip("inboxes are for all queues");
		return;
	}
	if (unshare(CLONE_NEWNET) ||
	    system("ip link add r numrxqueues 2 numtxqueues 2 type veth")) {
		tap_skip("no interface with two queues: no network namespace, or no ip");
		return;
	}
	two_queues = if_nametoindex("r");
	if (bed_open(&bed, RAIL, false)) {
		bed_packet_in(&frame, BED_DIRECT, 40);
		bed_come_from(&bed, two_queues, 0);
		bed_redirects(&bed, BED_NIC, &frame, true, &out);
		bed_come_from(&bed, two_queues, 1);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_DETACHED);
		bed_packet_in(&frame, BED_PORT, 40);
		bed_redirects(&bed, BED_NIC, &frame, true, &out);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__context_taken_back)
{
	if (bed_open(&bed, RAIL, false)) {
		bed_packet_in(&frame, BED_DIRECT, 40);
		bed_set_context(&bed, BED_DIRECT, 0, ETH_DETACHED);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_CONTEXT);
		frame.packet.key = 0;
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_CONTEXT);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__last_context_number)
{
	if (bed_open(&bed, RAIL, false)) {
		bed_packet_in(&frame, ETH_CONTEXTS - 1, 40);
		bed_set_context(&bed, ETH_CONTEXTS - 1, BED_KEY, ETH_DIRECT);
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_DETACHED);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__passes_control_frames)
{
	if (bed_open(&bed, RAIL, false)) {
		bed_packet_in(&frame, 0, 40);
		frame.head.dst_host = 0;
		frame.head.kind = ETH_QUERY;
		bed_passes(&bed, &frame, true);
		frame.head.kind = ETH_ANSWER;
		bed_passes(&bed, &frame, true);
		frame.length = ETH_HEAD;
		bed_passes(&bed, &frame, true);
		frame.length = ETH_HEAD - 1;
		bed_drops(&bed, BED_NIC, &frame, ETH_DROP_SHORT);
	}
	bed_close(&bed);
}

/* Everything else on the cable, even when it looks like ours behind the EtherType. */
TAP_TEST(eth_nic__leaves_other_traffic_alone)
{
	static const uint16_t types[] = {
		0x0800 /* IPv4 */, 0x0806 /* ARP */,
		0x86dd /* IPv6 */, 0x8100 /* VLAN */,
		0x88a8 /* QinQ */, 0x88cc /* LLDP */,
		0x0026 /* LLC */,  0xb588 /* our type, bytes swapped */,
	};
	uint16_t inner = BED_TYPE;
	size_t i;

	if (bed_open(&bed, RAIL, false)) {
		for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			bed_packet_in(&frame, BED_DIRECT, 40);
			frame.head.type = htons(types[i]);
			bed_passes(&bed, &frame, false);
			memcpy(frame.bytes + 16, &inner, sizeof(inner));
			bed_passes(&bed, &frame, false);
			/* no IP packet: the test run for tc refuses it */
			if (BED_IS_TC)
				continue;
			frame.length = 14;
			bed_passes(&bed, &frame, false);
		}
	}
	bed_close(&bed);
}

/* Puts a VLAN tag in front of the EtherType. */
static void tag(uint16_t protocol, uint16_t vlan)
{
	uint16_t words[2] = {htons(protocol), htons(vlan)};

	memmove(frame.bytes + 16, frame.bytes + 12, frame.length - 12);
	memcpy(frame.bytes + 12, words, sizeof(words));
	frame.length += sizeof(words);
}

/* A VLAN is another network, whatever a frame in it holds. */
TAP_TEST(eth_nic__leaves_tagged_frames_alone)
{
	static const uint8_t kinds[] = {ETH_PACKET, ETH_QUERY, ETH_ANSWER, ETH_GONE};
	size_t i;

	if (bed_open(&bed, RAIL, false)) {
		for (i = 0; i < sizeof(kinds); i++) {
			bed_packet_in(&frame, BED_DIRECT, 40);
			frame.head.kind = kinds[i];
			tag(0x8100, 5);
			bed_passes(&bed, &frame, false);
			tag(0x88a8, 6);
			bed_passes(&bed, &frame, false);
			bed_packet_in(&frame, BED_DIRECT, 40);
			tag(0x8100, 0);
			bed_passes(&bed, &frame, false);
		}
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__obeys_the_type_it_is_given)
{
	struct eth_host host = {.id = BED_HOST, .type = htons(0x88b6), .n_nics = BED_NICS};

	if (bed_open(&bed, RAIL, false)) {
		bed_put(bed.host, 0, &host);
		bed_packet_in(&frame, BED_DIRECT, 40);
		bed_passes(&bed, &frame, false);
		frame.head.type = host.type;
		bed_redirects(&bed, BED_NIC, &frame, true, &out);
	}
	bed_close(&bed);
}

TAP_TEST(eth_nic__truncated_at_every_length)
{
	const uint32_t whole = ETH_HEAD + ETH_PACKET_HEAD + 40;
	uint32_t length;

	if (bed_open(&bed, RAIL, false)) {
		bed_packet_in(&frame, BED_DIRECT, 40);
		for (length = 0; length <= whole; length++) {
			frame.length = length;
			if (length < 14) /* no Ethernet frame: the test run refuses it */
				is_int(bed_run(&bed, BED_NIC, &frame, &out), -EINVAL);
			else if (length < ETH_HEAD + ETH_PACKET_HEAD)
				bed_drops(&bed, BED_NIC, &frame, ETH_DROP_SHORT);
			else if (length < whole)
				bed_drops(&bed, BED_NIC, &frame, ETH_DROP_LENGTH);
			else
				bed_redirects(&bed, BED_NIC, &frame, true, &out);
		}
	}
	bed_close(&bed);
}
