// SPDX-License-Identifier: BSD-3-Clause
/* recvwin: duplicates, order, window edges and wrap, buffers; all permutations of six packets. */
#include "pmcore/channel/peer.h"
#include "tests/unit/channel/rig.h"

TAP_TEST(recvwin__in_order_is_delivered_at_once)
{
	struct rig *rig = rig_new(1);
	uint32_t i;

	for (i = 0; i < 100; i++) {
		rig_datagram(rig, i, i);
		is_int(rig_take(rig), i);
		is_int(rig_take(rig), -1);
		rig_poll(rig, 0);
	}
	is_int(rig->n_rx, 0);
	rig_close(rig);
}

TAP_TEST(recvwin__duplicates_are_counted_once_each)
{
	struct rig *rig = rig_new(1);

	rig_datagram(rig, 0, 0);
	rig_datagram(rig, 0, 0);
	rig_datagram(rig, 2, 2);
	rig_datagram(rig, 2, 2);
	is_int(rig->rails[0].drops[DROP_DUPLICATE], 2);
	is_int(rig_take(rig), 0);
	is_int(rig_take(rig), -1);
	is_int(rig->n_rx, 1);
	rig_close(rig);
}

TAP_TEST(recvwin__window_edges)
{
	struct rig *rig = rig_new(1);

	rig_datagram(rig, 16, 15);
	is_int(rig->rails[0].drops[DROP_WINDOW], 1);
	rig_datagram(rig, 15, 15);
	is_int(rig->rails[0].drops[DROP_WINDOW], 1);
	is_int(rig->n_rx, 1);
	rig_datagram(rig, 14, 16); /* message number outside */
	is_int(rig->rails[0].drops[DROP_WINDOW], 2);
	rig_datagram(rig, 13, 15); /* message number taken */
	is_int(rig->rails[0].drops[DROP_DUPLICATE], 1);
	rig_datagram(rig, UINT32_MAX, 0);
	is_int(rig->rails[0].drops[DROP_DUPLICATE], 2);
	rig_close(rig);
}

static void permute(uint32_t *order, uint32_t n, void (*visit)(const uint32_t *order, uint32_t n))
{
	uint32_t count[8] = {0};
	uint32_t i = 0;

	visit(order, n);
	while (i < n) {
		if (count[i] < i) {
			uint32_t other = i & 1 ? count[i] : 0;
			uint32_t swap = order[other];

			order[other] = order[i];
			order[i] = swap;
			visit(order, n);
			count[i]++;
			i = 0;
		} else {
			count[i++] = 0;
		}
	}
}

static struct rig *permuted;

/* The numbers wrap in the midst of each permutation. */
static void feed(const uint32_t *order, uint32_t n)
{
	uint32_t base = permuted->peer->rx_next;
	uint32_t mbase = permuted->peer->rx_mseq;
	uint32_t i;

	for (i = 0; i < n; i++)
		rig_datagram(permuted, base + order[i], mbase + order[i]);
	for (i = 0; i < n; i++)
		is_int(rig_take(permuted), mbase + i);
	is_int(permuted->n_rx, 0);
	is_int(permuted->peer->rx_next, base + n);
	rig_poll(permuted, 0);
	permuted->n_sent = 0;
}

TAP_TEST(recvwin__all_permutations_of_six_across_the_wrap)
{
	uint32_t order[6] = {0, 1, 2, 3, 4, 5};

	permuted = rig_new(1);
	chan_test_set_seq(permuted->chan, permuted->peer, 7, UINT32_MAX - 2000);
	permuted->from.rail_seq = UINT32_MAX - 2000;
	permuted->from.ack = 7;
	permute(order, 6, feed);
	ok(permuted->peer->rx_next < 4000);
	rig_close(permuted);
}

TAP_TEST(recvwin__datagram_does_not_wait_for_lost_data)
{
	struct rig *rig = rig_new(1);

	rig_datagram(rig, 5, 0); /* 0..4 are one-sided data on its way */
	is_int(rig_take(rig), 0);
	is_int(rig->peer->rx_next, 0);
	is_int(rig->peer->flow->early, 1);
	rig_close(rig);
}

TAP_TEST(recvwin__early_packets_leave_buffers_for_the_next_in_order)
{
	struct rig *rig = rig_init();
	uint32_t i;

	rig->config.rx_buffers = 8;
	rig->config.window = 8;
	rig->config.credit = 8;
	rig_open(rig);
	for (i = 1; i < 8; i++)
		rig_datagram(rig, i, i);
	is_int(rig->n_rx, 6); /* an eighth and one are kept back */
	is_int(rig->rails[0].drops[DROP_NO_BUFFER], 1);
	rig_datagram(rig, 0, 0);
	is_int(rig->n_rx, 7);
	for (i = 0; i < 7; i++)
		is_int(rig_take(rig), i);
	rig_close(rig);
}
