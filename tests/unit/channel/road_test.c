// SPDX-License-Identifier: BSD-3-Clause
/*
 * road: what goes by single and by bulk rails, the proof that one works, trials of the other kind.
 */
#include <stdlib.h>

#include "pmcore/channel/road.h"
#include "tests/unit/channel/rig.h"

#define SINGLE 0
#define BULK 1
#define LONG (RIG_MTU - WIRE_OVERHEAD) /* bytes of a message that fills a packet */

static struct rig *open_rig(bool is_forced)
{
	struct rig *rig = rig_init();

	rig->config.n_rails = 2;
	rig->config.bulk_rails = 1u << BULK;
	rig->config.is_bulk_forced = is_forced;
	rig->config.window = 64;
	rig->config.credit = 64;
	rig_open(rig);
	return rig;
}

/* All that was sent has arrived. */
static void ack_all(struct rig *rig)
{
	rig->from.credit = (uint16_t)(rig->peer->tx_mseq + rig->config.credit);
	rig_ack(rig, rig->peer->tx_next, 0, NULL);
	rig_poll(rig, 0);
}

/*
 * As a message of @n packets is sent: held until the last, then posted. Returns where the first is.
 */
static uint32_t send_long(struct rig *rig, uint32_t n)
{
	uint32_t at = rig->n_sent, i;

	chan_cork(rig->chan, true);
	for (i = 0; i < n; i++)
		is_int(rig_send(rig, LONG, (uint8_t)i), 0);
	chan_cork(rig->chan, false);
	rig_poll(rig, 0);
	return at;
}

/* Data packets posted from @at on that went by @rail. */
static uint32_t count(const struct rig *rig, uint32_t at, uint32_t rail)
{
	uint32_t n = 0;

	for (; at < rig->n_sent; at++)
		n += rig->sent[at].header.type == WIRE_DATA && rig->sent[at].rail == rail;
	return n;
}

static void prove(struct rig *rig)
{
	send_long(rig, CHAN_BULK);
	ack_all(rig);
}

TAP_TEST(chan_create__some_rail_is_for_single_packets)
{
	struct rig *rig = rig_init();

	rig->config.n_rails = 2;
	rig->config.bulk_rails = 3;
	is_int(rig_create(rig), -EINVAL);
	rig->config.bulk_rails = 4;
	is_int(rig_create(rig), -EINVAL);
	rig->config.bulk_rails = 2;
	is_int(rig_create(rig), 0);
	is_int(chan_peer_add(rig->chan, RIG_PEER, rig, 3, RIG_MTU, &rig->peer), 0);
	rig_close(rig);
}

TAP_TEST(road__unproven_rails_are_asked_and_not_used)
{
	struct rig *rig = open_rig(false);
	uint32_t at = send_long(rig, CHAN_BULK), i, asked = 0;

	is_int(count(rig, at, SINGLE), CHAN_BULK);
	for (i = at; i < rig->n_sent; i++)
		if (rig->sent[i].rail == BULK) {
			is_int(rig->sent[i].header.type, WIRE_PROBE);
			ok(rig->sent[i].header.flags & WIRE_F_ACK_NOW);
			asked++;
		}
	is_int(asked, 1);
	/* once in a while, not for each message */
	at = send_long(rig, CHAN_BULK);
	for (i = at; i < rig->n_sent; i++)
		is_int(rig->sent[i].rail, SINGLE);
	ack_all(rig);
	rig_close(rig);
}

TAP_TEST(road__long_messages_take_a_proven_rail)
{
	struct rig *rig = open_rig(false);
	uint32_t at;

	prove(rig);
	at = send_long(rig, 6);
	is_int(count(rig, at, BULK), 6);
	ack_all(rig);
	/* fewer are no long data */
	at = send_long(rig, CHAN_BULK - 1);
	is_int(count(rig, at, SINGLE), CHAN_BULK - 1);
	ack_all(rig);
	at = rig->n_sent;
	is_int(rig_send(rig, LONG, 1), 0);
	is_int(count(rig, at, SINGLE), 1);
	ack_all(rig);
	rig_close(rig);
}

TAP_TEST(road__the_end_of_a_burst_goes_the_way_of_its_beginning)
{
	struct rig *rig = open_rig(false);
	uint32_t at, i;

	prove(rig);
	for (i = 0; i < 40; i++) { /* the limit grows */
		send_long(rig, 4);
		ack_all(rig);
	}
	at = send_long(rig, 17); /* one more than leaves by itself */
	is_int(count(rig, at, BULK), 17);
	ack_all(rig);
	rig_close(rig);
}

TAP_TEST(road__acks_and_probes_take_single_rails)
{
	struct rig *rig = open_rig(false);
	uint32_t i, at;

	prove(rig);
	at = rig->n_sent;
	for (i = 0; i < 40; i++) {
		rig_datagram(rig, i, i);
		rig->from.flags = WIRE_F_ACK_NOW;
		rig_poll(rig, MS);
	}
	ok(rig->n_sent > at + 30);
	for (i = at; i < rig->n_sent; i++)
		is_int(rig->sent[i].rail, SINGLE);
	at = rig->n_sent;
	is_int(chan_probe(rig->chan, rig->peer, rig->now), 0);
	is_int(rig->n_sent, at + 1);
	is_int(rig_last(rig)->rail, SINGLE);
	rig_close(rig);
}

/*
 * Our acks may all get lost by single rails: those of a peer that shows it go by the others as
 * well.
 */
TAP_TEST(road__who_does_not_hear_is_told_by_bulk_rails_too)
{
	struct rig *rig = open_rig(false);
	uint32_t at, i, by_bulk = 0;

	prove(rig);
	rig_datagram(rig, 0, 0);
	at = rig->n_sent;
	for (i = 0; i < 4; i++) { /* a packet that it sends again */
		rig->from.flags = WIRE_F_ACK_NOW;
		rig_datagram(rig, 0, 0);
		rig_poll(rig, 0);
	}
	for (i = at; i < rig->n_sent; i++)
		by_bulk += rig->sent[i].rail == BULK && rig->sent[i].header.type == WIRE_ACK;
	is_int(by_bulk, 2);
	at = rig->n_sent;
	for (i = 0; i < 4; i++) { /* questions by a bulk rail */
		rig->from.rail = BULK;
		rig->from.flags = WIRE_F_ACK_NOW;
		rig_from(rig, WIRE_PROBE, NULL, 0);
		rig_poll(rig, 0);
	}
	for (i = at; i < rig->n_sent; i++)
		by_bulk += rig->sent[i].rail == BULK && rig->sent[i].header.type == WIRE_ACK;
	is_int(by_bulk, 4);
	ack_all(rig);
	rig_close(rig);
}

TAP_TEST(road__the_other_kind_stands_in)
{
	struct rig *rig = open_rig(false);
	uint32_t at;

	prove(rig);
	chan_rail(rig->chan, SINGLE, false, rig->now);
	at = rig->n_sent;
	is_int(rig_send(rig, 8, 1), 0);
	is_int(count(rig, at, BULK), 1);
	ack_all(rig);
	chan_rail(rig->chan, SINGLE, true, rig->now);
	chan_rail(rig->chan, BULK, false, rig->now);
	at = send_long(rig, 5);
	is_int(count(rig, at, SINGLE), 5);
	ack_all(rig);
	rig_close(rig);
}

/* A network that knows of the peer's end tells it of packets by single rails. */
TAP_TEST(road__timeouts_ask_by_single_rails_too)
{
	struct rig *rig = open_rig(false);
	uint32_t at, i, by_single = 0;

	prove(rig);
	send_long(rig, 5);
	at = rig->n_sent;
	rig_poll(rig, 500 * MS);
	for (i = at; i < rig->n_sent; i++)
		by_single += rig->sent[i].rail == SINGLE && rig->sent[i].header.type == WIRE_PROBE;
	ok(by_single >= 1);
	ack_all(rig);
	rig_close(rig);
}

TAP_TEST(road__what_got_lost_goes_by_single_rails)
{
	struct rig *rig = open_rig(false);
	uint32_t at, next[WIRE_RAILS];

	prove(rig);
	send_long(rig, 6);
	/* the first two of them did not come */
	memcpy(next, rig->peer->rail_tx, sizeof(next));
	rig_ack(rig, rig->peer->tx_una, 0x1e, next);
	at = rig->n_sent;
	rig_poll(rig, 0);
	is_int(count(rig, at, SINGLE), 2);
	is_int(count(rig, at, BULK), 0);
	ack_all(rig);
	rig_close(rig);
}

/* A packet sent now is acked at that cost. */
static void ack_at(struct rig *rig, uint32_t rail, uint32_t cost)
{
	uint64_t sent_ns = rig->chan->now;

	rig->chan->now += cost;
	road_acked(rig->chan, rig->peer, rail, sent_ns, 1000);
}

/* Long data of @n packets, each acked at the cost of its rail. */
static void carry(struct rig *rig, uint32_t n, uint32_t cost_single, uint32_t cost_bulk,
		  uint32_t counts[2])
{
	struct chan_peer *peer = rig->peer;

	for (; n; n--) {
		uint8_t rails = road_bulk(rig->chan, peer, 3);
		uint32_t rail = rails == 1u << BULK ? BULK : SINGLE;

		road_sent(rig->chan, peer, 1);
		ack_at(rig, rail, rail == BULK ? cost_bulk : cost_single);
		if (counts)
			counts[rail]++;
	}
}

TAP_TEST(road__stays_where_it_is_cheaper)
{
	struct rig *rig = open_rig(false);
	uint32_t n[2] = {0};

	prove(rig);
	carry(rig, 1000000, 1400, 400, n);
	ok(n[SINGLE] > 64 && n[SINGLE] < 4000);
	ok(!rig->peer->prefers_single);
	rig_close(rig);
}

TAP_TEST(road__changes_to_what_is_cheaper_and_back)
{
	struct rig *rig = open_rig(false);
	uint32_t n[2] = {0};

	prove(rig);
	carry(rig, 5000, 400, 1400, n);
	ok(rig->peer->prefers_single);
	carry(rig, 20000, 400, 1400, NULL);
	ok(rig->peer->prefers_single);
	/* it got worse: seen before the next trial would have been due */
	carry(rig, 6000, 4000, 1400, NULL);
	ok(!rig->peer->prefers_single);
	rig_close(rig);
}

TAP_TEST(road__trials_are_rare_where_one_kind_is_clearly_worse)
{
	struct rig *rig = open_rig(false), *other = open_rig(false);
	uint32_t clear[2] = {0}, near[2] = {0};

	prove(rig);
	prove(other);
	carry(rig, 400000, 1400, 400, clear);
	carry(other, 400000, 600, 400, near);
	ok(clear[SINGLE] >= 64);
	okf(2 * clear[SINGLE] <= near[SINGLE], "%u packets, and %u where it is no clear case",
	    clear[SINGLE], near[SINGLE]);
	rig_close(rig);
	rig_close(other);
}

/*
 * Both kinds cost three times as much for a while, again and again, as when the peer has much else
 * to do.
 */
TAP_TEST(road__costs_that_vary_do_not_lead_to_trial_after_trial)
{
	struct rig *rig = open_rig(false);
	uint32_t n[2] = {0}, i;

	prove(rig);
	for (i = 0; i < 100; i++) {
		carry(rig, 5000, 1400, 400, n);
		carry(rig, 5000, 4200, 1200, n);
	}
	okf(n[SINGLE] < 2000, "%u packets took the slower kind", n[SINGLE]);
	ok(!rig->peer->prefers_single);
	rig_close(rig);
}

TAP_TEST(road__noise_changes_nothing)
{
	struct rig *rig = open_rig(false);

	prove(rig);
	carry(rig, 100000, 1000, 1050, NULL);
	ok(!rig->peer->prefers_single);
	rig_close(rig);
}

/*
 * Long messages of 24 packets to a peer that looks after up to @most_ns for each of them, and then
 * acks all.
 */
static void carry_to_busy(struct rig *rig, uint32_t n_messages, uint32_t most_ns,
			  unsigned int *seed)
{
	for (; n_messages; n_messages--) {
		uint32_t wait_ns = (uint32_t)rand_r(seed) % most_ns;

		carry(rig, 24, 1400 + wait_ns, 400 + wait_ns, NULL);
	}
}

/* How many of 200 jobs end with the kind that costs more. */
static uint32_t misled(uint32_t most_ns)
{
	uint32_t n = 0;

	for (unsigned int job = 0; job < 200; job++) {
		struct rig *rig = open_rig(false);
		unsigned int seed = job;

		prove(rig);
		carry_to_busy(rig, 10000, most_ns, &seed);
		n += rig->peer->prefers_single;
		rig_close(rig);
	}
	return n;
}

/*
 * The cost of a packet is the time that the peer computes, and by accident either kind looks
 * cheaper.
 */
TAP_TEST(road__computations_of_the_peer_decide_nothing)
{
	static const uint32_t most_ns[] = {1000, 4000, 10000, 40000, 400000};

	for (size_t i = 0; i < sizeof(most_ns) / sizeof(most_ns[0]); i++) {
		uint32_t n = misled(most_ns[i]);

		okf(n <= 2, "%u of 200 jobs were misled, at up to %u ns a packet", n, most_ns[i]);
	}
}

/*
 * Even there: a kind that is clearly better, as where the other one is dropped by a firewall now
 * and then.
 */
TAP_TEST(road__a_much_cheaper_kind_is_taken_on_a_slow_wire)
{
	struct rig *rig = open_rig(false);

	prove(rig);
	carry(rig, 20000, 8000, 40000, NULL);
	ok(rig->peer->prefers_single);
	rig_close(rig);
}

/*
 * On a link of 1 Gbit/s both kinds cost the same, and a trial shows more for the kind that is not
 * in use.
 */
TAP_TEST(road__frames_where_the_wire_limits_both)
{
	struct rig *rig = open_rig(false);
	uint32_t n[2] = {0};

	prove(rig);
	rig->peer->flow->in_flight = 200;
	carry(rig, 20000, 11000, 8000, NULL);
	ok(rig->peer->prefers_single);
	carry(rig, 400000, 8000, 11000, n);
	ok(rig->peer->prefers_single);
	okf(n[BULK] < 4000, "%u packets took the other kind", n[BULK]);
	rig->peer->flow->in_flight = 0;
	rig_close(rig);
}

/* It takes in what has come only between its computations. */
TAP_TEST(road__a_peer_that_computes_is_no_slow_wire)
{
	struct rig *rig = open_rig(false);
	uint32_t i;

	prove(rig);
	carry(rig, 20000, 11000, 8000, NULL);
	ok(!rig->peer->prefers_single);
	/* much is in flight, and while it waits for more it acks at once */
	rig->peer->flow->in_flight = 200;
	for (i = 0; i < 2000; i++) {
		carry(rig, 6, 22000, 16000, NULL);
		carry(rig, 4, 1400, 400, NULL);
	}
	ok(!rig->peer->prefers_single);
	rig->peer->flow->in_flight = 0;
	rig_close(rig);
}

/* Only some packets tell a cost: of a turn among short messages there may be few that do. */
static uint32_t carry_with_few_samples(struct rig *rig, uint32_t n, uint32_t samples_of_turn,
				       uint32_t cost_single)
{
	struct chan_peer *peer = rig->peer;
	struct road *road = &peer->flow->road;
	uint32_t n_single = 0;

	for (; n; n--) {
		bool is_single = road_bulk(rig->chan, peer, 3) == 1u << SINGLE;

		road_sent(rig->chan, peer, 1);
		if (!is_single)
			ack_at(rig, BULK, 400);
		else if (road->left < samples_of_turn)
			ack_at(rig, SINGLE, cost_single);
		n_single += is_single;
	}
	return n_single;
}

TAP_TEST(road__trials_without_a_verdict_get_rarer)
{
	struct rig *rig = open_rig(false);

	prove(rig);
	ok(carry_with_few_samples(rig, 1000000, 0, 1400) < 4000);
	ok(!rig->peer->prefers_single);
	rig_close(rig);
}

TAP_TEST(road__samples_of_several_trials_make_a_verdict)
{
	struct rig *rig = open_rig(false);

	prove(rig);
	carry_with_few_samples(rig, 100000, 5, 200);
	ok(rig->peer->flow->road.base > 0);
	ok(rig->peer->prefers_single);
	rig_close(rig);
}

/* Every second turn by the other kind looks better than it is. */
TAP_TEST(road__one_vote_is_no_verdict)
{
	struct rig *rig = open_rig(false);
	struct road *road;
	uint32_t i, turns = 0;
	bool was_trying = false;

	prove(rig);
	road = &rig->peer->flow->road;
	for (i = 0; i < 1000000; i++) {
		carry(rig, 1, turns % 2 ? 200 : 900, 400, NULL);
		turns += was_trying && !road->is_trying;
		was_trying = road->is_trying;
	}
	ok(turns > 8);
	ok(!rig->peer->prefers_single);
	rig_close(rig);
}

/* Packets sent by one kind are acked before a turn, as far as the program lets that happen. */
TAP_TEST(road__turns_while_nothing_is_in_flight)
{
	struct rig *rig = open_rig(false);
	struct road *road;
	uint32_t i;

	prove(rig);
	road = &rig->peer->flow->road;
	carry(rig, road->left, 1400, 400, NULL);
	rig->peer->flow->in_flight = 1;
	for (i = 0; i < ROAD_OVERDUE; i++)
		carry(rig, 1, 1400, 400, NULL);
	ok(!road->is_trying);
	carry(rig, 1, 1400, 400, NULL);
	ok(road->is_trying);
	carry(rig, road->left + 3, 1400, 400, NULL);
	ok(road->is_trying);
	rig->peer->flow->in_flight = 0;
	carry(rig, 1, 1400, 400, NULL);
	ok(!road->is_trying);
	rig_close(rig);
}

/* A lost packet has no measured cost of its own, but the loss counts. */
TAP_TEST(road__losses_before_a_trial_do_not_count_in_it)
{
	struct rig *rig = open_rig(false);
	uint32_t n[2] = {0}, i;

	prove(rig);
	carry(rig, 4000, 1000, 500, NULL);
	for (i = 0; i < 200; i++)
		road_lost(rig->chan, rig->peer, BULK);
	carry(rig, 1000, 1000, 500, n);
	/* one turn: the first vote ends the trial */
	ok(n[SINGLE] > 0 && n[SINGLE] <= 64);
	rig_close(rig);
}

TAP_TEST(road__loss_leads_to_a_trial)
{
	struct rig *rig = open_rig(false);
	uint32_t i;

	prove(rig);
	carry(rig, 70000, 600, 500, NULL);
	ok(!rig->peer->prefers_single);
	for (i = 0; i < 20000 && !rig->peer->prefers_single; i++) {
		carry(rig, 2, 600, 500, NULL);
		if (!rig->peer->flow->road.is_trying)
			road_lost(rig->chan, rig->peer, BULK);
	}
	ok(rig->peer->prefers_single);
	rig_close(rig);
}

TAP_TEST(road__forced_is_never_changed)
{
	struct rig *rig = open_rig(true);
	uint32_t n[2] = {0};

	prove(rig);
	carry(rig, 10000, 400, 1400, n);
	is_int(n[SINGLE], 0);
	rig_close(rig);
}

/* A run ends where the road may turn although something is in flight. */
TAP_TEST(road_run__ends_with_what_is_certain)
{
	struct road road = {.left = 500, .n_sent = 100};

	is_int(road_run(&road), 500 + ROAD_OVERDUE);
	road.n_sent = ROAD_LOOK - 3;
	is_int(road_run(&road), 3);
	road.n_sent = 3 * ROAD_LOOK;
	is_int(road_run(&road), 500 + ROAD_OVERDUE);
	road.left = 0;
	road.overdue = ROAD_OVERDUE - 1;
	is_int(road_run(&road), 1);
}
