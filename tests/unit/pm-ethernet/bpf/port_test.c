// SPDX-License-Identifier: BSD-3-Clause
/* eth_port: a process gets out as nobody but itself, and what goes out is what it may send. */
#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"
#include "tests/unit/pm-ethernet/bpf/bed.h"

static struct bed bed;
static struct bed_frame frame, out;

/* Changes one number of a good frame; it must be dropped for @reason. */
#define BROKEN(field, value, reason)                                                               \
	do {                                                                                       \
		bed_packet_out(&frame, 40);                                                        \
		frame.field = (value);                                                             \
		bed_drops(&bed, BED_FROM_PORT, &frame, reason);                                    \
	} while (0)

static void drop_for_each_reason(bool is_frags)
{
	if (bed_open(&bed, 0, is_frags)) {
		BROKEN(head.type, htons(0x0800), ETH_DROP_TYPE);
		BROKEN(head.type, htons(0x86dd), ETH_DROP_TYPE);
		BROKEN(length, 14, ETH_DROP_SHORT);
		BROKEN(length, ETH_HEAD - 1, ETH_DROP_SHORT);
		BROKEN(length, ETH_HEAD + ETH_PACKET_HEAD - 1, ETH_DROP_SHORT);
		BROKEN(head.version, ETH_VERSION + 1, ETH_DROP_VERSION);
		BROKEN(head.kind, 0, ETH_DROP_KIND);
		BROKEN(head.kind, ETH_QUERY, ETH_DROP_KIND);
		BROKEN(head.kind, ETH_ANSWER, ETH_DROP_KIND);
		BROKEN(packet.length, 41, ETH_DROP_LENGTH);
		BROKEN(head.src_host, BED_FAR_HOST, ETH_DROP_SOURCE);
		BROKEN(head.src_host, 0, ETH_DROP_SOURCE);
		BROKEN(head.src_context, BED_DIRECT, ETH_DROP_SOURCE);
		BROKEN(head.src_context, 0, ETH_DROP_SOURCE);
		BROKEN(packet.key, BED_KEY + 1, ETH_DROP_KEY);
		BROKEN(packet.key, 0, ETH_DROP_KEY);
		BROKEN(head.rail, BED_NICS, ETH_DROP_RAIL);
		BROKEN(head.rail, ETH_RAILS, ETH_DROP_RAIL);
		BROKEN(head.rail, 0xff, ETH_DROP_RAIL);
		BROKEN(head.dst_mac[0], 0x01, ETH_DROP_GROUP);
		BROKEN(head.dst_mac[0], 0x33, ETH_DROP_GROUP);
		BROKEN(head.dst_mac[0], 0xff, ETH_DROP_GROUP);
	}
	bed_close(&bed);
}

TAP_TEST(eth_port__drops_for_each_reason)
{
	drop_for_each_reason(false)
		;
}

TAP_TEST(eth_port__drops_for_each_reason_with_frags)
{
	drop_for_each_reason(true)
		;
}

/*
 * The receiver sees the MAC of the NIC, whatever the process wrote, and a frame with all its
 * relays.
 */
static void check_sent(uint8_t rail, uint16_t body)
{
	uint8_t mac[ETH_MAC] = {2, 0, 0, 0, 0, 0x10 + rail};

	bed_packet_out(&frame, body);
	frame.head.rail = rail;
	frame.head.ttl = 200;
	bed_redirects(&bed, BED_FROM_PORT, &frame, true, &out);
	is_mem(out.head.src_mac, mac, ETH_MAC);
	is_int(out.head.ttl, ETH_TTL);
	memcpy(out.head.src_mac, frame.head.src_mac, ETH_MAC);
	out.head.ttl = frame.head.ttl;
	is_mem(out.bytes, frame.bytes, frame.length);
}

TAP_TEST(eth_port__sends_on_each_rail)
{
	uint8_t rail;

	if (bed_open(&bed, 0, false)) {
		for (rail = 0; rail < BED_NICS; rail++) {
			check_sent(rail, 0);
			check_sent(rail, 1400);
		}
	}
	bed_close(&bed);
}

/* Not to this host either, though the address decides nothing there: no answer goes to a group. */
TAP_TEST(eth_port__to_a_group_on_this_host)
{
	if (bed_open(&bed, 0, false)) {
		bed_packet_out(&frame, 40);
		frame.head.dst_host = BED_HOST;
		frame.head.dst_context = BED_PORT;
		bed_redirects(&bed, BED_FROM_PORT, &frame, true, &out);
		frame.head.dst_mac[0] |= 1;
		bed_drops(&bed, BED_FROM_PORT, &frame, ETH_DROP_GROUP);
		frame.head.dst_context = 77;
		frame.head.flags = ETH_F_ASK;
		bed_drops(&bed, BED_FROM_PORT, &frame, ETH_DROP_GROUP);
	}
	bed_close(&bed);
}

TAP_TEST(eth_port__sends_packets_of_several_buffers)
{
	if (bed_open(&bed, 0, true))
		check_sent(BED_NICS - 1, BED_LONG);
	bed_close(&bed);
}

/* The host's number of rails counts, not what is left over in the maps. */
TAP_TEST(eth_port__fewer_rails_than_before)
{
	if (bed_open(&bed, 0, false)) {
		bed_set_host(&bed, 2);
		check_sent(1, 40);
		BROKEN(head.rail, 2, ETH_DROP_RAIL);
		frame.head.dst_host = BED_HOST;
		frame.head.dst_context = BED_PORT;
		bed_drops(&bed, BED_FROM_PORT, &frame, ETH_DROP_RAIL);
	}
	bed_close(&bed);
}

TAP_TEST(eth_port__more_rails_than_there_can_be)
{
	if (bed_open(&bed, 0, false)) {
		bed_set_host(&bed, 0xffff);
		BROKEN(head.rail, ETH_RAILS, ETH_DROP_RAIL);
		BROKEN(head.rail, 0xff, ETH_DROP_RAIL);
	}
	bed_close(&bed);
}

TAP_TEST(eth_port__nic_is_gone)
{
	if (bed_open(&bed, 0, false)) {
		bed_remove_nic(&bed, 2);
		BROKEN(head.rail, 2, ETH_DROP_RAIL);
		check_sent(1, 40);
	}
	bed_close(&bed);
}

/* Whatever comes, before anything in it is looked at. */
TAP_TEST(eth_port__nobody_owns_the_port)
{
	if (bed_open(&bed, 0, false)) {
		bed_remove(bed.grants, bed.loopback);
		bed_packet_out(&frame, 40);
		bed_drops(&bed, BED_FROM_PORT, &frame, ETH_DROP_NO_GRANT);
		BROKEN(head.type, htons(0x0806), ETH_DROP_NO_GRANT);
		BROKEN(length, 14, ETH_DROP_NO_GRANT);
	}
	bed_close(&bed);
}

/* On the same host the packet arrives as if it had come over the rail of the same number. */
TAP_TEST(eth_port__to_a_port_of_this_host)
{
	if (bed_open(&bed, 0, false)) {
		bed_packet_out(&frame, 1000);
		frame.head.dst_host = BED_HOST;
		frame.head.dst_context = BED_PORT;
		bed_redirects(&bed, BED_FROM_PORT, &frame, true, &out);
		is_int(out.head.in_rail, frame.head.rail);
		out.head.in_rail = frame.head.in_rail;
		is_mem(out.bytes, frame.bytes, frame.length);
	}
	bed_close(&bed);
}

/* A good frame to @context of this host must be dropped for @reason. */
static void check_local_drop(uint16_t context, enum eth_drop reason)
{
	bed_packet_out(&frame, 40);
	frame.head.dst_host = BED_HOST;
	frame.head.dst_context = context;
	bed_drops(&bed, BED_FROM_PORT, &frame, reason);
}

TAP_TEST(eth_port__to_this_host_in_vain)
{
	if (bed_open(&bed, 0, false)) {
		check_local_drop(0, ETH_DROP_CONTEXT);
		check_local_drop(77, ETH_DROP_CONTEXT);
		check_local_drop(ETH_CONTEXTS, ETH_DROP_CONTEXT);
		check_local_drop(BED_ALIEN, ETH_DROP_KEY);
		check_local_drop(BED_DIRECT, ETH_DROP_DETACHED);
		check_local_drop(BED_DETACHED, ETH_DROP_DETACHED);
		bed_remove(BED_IS_TC ? bed.inboxes : bed.ports, BED_PORT);
		check_local_drop(BED_PORT, ETH_DROP_DETACHED);
		/* A port of an earlier attachment is none. */
		bed_put(bed.ports, BED_DIRECT, &bed.loopback);
		check_local_drop(BED_DIRECT, ETH_DROP_DETACHED);
	}
	bed_close(&bed);
}

TAP_TEST(eth_port__truncated_at_every_length)
{
	const uint32_t whole = ETH_HEAD + ETH_PACKET_HEAD + 40;
	uint32_t length;

	if (bed_open(&bed, 0, false)) {
		bed_packet_out(&frame, 40);
		for (length = 0; length <= whole; length++) {
			frame.length = length;
			if (length < 14) /* no Ethernet frame: the test run refuses it */
				is_int(bed_run(&bed, BED_FROM_PORT, &frame, &out), -EINVAL);
			else if (length < ETH_HEAD + ETH_PACKET_HEAD)
				bed_drops(&bed, BED_FROM_PORT, &frame, ETH_DROP_SHORT);
			else if (length < whole)
				bed_drops(&bed, BED_FROM_PORT, &frame, ETH_DROP_LENGTH);
			else
				bed_redirects(&bed, BED_FROM_PORT, &frame, true, &out);
		}
	}
	bed_close(&bed);
}
