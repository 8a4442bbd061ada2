// SPDX-License-Identifier: BSD-3-Clause
/* rtt: the estimate by numbers, the timer by setting the clock. */
#include "pmcore/channel/rtt.h"
#include "tests/unit/channel/rig.h"

TAP_TEST(rtt_sample__first_sets_both)
{
	struct chan_peer peer = {0};

	rtt_sample(&peer, 100 * US);
	is_int(peer.srtt_ns, 100 * US);
	is_int(peer.rttvar_ns, 50 * US);
}

TAP_TEST(rtt_sample__zero_counts_as_a_sample)
{
	struct chan_peer peer = {0};

	rtt_sample(&peer, 0);
	ok(peer.srtt_ns > 0);
}

TAP_TEST(rtt_sample__absurd_is_capped)
{
	struct chan_peer peer = {0};

	rtt_sample(&peer, 1ull << 60);
	is_int(peer.srtt_ns, 4000000000u);
	rtt_sample(&peer, 1);
	ok(peer.srtt_ns < 4000000000u);
}

TAP_TEST(rtt_sample__converges)
{
	struct chan_peer peer = {0};
	int i;

	rtt_sample(&peer, 10 * MS);
	for (i = 0; i < 100; i++)
		rtt_sample(&peer, 50 * US);
	ok(peer.srtt_ns > 49 * US && peer.srtt_ns < 52 * US);
	ok(peer.rttvar_ns < 2 * US);
}

TAP_TEST(rtt_timeout__within_its_bounds)
{
	struct rig *rig = rig_new(1);

	is_int(rtt_timeout(rig->chan, rig->peer), 8 * MS);
	rig->peer->srtt_ns = 10;
	is_int(rtt_timeout(rig->chan, rig->peer), 2 * MS);
	rig->peer->srtt_ns = 3 * MS;
	rig->peer->rttvar_ns = MS;
	is_int(rtt_timeout(rig->chan, rig->peer), 7 * MS);
	rig->peer->srtt_ns = 4000000000u;
	is_int(rtt_timeout(rig->chan, rig->peer), SEC);
	rig_close(rig);
}

TAP_TEST(rtt_arm__keeps_a_running_timer)
{
	struct rig *rig = rig_new(1);
	uint64_t timer;

	is_int(rig_send(rig, 8, 1), 0);
	timer = rig->peer->flow->timer_ns;
	ok(timer >= rig->now + 2 * MS && timer < rig->now + 5 * MS);
	rig->now += MS / 2;
	is_int(rig_send(rig, 8, 1), 0);
	is_int(rig->peer->flow->timer_ns, timer);
	is_int(chan_deadline(rig->chan), timer);
	rig_close(rig);
}

TAP_TEST(rtt_progress__stops_when_all_is_acked)
{
	struct rig *rig = rig_new(1);

	is_int(rig_send(rig, 8, 1), 0);
	rig->now += 100 * US;
	rig_ack(rig, 1, 0, NULL);
	is_int(rig->peer->flow->timer_ns, 0);
	is_int(rig->peer->srtt_ns, 100 * US);
	rig_close(rig);
}

TAP_TEST(rtt_progress__starts_anew_while_more_is_out)
{
	struct rig *rig = rig_new(1);

	is_int(rig_send(rig, 8, 1), 0);
	is_int(rig_send(rig, 8, 1), 0);
	rig->now += 100 * US;
	rig_ack(rig, 1, 0, (uint32_t[WIRE_RAILS]){1});
	/* two round trips and two ack delays: less than the timeout of 2 ms */
	is_int(rig->peer->flow->timer_ns, rig->now + 600 * US);
	rig_close(rig);
}

TAP_TEST(rtt_backoff__doubles_every_second_time_up_to_the_limit)
{
	struct rig *rig = rig_new(1);
	uint64_t wait;
	int i;

	is_int(rig_send(rig, 8, 1), 0);
	wait = rig->peer->flow->timer_ns - rig->now;
	for (i = 0; i < 20; i++) {
		struct chan_flow *flow = rig->peer->flow;

		is_int(flow->timer_ns, rig->now + wait);
		rig_poll(rig, wait);
		wait = min_u64(8 * MS << i / 2, SEC);
		is_int(flow->backoff, i + 1);
	}
	rig_close(rig);
}

/* Each answer comes after we have asked for it: the round trip is learnt all the same. */
TAP_TEST(rtt_sample__of_a_path_slower_than_our_timeouts)
{
	struct rig *rig = rig_new(1);
	uint32_t before;
	bool has_asked;
	int i, polls;

	rig->from.credit = 1000;
	is_int(rig_send(rig, 8, 1), 0);
	rig->now += 100 * US;
	rig_ack(rig, 1, 0, NULL);
	for (i = 0; i < 100; i++) {
		before = rig->peer->srtt_ns;
		is_int(rig_send(rig, 8, 1), 0);
		is_int(rig_send(rig, 8, 1), 0);
		for (polls = 0; polls < 20; polls++)
			rig_poll(rig, MS);
		ok(i > 20 || rig->peer->flow->backoff > 0);
		has_asked = rig->peer->flow->backoff > 0;
		rig_ack(rig, rig->peer->tx_next, 0, NULL);
		/* One ack that was lost shall not count for more. */
		ok(!has_asked || rig->peer->srtt_ns <= before + before / 8 + 1);
	}
	okf(rig->peer->srtt_ns > 10 * MS, "%u", rig->peer->srtt_ns);
	is_int(rig_send(rig, 8, 1), 0);
	for (polls = 0; polls < 20; polls++)
		rig_poll(rig, MS);
	ok(rig->peer->flow->backoff <= 1);
	rig_ack(rig, rig->peer->tx_next, 0, NULL);
	rig_close(rig);
}
