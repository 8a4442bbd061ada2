// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/pm-ethernet/rig.h"

static int burst(struct rig *r, struct pm_rx *rx, int n)
{
	return eth_rx_burst(&r->d.dev, rx, n);
}

/* Chunks the kernel can still fill, and those on their way back to it. */
static uint32_t at_home(const struct rig *r, uint32_t i)
{
	const struct rig_ring *fill = &r->sockets[i].fill;

	return fill->producer - fill->consumer + r->d.sockets[i].n_back;
}

TAP_TEST(rx_burst__lends_in_place)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_rx rx[4];

	is_int(burst(r, rx, 4), 0);
	must(rig_receive(r, 0, rig_head(r, 1), 200, 'a'));
	must(rig_receive(r, 1, rig_head(r, 2), 1480, 'b'));
	is_int(burst(r, rx, 4), 2);
	is_int(rx[0].len, 200);
	is_int(rx[0].rail, 0);
	is_int(rx[0].data[199], 'a');
	is_int((uintptr_t)rx[0].data % 8, 0);
	ok(rx[0].data > r->memory && rx[0].data < r->memory + r->bytes);
	is_int(rx[1].rail, 1);
	is_int(rx[1].len, 1480);
	is_int(r->d.sockets[0].lent, 1);
	is_int(at_home(r, 0), RIG_RX_CHUNKS - 1);
	eth_rx_return(&r->d.dev, rx[0].token);
	eth_rx_return(&r->d.dev, rx[1].token);
	is_int(r->d.sockets[0].lent, 0);
	is_int(at_home(r, 0), RIG_RX_CHUNKS);
	is_int(at_home(r, 1), RIG_RX_CHUNKS);
	is_int(r->d.copies, 0);
	rig_close(r, true);
}

TAP_TEST(rx_burst__chunks_short_copies)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_rx rx[RIG_RX_CHUNKS];
	uint32_t n = 0;

	/* half of the chunks are lent, then as many copies are made as there are slots */
	while (rig_receive(r, 0, rig_head(r, 1), 100, (uint8_t)n) && burst(r, &rx[n], 1) == 1)
		n++;
	is_int(n, RIG_RX_CHUNKS / 2 + 8);
	is_int(r->d.copies, 8);
	ok(!eth_rx_has_room(&r->d));
	for (uint32_t i = 0; i < n; i++)
		is_int(rx[i].data[99], i);
	/* room again: the one that waited comes */
	eth_rx_return(&r->d.dev, rx[n - 1].token);
	ok(eth_rx_has_room(&r->d));
	is_int(burst(r, &rx[n - 1], 1), 1);
	is_int(rx[n - 1].data[99], n);
	for (uint32_t i = 0; i < n; i++)
		eth_rx_return(&r->d.dev, rx[i].token);
	is_int(r->d.n_free_slots, 8);
	is_int(at_home(r, 0), RIG_RX_CHUNKS);
	rig_close(r, true);
}

TAP_TEST(rx_burst__several_chunks)
{
	struct rig_options w = RIG_DIRECT;
	struct rig *r;
	struct pm_rx rx[2];

	w.chunk_bytes = 4096;
	w.chunks_per_packet = 3;
	w.mtu = 9000;
	r = rig_open(w);
	must(rig_receive(r, 0, rig_head(r, 1), 8976, 'j'));
	is_int(burst(r, rx, 2), 1);
	is_int(rx[0].len, 8976);
	is_int((uintptr_t)rx[0].data % 8, 0);
	for (int i = 0; i < 8976; i++)
		if (!okf(rx[0].data[i] == 'j', "byte %d is %d", i, rx[0].data[i]))
			break;
	is_int(at_home(r, 0), RIG_RX_CHUNKS);
	eth_rx_return(&r->d.dev, rx[0].token);
	/* the end of a frame is not there yet */
	rig_receive_desc(r, 0, rig_chunk(r, 0) + 256, 3840, XDP_PKT_CONTD);
	is_int(burst(r, rx, 2), 0);
	is_int(burst(r, rx, 2), 0);
	rig_receive_desc(r, 0, rig_chunk(r, 0) + 256, 3840, 0);
	is_int(burst(r, rx, 2), 0); /* no head: dropped, once, as a whole */
	is_int(at_home(r, 0), RIG_RX_CHUNKS);
	rig_close(r, true);
}

TAP_TEST(rx_burst__wrong_frames_are_counted)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct eth_frame head = rig_head(r, 1);
	struct pm_rx rx[8];

	must(rig_receive(r, 0, head, sizeof(struct wire_header) - 1, 0));
	head.version++;
	must(rig_receive(r, 0, head, 100, 0));
	head = rig_head(r, 1);
	head.kind = ETH_QUERY;
	must(rig_receive(r, 0, head, 100, 0));
	head = rig_head(r, 1);
	head.dst_context++;
	must(rig_receive(r, 0, head, 100, 0));
	head = rig_head(r, ETH_RAILS);
	must(rig_receive(r, 0, head, 100, 0));
	head = rig_head(r, 1);
	must(rig_receive(r, 0, head, 1488, 0)); /* larger than any packet */
	is_int(burst(r, rx, 8), 0);
	is_int(r->rails[0].drops[DROP_TRUNCATED], 1);
	is_int(r->rails[0].drops[DROP_VERSION], 1);
	is_int(r->rails[0].drops[DROP_TYPE], 1);
	is_int(r->rails[0].drops[DROP_DESTINATION], 1);
	is_int(r->rails[0].drops[DROP_RAIL], 1);
	is_int(r->rails[0].drops[DROP_MALFORMED], 1);
	is_int(at_home(r, 0), RIG_RX_CHUNKS);
	/* descriptors that no kernel writes */
	rig_receive_desc(r, 0, UINT64_MAX, 100, 0);
	rig_receive_desc(r, 0, 0, 100, 0);
	rig_receive_desc(r, 0, r->d.areas->base + 2000, 100, 0);
	rig_receive_desc(r, 0, r->d.areas->base, 0, 0);
	is_int(burst(r, rx, 8), 0);
	is_int(r->rails[0].drops[DROP_MALFORMED], 5);
	is_int(r->d.sockets[0].strange, 4);
	rig_close(r, true);
}

TAP_TEST(rx_burst__port_rail_of_the_frame)
{
	struct rig_options w = RIG_DIRECT;
	struct rig *r;
	struct pm_rx rx[4];

	w.attachment = ETH_PORT;
	r = rig_open(w);
	must(rig_receive(r, 0, rig_head(r, 2), 100, 0));
	must(rig_receive(r, 0, rig_head(r, 1), 100, 0));
	must(rig_receive(r, 0, rig_head(r, 0), 100, 0)); /* a rail of the host that is not ours */
	is_int(burst(r, rx, 4), 2);
	is_int(rx[0].rail, 1);
	is_int(rx[1].rail, 0);
	is_int(r->rails[0].drops[DROP_RAIL], 1);
	rig_close(r, true);
}

TAP_TEST(rx_return__goes_back_in_batches)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct rig_ring *fill = &r->sockets[0].fill;
	uint32_t before = fill->producer, writes = 0, seen = before;
	struct pm_rx rx;

	for (int i = 0; i < 64; i++) {
		must(rig_receive(r, 0, rig_head(r, 1), 100, 0));
		must(burst(r, &rx, 1) == 1);
		eth_rx_return(&r->d.dev, rx.token);
		if (fill->producer != seen)
			writes++;
		seen = fill->producer;
	}
	is_int(fill->producer - before, 64);
	is_int(writes, 64 / r->d.fill_batch);
	is_int(rig_calls(r, 0), 0);
	rig_close(r, true);
}

/* No more go round than can be on their way; what was used last is used next. */
TAP_TEST(rx_return__few_chunks_go_round)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct rig_ring *fill = &r->sockets[0].fill;
	uint32_t before, level, n_seen = 0;
	bool is_seen[2 * RIG_RX_CHUNKS] = {false};
	struct pm_rx rx;

	r->d.env.nodes = 1;
	r->conf.credit = 20;
	level = 20 + r->d.fill_batch;
	for (int i = 0; i < 400; i++) {
		before = fill->consumer;
		must(rig_receive(r, 0, rig_head(r, 1), 100, 0));
		must(burst(r, &rx, 1) == 1);
		if (i >= 200) {
			uint64_t at = fill->entries[before % (2 * RIG_RX_CHUNKS)];
			bool *is = &is_seen[(at - r->d.areas->base) / 2048];

			n_seen += !*is;
			*is = true;
		}
		eth_rx_return(&r->d.dev, rx.token);
		is_int(at_home(r, 0), RIG_RX_CHUNKS);
	}
	ok(n_seen <= level);
	ok(fill->producer - fill->consumer <= 20);
	/* as many peers as need all chunks: they are all given */
	r->d.env.nodes = RIG_RX_CHUNKS;
	eth_rx_refill(&r->d, 0);
	is_int(fill->producer - fill->consumer, RIG_RX_CHUNKS);
	rig_close(r, true);
}

TAP_TEST(rx_burst__no_rail_starves)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_rx rx[2];
	uint32_t seen[2] = {0};

	for (int i = 0; i < 8; i++)
		for (uint32_t k = 0; k < 2; k++)
			must(rig_receive(r, k, rig_head(r, 1), 100, 0));
	for (int i = 0; i < 4; i++) {
		must(burst(r, rx, 2) == 2);
		for (int k = 0; k < 2; k++) {
			seen[rx[k].rail]++;
			eth_rx_return(&r->d.dev, rx[k].token);
		}
	}
	is_int(seen[0], 4);
	is_int(seen[1], 4);
	rig_close(r, true);
}

/* Packets that the channel holds through suspend stay in place. Their chunks are not given back. */
TAP_TEST(rx_return__after_suspend)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct eth_area *old = r->d.areas;
	struct pm_rx rx;

	must(rig_receive(r, 0, rig_head(r, 1), 100, 'k'));
	must(burst(r, &rx, 1) == 1);
	eth_memory_stale(&r->d);
	is_int(rx.data[99], 'k');
	eth_rx_return(&r->d.dev, rx.token);
	is_int(old->lent, 0);
	is_int(r->d.sockets[0].n_back, 0);
	rig_close(r, true);
}
