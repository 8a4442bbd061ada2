// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-ethernet/attach.c: what is taken, and that no damaged field is. */
#include "pm-ethernet/attach.h"

#include <errno.h>
#include <string.h>

#include "pm-ethernet/share.h"
#include "tests/harness/tap.h"

static struct eth_request good_request(uint32_t op)
{
	struct eth_request r = {.magic = ETH_ATTACH_MAGIC,
				.version = ETH_ATTACH_VERSION,
				.op = op,
				.attach = ETH_ATTACH_DIRECT,
				.key = 0x1122334455667788ull,
				.local = 4,
				.tx_packets = 256,
				.rx_packets = 512,
				.want_context = 9,
				.n_rails = 2};

	strcpy(r.rails[0], "eth1");
	strcpy(r.rails[1], "ib-over-eth.200");
	return r;
}

static struct eth_granted good_direct(void)
{
	struct eth_granted g = {.magic = ETH_ATTACH_MAGIC,
				.version = ETH_ATTACH_VERSION,
				.host = 7,
				.context = 12,
				.type = 0xb588,
				.attachment = ETH_DIRECT,
				.is_native = 1,
				.n_rails = 2,
				.slot = 3,
				.n_slots = 4,
				.chunk_bytes = 2048,
				.chunks_per_packet = 1,
				.tx_packets = 256,
				.rx_chunks = 2000,
				.fill_entries = 2048,
				.completion_entries = 1024,
				.rx_entries = 2048,
				.tx_entries = 1024,
				.n_fds = 7};

	g.memory_bytes = (4 * 256 + 2 * 2000) * 2048ull;
	strcpy(g.rails[0].name, "eth1");
	strcpy(g.rails[1].name, "eth2");
	g.rails[0].mtu = g.rails[1].mtu = 1500;
	g.rails[0].host_rail = 5;
	g.rails[1].host_rail = 0;
	return g;
}

static struct eth_granted good_port(void)
{
	struct eth_granted g = good_direct();

	g.attachment = ETH_PORT;
	g.slot = 0;
	g.n_slots = 1;
	g.n_fds = 3;
	g.memory_bytes = (256 + 2000) * 2048ull;
	return g;
}

static struct eth_granted good_tc(void)
{
	struct eth_granted g = good_direct();

	g.inbox_bytes = 1u << 20;
	g.n_fds = 8;
	return g;
}

static struct eth_granted good_bound(void)
{
	struct eth_granted g = good_direct();

	g.n_fds = 0;
	g.is_bound = 1;
	return g;
}

TAP_TEST(eth_request_check__takes_each_op)
{
	for (uint32_t op = ETH_OP_ATTACH; op <= ETH_OP_MAPPED; op++) {
		struct eth_request r = good_request(op);

		is_int(eth_request_check(&r, sizeof(r)), 0);
	}
}

TAP_TEST(eth_request_check__takes_the_ends_of_each_range)
{
	struct eth_request r = good_request(ETH_OP_ATTACH);

	r.tx_packets = ETH_PACKETS_MIN;
	r.rx_packets = ETH_PACKETS_MAX;
	r.want_context = ETH_CONTEXTS - 1;
	r.local = UINT32_MAX;
	is_int(eth_request_check(&r, sizeof(r)), 0);
	r.n_rails = 0;
	memset(r.rails, 0xff, sizeof(r.rails));
	is_int(eth_request_check(&r, sizeof(r)), 0);
}

TAP_TEST(eth_request_check__other_lengths_magic_and_version)
{
	struct eth_request r = good_request(ETH_OP_ATTACH);

	for (size_t n = 0; n < sizeof(r); n++)
		is_int(eth_request_check(&r, n), -EPROTO);
	is_int(eth_request_check(&r, sizeof(r) + 1), -EPROTO);
	r.magic ^= 1;
	is_int(eth_request_check(&r, sizeof(r)), -EPROTO);
	r = good_request(ETH_OP_ATTACH);
	r.version++;
	is_int(eth_request_check(&r, sizeof(r)), -EPROTONOSUPPORT);
}

/* Sets one field of an otherwise good request to a bad value. */
#define REFUSED(op, field, bad)                                                                    \
	do {                                                                                       \
		struct eth_request r = good_request(op);                                           \
		r.field = (bad);                                                                   \
		okf(eth_request_check(&r, sizeof(r)) == -EINVAL, "%s = %s was taken", #field,      \
		    #bad);                                                                         \
	} while (0)

TAP_TEST(eth_request_check__refuses_each_damage)
{
	static const uint32_t both[] = {ETH_OP_ATTACH, ETH_OP_RESUME};

	for (int i = 0; i < 2; i++) {
		REFUSED(both[i], key, 0);
		REFUSED(both[i], attach, 3);
		REFUSED(both[i], tx_packets, ETH_PACKETS_MIN - 1);
		REFUSED(both[i], tx_packets, ETH_PACKETS_MAX + 1);
		REFUSED(both[i], rx_packets, 0);
		REFUSED(both[i], rx_packets, UINT32_MAX);
		REFUSED(both[i], want_context, ETH_CONTEXTS);
		REFUSED(both[i], n_rails, ETH_RAILS + 1);
		REFUSED(both[i], pad, 1);
		REFUSED(both[i], rails[0][0], 0);
		REFUSED(both[i], rails[0][1], '/');
		REFUSED(both[i], rails[0][1], ' ');
		REFUSED(both[i], rails[0][1], '\n');
		REFUSED(both[i], rails[1][ETH_NAME - 1], 'x');
	}
	REFUSED(0, key, 1);
	REFUSED(ETH_OP_MAPPED + 1, key, 1);
	REFUSED(ETH_OP_SUSPEND, key, 0);
	REFUSED(ETH_OP_SUSPEND, want_context, ETH_CONTEXTS);
	REFUSED(ETH_OP_MAPPED, key, 0);
	REFUSED(ETH_OP_MAPPED, want_context, ETH_CONTEXTS);
	REFUSED(ETH_OP_REPORT, pad, 1);
}

TAP_TEST(eth_request_check__a_rail_named_twice)
{
	struct eth_request r = good_request(ETH_OP_ATTACH);

	strcpy(r.rails[1], r.rails[0]);
	is_int(eth_request_check(&r, sizeof(r)), -EINVAL);
}

TAP_TEST(eth_granted_check__takes_direct_port_bound_refusal_and_suspended)
{
	struct eth_granted g = good_bound();

	is_int(eth_granted_check(&g, sizeof(g), 0), 0);
	is_int(eth_granted_check(&g, sizeof(g), 7), -EINVAL);
	g = good_direct();

	is_int(eth_granted_check(&g, sizeof(g), 7), 0);
	g = good_port();
	is_int(eth_granted_check(&g, sizeof(g), 3), 0);
	g = (struct eth_granted){
		.magic = ETH_ATTACH_MAGIC, .version = ETH_ATTACH_VERSION, .error = ENODEV};
	is_int(eth_granted_check(&g, sizeof(g), 0), 0);
	is_int(eth_granted_check(&g, sizeof(g), 1), -EINVAL);
	g.error = 0;
	is_int(eth_granted_check(&g, sizeof(g), 0), 0);
}

TAP_TEST(eth_granted_check__other_lengths_magic_and_version)
{
	struct eth_granted g = good_direct();

	for (size_t n = 0; n < sizeof(g); n += 8)
		is_int(eth_granted_check(&g, n, 7), -EPROTO);
	is_int(eth_granted_check(&g, sizeof(g) + 1, 7), -EPROTO);
	g.magic ^= 1;
	is_int(eth_granted_check(&g, sizeof(g), 7), -EPROTO);
	g = good_direct();
	g.version++;
	is_int(eth_granted_check(&g, sizeof(g), 7), -EPROTONOSUPPORT);
}

#define SPOILT(good, n_fds, field, bad)                                                            \
	do {                                                                                       \
		struct eth_granted g = good();                                                     \
		g.field = (bad);                                                                   \
		okf(eth_granted_check(&g, sizeof(g), n_fds) == -EINVAL, "%s = %s was taken",       \
		    #field, #bad);                                                                 \
	} while (0)
#define DIRECT(field, bad) SPOILT(good_direct, 7, field, bad)

TAP_TEST(eth_granted_check__refuses_damage_of_the_context)
{
	DIRECT(error, -1);
	DIRECT(error, 4096);
	DIRECT(error, EBUSY); /* a refusal brings no descriptors */
	DIRECT(context, 0);
	DIRECT(context, ETH_CONTEXTS);
	DIRECT(type, 0);
	DIRECT(attachment, ETH_DETACHED);
	DIRECT(attachment, ETH_PORT);
	DIRECT(attachment, 3);
	DIRECT(is_native, 2);
	DIRECT(is_frags, 2);
	DIRECT(slot, 4);
	DIRECT(n_slots, 0);
	DIRECT(n_slots, ETH_SLOTS_MAX + 1);
	DIRECT(n_fds, 4);
	DIRECT(is_bound, 1); /* brings no descriptors */
	SPOILT(good_bound, 0, is_bound, 0);
	SPOILT(good_bound, 0, is_bound, 2);
	SPOILT(good_direct, 4, n_fds, 4);
	SPOILT(good_direct, 5, n_fds, 5);
	SPOILT(good_direct, ETH_FDS_MAX + 1, n_fds, ETH_FDS_MAX + 1);
	SPOILT(good_port, 3, n_slots, 2);
	SPOILT(good_port, 3, attachment, ETH_DIRECT);
	SPOILT(good_port, 5, n_fds, 5);
}

TAP_TEST(eth_granted_check__an_inbox_brings_a_descriptor)
{
	struct eth_granted g = good_tc();

	is_int(eth_granted_check(&g, sizeof(g), 8), 0);
	g = good_port();
	g.inbox_bytes = ETH_INBOX_MAX;
	g.n_fds = 4;
	is_int(eth_granted_check(&g, sizeof(g), 4), 0);
	SPOILT(good_tc, 8, inbox_bytes, 0);
	SPOILT(good_tc, 8, inbox_bytes, 1u << 11);
	SPOILT(good_tc, 8, inbox_bytes, (1u << 20) - 1);
	SPOILT(good_tc, 8, inbox_bytes, 2 * ETH_INBOX_MAX);
	SPOILT(good_tc, 7, n_fds, 7);
	SPOILT(good_direct, 7, inbox_bytes, 1u << 20);
}

TAP_TEST(eth_granted_check__refuses_damage_of_the_rails)
{
	DIRECT(n_rails, 0);
	DIRECT(n_rails, ETH_RAILS + 1);
	DIRECT(n_rails, 1);
	DIRECT(rails[0].name[0], 0);
	DIRECT(rails[1].name[1], '\t');
	DIRECT(rails[0].host_rail, ETH_RAILS);
	DIRECT(rails[0].host_rail, 0); /* the second rail's */
	DIRECT(rails[0].is_zero_copy, 2);
	DIRECT(rails[0].mtu, 0);
	DIRECT(rails[0].mtu, ETH_MTU_OVERHEAD);
	DIRECT(rails[1].mtu, 2048 - 13);
	DIRECT(rails[1].mtu, UINT32_MAX);
}

TAP_TEST(eth_granted_check__refuses_damage_of_the_memory)
{
	DIRECT(chunk_bytes, 0);
	DIRECT(chunk_bytes, 1024);
	DIRECT(chunk_bytes, 8192);
	DIRECT(chunk_bytes, 4096); /* then the memory is too small */
	DIRECT(chunks_per_packet, 0);
	DIRECT(chunks_per_packet, 2); /* only with frags */
	DIRECT(chunks_per_packet, UINT32_MAX);
	DIRECT(tx_packets, 0);
	DIRECT(tx_packets, ETH_PACKETS_MAX + 1);
	DIRECT(rx_chunks, 0);
	DIRECT(rx_chunks, 2049); /* more than the fill ring takes */
	DIRECT(fill_entries, 0);
	DIRECT(fill_entries, 2047);
	DIRECT(fill_entries, 1u << 31);
	DIRECT(completion_entries, 3);
	DIRECT(rx_entries, 0);
	DIRECT(tx_entries, 1000);
	DIRECT(memory_bytes, 0);
	DIRECT(memory_bytes, (4 * 256 + 2 * 2000) * 2048ull - 1);
	DIRECT(memory_bytes, UINT64_MAX);
}

TAP_TEST(eth_granted_check__a_sentence_without_end)
{
	struct eth_granted g = good_direct();

	memset(g.why, 'x', sizeof(g.why));
	is_int(eth_granted_check(&g, sizeof(g), 7), -EINVAL);
}
