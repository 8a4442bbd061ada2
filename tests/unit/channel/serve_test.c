// SPDX-License-Identifier: BSD-3-Clause
/* serve: streaming what others read, in full packets, behind messages. */
#include "tests/unit/channel/rig.h"

#define PAYLOAD (RIG_MTU - 64)

static uint8_t memory[100000];

static uint64_t export(struct rig *rig)
{
	uint64_t rkey = 0;
	uint32_t i;

	for (i = 0; i < sizeof(memory); i++)
		memory[i] = (uint8_t)(i * 7 + i / 256);
	is_int(region_add(rig->config.regions, memory, sizeof(memory), &rkey), 0);
	return rkey;
}

static void ask(struct rig *rig, uint32_t seq, uint64_t rkey, uint64_t roffset, uint64_t len)
{
	uint8_t body[sizeof(struct wire_read)];

	wire_put_read(body,
		      &(struct wire_read){
			      .rkey = rkey, .roffset = roffset, .offset = 5000, .length = len});
	rig_message(rig, seq, WIRE_READ, 77, body, sizeof(body));
}

/* For a device that sends from the region itself. */
static struct rig *gathering(void)
{
	struct rig *rig = rig_init();

	rig->config.can_gather = true;
	rig_open(rig);
	return rig;
}

static void read_full_packets(struct rig *rig)
{
	uint64_t rkey = export(rig);
	struct wire_place place;
	uint32_t i, at = 0;

	ask(rig, 0, rkey, 100, 3 * PAYLOAD + 10);
	rig_poll(rig, 0);
	is_int(rig->n_sent, 4);
	for (i = 0; i < 4; i++) {
		struct wire_msg_view view = rig_view(&rig->sent[i], 0);
		uint32_t len = view.msg.length - 8;

		is_int(view.msg.kind, WIRE_PLACE);
		is_int(view.msg.op, 77);
		is_int(wire_get_place(&view, &place), 0);
		is_int(place.offset, 5000 + at);
		is_int(len, i < 3 ? PAYLOAD : 10);
		is_int(rig->sent[i].len, i < 3 ? RIG_MTU : 74);
		is_mem(view.payload + 8, memory + 100 + at, len);
		at += len;
	}
	rig_close(rig);
}

TAP_TEST(serve_read__full_packets_from_user_memory)
{
	read_full_packets(rig_new(1));
	read_full_packets(gathering());
}

TAP_TEST(serve_read__sent_from_the_region_itself)
{
	struct rig *rig = gathering();
	uint64_t rkey = export(rig);

	ask(rig, 0, rkey, 0, 2 * PAYLOAD + 10);
	rig_poll(rig, 0);
	ok(rig->sent[1].packet->more == memory + PAYLOAD);
	is_int(rig->sent[1].packet->more_len, PAYLOAD);
	is_int(rig->sent[2].packet->more_len, 0); /* short: copied */
	is_int(rig->peer->flow->n_lent, 2);
	rig_ack(rig, rig->peer->tx_next, 0, NULL);
	is_int(rig->peer->flow->n_lent, 0);
	is_int(rig->sent[1].packet->more_len, 0);
	rig_close(rig);
}

TAP_TEST(serve_read__copied_where_one_piece_is_needed)
{
	struct rig *rig = gathering();
	uint64_t rkey = export(rig);

	/* a checksum */
	ask(rig, 0, rkey, 0, PAYLOAD);
	rig->chan->config.crc = true;
	rig_poll(rig, 0);
	is_int(rig_view(rig_last(rig), 0).msg.kind, WIRE_PLACE);
	is_int(rig_last(rig)->packet->more_len, 0);
	rig_close(rig);

	/* a rail that is not for long data */
	rig = rig_init();
	rig->config.can_gather = true;
	rig->config.n_rails = 2;
	rig->config.bulk_rails = 2;
	rig_open(rig);
	rkey = export(rig);
	ask(rig, 0, rkey, 0, PAYLOAD);
	rig_poll(rig, 0);
	is_int(rig_view(rig_last(rig), 0).msg.kind, WIRE_PLACE);
	is_int(rig_last(rig)->packet->more_len, 0);
	rig_close(rig);
}

/* Packets that leave uncopied hold their data themselves, however much is offered. */
TAP_TEST(serve_read__where_packets_can_be_shown)
{
	struct rig *rig = rig_init();
	static uint8_t large[4 << 20];
	uint64_t rkey, other;

	rig->config.can_gather = true;
	rig->config.can_show = true;
	rig_open(rig);
	rkey = export(rig);
	ask(rig, 0, rkey, 0, PAYLOAD);
	rig_poll(rig, 0);
	is_int(rig_last(rig)->packet->more_len, 0);
	is_int(region_add(rig->config.regions, large, sizeof(large), &other), 0);
	ask(rig, 1, rkey, 0, PAYLOAD);
	rig_poll(rig, 0);
	is_int(rig_last(rig)->packet->more_len, 0);
	rig_close(rig);
}

/* Peers take turns, each for a few of the bursts that the device sends best. */
TAP_TEST(serve_output__peers_take_turns)
{
	const uint32_t turn = CHAN_BURSTS * 2, other = RIG_PEER + 1;
	struct rig *rig = rig_init();
	struct chan_peer *peer;
	uint64_t rkey;
	uint32_t i;

	rig->config.burst = 2;
	rig_open(rig);
	is_int(chan_peer_add(rig->chan, other, rig, 0xff, RIG_MTU, &peer), 0);
	rkey = export(rig);
	ask(rig, 0, rkey, 0, 2 * turn * PAYLOAD);
	rig->from.src = other;
	rig->from.rail_seq = 0;
	ask(rig, 0, rkey, 0, 2 * turn * PAYLOAD);
	rig_poll(rig, 0);
	for (i = 0; i < 2 * turn; i++)
		is_int(rig->sent[i].header.dst, i < turn ? RIG_PEER : other);
	rig_close(rig);
}

/* The copy that is still to leave holds its data when the program has its memory back. */
TAP_TEST(serve_read__acked_while_the_device_holds_it)
{
	struct rig *rig = gathering();
	uint64_t rkey = export(rig);
	struct pm_packet *packet;

	rig->is_slow = true;
	ask(rig, 0, rkey, 0, PAYLOAD);
	rig_poll(rig, 0);
	packet = rig_last(rig)->packet;
	is_int(packet->more_len, PAYLOAD);
	rig_ack(rig, rig->peer->tx_next, 0, NULL);
	is_int(packet->more_len, 0);
	is_int(packet->len, RIG_MTU);
	is_mem(packet->data + 64, memory, PAYLOAD);
	is_int(rig->peer->flow->n_lent, 0);
	rig_complete(rig);
	rig_close(rig);
}

TAP_TEST(serve_read__stops_short_of_the_window)
{
	struct rig *rig = rig_new(1);
	uint64_t rkey = export(rig);
	uint32_t n;

	rig->peer->limit = 16;
	ask(rig, 0, rkey, 0, sizeof(memory));
	rig_poll(rig, 0);
	n = rig->n_sent;
	is_int(n, 14); /* an eighth of the window is for messages */
	is_int(rig_send(rig, 8, 1), 0);
	is_int(rig_view(rig_last(rig), 0).msg.kind, WIRE_DATAGRAM);
	rig_ack(rig, rig->peer->tx_next, 0, NULL);
	ok(rig_poll(rig, 0) > 10);
	rig_close(rig);
}

TAP_TEST(serve_read__range_is_checked)
{
	struct rig *rig = rig_new(1);
	uint64_t rkey = export(rig);
	uint32_t i;

	ask(rig, 0, rkey, sizeof(memory) - 10, 11);
	ask(rig, 1, rkey + 1, 0, 1);
	ask(rig, 2, rkey, UINT64_MAX, 2);
	rig_poll(rig, 0);
	is_int(rig->n_sent, 3);
	for (i = 0; i < 3; i++)
		is_int(rig_view(&rig->sent[i], 0).msg.kind, WIRE_REFUSE);
	ask(rig, 3, rkey, 0, 0);
	is_int(rig->rails[0].drops[DROP_MALFORMED], 1);
	rig_close(rig);
}

TAP_TEST(serve_unexport__the_rest_is_refused)
{
	struct rig *rig = rig_new(1);
	uint64_t rkey = export(rig);
	uint32_t sent;

	ask(rig, 0, rkey, 0, sizeof(memory));
	rig_poll(rig, 0);
	sent = rig->n_sent;
	chan_unexport(rig->chan, rkey + 1, memory, 0); /* another key: not ours */
	ok(!dlist_is_empty(&rig->peer->flow->serves));
	chan_unexport(rig->chan, rkey, memory, sizeof(memory));
	rig_ack(rig, rig->peer->tx_next, 0, NULL);
	rig_poll(rig, 0);
	is_int(rig->n_sent, sent + 1);
	is_int(rig_view(rig_last(rig), 0).msg.kind, WIRE_REFUSE);
	ok(dlist_is_empty(&rig->peer->flow->serves));
	rig_close(rig);
}

/* The memory is its owner's again, and what was lost of it comes as it was. */
static void repeat_what_was_served(struct rig *rig)
{
	uint64_t rkey = export(rig);
	struct wire_msg_view view;
	uint8_t first = memory[0];

	ask(rig, 0, rkey, 0, 3 * PAYLOAD);
	rig_poll(rig, 0);
	is_int(rig->n_sent, 3);
	region_remove(rig->config.regions, rkey, &(void *){NULL}, &(uint64_t){0});
	chan_unexport(rig->chan, rkey, memory, sizeof(memory));
	memset(memory, ~first, sizeof(memory));
	rig_ack(rig, 0, 2, (uint32_t[WIRE_RAILS]){3}); /* 0 and 1 are lost */
	rig->n_sent = 0;
	rig_poll(rig, 0);
	view = rig_view(&rig->sent[0], 0);
	is_int(view.msg.kind, WIRE_PLACE);
	is_int(view.payload[8], first);
	rig_close(rig);
}

TAP_TEST(serve_unexport__what_was_served_is_repeated)
{
	repeat_what_was_served(rig_new(1));
	repeat_what_was_served(gathering());
}

TAP_TEST(serve_output__no_buffer_waits)
{
	struct rig *rig = rig_new(1);
	uint64_t rkey = export(rig);

	/* the pool is empty but for two buffers of the reserve */
	while (rig->chan->n_reserve > 2)
		rig_tx_free(rig, rig->chan->reserve[--rig->chan->n_reserve]);
	rig->n_kept += rig->n_lent;
	rig->n_lent = 0;
	rig->is_dry = true;
	ask(rig, 0, rkey, 0, 5 * PAYLOAD);
	rig_poll(rig, 0);
	is_int(rig->n_sent, 2);
	ok(chan_deadline(rig->chan) > rig->now);
	rig->is_dry = false;
	is_int(rig_poll(rig, 0), 3);
	rig_close(rig);
}

TAP_TEST(serve_read__repeated_request_is_served_once)
{
	struct rig *rig = rig_new(1);
	uint64_t rkey = export(rig);

	ask(rig, 0, rkey, 0, 10);
	ask(rig, 0, rkey, 0, 10);
	rig_poll(rig, 0);
	is_int(rig->n_sent, 1);
	is_int(rig->rails[0].drops[DROP_DUPLICATE], 1);
	rig_close(rig);
}

TAP_TEST(serve_output__rail_takes_a_part)
{
	struct rig *rig = gathering();
	uint64_t rkey = export(rig);
	struct wire_place place;
	uint32_t i;

	rig->peer->limit = 16;
	ask(rig, 0, rkey, 0, 10 * PAYLOAD);
	rig->room = 3;
	is_int(rig_poll(rig, 0), 3);
	is_int(rig->n_lent, 3); /* what did not leave is back */
	is_int(rig->peer->flow->n_lent, 3);
	rig->room = 4;
	is_int(rig_poll(rig, 0), 4);
	rig->alloc_limit = rig->n_lent;
	rig->room = UINT32_MAX;
	is_int(rig_poll(rig, 0), 3); /* from the reserve */
	is_int(rig->n_sent, 10);
	for (i = 0; i < 10; i++) {
		struct wire_msg_view view = rig_view(&rig->sent[i], 0);

		is_int(rig->sent[i].header.seq, i);
		is_int(wire_get_place(&view, &place), 0);
		is_int(place.offset, 5000 + i * PAYLOAD);
		is_mem(view.payload + 8, memory + i * PAYLOAD, PAYLOAD);
	}
	rig_close(rig);
}

TAP_TEST(serve_output__buffers_end_within_a_run)
{
	struct rig *rig = rig_new(1);
	uint64_t rkey = export(rig);

	rig->peer->limit = 16;
	ask(rig, 0, rkey, 0, 12 * PAYLOAD);
	rig->alloc_limit = 2; /* and CHAN_RESERVE */
	is_int(rig_poll(rig, 0), 2 + CHAN_RESERVE);
	is_int(rig_poll(rig, 0), 0);
	rig->alloc_limit = RIG_POOL;
	is_int(rig_poll(rig, 0), 2);
	rig_close(rig);
}
