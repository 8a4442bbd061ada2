// SPDX-License-Identifier: BSD-3-Clause
/* report: judging loss by rails, stale and absurd acks. */
#include "pmcore/channel/emit.h"
#include "tests/unit/channel/rig.h"

static uint32_t outstanding(const struct rig *rig)
{
	return rig->peer->tx_next - rig->peer->tx_una;
}

static void send_many(struct rig *rig, uint32_t n)
{
	while (n--)
		is_int(rig_send(rig, 16, 1), 0);
}

TAP_TEST(report_input__cumulative_frees)
{
	struct rig *rig = rig_new(1);

	send_many(rig, 5);
	is_int(rig->n_lent, 5);
	rig_ack(rig, 3, 0, (uint32_t[WIRE_RAILS]){3});
	is_int(rig->n_lent, 2);
	ok(!chan_is_acked(rig->chan, rig->peer));
	rig_ack(rig, 5, 0, NULL);
	is_int(rig->n_lent, 0);
	ok(chan_is_acked(rig->chan, rig->peer));
	ok(chan_is_acked(rig->chan, NULL));
	is_int(rig->stats.acks_rx, 2);
	rig_close(rig);
}

/* The window begins anew, as if each had been acked by itself. */
TAP_TEST(report_input__all_at_once)
{
	struct rig *rig = rig_init();
	struct chan_flow *flow;
	uint32_t round, i;

	rig->config.window = rig->config.credit = 64;
	rig_open(rig);
	rig->peer->limit = 64;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < CHAN_RUN + 3; i++)
			is_int(rig_send(rig, 400, (uint8_t)i), 0);
		flow = rig->peer->flow;
		is_int(flow->in_flight, CHAN_RUN + 3);
		rig->now += 7 * US;
		rig->from.credit = (uint16_t)(rig->peer->tx_mseq + 64);
		rig_ack(rig, rig->peer->tx_next, 0, NULL);
		is_int(flow->in_flight, 0);
		is_int(flow->msgs_in_flight, 0);
		is_int(flow->n_acked, (round + 1) * (CHAN_RUN + 3));
		is_int(flow->rail[0].bytes, 0);
		is_int(flow->rail[0].sent.head, CHAN_NIL);
		is_int(flow->rail[0].sent.tail, CHAN_NIL);
		is_int(flow->timer_ns, 0);
		is_int(rig->n_lent, 0);
		is_int(rig->peer->srtt_ns, 7 * US);
		ok(chan_is_acked(rig->chan, rig->peer) && chan_is_acked(rig->chan, NULL));
		rig->n_sent = 0;
	}
	rig_close(rig);
}

/* Of a repetition nobody knows which transmission was acked: no sample. */
TAP_TEST(report_input__all_at_once_after_a_loss)
{
	struct rig *rig = rig_new(1);
	uint64_t before;
	uint32_t i;

	for (i = 0; i < 4; i++)
		is_int(rig_send(rig, 400, (uint8_t)i), 0);
	rig_ack(rig, 0, 7, (uint32_t[WIRE_RAILS]){4}); /* all but the first are there */
	rig_poll(rig, 0);
	is_int(rig_last(rig)->header.seq, 0);
	before = rig->peer->srtt_ns;
	rig->now += 900 * US;
	rig_ack(rig, 4, 0, (uint32_t[WIRE_RAILS]){5});
	is_int(rig->peer->flow->in_flight, 0);
	is_int(rig->peer->srtt_ns, before);
	is_int(rig->n_lent, 0);
	rig_close(rig);
}

TAP_TEST(report_input__stale_changes_nothing)
{
	struct rig *rig = rig_new(1);

	send_many(rig, 5);
	rig_ack(rig, 4, 0, (uint32_t[WIRE_RAILS]){4});
	rig_ack(rig, 2, 1, (uint32_t[WIRE_RAILS]){5});
	is_int(rig->peer->tx_una, 4);
	is_int(outstanding(rig), 1);
	is_int(rig_poll(rig, 0), 0);
	rig_close(rig);
}

TAP_TEST(report_input__of_packets_never_sent)
{
	struct rig *rig = rig_new(1);

	send_many(rig, 2);
	rig_ack(rig, 3, 0, NULL);
	is_int(rig->rails[0].drops[DROP_WINDOW], 1);
	is_int(outstanding(rig), 2);
	rig_ack(rig, 0, UINT64_MAX, (uint32_t[WIRE_RAILS]){2});
	is_int(rig->peer->flow->in_flight, 1); /* 1 is shown, 0 is lost, the rest never was */
	rig_ack(rig, 0, 1, (uint32_t[WIRE_RAILS]){4000});
	is_int(rig->peer->rail_acked[0], 2);
	rig_poll(rig, 0);
	rig_close(rig);
}

TAP_TEST(report_input__contradiction_does_not_break_the_window)
{
	struct rig *rig = rig_new(1);

	send_many(rig, 4);
	rig_ack(rig, 0, 1, NULL); /* 1 is shown */
	rig_ack(rig, 1, 0, NULL); /* and not any more */
	is_int(rig->peer->tx_una, 2);
	rig_poll(rig, 100 * MS);
	rig_poll(rig, 100 * MS);
	rig_close(rig);
}

/* A packet is lost exactly when its rail has moved on and the report does not show it. */
TAP_TEST(report_input__each_pattern_of_eight_packets_on_one_rail)
{
	uint32_t pattern, i;

	for (pattern = 0; pattern < 256; pattern++) {
		struct rig *rig = rig_new(1);
		uint32_t first_hole = 0, last = 0, lost = 0;

		send_many(rig, 8);
		while (pattern >> first_hole & 1)
			first_hole++;
		for (i = 0; i < 8; i++)
			if (pattern >> i & 1)
				last = i + 1;
		for (i = 0; i < last; i++)
			lost += !(pattern >> i & 1);
		rig_ack(rig, first_hole, pattern >> first_hole >> 1, (uint32_t[WIRE_RAILS]){last});
		is_int(rig->n_lent, 8 - (uint32_t)__builtin_popcount(pattern));
		rig->n_sent = 0;
		rig->peer->limit = 16; /* so much loss lowers it */
		is_int(rig_poll(rig, 0), lost);
		for (i = 0; i < rig->n_sent; i++)
			ok(!(pattern >> rig->sent[i].header.seq & 1));
		is_int(rig->rails[0].retransmits, lost);
		rig_close(rig);
	}
}

TAP_TEST(report_input__reordering_between_rails_is_no_loss)
{
	struct rig *rig = rig_new(2);
	uint32_t next[WIRE_RAILS] = {0};

	send_many(rig, 6);
	/* all of rail 1 is there, nothing of rail 0 */
	ok(rig->sent[0].rail != rig->sent[1].rail);
	next[rig->sent[1].rail] = rig->peer->rail_tx[rig->sent[1].rail];
	rig_ack(rig, 0, 0x15, next);
	is_int(rig->peer->flow->in_flight, 3);
	is_int(rig_poll(rig, 0), 0);
	is_int(rig->rails[0].retransmits + rig->rails[1].retransmits, 0);
	rig_close(rig);
}

TAP_TEST(report_input__piggyback_judges_only_what_it_covers)
{
	struct rig *rig = rig_init();
	uint32_t i;

	rig->config.window = 64;
	rig->config.credit = 64;
	rig_open(rig);
	rig->peer->limit = 64;
	send_many(rig, 40);
	/* nothing but the rail's last is shown: it lies beyond the 33 that a header tells of */
	rig->from.rail_ack = 40;
	rig_datagram(rig, 0, 0);
	rig->peer->limit = 64; /* so much loss lowers it */
	is_int(rig_poll(rig, 0), 33);
	for (i = 40; i < rig->n_sent; i++)
		ok(rig->sent[i].header.seq < 33);
	is_int(rig_take(rig), 0);
	rig_close(rig);
}

TAP_TEST(report_input__lost_but_busy_waits_for_the_device)
{
	struct rig *rig = rig_new(1);

	rig->is_slow = true;
	send_many(rig, 2);
	rig_ack(rig, 0, 1, NULL);
	is_int(rig_poll(rig, 0), 0);
	is_int(rig->peer->flow->lost.head, 0);
	rig_complete(rig);
	is_int(rig_poll(rig, 0), 1);
	is_int(rig_last(rig)->header.seq, 0);
	is_int(rig_last(rig)->header.rail_seq, 2);
	rig_complete(rig);
	rig_close(rig);
}
