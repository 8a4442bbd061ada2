// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <sys/socket.h>

#include "tests/unit/pm-ethernet/rig.h"

static struct pm_packet *packet_of(struct rig *r, uint32_t len, uint8_t fill)
{
	struct pm_packet *p = eth_tx_alloc(&r->d.dev);

	if (!ok(p != NULL))
		return NULL;
	memset(p->data, fill, len);
	p->len = len;
	return p;
}

TAP_TEST(tx_post__frame_is_head_and_data)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_dev_peer *peer = rig_peer(r, 1);
	struct pm_packet *p = packet_of(r, 100, 'd');
	struct xdp_desc desc;
	struct eth_frame head;

	is_int(eth_tx_post(&r->d.dev, 1, peer, p), 0);
	is_int(p->busy, 1);
	ok(!rig_take(r, 1, &desc)); /* not shown before the kick */
	pm_ethernet_ops.tx_kick(&r->d.dev);
	is_int(rig_calls(r, 1), 1);
	is_int(rig_calls(r, 0), 0);
	must(rig_take(r, 1, &desc));
	is_int(desc.len, ETH_HEAD + 100);
	is_int(desc.options, 0);
	is_int(desc.addr % 2048, 0);
	memcpy(&head, r->memory + desc.addr, sizeof(head));
	is_int(head.rail, 2);
	is_int(head.dst_host, 9);
	is_int(head.src_host, RIG_HOST);
	is_int(head.dst_context, 5);
	is_int(head.src_context, RIG_CONTEXT);
	is_int(head.version, ETH_VERSION);
	is_int(head.kind, ETH_PACKET);
	is_int(head.ttl, ETH_TTL);
	is_mem(head.dst_mac, "\2\0\0\0\11\1", ETH_MAC);
	is_mem(head.src_mac, "\2\0\0\0\7\1", ETH_MAC);
	is_int(r->memory[desc.addr + ETH_HEAD + 99], 'd');
	pm_ethernet_ops.tx_kick(&r->d.dev);
	is_int(rig_calls(r, 1), 0); /* nothing new, no call */
	eth_tx_free(&r->d.dev, p);
	rig_close(r, true);
}

TAP_TEST(tx_post__several_chunks)
{
	struct rig_options w = RIG_DIRECT;
	struct rig *r;
	struct pm_packet *p;
	struct xdp_desc desc;
	uint64_t first;

	w.chunk_bytes = 4096;
	w.chunks_per_packet = 3;
	w.mtu = 9000;
	r = rig_open(w);
	p = packet_of(r, 8976, 'x');
	is_int(p->room, 8976);
	is_int(eth_tx_post(&r->d.dev, 0, rig_peer(r, 1), p), 0);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	must(rig_take(r, 0, &desc));
	first = desc.addr;
	is_int(desc.len, 4096);
	is_int(desc.options, XDP_PKT_CONTD);
	must(rig_take(r, 0, &desc));
	is_int(desc.addr, first + 4096);
	is_int(desc.options, XDP_PKT_CONTD);
	must(rig_take(r, 0, &desc));
	is_int(desc.addr, first + 8192);
	is_int(desc.len, 8976 + ETH_HEAD - 8192);
	is_int(desc.options, 0);
	rig_done(r, 0, first);
	rig_done(r, 0, first + 4096);
	eth_completion_reap(&r->d, 0);
	is_int(p->busy, 1); /* until its last chunk is done */
	rig_done(r, 0, first + 8192);
	eth_completion_reap(&r->d, 0);
	is_int(p->busy, 0);
	eth_tx_free(&r->d.dev, p);
	rig_close(r, true);
}

TAP_TEST(tx_free__while_busy_waits_for_completion)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_dev_peer *peer = rig_peer(r, 1);
	struct pm_packet *p = packet_of(r, 80, 1);
	struct xdp_desc desc;

	is_int(eth_tx_post(&r->d.dev, 0, peer, p), 0);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	eth_tx_free(&r->d.dev, p);
	is_int(r->d.pool.n_free, RIG_TX_PACKETS - 1);
	must(rig_take(r, 0, &desc));
	rig_done(r, 0, desc.addr);
	/* found by itself in idle kicks */
	for (int i = 0; i < 100; i++)
		pm_ethernet_ops.tx_kick(&r->d.dev);
	is_int(r->d.pool.n_free, RIG_TX_PACKETS);
	is_int(r->d.sockets[0].outstanding, 0);
	rig_close(r, true);
}

TAP_TEST(tx_post__busy_packet_waits)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_dev_peer *peer = rig_peer(r, 1);
	struct pm_packet *p = packet_of(r, 80, 1);
	struct xdp_desc desc;

	is_int(eth_tx_post(&r->d.dev, 0, peer, p), 0);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	is_int(eth_tx_post(&r->d.dev, 1, peer, p), -EAGAIN);
	must(rig_take(r, 0, &desc));
	rig_done(r, 0, desc.addr);
	is_int(eth_tx_post(&r->d.dev, 1, peer, p), 0); /* and is posted again with the same bytes */
	is_int(p->busy, 1);
	eth_tx_free(&r->d.dev, p);
	rig_close(r, true);
}

TAP_TEST(tx_post__share_of_the_window)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_dev_peer *peer = rig_peer(r, 1);
	struct pm_packet *p;
	struct xdp_desc desc;

	/* of the 512 packets that several rails share by default */
	is_int(r->d.open_limit, 512 * 3 / 4 / r->d.n_sockets);
	r->d.open_limit = 2;
	for (int i = 0; i < 2; i++)
		is_int(eth_tx_post(&r->d.dev, 0, peer, packet_of(r, 80, 1)), 0);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	p = packet_of(r, 80, 1);
	is_int(eth_tx_post(&r->d.dev, 0, peer, p), -EAGAIN);
	is_int(r->rails[0].full, 1);
	must(rig_take(r, 0, &desc));
	is_int(eth_tx_post(&r->d.dev, 0, peer, p), -EAGAIN); /* taken, and not back yet */
	rig_done(r, 0, desc.addr);
	is_int(eth_tx_post(&r->d.dev, 0, peer, p), 0);
	p = packet_of(r, 80, 1);
	is_int(eth_tx_post(&r->d.dev, 0, peer, p), -EAGAIN);
	is_int(eth_tx_post(&r->d.dev, 1, peer, p), 0); /* the other rail has its own share */
	rig_close(r, true);
}

TAP_TEST(tx_post__ring_full)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_dev_peer *peer = rig_peer(r, 1);
	struct xdp_desc desc;
	int posted = 0;

	for (int i = 0; i < RIG_RING + 1; i++) {
		struct pm_packet *p = packet_of(r, 80, 1);

		if (eth_tx_post(&r->d.dev, 0, peer, p) == -EAGAIN) {
			is_int(eth_tx_post(&r->d.dev, 1, peer, p), 0); /* the other has room */
			break;
		}
		posted++;
	}
	is_int(posted, RIG_RING);
	is_int(r->rails[0].full, 1);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	must(rig_take(r, 0, &desc));
	is_int(eth_tx_post(&r->d.dev, 0, peer, packet_of(r, 80, 1)), 0);
	rig_close(r, true);
}

TAP_TEST(tx_kick__kernel_takes_no_more)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_dev_peer *peer = rig_peer(r, 1);
	struct pm_packet *p = packet_of(r, 80, 1), *q = packet_of(r, 80, 2);
	struct xdp_desc desc;

	while (send(r->d.sockets[0].fd, "", 0, MSG_DONTWAIT) >= 0)
		; /* the send buffer is full */
	is_int(eth_tx_post(&r->d.dev, 0, peer, p), 0);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	ok(r->d.sockets[0].is_blocked);
	is_int(r->rails[0].full, 1);
	is_int(eth_tx_post(&r->d.dev, 0, peer, q), -EAGAIN);
	is_int(eth_tx_post(&r->d.dev, 1, peer, q), 0);
	ok(rig_calls(r, 0) > 0);
	r->d.sockets[0].retry_at = 0;
	pm_ethernet_ops.tx_kick(&r->d.dev);
	ok(!r->d.sockets[0].is_blocked);
	is_int(rig_calls(r, 0), 1);
	must(rig_take(r, 0, &desc)); /* it was not lost */
	is_int(r->memory[desc.addr + ETH_HEAD], 1);
	rig_close(r, true);
}

TAP_TEST(tx_kick__driver_that_needs_no_wakeup)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_dev_peer *peer = rig_peer(r, 1);
	struct xdp_desc desc;

	r->d.sockets[0].is_zero_copy = true;
	is_int(eth_tx_post(&r->d.dev, 0, peer, packet_of(r, 80, 1)), 0);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	is_int(rig_calls(r, 0), 0);
	ok(rig_take(r, 0, &desc));
	r->sockets[0].tx.flags = XDP_RING_NEED_WAKEUP;
	is_int(eth_tx_post(&r->d.dev, 0, peer, packet_of(r, 80, 1)), 0);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	is_int(rig_calls(r, 0), 1);
	rig_close(r, true);
}

TAP_TEST(tx_withdraw__rail_down)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_dev_peer *peer = rig_peer(r, 1);
	struct pm_packet *p = packet_of(r, 80, 1), *q = packet_of(r, 80, 2);
	struct xdp_desc desc;

	is_int(eth_tx_post(&r->d.dev, 0, peer, p), 0);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	is_int(eth_tx_post(&r->d.dev, 0, peer, q), 0);
	is_int(pm_ethernet_ops.rail_state(&r->d.dev, 0), PM_RAIL_UP);
	r->board.rails[1].is_up = 0;
	is_int(pm_ethernet_ops.rail_state(&r->d.dev, 0), PM_RAIL_DOWN);
	is_int(p->busy, 0);
	is_int(q->busy, 0);
	must(rig_take(r, 0, &desc)); /* was shown: now it names nothing the kernel could send */
	ok(desc.addr >= r->bytes);
	ok(!rig_take(r, 0, &desc));
	is_int(eth_tx_post(&r->d.dev, 1, peer, p), 0);
	/* back again */
	r->board.rails[1].is_up = 1;
	is_int(pm_ethernet_ops.rail_state(&r->d.dev, 0), PM_RAIL_UP);
	is_int(eth_tx_post(&r->d.dev, 0, peer, q), 0);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	must(rig_take(r, 0, &desc));
	is_int(r->memory[desc.addr + ETH_HEAD], 2);
	rig_close(r, true);
}

TAP_TEST(tx_withdraw__zero_copy)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_dev_peer *peer = rig_peer(r, 1);
	struct pm_packet *p = packet_of(r, 80, 1), *q = packet_of(r, 80, 2);
	struct xdp_desc first, second;

	r->d.sockets[0].is_zero_copy = true;
	is_int(eth_tx_post(&r->d.dev, 0, peer, p), 0);
	is_int(eth_tx_post(&r->d.dev, 0, peer, q), 0);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	must(rig_take(r, 0, &first) && rig_take(r, 0, &second));
	rig_done(r, 0, first.addr);
	eth_completion_reap_all(&r->d);
	r->board.rails[1].is_up = 0;
	is_int(pm_ethernet_ops.rail_state(&r->d.dev, 0), PM_RAIL_DOWN);
	is_int(q->busy, 1); /* the driver may still read it */
	r->board.rails[1].is_gone = 1;
	is_int(pm_ethernet_ops.rail_state(&r->d.dev, 0), PM_RAIL_DOWN);
	is_int(q->busy, 0);
	is_int(r->d.sockets[0].outstanding, 0);
	/* a completion that comes late is not taken for that of the next post */
	is_int(eth_tx_post(&r->d.dev, 1, peer, q), 0);
	rig_done(r, 0, second.addr);
	eth_completion_reap(&r->d, 0);
	is_int(q->busy, 1);
	rig_close(r, true);
}

TAP_TEST(tx_kick__driver_asks_for_chunks_late)
{
	struct rig *r = rig_open(RIG_DIRECT);
	char byte;

	r->d.sockets[0].is_zero_copy = true;
	is_int(send(r->sockets[0].far, "w", 1, 0), 1); /* what the call that wakes takes */
	r->sockets[0].fill.flags = XDP_RING_NEED_WAKEUP;
	is_int(r->d.sockets[0].n_back, 0);
	for (int i = 0; i < 1000; i++)
		pm_ethernet_ops.tx_kick(&r->d.dev);
	is_int(recv(r->d.sockets[0].fd, &byte, 1, MSG_DONTWAIT), -1);
	rig_close(r, true);
}

TAP_TEST(tx_alloc__whole_pool_and_back)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_packet *all[RIG_TX_PACKETS];

	for (int i = 0; i < RIG_TX_PACKETS; i++) {
		all[i] = eth_tx_alloc(&r->d.dev);
		must(all[i] != NULL);
		is_int((uintptr_t)all[i]->data % 8, 0);
		is_int(all[i]->room, 1480);
	}
	ok(!eth_tx_alloc(&r->d.dev));
	for (int i = 0; i < RIG_TX_PACKETS; i++)
		eth_tx_free(&r->d.dev, all[i]);
	is_int(r->d.pool.n_free, RIG_TX_PACKETS);
	rig_close(r, true);
}

/* The kernel takes and completes at random; no packet is lost, none is free twice. */
TAP_TEST(tx__random_traffic)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_dev_peer *peer = rig_peer(r, 1);
	uint64_t rand = tap_seed(), open[2][4 * RIG_RING];
	uint32_t n_open[2] = {0}, posted = 0, taken = 0;

	for (int step = 0; step < 20000; step++) {
		uint32_t i = tap_rand(&rand) & 1;
		struct pm_packet *p;
		struct xdp_desc desc;

		switch (tap_rand(&rand) % 4) {
		case 0:
			p = eth_tx_alloc(&r->d.dev);
			if (!p)
				break;
			p->len = 80;
			posted += eth_tx_post(&r->d.dev, i, peer, p) == 0;
			eth_tx_free(&r->d.dev, p);
			break;
		case 1:
			pm_ethernet_ops.tx_kick(&r->d.dev);
			rig_calls(r, 0);
			rig_calls(r, 1);
			break;
		case 2:
			if (n_open[i] < RIG_RING && rig_take(r, i, &desc)) {
				open[i][n_open[i]++] = desc.addr;
				taken++;
			}
			break;
		default:
			if (n_open[i])
				rig_done(r, i, open[i][--n_open[i]]);
		}
	}
	ok(posted > 1000);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	for (uint32_t i = 0; i < 2; i++) {
		struct xdp_desc desc;

		while (rig_take(r, i, &desc)) {
			rig_done(r, i, desc.addr);
			taken++;
		}
		while (n_open[i])
			rig_done(r, i, open[i][--n_open[i]]);
		eth_completion_reap(&r->d, i);
		is_int(r->d.sockets[i].outstanding, 0);
		is_int(r->d.sockets[i].strange, 0);
	}
	is_int(taken, posted);
	is_int(r->d.pool.n_free, RIG_TX_PACKETS);
	rig_close(r, true);
}

TAP_TEST(tx_post__probe_asks)
{
	struct rig *r = rig_open(RIG_DIRECT);
	struct pm_dev_peer *peer = rig_peer(r, 1);
	struct pm_packet *p = packet_of(r, 80, WIRE_DATA), *q = packet_of(r, 80, WIRE_PROBE);
	struct xdp_desc desc;

	is_int(eth_tx_post(&r->d.dev, 0, peer, p), 0);
	is_int(eth_tx_post(&r->d.dev, 0, peer, q), 0);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	must(rig_take(r, 0, &desc));
	is_int(r->memory[desc.addr + offsetof(struct eth_frame, flags)], 0);
	must(rig_take(r, 0, &desc));
	is_int(r->memory[desc.addr + offsetof(struct eth_frame, flags)], ETH_F_ASK);
	rig_close(r, true);
}
