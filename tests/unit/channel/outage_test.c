// SPDX-License-Identifier: BSD-3-Clause
/* outage: silence of one rail or of all, carrier that goes and comes back. */
#include "tests/unit/channel/rig.h"

/* Answers all but @rail, whose packets never arrive; returns when it was taken out, 0 = never. */
static uint64_t silence(struct rig *rig, uint32_t rail, uint64_t ns)
{
	uint64_t start = rig->now;
	uint32_t next[WIRE_RAILS];

	while (rig->now < start + ns) {
		uint64_t bits = 0;
		uint32_t una, seq;

		rig_poll(rig, 100 * US);
		if (rig->peer->out_rails >> rail & 1)
			return rig->now - start;
		if (rig->peer->tx_una == rig->peer->tx_next && rig_send(rig, 50, 1))
			return 0;
		memcpy(next, rig->peer->rail_tx, sizeof(next));
		next[rail] = rig->peer->rail_acked[rail];
		/* received: what is in flight on other rails */
		una = rig->peer->tx_una;
		while (una != rig->peer->tx_next &&
		       (!rig->peer->flow->slots[una & rig->chan->mask].packet ||
			rig->peer->flow->slots[una & rig->chan->mask].rail != rail))
			una++;
		for (seq = una + 1; seq_diff(seq, rig->peer->tx_next) < 0; seq++)
			if (rig->peer->flow->slots[seq & rig->chan->mask].rail != rail)
				bits |= 1ull << (seq - una - 1);
		rig->from.credit = (uint16_t)(rig->peer->tx_mseq + 16);
		rig_ack(rig, una, bits, next);
	}
	return 0;
}

TAP_TEST(outage_timers__silent_rail_goes_out_and_returns)
{
	struct rig *rig = rig_new(2);
	uint32_t i, next[WIRE_RAILS];
	uint64_t took;

	for (i = 0; i < 6; i++)
		is_int(rig_send(rig, 100, 1), 0);
	took = silence(rig, 1, 100 * MS);
	ok(took >= 4 * MS && took <= 20 * MS);
	is_int(rig->rails[1].deaths, 1);
	ok(chan_is_acked(rig->chan, rig->peer) || rig->peer->flow->rail[1].bytes == 0);
	/* only probes go there now */
	rig->n_sent = 0;
	for (i = 0; i < 5; i++)
		rig_poll(rig, 21 * MS);
	for (i = 0; i < rig->n_sent; i++)
		ok(rig->sent[i].rail == 0 || rig->sent[i].header.type == WIRE_PROBE);
	ok(rig->peer->out_rails == 2);
	memcpy(next, rig->peer->rail_tx, sizeof(next));
	rig_ack(rig, rig->peer->tx_next, 0, next);
	is_int(rig->peer->out_rails, 0);
	is_int(rig->rails[1].returns, 1);
	rig_close(rig);
}

/* Packets that arrive by a rail don't show that the other direction of the rail works. */
TAP_TEST(outage_timers__packets_coming_in_do_not_revive)
{
	struct rig *rig = rig_new(2);
	uint32_t i;

	for (i = 0; i < 6; i++)
		is_int(rig_send(rig, 100, 1), 0);
	rig->from.rail = 1;
	ok(silence(rig, 1, 100 * MS) > 0);
	is_int(rig->peer->out_rails, 2);
	rig_close(rig);
}

TAP_TEST(outage_timers__silence_of_all_kills_none)
{
	struct rig *rig = rig_new(3);
	uint32_t i;

	for (i = 0; i < 6; i++)
		is_int(rig_send(rig, 100, 1), 0);
	for (i = 0; i < 200; i++)
		rig_poll(rig, 5 * MS);
	is_int(rig->peer->out_rails, 0);
	is_int(rig->n_dead, 0);
	rig_close(rig);
}

TAP_TEST(outage_carrier__packets_leave_by_the_others_at_once)
{
	struct rig *rig = rig_new(2);
	uint32_t i, on_one;

	for (i = 0; i < 6; i++)
		is_int(rig_send(rig, 100, 1), 0);
	on_one = rig->peer->rail_tx[1];
	ok(on_one > 0);
	rig->n_sent = 0;
	chan_rail(rig->chan, 1, false, rig->now);
	is_int(rig_poll(rig, 0), on_one);
	for (i = 0; i < rig->n_sent; i++)
		is_int(rig->sent[i].rail, 0);
	chan_rail(rig->chan, 1, false, rig->now);
	is_int(rig->rails[1].deaths, 1);
	chan_rail(rig->chan, 1, true, rig->now);
	is_int(rig->rails[1].returns, 1);
	is_int(rig_send(rig, 100, 1), 0);
	is_int(rig_last(rig)->rail, 1);
	rig_close(rig);
}

TAP_TEST(outage_carrier__none_left_queues_until_one_is_back)
{
	struct rig *rig = rig_new(2);

	chan_rail(rig->chan, 0, false, rig->now);
	chan_rail(rig->chan, 1, false, rig->now);
	is_int(rig_send(rig, 100, 1), 0);
	rig_poll(rig, 50 * MS);
	is_int(rig->n_sent, 0);
	chan_rail(rig->chan, 1, true, rig->now);
	ok(rig_poll(rig, 0) > 0);
	is_int(rig->sent[0].rail, 1);
	rig_close(rig);
}
