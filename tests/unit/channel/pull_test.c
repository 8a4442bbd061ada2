// SPDX-License-Identifier: BSD-3-Clause
/* pull: our reads, writes of others, our writes; budget, refusal, late answers, dead peers. */
#include "tests/unit/channel/rig.h"

#define PAYLOAD (RIG_MTU - 64)

static uint8_t memory[200000];

/* The read request in a posted packet. */
static struct wire_read request(const struct rig_sent *sent, uint32_t *ret_op)
{
	struct wire_msg_view view = rig_view(sent, 0);
	struct wire_read body = {0};

	is_int(view.msg.kind, WIRE_READ);
	is_int(wire_get_read(&view, &body), 0);
	*ret_op = view.msg.op;
	return body;
}

/* Answers with @len bytes of @byte at @offset under sequence number @seq. */
static void place(struct rig *rig, uint32_t seq, uint32_t op, uint64_t offset, uint32_t len,
		  uint8_t byte)
{
	uint8_t body[sizeof(struct wire_place) + PAYLOAD];

	wire_put_place(body, &(struct wire_place){.offset = offset});
	memset(body + sizeof(struct wire_place), byte, len);
	rig_message(rig, seq, WIRE_PLACE, op, body, (uint32_t)sizeof(struct wire_place) + len);
}

static void verdict(struct rig *rig, uint32_t seq, uint8_t kind, uint32_t op)
{
	uint8_t body[sizeof(struct wire_refuse)];

	wire_put_refuse(body, &(struct wire_refuse){.error = kind == WIRE_REFUSE ? EACCES : 0});
	rig_message(rig, seq, kind, op, body, sizeof(body));
}

TAP_TEST(chan_read__asks_within_the_call_and_takes_any_order)
{
	struct rig *rig = rig_new(1);
	struct wire_read body;
	uint32_t op, wire_op;

	memset(memory, 0, 100);
	is_int(chan_read(rig->chan, rig->peer, 99, 1000, memory, 60, rig->now, &op), 0);
	is_int(rig->n_sent, 1);
	body = request(&rig->sent[0], &wire_op);
	is_int(body.rkey, 99);
	is_int(body.roffset, 1000);
	is_int(body.offset, 0);
	is_int(body.length, 60);
	is_int(chan_op_done(rig->chan, op), -EAGAIN);
	ok(!chan_is_quiet(rig->chan));
	place(rig, 2, wire_op, 40, 20, 3);
	place(rig, 1, wire_op, 20, 20, 2);
	is_int(chan_op_done(rig->chan, op), -EAGAIN);
	place(rig, 0, wire_op, 0, 20, 1);
	is_int(chan_op_done(rig->chan, op), 0);
	is_int(chan_op_done(rig->chan, op), -ENOENT);
	is_int(memory[19], 1);
	is_int(memory[20], 2);
	is_int(memory[59], 3);
	is_int(memory[60], 0);
	is_int(rig->stats.read_bytes, 60);
	is_int(rig->n_rx, 0);
	rig_close(rig);
}

TAP_TEST(chan_read__of_nothing)
{
	struct rig *rig = rig_new(1);
	uint32_t op;

	is_int(chan_read(rig->chan, rig->peer, 99, 0, memory, 0, rig->now, &op), 0);
	ok(op != 0);
	is_int(chan_op_done(rig->chan, op), 0);
	is_int(rig->n_sent, 0);
	rig_close(rig);
}

/* The requests of the packets sent since @from: bytes asked for, by region key. */
static void sum_up(struct rig *rig, uint32_t from, uint64_t *asked)
{
	struct wire_msg_view view;
	struct wire_read body;

	for (uint32_t i = from; i < rig->n_sent; i++) {
		const struct rig_sent *sent = &rig->sent[i];
		uint32_t cursor = 0;

		while (wire_next_msg(sent->bytes, &sent->header, &cursor, &view)) {
			is_int(view.msg.kind, WIRE_READ);
			is_int(wire_get_read(&view, &body), 0);
			is_int(body.length % PAYLOAD, 0);
			asked[body.rkey] += body.length;
		}
	}
}

TAP_TEST(chan_read__budget_and_the_oldest_first)
{
	struct rig *rig = rig_init();
	uint64_t asked[2] = {0};
	uint32_t op[2], i;

	rig->config.pull_bytes = 65536;
	rig->config.window = 64;
	rig_open(rig);
	rig->peer->limit = 64;
	for (i = 0; i < 2; i++)
		is_int(chan_read(rig->chan, rig->peer, i, 0, memory, 12 * 16128, rig->now, &op[i]),
		       0);
	rig_poll(rig, 0);
	sum_up(rig, 0, asked);
	is_int(asked[0], 4 * 16128);
	is_int(asked[1], 0);
	is_int(rig->chan->outstanding, asked[0]);
	/* as much as comes is asked for again */
	for (i = 0; i * PAYLOAD < 16128; i++)
		place(rig, i, op[0], (uint64_t)i * PAYLOAD, PAYLOAD, 1);
	rig->n_sent = 0;
	rig_poll(rig, 0);
	sum_up(rig, 0, asked);
	is_int(asked[0], 5 * 16128);
	is_int(asked[1], 0);
	rig_close(rig);
}

/* Two owners, of which the first is asked for all that the bound allows. */
static struct rig *two_owners(struct chan_peer **ret_other, uint32_t *ret_ops)
{
	struct rig *rig = rig_init();

	rig->config.pull_bytes = 65536;
	rig->config.window = 64;
	rig_open(rig);
	is_int(chan_peer_add(rig->chan, 77, NULL, 1, RIG_MTU, ret_other), 0);
	is_int(chan_read(rig->chan, rig->peer, 0, 0, memory, 10 * 16128, rig->now, &ret_ops[0]), 0);
	is_int(chan_read(rig->chan, *ret_other, 1, 0, memory, 10 * 16128, rig->now, &ret_ops[1]),
	       0);
	return rig;
}

TAP_TEST(chan_read__peers_take_turns)
{
	uint64_t asked[2] = {0};
	struct chan_peer *other;
	uint32_t op[2], i;
	struct rig *rig = two_owners(&other, op);

	sum_up(rig, 0, asked);
	/* the bound was reached before the second began */
	is_int(asked[0], 4 * 16128);
	is_int(asked[1], 0);
	for (i = 0; i * PAYLOAD < 2 * 16128; i++)
		place(rig, i, op[0], (uint64_t)i * PAYLOAD, PAYLOAD, 1);
	rig->n_sent = 0;
	rig_poll(rig, 0);
	asked[0] = 0;
	sum_up(rig, 0, asked);
	is_int(asked[0], 16128);
	is_int(asked[1], 16128);
	rig_close(rig);
}

/* The next pieces of the first operation, up to @end of them in all. */
static void place_up_to(struct rig *rig, uint32_t op, uint32_t *next, uint32_t end)
{
	for (; *next * PAYLOAD < end * 16128; ++*next)
		place(rig, *next, op, (uint64_t)*next * PAYLOAD, PAYLOAD, 1);
}

TAP_TEST(chan_read__a_silent_owner_keeps_no_others_out)
{
	uint32_t op[2], next = 0;
	struct chan_peer *other;
	struct rig *rig = two_owners(&other, op);

	is_int(other->flow->owed, 0);
	/* a sleeper is woken when the owner may be silent, as nothing else is due */
	rig_ack(rig, rig->peer->tx_next, 0, NULL);
	rig_poll(rig, 0);
	rig_poll(rig, 1);
	is_int((long)(chan_deadline(rig->chan) - rig->now), 10 * MS - 1);
	rig_poll(rig, 9 * MS - 1);
	is_int(other->flow->owed, 0);
	rig_poll(rig, 1 * MS);
	is_int(other->flow->owed, 4 * 16128);
	/* the silent one is asked for no more than it was */
	is_int(rig->peer->flow->owed, 4 * 16128);
	/* heard again, it counts: nobody is asked until there is room */
	place_up_to(rig, op[0], &next, 2);
	rig_poll(rig, 0);
	is_int(rig->chan->outstanding, 6 * 16128);
	place_up_to(rig, op[0], &next, 4);
	rig_poll(rig, 0);
	is_int(rig->chan->outstanding, 4 * 16128);
	/* and then it is asked again */
	chan_peer_dead(rig->chan, other, EPIPE);
	rig_poll(rig, 0);
	is_int(rig->peer->flow->owed, 4 * 16128);
	rig_close(rig);
}

/*
 * Its data may lie in the queue of our own host: after a pause of ours nobody counts as silent
 * before all has been heard.
 */
TAP_TEST(chan_read__an_owner_that_was_not_listened_to_is_not_silent)
{
	uint32_t op[2], next = 0;
	struct chan_peer *other;
	struct rig *rig = two_owners(&other, op);
	uint32_t third;

	rig->now += 20 * MS;
	is_int(chan_read(rig->chan, other, 1, 0, memory, 16128, rig->now, &third), 0);
	is_int(other->flow->owed, 0);
	/*
	 * a poll that asked the device for nothing, as that of a send, or that took packets of
	 * somebody else
	 */
	chan_poll(rig->chan, rig->now);
	is_int(rig->chan->silent, 0);
	/* the look is due at the next round, and never in the past, which is no time to wait for */
	is_int((long)(chan_deadline(rig->chan) - rig->now), 1);
	rig_input(rig, "short", 5, 0);
	chan_poll(rig->chan, rig->now);
	is_int(rig->chan->silent, 0);
	place_up_to(rig, op[0], &next, 1);
	rig_poll(rig, 0);
	is_int(rig->chan->silent, 0);
	is_int(rig->chan->outstanding, 4 * 16128);
	rig_close(rig);
}

/* An operation that ends without data is no word of the owner. */
TAP_TEST(chan_write__of_nothing_leaves_a_silent_owner_silent)
{
	uint32_t op[2], write;
	struct chan_peer *other;
	struct rig *rig = two_owners(&other, op);

	rig_ack(rig, rig->peer->tx_next, 0, NULL);
	rig_poll(rig, 0);
	rig_poll(rig, 10 * MS);
	is_int(rig->chan->silent, 4 * 16128);
	is_int(chan_write(rig->chan, rig->peer, 5, 0, memory, 0, rig->now, &write), 0);
	is_int(rig->chan->silent, 4 * 16128);
	chan_check(rig->chan);
	rig_close(rig);
}

/* Requests to one peer that leave together share a packet. */
TAP_TEST(chan_read__requests_share_a_packet)
{
	struct rig *rig = rig_new(1);
	uint64_t asked[3] = {0};
	uint32_t op, i;

	rig->full = 1; /* the rail takes nothing now */
	for (i = 0; i < 3; i++)
		is_int(chan_read(rig->chan, rig->peer, i, 0, memory, PAYLOAD, rig->now, &op), 0);
	is_int(rig->n_sent, 0);
	rig->full = 0;
	rig_poll(rig, 0);
	is_int(rig->n_sent, 1);
	sum_up(rig, 0, asked);
	for (i = 0; i < 3; i++)
		is_int(asked[i], PAYLOAD);
	rig_close(rig);
}

TAP_TEST(chan_read__refused)
{
	struct rig *rig = rig_new(1);
	uint32_t op;

	is_int(chan_read(rig->chan, rig->peer, 99, 0, memory, 100000, rig->now, &op), 0);
	ok(rig->chan->outstanding > 0);
	verdict(rig, 0, WIRE_REFUSE, op);
	is_int(rig->chan->outstanding, 0);
	is_int(chan_op_done(rig->chan, op), -EACCES);
	/* late answers to what is no more */
	memset(memory, 0, 100);
	place(rig, 1, op, 0, 20, 9);
	verdict(rig, 2, WIRE_REFUSE, op);
	is_int(rig->rails[0].drops[DROP_STALE], 2);
	is_int(memory[0], 0);
	is_int(rig->peer->rx_next, 3);
	rig_close(rig);
}

TAP_TEST(pull_place__hostile_ranges)
{
	struct rig *rig = rig_new(1);
	uint32_t op, seq = 0;

	memset(memory, 0, 200);
	is_int(chan_read(rig->chan, rig->peer, 99, 0, memory + 50, 100, rig->now, &op), 0);
	place(rig, seq++, op, 90, 20, 9);
	place(rig, seq++, op, 101, 0, 9);
	place(rig, seq++, op, UINT64_MAX - 5, 20, 9);
	is_int(rig->rails[0].drops[DROP_MALFORMED], 3);
	place(rig, seq++, op, 0, 60, 1);
	place(rig, seq++, op, 0, 60, 2); /* more than was asked for in all */
	is_int(rig->rails[0].drops[DROP_MALFORMED], 4);
	place(rig, seq++, op, 60, 40, 3);
	is_int(chan_op_done(rig->chan, op), 0);
	is_int(memory[49], 0);
	is_int(memory[150], 0);
	rig_close(rig);
}

TAP_TEST(pull_place__of_another_peer)
{
	struct rig *rig = rig_new(1);
	uint32_t op;

	rig->is_adding = true;
	is_int(chan_read(rig->chan, rig->peer, 99, 0, memory, 20, rig->now, &op), 0);
	rig->from.src = 7;
	place(rig, 0, op, 0, 20, 9);
	is_int(rig->rails[0].drops[DROP_STALE], 1);
	is_int(chan_op_done(rig->chan, op), -EAGAIN);
	rig_close(rig);
}

TAP_TEST(chan_write__announces_a_region_and_waits)
{
	struct rig *rig = rig_new(1);
	struct wire_write body;
	struct wire_msg_view view;
	void *addr;
	uint32_t op;

	is_int(chan_write(rig->chan, rig->peer, 55, 8, memory, 1000, rig->now, &op), 0);
	view = rig_view(&rig->sent[0], 0);
	is_int(view.msg.kind, WIRE_WRITE);
	is_int(wire_get_write(&view, &body), 0);
	is_int(body.rkey, 55);
	is_int(body.roffset, 8);
	is_int(body.length, 1000);
	is_int(region_find(rig->config.regions, body.source, 0, 1000, &addr), 0);
	ok(addr == memory);
	place(rig, 0, op, 0, 20, 9); /* nobody asked for that */
	is_int(rig->rails[0].drops[DROP_STALE], 1);
	is_int(chan_op_done(rig->chan, op), -EAGAIN);
	verdict(rig, 1, WIRE_WRITTEN, op);
	is_int(chan_op_done(rig->chan, op), 0);
	is_int(rig->stats.write_bytes, 1000);
	is_int(region_find(rig->config.regions, body.source, 0, 1000, &addr), -EACCES);
	rig_close(rig);
}

/* Memory that is lent for reading can't be written to, even by a peer that has seen its key. */
TAP_TEST(chan_write__the_source_is_read_only)
{
	struct rig *rig = rig_new(1);
	uint8_t bytes[sizeof(struct wire_write)];
	struct wire_msg_view view;
	struct wire_write body;
	uint32_t op;

	is_int(chan_write(rig->chan, rig->peer, 55, 8, memory, 1000, rig->now, &op), 0);
	view = rig_view(&rig->sent[0], 0);
	is_int(wire_get_write(&view, &body), 0);
	wire_put_write(bytes,
		       &(struct wire_write){.rkey = body.source, .length = 50, .source = 4711});
	rig->from.ack = 1;
	rig_message(rig, 0, WIRE_WRITE, 33, bytes, sizeof(bytes));
	rig_poll(rig, 0);
	is_int(rig_view(rig_last(rig), 0).msg.kind, WIRE_REFUSE);
	is_int(rig_view(rig_last(rig), 0).msg.op, 33);
	verdict(rig, 1, WIRE_WRITTEN, op);
	is_int(chan_op_done(rig->chan, op), 0);
	rig_close(rig);
}

TAP_TEST(chan_write__done_while_the_peer_still_reads)
{
	struct rig *rig = rig_new(1);
	uint8_t body[sizeof(struct wire_read)];
	struct wire_write announced;
	struct wire_msg_view view;
	uint32_t op, before;

	is_int(chan_write(rig->chan, rig->peer, 55, 0, memory, sizeof(memory), rig->now, &op), 0);
	view = rig_view(&rig->sent[0], 0);
	is_int(wire_get_write(&view, &announced), 0);
	wire_put_read(body,
		      &(struct wire_read){.rkey = announced.source, .length = sizeof(memory)});
	rig_message(rig, 0, WIRE_READ, 77, body, sizeof(body));
	rig_poll(rig, 0);
	ok(!dlist_is_empty(&rig->peer->flow->serves));
	verdict(rig, 1, WIRE_WRITTEN, op);
	is_int(chan_op_done(rig->chan, op), 0);
	/* from here on the memory is the user's: the rest may not come from it */
	before = rig->n_sent;
	rig_ack(rig, rig->peer->tx_next, 0, NULL);
	rig_poll(rig, 0);
	is_int(rig->n_sent, before + 1);
	is_int(rig_view(rig_last(rig), 0).msg.kind, WIRE_REFUSE);
	rig_close(rig);
}

TAP_TEST(chan_write__no_buffer_leaves_nothing_behind)
{
	struct rig *rig = rig_new(1);
	uint32_t op = 7;

	rig->alloc_limit = 0;
	rig->chan->n_reserve = 0;
	is_int(chan_write(rig->chan, rig->peer, 55, 8, memory, 1000, rig->now, &op), -EAGAIN);
	is_int(rig->chan->ops_user, 0);
	is_int(op, 7);
	rig->chan->n_reserve = CHAN_RESERVE;
	rig->alloc_limit = RIG_POOL;
	is_int(chan_write(rig->chan, rig->peer, 55, 8, memory, 0, rig->now, &op), 0);
	is_int(chan_op_done(rig->chan, op), 0);
	rig_close(rig);
}

/* A write of the peer into ours: asked for, placed, answered. */
TAP_TEST(pull_write__is_carried_out)
{
	struct rig *rig = rig_new(1);
	uint8_t body[sizeof(struct wire_write)];
	struct wire_read ask;
	uint32_t wire_op;
	uint64_t rkey;

	memset(memory, 0, 200);
	is_int(region_add(rig->config.regions, memory, 200, &rkey), 0);
	wire_put_write(body, &(struct wire_write){
				     .rkey = rkey, .roffset = 100, .length = 50, .source = 4711});
	rig_message(rig, 0, WIRE_WRITE, 33, body, sizeof(body));
	rig_poll(rig, 0);
	ask = request(&rig->sent[0], &wire_op);
	is_int(ask.rkey, 4711);
	is_int(ask.length, 50);
	is_int(chan_op_done(rig->chan, wire_op), -ENOENT); /* not the user's */
	place(rig, 1, wire_op, 0, 50, 6);
	rig_poll(rig, 0);
	is_int(memory[99], 0);
	is_int(memory[149], 6);
	is_int(memory[150], 0);
	is_int(rig_view(rig_last(rig), 0).msg.kind, WIRE_WRITTEN);
	is_int(rig_view(rig_last(rig), 0).msg.op, 33);
	rig_close(rig);
}

TAP_TEST(pull_write__outside_is_refused)
{
	struct rig *rig = rig_new(1);
	uint8_t body[sizeof(struct wire_write)];
	uint64_t rkey;

	is_int(region_add(rig->config.regions, memory, 200, &rkey), 0);
	wire_put_write(body, &(struct wire_write){
				     .rkey = rkey, .roffset = 151, .length = 50, .source = 4711});
	rig_message(rig, 0, WIRE_WRITE, 33, body, sizeof(body));
	rig_poll(rig, 0);
	is_int(rig_view(rig_last(rig), 0).msg.kind, WIRE_REFUSE);
	is_int(rig_view(rig_last(rig), 0).msg.op, 33);
	rig_close(rig);
}

TAP_TEST(pull_unexport__write_under_way_is_refused)
{
	struct rig *rig = rig_new(1);
	uint8_t body[sizeof(struct wire_write)];
	uint32_t wire_op;
	uint64_t rkey;

	memset(memory, 0, 200);
	is_int(region_add(rig->config.regions, memory, 200, &rkey), 0);
	wire_put_write(body, &(struct wire_write){.rkey = rkey, .length = 200, .source = 4711});
	rig_message(rig, 0, WIRE_WRITE, 33, body, sizeof(body));
	rig_poll(rig, 0);
	request(&rig->sent[0], &wire_op);
	chan_unexport(rig->chan, rkey, memory, 200);
	rig_poll(rig, 0);
	is_int(rig_view(rig_last(rig), 0).msg.kind, WIRE_REFUSE);
	place(rig, 1, wire_op, 0, 50, 6);
	is_int(rig->rails[0].drops[DROP_STALE], 1);
	is_int(memory[0], 0);
	rig_close(rig);
}

TAP_TEST(pull_peer_gone__operations_end)
{
	struct rig *rig = rig_new(1);
	uint8_t body[sizeof(struct wire_write)];
	uint32_t read, write;
	uint64_t rkey;

	is_int(region_add(rig->config.regions, memory, 200, &rkey), 0);
	wire_put_write(body, &(struct wire_write){.rkey = rkey, .length = 200, .source = 4711});
	rig_message(rig, 0, WIRE_WRITE, 33, body, sizeof(body));
	is_int(chan_read(rig->chan, rig->peer, 1, 0, memory, 1000, rig->now, &read), 0);
	is_int(chan_write(rig->chan, rig->peer, 1, 0, memory, 1000, rig->now, &write), 0);
	chan_peer_dead(rig->chan, rig->peer, EPIPE);
	is_int(rig->chan->outstanding, 0);
	is_int(chan_op_done(rig->chan, read), -EPIPE);
	is_int(chan_op_done(rig->chan, write), -EPIPE);
	is_int(chan_read(rig->chan, rig->peer, 1, 0, memory, 1000, rig->now, &read), -EPIPE);
	rig_close(rig);
}

TAP_TEST(pull__numbers_are_not_reused_at_once)
{
	struct rig *rig = rig_new(1);
	uint32_t op, before = 0;
	int i;

	for (i = 0; i < 70000; i++) {
		if (chan_read(rig->chan, rig->peer, 1, 0, memory, 0, rig->now, &op))
			break;
		if (op == before || !op || chan_op_done(rig->chan, op))
			break;
		before = op;
	}
	is_int(i, 70000);
	is_int(rig->chan->n_op_chunks, 1);
	rig_close(rig);
}

TAP_TEST(chan_read__too_many)
{
	struct rig *rig = rig_new(1);
	uint32_t op, n = 0;

	while (n < 2000 && !chan_read(rig->chan, rig->peer, 1, 0, memory, 0, rig->now, &op))
		n++;
	is_int(n, CHAN_OPS_USER);
	rig_close(rig);
}
