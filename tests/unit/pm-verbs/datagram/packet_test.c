// SPDX-License-Identifier: BSD-3-Clause
/* Packets out and in: every size, batches, full rings, held buffers, errors. */
#include "pm-verbs/datagram/rail.h"
#include "pm-verbs/datagram/tx.h"
#include "pm-verbs/hw/opening.h"
#include "tests/unit/pm-verbs/datagrams.h"

#define OPS (&pm_verbs_datagram_ops)

TAP_TEST(tx__every_size)
{
	static const uint32_t inlines[] = {0, 64, 400};

	for (int k = 0; k < 3; k++) {
		fake_begin(1);
		fake.max_inline = inlines[k];
		must(boxes_open(2, NULL));
		for (uint32_t size = 8; size <= 1024; size += 8) {
			uint32_t len = 0;

			is_int(box_post(0, 1, 0, size, size), 0);
			is_int(box_post(0, 1, 0, size, size), 0);
			box_kick(0);
			for (int twice = 0; twice < 2; twice++) {
				is_int(box_take(1, &len, NULL), (int)size);
				is_int(len, size);
			}
		}
		/* powers of two are tried: 256, 128, 64 */
		is_int(pmvd_of(boxes[0].dev)->rails[0].tx.max_inline,
		       inlines[k] > 256 ? 256 : inlines[k]);
		is_int(fake.inlined, inlines[k] > 256 ? 64 : inlines[k] / 4);
		boxes_close();
	}
}

TAP_TEST(tx__a_batch_is_one_call_and_few_completions)
{
	fake_begin(1);
	must(boxes_open(2, NULL));
	for (uint32_t i = 0; i < 40; i++)
		is_int(box_post(0, 1, 0, i, 200), 0);
	/* nothing before the kick */
	is_int(fake.datagrams, 0);
	box_kick(0);
	is_int(fake.datagrams, 40);
	is_int(fake.unsignalled, 38);
	for (int i = 0; i < 40; i++)
		is_int(box_take(1, NULL, NULL), i);
	/* all have come back */
	for (uint32_t i = 0; i < 64; i++)
		is_int(box_post(0, 1, 0, i, 200), 0);
	is_int(box_post(0, 1, 0, 0, 200), -ENOBUFS);
	boxes_close();
}

TAP_TEST(tx__inline_packets_are_free_at_once)
{
	struct pm_packet *p;

	fake_begin(1);
	fake.max_inline = 256;
	must(boxes_open(2, NULL));
	fake.is_held = true;
	p = OPS->tx_alloc(boxes[0].dev);
	p->len = 64;
	memset(p->data, 0, 64);
	is_int(OPS->tx_post(boxes[0].dev, 0, boxes[0].peer[1], p), 0);
	is_int(p->busy, 1);
	box_kick(0);
	is_int(p->busy, 0);
	p->len = 600;
	is_int(OPS->tx_post(boxes[0].dev, 0, boxes[0].peer[1], p), 0);
	box_kick(0);
	is_int(p->busy, 1);
	fake.is_held = false;
	fake_run();
	box_kick(0);
	is_int(p->busy, 0);
	OPS->tx_free(boxes[0].dev, p);
	boxes_close();
}

TAP_TEST(tx__a_full_ring_gets_room)
{
	uint32_t sent = 0;

	fake_begin(1);
	must(boxes_open(2, "channel.send_buffers=1024"));
	fake.is_held = true;
	while (!box_post(0, 1, 0, sent, 100)) {
		box_kick(0);
		sent++;
	}
	is_int(sent, PMVD_TX_DEPTH);
	is_int(boxes[0].rails[0].full, 1);
	is_int(OPS->arm(boxes[0].dev), 0);
	ok(!box_is_readable(0));
	fake.is_held = false;
	fake_run();
	/* room wakes */
	ok(box_is_readable(0));
	OPS->disarm(boxes[0].dev);
	ok(!box_is_readable(0));
	is_int(box_post(0, 1, 0, sent, 100), 0);
	box_kick(0);
	for (uint32_t i = 0; i <= sent; i++)
		is_int(box_take(1, NULL, NULL), (int)i);
	boxes_close();
}

TAP_TEST(tx__no_way_to_the_node)
{
	fake_begin(1);
	must(boxes_open(2, NULL));
	fake_fail(FAKE_CREATE_AH, 1, EHOSTUNREACH);
	/* lost, as everything may be; and not asked for again at each packet */
	is_int(box_post(0, 1, 0, 1, 100), 0);
	is_int(box_post(0, 1, 0, 1, 100), 0);
	is_int(fake.calls[FAKE_CREATE_AH], 1);
	is_int(pmvd_of(boxes[0].dev)->rails[0].lost, 2);
	pmvd_of(boxes[0].dev)->peers[0]->ways[0].retry_ns = 0;
	ok(box_passes(0, 1, 0));
	boxes_close();
}

TAP_TEST(rx__many_held)
{
	static struct pm_rx held[3000];
	struct pmvd_dev *d;
	uint32_t n = 0;

	fake_begin(1);
	must(boxes_open(2, NULL));
	d = pmvd_of(boxes[1].dev);
	for (uint32_t i = 0; n < boxes[1].dev->rx_buffers; i++) {
		is_int(box_post(0, 1, 0, i, 128), 0);
		box_kick(0);
		must(OPS->rx_burst(boxes[1].dev, &held[n], 1) == 1);
		n++;
	}
	ok(d->rails[0].rx.n_lent > 0 && d->copies > 0);
	/* so many may always be held, and traffic still goes */
	ok(box_passes(0, 1, 0));
	while (n < 3000 && !box_post(0, 1, 0, n, 128)) {
		box_kick(0);
		if (OPS->rx_burst(boxes[1].dev, &held[n], 1) != 1)
			break;
		n++;
	}
	is_int(n, d->n_slots + d->rails[0].rx.n / 2);
	/* no room: an arrival does not wake */
	is_int(OPS->arm(boxes[1].dev), 0);
	OPS->disarm(boxes[1].dev);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t seq;

		memcpy(&seq, held[i].data, sizeof(seq));
		must(seq == i && held[i].len == 128);
		OPS->rx_return(boxes[1].dev, held[i].token);
	}
	/* the one that waited for room */
	is_int(box_take(1, NULL, NULL), (int)n);
	ok(box_passes(0, 1, 0));
	boxes_close();
}

TAP_TEST(rx__a_flood_is_lost_and_does_no_harm)
{
	int got = 0;

	fake_begin(1);
	must(boxes_open(2, NULL));
	for (uint32_t i = 0; i < 5000; i++) {
		is_int(box_post(0, 1, 0, i, 64), 0);
		box_kick(0);
	}
	while (box_take(1, NULL, NULL) >= 0)
		got++;
	is_int(got, pmvd_of(boxes[1].dev)->rails[0].rx.n);
	ok(box_passes(0, 1, 0));
	boxes_close();
}

/* The device drops it. */
TAP_TEST(rx__of_another_job)
{
	struct pmvd_dev *d;

	fake_begin(1);
	must(boxes_open(2, NULL));
	d = pmvd_of(boxes[0].dev);
	is_int((long)d->q_key, (long)pmv_q_key(4711, PMV_PACKETS));
	d->q_key++;
	is_int(box_post(0, 1, 0, 7, 64), 0);
	box_kick(0);
	is_int(box_take(1, NULL, NULL), -1);
	d->q_key--;
	ok(box_passes(0, 1, 0));
	boxes_close();
}

TAP_TEST(rx__an_empty_packet_is_counted)
{
	struct pm_packet *p;

	fake_begin(1);
	must(boxes_open(2, NULL));
	p = OPS->tx_alloc(boxes[0].dev);
	is_int(OPS->tx_post(boxes[0].dev, 0, boxes[0].peer[1], p), 0);
	OPS->tx_free(boxes[0].dev, p);
	box_kick(0);
	is_int(box_take(1, NULL, NULL), -1);
	is_int(boxes[1].rails[0].drops[DROP_TRUNCATED], 1);
	boxes_close();
}

/* ---- errors ---- */

TAP_TEST(error__a_broken_queue_pair_is_started_again)
{
	uint32_t number;

	fake_begin(2);
	must(boxes_open(2, NULL));
	number = pmvd_of(boxes[1].dev)->rails[0].qp->qp_num;
	/* some that arrived before, some on their way */
	is_int(box_post(0, 1, 0, 7, 300), 0);
	box_kick(0);
	fake.is_held = true;
	is_int(box_post(1, 0, 0, 8, 300), 0);
	box_kick(1);
	fake_break_ud(0);
	fake.is_held = false;
	box_kick(0);
	box_kick(1);
	box_take(0, NULL, NULL);
	box_take(1, NULL, NULL);
	for (int i = 0; i < 2; i++) {
		ok(pmvd_of(boxes[i].dev)->rails[0].is_failed);
		/* swallowed; the other rail goes on */
		is_int(box_post(i, !i, 0, 3, 100), 0);
		ok(box_passes(i, !i, 1));
		is_int(OPS->rail_state(boxes[i].dev, 0), PM_RAIL_UP);
		is_int(pmvd_of(boxes[i].dev)->rails[0].restarts, 1);
	}
	is_int(pmvd_of(boxes[1].dev)->rails[0].qp->qp_num, number);
	ok(box_passes(0, 1, 0));
	ok(box_passes(1, 0, 0));
	boxes_close();
}

TAP_TEST(error__completions_of_an_earlier_run_are_nothing)
{
	struct pmvd_rail *rail;

	fake_begin(1);
	must(boxes_open(2, NULL));
	rail = &pmvd_of(boxes[1].dev)->rails[0];
	fake_break_ud(0);
	box_take(1, NULL, NULL);
	is_int(OPS->rail_state(boxes[1].dev, 0), PM_RAIL_UP);
	/* as if the provider had kept one back: its buffer is posted again */
	rail->rx.arrived[0] = (struct ibv_wc){.wr_id = (uint64_t)(rail->run - 1) << 32 | 3,
					      .byte_len = PMVD_GRH + 64};
	rail->rx.next_arrived = 0;
	rail->rx.n_arrived = 1;
	is_int(box_take(1, NULL, NULL), -1);
	boxes_close();
}

TAP_TEST(error__again_and_again)
{
	fake_begin(1);
	must(boxes_open(2, NULL));
	for (int k = 0; k < 100; k++) {
		for (uint32_t i = 0; i < 5; i++)
			is_int(box_post(0, 1, 0, i, 300), 0);
		if (k & 1)
			box_kick(0);
		fake_break_ud(0);
		if (k & 2)
			fake_event(0, IBV_EVENT_QP_FATAL);
		for (int i = 0; i < 2; i++) {
			while (box_take(i, NULL, NULL) >= 0)
				;
			box_kick(i);
			OPS->disarm(boxes[i].dev);
			is_int(OPS->rail_state(boxes[i].dev, 0), PM_RAIL_UP);
		}
		ok(box_passes(0, 1, 0));
		ok(box_passes(1, 0, 0));
	}
	boxes_close();
}

TAP_TEST(error__it_does_not_start_again_at_once)
{
	fake_begin(1);
	must(boxes_open(2, NULL));
	fake_break_ud(0);
	box_take(1, NULL, NULL);
	fake_fail(FAKE_MODIFY_QP, 3, EIO);
	is_int(OPS->rail_state(boxes[1].dev, 0), PM_RAIL_DOWN);
	is_int(OPS->rail_state(boxes[1].dev, 0), PM_RAIL_UP);
	box_take(0, NULL, NULL);
	is_int(OPS->rail_state(boxes[0].dev, 0), PM_RAIL_UP);
	ok(box_passes(0, 1, 0));
	boxes_close();
}

/* As rdma_rxe does while the link is down: the send queue stops. */
TAP_TEST(error__a_packet_that_cannot_be_sent)
{
	fake_begin(1);
	must(boxes_open(2, NULL));
	for (uint32_t i = 0; i < 10; i++)
		is_int(box_post(0, 1, 0, i, 300), 0);
	fake.refuse_ud = 1;
	box_kick(0);
	ok(pmvd_of(boxes[0].dev)->rails[0].is_failed);
	is_int(pmvd_of(boxes[0].dev)->rails[0].lost, 10);
	is_int(OPS->rail_state(boxes[0].dev, 0), PM_RAIL_UP);
	ok(box_passes(0, 1, 0));
	ok(box_passes(1, 0, 0));
	boxes_close();
}

TAP_TEST(error__a_refused_post)
{
	fake_begin(1);
	must(boxes_open(2, NULL));
	for (uint32_t i = 0; i < 10; i++)
		is_int(box_post(0, 1, 0, i, 300), 0);
	fake_fail(FAKE_POST_SEND, 5, EIO);
	box_kick(0);
	ok(pmvd_of(boxes[0].dev)->rails[0].is_failed);
	for (int i = 0; i < 4; i++)
		is_int(box_take(1, NULL, NULL), i);
	is_int(OPS->rail_state(boxes[0].dev, 0), PM_RAIL_UP);
	/* no buffer is gone */
	for (uint32_t i = 0; i < 64; i++)
		is_int(box_post(0, 1, 0, i, 300), 0);
	box_kick(0);
	for (int i = 0; i < 64; i++)
		is_int(box_take(1, NULL, NULL), i);
	boxes_close();
}

TAP_TEST(rail_state__as_the_device_tells)
{
	fake_begin(2);
	must(boxes_open(2, NULL));
	is_int(OPS->rail_state(boxes[0].dev, 0), PM_RAIL_UP);
	fake_event(0, IBV_EVENT_PORT_ERR);
	/* also who sleeps is told */
	ok(box_is_readable(0));
	OPS->disarm(boxes[0].dev);
	is_int(OPS->rail_state(boxes[0].dev, 0), PM_RAIL_DOWN);
	is_int(OPS->rail_state(boxes[0].dev, 1), PM_RAIL_UP);
	fake_event(0, IBV_EVENT_PORT_ACTIVE);
	pmvd_of(boxes[0].dev)->rails[0].events_ns = 0;
	is_int(OPS->rail_state(boxes[0].dev, 0), PM_RAIL_UP);
	ok(box_passes(0, 1, 0));
	/* for good, until it is opened anew */
	fake_event(1, IBV_EVENT_DEVICE_FATAL);
	OPS->disarm(boxes[0].dev);
	is_int(OPS->rail_state(boxes[0].dev, 1), PM_RAIL_DOWN);
	is_int(OPS->rail_state(boxes[0].dev, 1), PM_RAIL_DOWN);
	boxes_close();
}

/* ---- sleeping ---- */

TAP_TEST(arm__an_arrival_wakes)
{
	fake_begin(2);
	must(boxes_open(2, NULL));
	for (int k = 0; k < 10; k++) {
		is_int(OPS->arm(boxes[1].dev), 0);
		ok(!box_is_readable(1));
		is_int(box_post(0, 1, (uint32_t)k & 1, 5, 64), 0);
		box_kick(0);
		ok(box_is_readable(1));
		OPS->disarm(boxes[1].dev);
		ok(!box_is_readable(1));
		/* work is waiting: no sleep, as often as it is asked */
		is_int(OPS->arm(boxes[1].dev), 1);
		is_int(OPS->arm(boxes[1].dev), 1);
		ok(!box_is_readable(1));
		is_int(box_take(1, NULL, NULL), 5);
		is_int(box_take(1, NULL, NULL), -1);
	}
	boxes_close();
}

TAP_TEST(arm__what_came_while_awake_does_not_wake)
{
	fake_begin(1);
	must(boxes_open(2, NULL));
	is_int(OPS->arm(boxes[1].dev), 0);
	OPS->disarm(boxes[1].dev);
	/* makes an event that nobody waits for */
	ok(box_passes(0, 1, 0));
	is_int(OPS->arm(boxes[1].dev), 0);
	ok(!box_is_readable(1));
	OPS->disarm(boxes[1].dev);
	boxes_close();
}

TAP_TEST(arm__starts_a_failed_queue_pair_first)
{
	fake_begin(1);
	must(boxes_open(2, NULL));
	is_int(OPS->arm(boxes[1].dev), 0);
	fake_break_ud(0);
	ok(box_is_readable(1));
	OPS->disarm(boxes[1].dev);
	is_int(box_take(1, NULL, NULL), -1);
	is_int(OPS->arm(boxes[1].dev), 0);
	is_int(pmvd_of(boxes[1].dev)->rails[0].restarts, 1);
	box_take(0, NULL, NULL);
	is_int(OPS->rail_state(boxes[0].dev, 0), PM_RAIL_UP);
	is_int(box_post(0, 1, 0, 5, 64), 0);
	box_kick(0);
	ok(box_is_readable(1));
	OPS->disarm(boxes[1].dev);
	is_int(box_take(1, NULL, NULL), 5);
	boxes_close();
}
