// SPDX-License-Identifier: BSD-3-Clause
/* input: what is not for us, or not for anybody, is counted and its buffer returned. */
#include "pmcore/channel/peer.h"
#include "tests/unit/channel/rig.h"

#define TOGETHER 8 /* packets at most */

TAP_TEST(chan_input__each_reason_to_drop)
{
	struct rig *rig = rig_new(1);
	const struct wire_header good = rig->from;

	rig_input(rig, "short", 5, 0);
	is_int(rig->rails[0].drops[DROP_TRUNCATED], 1);
	rig->from.version = 2;
	rig_datagram(rig, 0, 0);
	is_int(rig->rails[0].drops[DROP_VERSION], 1);
	rig->from = good;
	rig->from.key++;
	rig_datagram(rig, 0, 0);
	is_int(rig->rails[0].drops[DROP_KEY], 1);
	rig->from = good;
	rig->from.dst = 5;
	rig_datagram(rig, 0, 0);
	is_int(rig->rails[0].drops[DROP_DESTINATION], 1);
	rig->from = good;
	rig->from.src = 5;
	rig_datagram(rig, 0, 0);
	is_int(rig->rails[0].drops[DROP_UNKNOWN_PEER], 1);
	rig->from.src = RIG_SELF;
	rig_datagram(rig, 0, 0);
	is_int(rig->rails[0].drops[DROP_UNKNOWN_PEER], 2);
	is_int(rig->n_rx, 0);
	is_int(rig->rails[0].rx_packets, 6);
	is_int(rig_take(rig), -1);
	ok(!rig->peer->flow);
	rig_close(rig);
}

TAP_TEST(chan_input__crc_is_required_when_set)
{
	struct rig *rig = rig_init();
	uint8_t bytes[64] = {0};

	rig->config.crc = true;
	rig_open(rig);
	rig_datagram(rig, 0, 0);
	is_int(rig->rails[0].drops[DROP_CRC], 1);
	rig->from.type = WIRE_DATA;
	rig->from.rail_seq = 0;
	rig->from.length = 9;
	wire_put_header(bytes, &rig->from);
	wire_put_msg(bytes + 48, &(struct wire_msg){.length = 1, .kind = WIRE_DATAGRAM});
	bytes[56] = 42;
	wire_seal(bytes, 57);
	rig_input(rig, bytes, 57, 0);
	is_int(rig_take(rig), 42);
	is_int(rig_send(rig, 8, 1), 0);
	ok(rig_last(rig)->header.flags & WIRE_F_CRC);
	rig_close(rig);
}

/*
 * A packet with another key or destination is dropped by its header alone: its CRC and its body are
 * not looked at.
 */
TAP_TEST(chan_input__key_and_destination_before_the_body)
{
	static const uint8_t nonsense[24] = {0xff, 0xff, 0xff};
	struct rig *rig = rig_init();
	struct wire_header good;

	rig->config.crc = true;
	rig_open(rig);
	good = rig->from;
	rig->from.key++;
	rig_from(rig, WIRE_DATA, nonsense, sizeof(nonsense));
	is_int(rig->rails[0].drops[DROP_KEY], 1);
	rig->from.flags = WIRE_F_CRC; /* a wrong one */
	rig_from(rig, WIRE_ACK, nonsense, sizeof(nonsense));
	is_int(rig->rails[0].drops[DROP_KEY], 2);
	rig->from = good;
	rig->from.dst++;
	rig_from(rig, WIRE_DATA, nonsense, sizeof(nonsense));
	is_int(rig->rails[0].drops[DROP_DESTINATION], 1);
	rig->from = good;
	rig_from(rig, WIRE_DATA, nonsense, sizeof(nonsense));
	is_int(rig->rails[0].drops[DROP_CRC], 1);
	is_int(rig->rails[0].drops[DROP_MALFORMED], 0);
	rig_close(rig);
}

TAP_TEST(chan_input__first_contact_adds_the_peer)
{
	struct rig *rig = rig_new(1);
	struct chan_msg msg;

	rig->is_adding = true;
	rig->from.src = 77;
	rig_datagram(rig, 0, 0);
	must(chan_next(rig->chan, &msg) == 1);
	is_int(msg.src, 77);
	ok(msg.peer == chan_peer_find(rig->chan, 77));
	chan_release(rig->chan, msg.cookie);
	rig_close(rig);
}

TAP_TEST(chan_input__a_stranger_is_asked_about_now_and_then)
{
	struct rig *rig = rig_new(1);
	int i;

	rig->from.src = 77;
	for (i = 0; i < 100; i++)
		rig_datagram(rig, 0, 0);
	is_int(rig->n_asked, 1);
	is_int(rig->rails[0].drops[DROP_UNKNOWN_PEER], 100);
	rig->now += 10 * MS - 1;
	rig_datagram(rig, 0, 0);
	is_int(rig->n_asked, 1);
	/* it has joined meanwhile */
	rig->now++;
	rig->is_adding = true;
	rig_datagram(rig, 0, 0);
	is_int(rig->n_asked, 2);
	is_int(rig_take(rig), 0);
	rig_close(rig);
}

TAP_TEST(chan_input__any_number_of_strangers)
{
	struct rig *rig = rig_new(1);
	int i;

	for (i = 0; i < 10000; i++) {
		rig->from.src = 1000 + (uint32_t)i;
		rig_datagram(rig, 0, 0);
	}
	is_int(rig->n_asked, 64);
	is_int(rig->rails[0].drops[DROP_UNKNOWN_PEER], 10000);
	rig->now += 10 * MS;
	for (i = 0; i < 10000; i++) {
		rig->from.src = 20000 + (uint32_t)i;
		rig_datagram(rig, 0, 0);
	}
	is_int(rig->n_asked, 128);
	/* who is known is received whoever else sends */
	rig->from.src = RIG_PEER;
	rig_datagram(rig, 0, 0);
	is_int(rig_take(rig), 0);
	rig_close(rig);
}

TAP_TEST(chan_input__any_number_of_members)
{
	struct rig *rig = rig_new(1);
	uint32_t i;

	rig->is_adding = true;
	for (i = 0; i < 200; i++) {
		rig->from.src = 1000 + i;
		rig_datagram(rig, 0, 0);
		is_int(rig_take(rig), 0);
	}
	is_int(rig->n_asked, 200);
	rig_close(rig);
}

/* Whatever the bytes: no crash, every invariant holds, every buffer comes back. */
TAP_TEST(chan_input__random_bytes_behind_a_good_header)
{
	uint64_t random = tap_seed();
	struct rig *rig = rig_new(3);
	uint8_t bytes[256];
	uint32_t i, k;

	for (i = 0; i < 20000; i++) {
		struct wire_header header = rig->from;
		uint32_t len = (uint32_t)(tap_rand(&random) % 150);

		if (i % 50 == 0)
			rig_send(rig, 20, 1);
		header.type = (uint8_t)(1 + tap_rand(&random) % 3);
		header.flags = (uint8_t)tap_rand(&random) & (uint8_t)~WIRE_F_CRC;
		header.rail = (uint8_t)(tap_rand(&random) % 8);
		header.rail_seq =
			rig->peer->rail_rx[header.rail] + (uint32_t)(tap_rand(&random) % 3);
		header.seq = rig->peer->rx_next + (uint32_t)(tap_rand(&random) % 20) - 2;
		header.ack = rig->peer->tx_una + (uint32_t)(tap_rand(&random) % 3);
		header.sack = (uint32_t)tap_rand(&random);
		header.rail_ack = (uint32_t)(tap_rand(&random) % 100);
		header.length = (uint16_t)len;
		wire_put_header(bytes, &header);
		for (k = 0; k < len; k++)
			bytes[48 + k] = (uint8_t)(tap_rand(&random) % 4 ? 0 : tap_rand(&random));
		if (len >= 8) {
			bytes[50] = (uint8_t)(1 + tap_rand(&random) % 6);
			bytes[48] = (uint8_t)(len - 8);
			bytes[49] = 0;
			bytes[52] = (uint8_t)rig->peer->rx_mseq;
			bytes[53] = (uint8_t)(rig->peer->rx_mseq >> 8);
		}
		rig_input(rig, bytes, 48 + len, 0);
		rig->n_sent = 0;
		rig_poll(rig, tap_rand(&random) % MS);
		while (tap_rand(&random) % 2 && rig_take(rig) >= 0)
			;
	}
	rig_close(rig);
}

/*
 * One of two engines that get the same packets. The second never takes a packet for the next one in
 * a row.
 */
static void give(struct rig *rig, bool is_slow, const void *bytes, uint32_t len, uint32_t rail)
{
	if (is_slow)
		rig->chan->run_peer = NULL;
	rig_input(rig, bytes, len, rail);
}

static void compare(const struct rig *a, const struct rig *b)
{
	const struct chan_peer *p = a->peer, *q = b->peer;

	is_int(p->rx_next, q->rx_next);
	is_int(p->rx_mseq, q->rx_mseq);
	is_int(p->rx_credit, q->rx_credit);
	is_int(p->rx_done, q->rx_done);
	is_int(a->chan->rx_used, b->chan->rx_used);
	is_int(dlist_is_empty(&p->ready), dlist_is_empty(&q->ready));
	is_int(p->tx_una, q->tx_una);
	is_int(p->tx_credit, q->tx_credit);
	is_int(p->is_silent, q->is_silent);
	is_mem(p->rail_rx, q->rail_rx, sizeof(p->rail_rx));
	is_mem(p->rail_acked, q->rail_acked, sizeof(p->rail_acked));
	is_mem(a->rails, b->rails, sizeof(a->rails));
	is_int(a->n_rx, b->n_rx);
	is_int(a->n_sent, b->n_sent);
	ok(a->chan->deadline == b->chan->deadline);
	if (!is_int(!p->flow, !q->flow) || !p->flow)
		return;
	is_int(p->flow->early, q->flow->early);
	is_int(p->flow->held, q->flow->held);
	is_int(p->flow->is_unheard, q->flow->is_unheard);
	is_int(p->flow->credit_told, q->flow->credit_told);
	is_int(p->flow->news, q->flow->news);
	is_int(p->flow->unacked, q->flow->unacked);
	is_int(p->flow->is_ack_now, q->flow->is_ack_now);
	is_int(p->flow->in_flight, q->flow->in_flight);
	is_mem(&p->flow->heard, &q->flow->heard, sizeof(p->flow->heard));
	ok(p->flow->ack_ns == q->flow->ack_ns && p->flow->heard_ns == q->flow->heard_ns &&
	   p->flow->used_ns == q->flow->used_ns);
}

/*
 * The next packet of the other side, one of @kind with something changed in its header or body, the
 * others in a row.
 */
static uint32_t make(struct rig *rig, uint64_t *state, uint32_t kind, uint32_t *seq,
		     uint32_t rails[2], uint8_t *bytes)
{
	struct wire_msg msg = {.length = 4, .kind = WIRE_DATAGRAM, .op = *seq};
	struct wire_header header = rig->from;
	uint32_t len = sizeof(header) + sizeof(msg) + 4;
	uint32_t odd = tap_rand(state) % kind ? 99 : (uint32_t)tap_rand(state) % 17;

	header.rail = (uint8_t)(tap_rand(state) % (2 * kind) == 0);
	header.rail_seq = rails[header.rail]++;
	header.seq = (*seq)++;
	header.length = sizeof(msg) + 4;
	switch (odd) {
	case 0: /* lost */
		header.seq = (*seq)++;
		msg.op = header.seq;
		break;
	case 1: /* once more */
		header.seq -= (uint32_t)tap_rand(state) % 3;
		(*seq)--;
		break;
	case 2: /* tells something new */
		header.ack = rig->peer->tx_next - (uint32_t)tap_rand(state) % 3;
		header.rail_ack = rig->peer->rail_tx[0];
		break;
	case 3:
		rig->from.credit++;
		header.credit = rig->from.credit;
		break;
	case 4:
		header.flags = WIRE_F_ACK_NOW;
		break;
	case 5: /* nonsense */
		header.ack += 1000;
		break;
	case 6:
		header.key++;
		break;
	case 7:
		header.dst++;
		break;
	case 8: /* runs out of the packet */
		msg.length = 9;
		break;
	case 9:
		header.length += 8;
		break;
	case 10:
		header.type = WIRE_PROBE;
		header.length = 0;
		break;
	case 11: /* a wrong checksum */
		header.flags = WIRE_F_CRC;
		break;
	case 12: /* a gap of its rail */
		header.rail_seq = rails[header.rail]++;
		break;
	case 13:
		header.rail = (uint8_t)(tap_rand(state) % 16);
		break;
	case 14: /* by the other rail, some of whose are lost */
		header.rail ^= 1;
		rails[header.rail] += (uint32_t)tap_rand(state) % 4;
		header.rail_seq = rails[header.rail]++;
		break;
	case 15: /* ahead of other messages, or once more */
		msg.op += 1 - (uint32_t)tap_rand(state) % 3;
		break;
	case 16: /* two of them lost for now */
		header.seq += 2;
		msg.op += 2;
		break;
	}
	wire_put_header(bytes, &header);
	wire_put_msg(bytes + sizeof(header), &msg);
	memcpy(bytes + sizeof(header) + sizeof(msg), &msg.op, 4);
	return len;
}

TAP_TEST(chan_input__a_packet_in_a_row_is_taken_as_any_other)
{
	uint64_t state = tap_seed();
	uint32_t i, n_fast = 0;

	for (i = 0; i < 40 && !tap_has_failed(); i++) {
		struct rig *a = rig_new(2), *b = rig_new(2);
		uint32_t k, seq = 0, rails[2] = {0};

		for (k = 0; k < 60; k++) {
			_Alignas(8) uint8_t bytes[128] = {0};
			uint32_t len = make(a, &state, 4, &seq, rails, bytes), rail = bytes[3] & 1;

			if (k % 9 == 0) {
				is_int(rig_send(a, 8, (uint8_t)k), rig_send(b, 8, (uint8_t)k));
				a->now = b->now += MS;
			}
			n_fast += a->chan->run_peer != NULL;
			give(a, false, bytes, len, rail);
			give(b, true, bytes, len, rail);
			compare(a, b);
			chan_check(a->chan);
			if (k % 4 == 3) {
				is_int(rig_poll(a, US), rig_poll(b, US));
				is_int(rig_take(a), rig_take(b));
			}
		}
		while (rig_take(a) >= 0)
			ok(rig_take(b) >= 0);
		is_int(rig_take(b), -1);
		rig_close(a);
		rig_close(b);
	}
	ok(n_fast > 500);
}

/* Numbers that go round soon in some cases. */
static uint32_t first_number(uint32_t kind)
{
	return kind % 7 ? 0 : (uint32_t)-20;
}

/* Engines that run out of credit or of buffers now and then, are stopped, or hold senders back. */
static struct rig *small_rig(uint32_t kind)
{
	uint32_t first = first_number(kind);
	struct rig *rig = rig_init();

	rig->config.n_rails = 2;
	rig->config.credit = kind % 4 ? 16 : 3;
	rig->config.rx_buffers = kind % 5 ? 64 : 6;
	rig_open(rig);
	chan_test_set_seq(rig->chan, rig->peer, first, first);
	rig->from.ack = first;
	rig->from.rail_ack = first;
	rig->from.credit += (uint16_t)first;
	rig->chan->grant.is_tight = kind % 6 == 1;
	if (rig->chan->grant.is_tight)
		rig->chan->grant.budget = 4 * 2048;
	if (kind % 9 == 2)
		chan_quiesce(rig->chan, true);
	return rig;
}

/*
 * Packets that have come together, sometimes one before its turn, to the engine that may take them
 * so and to the other.
 */
static void give_together(struct rig *together, struct rig *apart, uint64_t *state, uint32_t kind,
			  uint32_t *seq, uint32_t rails[2])
{
	_Alignas(8) uint8_t bytes[TOGETHER][128] = {0};
	uint32_t n = 1 + (uint32_t)tap_rand(state) % TOGETHER, len[TOGETHER], k, from = n, rail;
	struct pm_rx rx[TOGETHER];

	for (k = 0; k < n; k++)
		len[k] = make(together, state, kind, seq, rails, bytes[k]);
	if (tap_rand(state) % kind == 0)
		from = (uint32_t)tap_rand(state) % n;
	for (k = 0; k < n; k++) {
		uint32_t i = k + 1 < n && k >= from ? k + 1 : k == n - 1 && from < n ? from : k;

		rail = tap_rand(state) % (4 * kind) ? bytes[i][3] & 1 : !(bytes[i][3] & 1);
		rx[k] = rig_arrive(together, bytes[i], len[i], rail);
		give(apart, true, bytes[i], len[i], rail);
	}
	chan_input(together->chan, rx, n, together->now);
}

/* The next message of both is the same; false: there is none. */
static bool is_one_taken(struct rig *a, struct rig *b)
{
	int64_t number = rig_take(a);

	return is_int(number, rig_take(b)) && number >= 0;
}

TAP_TEST(chan_input__packets_together_are_taken_as_one_by_one)
{
	uint64_t state = tap_seed();
	uint32_t i, turn, n_rows = 0;

	for (i = 0; i < 1500 && !tap_has_failed(); i++) {
		struct rig *a = small_rig(i), *b = small_rig(i);
		uint32_t seq = first_number(i), rails[2] = {seq, seq};

		for (turn = 0; turn < 20; turn++) {
			uint32_t before = b->peer->rx_mseq;

			give_together(a, b, &state, i % 3 ? 8 : 60, &seq, rails);
			n_rows += b->peer->rx_mseq - before >= TOGETHER / 2;
			compare(a, b);
			chan_check(a->chan);
			while (tap_rand(&state) % 8 && is_one_taken(a, b))
				;
			is_int(rig_poll(a, US), rig_poll(b, US));
		}
		while (is_one_taken(a, b))
			;
		rig_close(a);
		rig_close(b);
	}
	ok(n_rows > 1500);
}

TAP_TEST(chan_input__a_row_ends_with_its_peer)
{
	struct rig *rig = rig_new(1);
	uint32_t i;

	for (i = 0; i < 4; i++)
		rig_datagram(rig, i, i);
	ok(rig->chan->run_peer == rig->peer);
	for (i = 0; i < 4; i++)
		is_int(rig_take(rig), i);
	chan_peer_dead(rig->chan, rig->peer, EPIPE);
	ok(!rig->chan->run_peer);
	rig_datagram(rig, 4, 4);
	is_int(rig->rails[0].drops[DROP_DEAD_PEER], 1);
	chan_peer_del(rig->chan, rig->peer);
	rig_datagram(rig, 5, 5);
	is_int(rig->rails[0].drops[DROP_UNKNOWN_PEER], 1);
	is_int(rig_take(rig), -1);
	rig_close(rig);
}
