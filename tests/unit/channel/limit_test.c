// SPDX-License-Identifier: BSD-3-Clause
/* limit: isolated loss changes nothing, heavy loss and timeouts halve, acks bring it back. */
#include "pmcore/channel/limit.h"
#include "pmcore/channel/peer.h"
#include "tests/unit/channel/rig.h"

static struct rig *start(uint32_t limit)
{
	struct rig *rig = rig_init();

	rig->config.window = 256;
	rig_open(rig);
	ok(peer_attach(rig->chan, rig->peer) != NULL);
	rig->peer->limit = (uint16_t)limit;
	rig->peer->flow->calm = limit;
	return rig;
}

TAP_TEST(limit_init__known_peers_keep_theirs)
{
	struct rig *rig = start(100);

	ok(rig->peer->flow->range <= 256);
	peer_detach(rig->chan, rig->peer);
	ok(peer_attach(rig->chan, rig->peer) != NULL);
	is_int(rig->peer->limit, 100);
	rig_close(rig);
}

TAP_TEST(limit_init__no_more_than_an_ack_can_tell)
{
	struct rig *rig = rig_init();
	struct chan_peer *peer;

	rig->config.window = 4096;
	rig_open(rig);
	is_int(chan_peer_add(rig->chan, 9, NULL, 1, 128, &peer), 0);
	ok(peer_attach(rig->chan, peer) != NULL);
	is_int(peer->flow->range, 64 * 5);
	rig_close(rig);
}

TAP_TEST(limit_lost__eight_percent_at_random_is_harmless)
{
	struct rig *rig = start(256);
	uint64_t random = 42;
	uint32_t i;
	uint64_t sum = 0;

	for (i = 0; i < 100000; i++) {
		if (tap_rand(&random) % 100 < 8)
			limit_lost(rig->peer);
		else
			limit_acked(rig->peer, 1);
		sum += rig->peer->limit;
	}
	ok(sum / 100000 > 200);
	rig_close(rig);
}

TAP_TEST(limit_lost__heavy_loss_halves)
{
	struct rig *rig = start(128);
	uint32_t i;

	for (i = 0; i < 3; i++)
		limit_lost(rig->peer);
	is_int(rig->peer->limit, 128);
	limit_lost(rig->peer);
	is_int(rig->peer->limit, 64);
	for (i = 0; i < 1000; i++)
		limit_lost(rig->peer);
	is_int(rig->peer->limit, 1);
	for (i = 0; i < 10000; i++)
		limit_acked(rig->peer, 1);
	is_int(rig->peer->limit, rig->peer->flow->range);
	rig_close(rig);
}

TAP_TEST(limit_may_repeat__as_many_as_may_be_in_flight)
{
	struct rig *rig = start(4);
	struct chan_flow *flow = rig->peer->flow;

	flow->in_flight = 10;
	flow->n_lost = 7;
	ok(limit_may_repeat(rig->peer));
	flow->n_lost = 6;
	ok(!limit_may_repeat(rig->peer));
	flow->in_flight = 0;
	flow->n_lost = 0;
	rig_close(rig);
}

TAP_TEST(limit_timeout__only_when_they_repeat)
{
	struct rig *rig = start(128);

	rig->peer->flow->backoff = 1;
	limit_timeout(rig->peer);
	is_int(rig->peer->limit, 128);
	rig->peer->flow->backoff = 2;
	limit_timeout(rig->peer);
	is_int(rig->peer->limit, 64);
	rig_close(rig);
}

TAP_TEST(limit_timeout__comes_back_soon_from_a_row_of_them)
{
	struct rig *rig = start(128);
	uint32_t i;

	for (i = 2; i < 12; i++) {
		rig->peer->flow->backoff = i;
		limit_timeout(rig->peer);
	}
	is_int(rig->peer->limit, 1);
	for (i = 0; i < 64; i++)
		limit_acked(rig->peer, 1);
	ok(rig->peer->limit >= 64);
	ok(rig->peer->limit < 128);
	/* Nor is one that was small before left with nothing. */
	rig->peer->limit = 4;
	rig->peer->flow->calm = 4;
	rig->peer->flow->backoff = 2;
	limit_timeout(rig->peer);
	is_int(rig->peer->limit, 2);
	for (i = 0; i < 8; i++)
		limit_acked(rig->peer, 1);
	is_int(rig->peer->limit, 8);
	rig_close(rig);
}

/* Timeouts at 2 and 4 ms and so on, while nothing comes. */
static void wait_in_vain(struct rig *rig)
{
	uint32_t i;

	for (i = 0; rig->peer->flow->backoff < 4 && i < 1000; i++)
		rig_poll(rig, MS);
	is_int(rig->peer->flow->backoff, 4);
}

static void send_eight(struct rig *rig)
{
	uint32_t i;

	for (i = 0; i < 8; i++)
		is_int(rig_send(rig, 8, 1), 0);
}

TAP_TEST(limit_progress__timeouts_too_short_are_undone)
{
	struct rig *rig = start(64);

	send_eight(rig);
	wait_in_vain(rig);
	is_int(rig->peer->limit, 16);
	rig_ack(rig, 8, 0, NULL);
	is_int(rig->peer->limit, 64);
	is_int(rig->peer->flow->calm, 64);
	rig_close(rig);
}

TAP_TEST(limit_progress__loss_is_not_undone)
{
	struct rig *rig = start(64);

	send_eight(rig);
	wait_in_vain(rig);
	/* 0 to 6 are lost, all but 7 have to go again */
	rig_ack(rig, 0, 1 << 6, NULL);
	ok(rig->peer->limit <= 16);
	rig_poll(rig, 0);
	rig_ack(rig, 8, 0, NULL);
	ok(rig->peer->limit < 32);
	rig_close(rig);
}

/* Which of the two was answered can't be told: it may have been the second. */
TAP_TEST(limit_progress__what_went_again_proves_nothing)
{
	struct rig *rig = start(64);

	is_int(rig_send(rig, 8, 1), 0);
	wait_in_vain(rig);
	rig_ack(rig, 1, 0, NULL);
	ok(rig->peer->limit < 32);
	send_eight(rig);
	rig_ack(rig, 9, 0, NULL);
	ok(rig->peer->limit < 32);
	rig_close(rig);
}

TAP_TEST(limit_is_open__edges)
{
	struct rig *rig = start(10);
	struct chan_flow *flow = rig->peer->flow;

	flow->in_flight = 9;
	ok(limit_is_open(rig->peer, 0));
	ok(!limit_is_open(rig->peer, 1));
	flow->in_flight = 10;
	ok(!limit_is_open(rig->peer, 0));
	flow->in_flight = 0;
	rig->peer->tx_next = flow->range - 1;
	ok(limit_is_open(rig->peer, 0));
	rig->peer->tx_next = flow->range;
	ok(!limit_is_open(rig->peer, 0));
	rig->peer->tx_next = 0;
	rig_close(rig);
}

TAP_TEST(limit_is_open__half_is_kept_while_packets_get_lost)
{
	struct rig *rig = start(256);
	struct chan_flow *flow = rig->peer->flow;

	flow->in_flight = flow->range / 2;
	ok(limit_is_open(rig->peer, 0));
	limit_lost(rig->peer);
	ok(!limit_is_open(rig->peer, 0));
	limit_acked(rig->peer, 8 * 256);
	ok(limit_is_open(rig->peer, 0));
	flow->in_flight = 0;
	rig_close(rig);
}

/*
 * More than several rails take at once would only wait; a window that is set larger is taken as it
 * is.
 */
TAP_TEST(limit__less_with_several_rails)
{
	static const struct {
		uint32_t rails, window, range;
	} cases[] = {{1, 1024, 1024}, {2, 1024, 512}, {2, 256, 256}, {2, 2048, 2048}};
	uint32_t i;

	for (i = 0; i < 4; i++) {
		struct rig *rig = rig_init();
		uint32_t most = 64 * ((RIG_MTU - (uint32_t)sizeof(struct wire_header) -
				       (uint32_t)sizeof(struct wire_ack)) /
				      8);

		rig->config.n_rails = cases[i].rails;
		rig->config.window = cases[i].window;
		rig_open(rig);
		ok(peer_flow(rig->chan, rig->peer) != NULL);
		is_int(rig->peer->flow->range, cases[i].range < most ? cases[i].range : most);
		rig_close(rig);
	}
}
