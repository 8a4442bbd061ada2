// SPDX-License-Identifier: BSD-3-Clause
/* receive: messages in rows and in shared packets, those that are held while their peer goes. */
#include "tests/unit/channel/rig.h"

static uint32_t number_in(const void *data)
{
	uint32_t number;

	memcpy(&number, data, sizeof(number));
	return number;
}

/*
 * Takes the first message, and @room more at most; their number. All bytes must be those of the
 * next message numbers.
 */
static uint32_t take_row(struct rig *rig, uint32_t room, uint32_t first, uint64_t *ret_cookie)
{
	struct iovec parts[16];
	struct chan_msg msg;
	uint32_t n;

	if (!is_int(chan_next(rig->chan, &msg), 1))
		abort();
	is_int(number_in(msg.data), first);
	*ret_cookie = msg.cookie;
	n = chan_next_row(rig->chan, msg.cookie, parts, room);
	for (uint32_t i = 0; i < n; i++)
		ok(parts[i].iov_len == 4 && number_in(parts[i].iov_base) == first + 1 + i);
	return n;
}

TAP_TEST(chan_next_row__as_many_as_there_is_room_for)
{
	struct rig *rig = rig_new(1);
	uint64_t first, second;
	uint32_t i;

	for (i = 0; i < 8; i++)
		rig_datagram(rig, i, i);
	is_int(take_row(rig, 3, 0, &first), 3);
	is_int(take_row(rig, 16, 4, &second), 3);
	is_int(rig_take(rig), -1);
	is_int(rig->n_rx, 8);
	is_int(rig->stats.rx_messages, 8);
	is_int(rig->stats.rx_bytes, 32);
	is_int(rig->peer->rx_done, 0);
	chan_release(rig->chan, second);
	is_int(rig->n_rx, 4);
	is_int(rig->peer->rx_done, 4);
	chan_release(rig->chan, first);
	is_int(rig->n_rx, 0);
	is_int(rig->peer->rx_done, 8);
	chan_check(rig->chan);
	/* records that were in a row serve again, alone */
	rig_datagram(rig, 8, 8);
	is_int(rig_take(rig), 8);
	is_int(rig->n_rx, 0);
	rig_close(rig);
}

TAP_TEST(chan_next_row__only_once_for_a_message)
{
	struct rig *rig = rig_new(1);
	struct iovec parts[4];
	uint64_t first;
	uint32_t i;

	for (i = 0; i < 4; i++)
		rig_datagram(rig, i, i);
	is_int(take_row(rig, 1, 0, &first), 1);
	is_int(chan_next_row(rig->chan, first, parts, 4), 0);
	chan_release(rig->chan, first);
	is_int(rig_take(rig), 2);
	is_int(rig_take(rig), 3);
	rig_close(rig);
}

/* Two datagrams in one packet under the next sequence and message number. */
static void two_in_a_packet(struct rig *rig, uint32_t seq, uint8_t flags)
{
	struct wire_msg msg = {.length = 4, .kind = WIRE_DATAGRAM, .flags = flags, .op = seq};
	uint8_t body[64] = {0};
	uint32_t at = 0;

	for (uint32_t number = seq; number < seq + 2; number++, at += 2 * WIRE_ALIGN) {
		wire_put_msg(body + at, &msg);
		memcpy(body + at + sizeof(msg), &number, sizeof(number));
		msg.op = 0;
	}
	rig->from.seq = seq;
	rig_from(rig, WIRE_DATA, body, (uint32_t)(2 * WIRE_ALIGN + sizeof(msg) + 4));
}

TAP_TEST(chan_next_row__packets_of_several_messages_are_read_one_by_one)
{
	struct rig *rig = rig_new(1);
	uint64_t first;

	rig_datagram(rig, 0, 0);
	two_in_a_packet(rig, 1, 0);
	rig_datagram(rig, 2, 2);
	is_int(take_row(rig, 8, 0, &first), 0);
	chan_release(rig->chan, first);
	/* the packet's first message leaves its second one unread, so nothing follows in a row */
	is_int(take_row(rig, 8, 1, &first), 0);
	is_int(rig_take(rig), 2);
	chan_release(rig->chan, first);
	is_int(rig_take(rig), 2);
	is_int(rig->n_rx, 0);
	rig_close(rig);
}

/*
 * A message that is held may be the last but one of its packet to be released: its packet is no
 * head of a row.
 */
TAP_TEST(chan_next_row__not_behind_a_packet_that_others_hold)
{
	struct rig *rig = rig_new(1);
	struct chan_msg one, two;
	struct iovec parts[4];

	two_in_a_packet(rig, 0, 0);
	rig_datagram(rig, 1, 1);
	must(is_int(chan_next(rig->chan, &one), 1));
	must(is_int(chan_next(rig->chan, &two), 1));
	is_int(chan_next_row(rig->chan, two.cookie, parts, 4), 0);
	chan_release(rig->chan, one.cookie);
	chan_release(rig->chan, two.cookie);
	is_int(rig_take(rig), 1);
	rig_close(rig);
}

TAP_TEST(chan_next_row__not_what_is_carried)
{
	struct rig *rig = rig_new(1);
	struct chan_msg msg;
	uint64_t first;

	rig_datagram(rig, 0, 0);
	two_in_a_packet(rig, 1, WIRE_M_CARRIED);
	is_int(take_row(rig, 8, 0, &first), 0);
	chan_release(rig->chan, first);
	must(is_int(chan_next(rig->chan, &msg), 1));
	ok(msg.is_carried);
	chan_release(rig->chan, msg.cookie);
	is_int(rig_take(rig), 2);
	rig_close(rig);
}

TAP_TEST(chan_next_row__outlives_its_peer)
{
	struct rig *rig = rig_new(1);
	uint64_t first;
	uint32_t i;

	for (i = 0; i < 4; i++)
		rig_datagram(rig, i, i);
	is_int(take_row(rig, 8, 0, &first), 3);
	chan_peer_del(rig->chan, rig->peer);
	is_int(rig->n_rx, 4);
	chan_release(rig->chan, first);
	is_int(rig->n_rx, 0);
	rig_close(rig);
}

TAP_TEST(chan_next__coalesced_messages_share_a_buffer)
{
	struct rig *rig = rig_new(1);
	uint8_t body[24] = {0};
	struct chan_msg a, b;

	wire_put_msg(body, &(struct wire_msg){.length = 3, .kind = WIRE_DATAGRAM});
	memcpy(body + 8, "one", 3);
	wire_put_msg(body + 16, &(struct wire_msg){.length = 0, .kind = WIRE_WRITTEN});
	rig_from(rig, WIRE_DATA, body, 24); /* what does not belong there is passed over */
	must(chan_next(rig->chan, &a) == 1);
	is_mem(a.data, "one", 3);
	ok(!chan_next(rig->chan, &b));
	chan_release(rig->chan, a.cookie);
	is_int(rig->n_rx, 0);

	uint8_t two[32] = {0};

	wire_put_msg(two, &(struct wire_msg){.length = 3, .kind = WIRE_DATAGRAM, .op = 1});
	memcpy(two + 8, "two", 3);
	wire_put_msg(two + 16, &(struct wire_msg){.length = 5, .kind = WIRE_DATAGRAM});
	memcpy(two + 24, "three", 5);
	rig->from.seq = 1;
	rig_from(rig, WIRE_DATA, two, 29);
	must(chan_next(rig->chan, &a) == 1 && chan_next(rig->chan, &b) == 1);
	is_mem(b.data, "three", 5);
	chan_release(rig->chan, b.cookie);
	is_int(rig->n_rx, 1);
	chan_release(rig->chan, a.cookie);
	is_int(rig->n_rx, 0);
	rig_close(rig);
}

TAP_TEST(chan_release__held_messages_outlive_their_peer)
{
	struct rig *rig = rig_new(1);
	struct chan_msg msg;

	rig_datagram(rig, 0, 0);
	rig_datagram(rig, 1, 1);
	rig_datagram(rig, 3, 3);
	must(chan_next(rig->chan, &msg) == 1);
	chan_peer_del(rig->chan, rig->peer);
	is_int(rig->n_rx, 1);
	is_mem(msg.data, "\0\0\0\0", 4);
	is_int(chan_next(rig->chan, &msg), 0);
	chan_release(rig->chan, msg.cookie);
	is_int(rig->n_rx, 0);
	rig_close(rig);
}

/* While the message was held the peer had nothing to do, and its flow went back to the pool. */
TAP_TEST(chan_release__tells_of_credit_after_a_rest)
{
	struct rig *rig = rig_init();
	struct chan_msg msg;

	rig->config.credit = 1;
	rig_open(rig);
	rig_datagram(rig, 0, 0);
	is_int(chan_next(rig->chan, &msg), 1);
	while (rig->peer->flow && chan_deadline(rig->chan) != UINT64_MAX) {
		rig->now = chan_deadline(rig->chan) > rig->now ? chan_deadline(rig->chan)
							       : rig->now;
		rig_poll(rig, 0);
	}
	ok(!rig->peer->flow);
	chan_release(rig->chan, msg.cookie);
	ok(rig->peer->flow != NULL);
	while (rig->peer->flow && rig_last(rig)->header.credit == 1 &&
	       chan_deadline(rig->chan) != UINT64_MAX) {
		rig->now = chan_deadline(rig->chan) > rig->now ? chan_deadline(rig->chan)
							       : rig->now;
		rig_poll(rig, 0);
	}
	ok(rig_last(rig)->header.credit > 1);
	rig_close(rig);
}
