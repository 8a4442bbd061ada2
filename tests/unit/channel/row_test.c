// SPDX-License-Identifier: BSD-3-Clause
/* row: order, numbers and sizes, the ends of window, credit and buffers, rails for long data. */
#include "pmcore/channel/peer.h"
#include "tests/unit/channel/rig.h"

#define PART 300
#define HEAD 8

static uint8_t data[100 * PART];

static void fill_data(void)
{
	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 13 + i / 251);
}

static int post(struct rig *rig, uint64_t len, uint64_t *ret_done)
{
	const struct pm_row_head head = {"headhead", HEAD, PART};
	struct pm_row row = {.first = head, .others = head, .data = data, .len = len};

	fill_data();
	return chan_post_row(rig->chan, rig->peer, &row, rig->now, ret_done);
}

/* The next bytes of data; *@arg: how many there were. */
static void next_bytes(void *arg, void *to, size_t n)
{
	uint64_t *at = arg;

	memcpy(to, data + *at, n);
	*at += n;
}

/* The @n-th packet posted is the datagram @mseq of a row, @part bytes from @at on. */
static void is_part(const struct rig *rig, uint32_t n, uint32_t mseq, uint64_t at, uint32_t part)
{
	struct wire_msg_view view = rig_view(&rig->sent[n], 0);

	is_int(view.msg.kind, WIRE_DATAGRAM);
	is_int(view.msg.op, mseq);
	if (!is_int(view.msg.length, HEAD + part))
		return;
	is_mem(view.payload, "headhead", HEAD);
	is_mem(view.payload + HEAD, data + at, part);
}

/*
 * @n packets from the @first posted on are the full parts of a row whose first datagram is @mseq.
 */
static void are_parts(const struct rig *rig, uint32_t first, uint32_t mseq, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		is_part(rig, first + i, mseq + i, (uint64_t)i * PART, PART);
}

TAP_TEST(chan_post_row__all_at_once)
{
	struct rig *rig = rig_new(1);
	uint64_t done;

	is_int(post(rig, 5 * PART + 7, &done), 0);
	is_int(done, 5 * PART + 7);
	is_int(rig->n_sent, 6);
	are_parts(rig, 0, 0, 5);
	is_part(rig, 5, 5, 5 * PART, 7);
	is_int(rig->stats.tx_messages, 6);
	is_int(rig->stats.tx_bytes, 5 * PART + 7 + 6 * HEAD);
	chan_check(rig->chan);
	rig_close(rig);
}

/* Data that are gathered: no more of them than is taken, whatever stops the row. */
TAP_TEST(chan_post_row__gathered)
{
	struct rig *rig = rig_new(1);
	uint64_t gathered = 0, done;
	const struct pm_row_head head = {"headhead", HEAD, PART};
	struct pm_row row = {.first = head,
			     .others = head,
			     .len = 5 * PART + 7,
			     .gather = next_bytes,
			     .arg = &gathered};

	is_int(post(rig, PART, &done), 0);
	rig->alloc_limit = 4;
	is_int(chan_post_row(rig->chan, rig->peer, &row, rig->now, &done), -EAGAIN);
	is_int(done, 3 * PART);
	is_int(gathered, done);
	row.len -= done;
	rig->alloc_limit = 100;
	is_int(chan_post_row(rig->chan, rig->peer, &row, rig->now, &done), 0);
	is_int(done, 2 * PART + 7);
	is_int(gathered, 5 * PART + 7);
	are_parts(rig, 1, 1, 5);
	is_part(rig, 6, 6, 5 * PART, 7);
	chan_check(rig->chan);
	rig_close(rig);
}

/* The first datagram has a head and a length of its own, once, wherever the row stops. */
TAP_TEST(chan_post_row__with_a_first_head)
{
	struct rig *rig = rig_new(1);
	struct pm_row row = {.first = {"first", 5, 100},
			     .others = {"headhead", HEAD, PART},
			     .data = data,
			     .len = 100 + 4 * PART + 7};
	struct wire_msg_view view;
	uint64_t done;

	fill_data();
	rig->alloc_limit = 3;
	is_int(chan_post_row(rig->chan, rig->peer, &row, rig->now, &done), -EAGAIN);
	is_int(done, 100 + 2 * PART);
	is_int(rig->stats.tx_bytes, 5 + 100 + 2 * (HEAD + PART));
	view = rig_view(&rig->sent[0], 0);
	is_int(view.msg.length, 5 + 100);
	is_mem(view.payload, "first", 5);
	is_mem(view.payload + 5, data, 100);
	is_part(rig, 1, 1, 100, PART);
	is_part(rig, 2, 2, 100 + PART, PART);
	rig->alloc_limit = 100;
	row.first = row.others;
	row.data += done;
	row.len -= done;
	is_int(chan_post_row(rig->chan, rig->peer, &row, rig->now, &done), 0);
	is_int(done, 2 * PART + 7);
	is_part(rig, 3, 3, 100 + 2 * PART, PART);
	is_part(rig, 5, 5, 100 + 4 * PART, 7);
	is_int(rig->n_sent, 6);
	is_int(rig->stats.tx_bytes, 5 + 100 + 5 * HEAD + 4 * PART + 7);
	chan_check(rig->chan);
	rig_close(rig);
}

/* A run that leaves best in one piece is posted before more is filled. */
TAP_TEST(chan_post_row__filled_by_bursts)
{
	struct rig *rig = rig_init();
	uint64_t done;

	rig->config.burst = 3;
	rig_open(rig);
	is_int(post(rig, 7 * PART, &done), 0);
	are_parts(rig, 0, 0, 7);
	for (uint32_t i = 0; i < 7; i++)
		is_int(rig->sent[i].n_lent, i < 6 ? i / 3 * 3 + 3 : 7);
	rig_close(rig);
}

TAP_TEST(chan_post_row__behind_what_waits)
{
	struct rig *rig = rig_new(1);
	uint64_t done;

	chan_quiesce(rig->chan, true);
	is_int(rig_send(rig, 10, 1), 0);
	is_int(post(rig, 3 * PART, &done), 0);
	is_int(rig->n_sent, 0);
	is_int(rig->peer->flow->msgs.count, 4);
	chan_quiesce(rig->chan, false);
	rig_poll(rig, 0);
	is_int(rig->n_sent, 4);
	is_int(rig_view(&rig->sent[0], 0).payload[0], 1);
	are_parts(rig, 1, 1, 3);
	rig_close(rig);
}

/* The window, then the queue, then no more; the rest is given again when there is room. */
TAP_TEST(chan_post_row__more_than_the_window)
{
	struct rig *rig = rig_init();
	uint64_t done, more;

	rig->config.window = 8;
	rig->config.credit = 8;
	rig_open(rig);
	is_int(post(rig, 40 * PART, &done), -EAGAIN);
	is_int(done, 16 * PART);
	is_int(rig->n_sent, 8);
	ok(rig_last(rig)->header.flags & WIRE_F_ACK_NOW);
	is_int(rig->peer->flow->msgs.count, 8);
	is_int(rig->stats.no_buffer, 1);
	is_int(post(rig, 24 * PART, &more), -EAGAIN);
	is_int(more, 0);
	rig->from.credit = 100;
	rig_ack(rig, 8, 0, NULL);
	rig_poll(rig, 0);
	is_int(rig->n_sent, 16);
	are_parts(rig, 0, 0, 16);
	rig_close(rig);
}

TAP_TEST(chan_post_row__credit_ends_in_the_middle)
{
	struct rig *rig = rig_init();
	uint64_t done;

	rig->config.credit = 3;
	rig_open(rig);
	is_int(post(rig, 6 * PART, &done), 0);
	is_int(rig->n_sent, 3);
	is_int(rig->peer->flow->msgs.count, 3);
	rig->from.credit = 6;
	rig_ack(rig, 3, 0, NULL);
	rig_poll(rig, 0);
	is_int(rig->n_sent, 6);
	are_parts(rig, 0, 0, 6);
	rig_close(rig);
}

TAP_TEST(chan_post_row__buffers_end_in_the_middle)
{
	struct rig *rig = rig_new(1);
	uint64_t done;

	rig->alloc_limit = 4;
	is_int(post(rig, 6 * PART, &done), -EAGAIN);
	is_int(done, 4 * PART);
	is_int(rig->n_sent, 4);
	rig_ack(rig, 4, 0, NULL);
	rig_close(rig);
}

TAP_TEST(chan_post_row__rail_full)
{
	struct rig *rig = rig_new(1);
	uint64_t done;

	rig->full = 1;
	is_int(post(rig, 4 * PART, &done), 0);
	is_int(rig->n_sent, 0);
	rig->full = 0;
	rig_poll(rig, 0);
	is_int(rig->n_sent, 4);
	are_parts(rig, 0, 0, 4);
	rig_close(rig);
}

/* Two rails, one of which is for long data and works. */
static struct rig *open_with_bulk(void)
{
	struct rig *rig = rig_init();

	rig->config.n_rails = 2;
	rig->config.bulk_rails = 2;
	rig->config.window = 64;
	rig->config.credit = 64;
	rig_open(rig);
	rig->peer->rail_acked[1] = 1;
	is_int(peer_flow(rig->chan, rig->peer) != NULL, 1);
	rig->peer->flow->road.proven = 3;
	rig->peer->limit = 64;
	return rig;
}

/*
 * Long rows take the rails that are for long data, together with what the cork held of them; short
 * ones do not.
 */
TAP_TEST(chan_post_row__rails_for_long_data)
{
	struct rig *rig = open_with_bulk();
	uint64_t done;
	uint32_t i;

	chan_cork(rig->chan, true);
	is_int(rig_send(rig, 10, 1), 0);
	is_int(rig->n_sent, 0);
	is_int(post(rig, 5 * PART, &done), 0);
	is_int(rig->n_sent, 6);
	for (i = 0; i < 6; i++)
		is_int(rig->sent[i].rail, 1);
	chan_cork(rig->chan, false);
	rig_ack(rig, 6, 0, NULL);
	is_int(post(rig, 3 * PART, &done), 0);
	is_int(rig->n_sent, 9);
	for (i = 6; i < 9; i++)
		is_int(rig->sent[i].rail, 0);
	rig_close(rig);
}

/*
 * The last packets of a long row have to wait for credit: they follow the others, though they are
 * few.
 */
TAP_TEST(chan_post_row__the_end_of_long_data_takes_the_same_rail)
{
	struct rig *rig = open_with_bulk();
	uint64_t done;

	rig->peer->tx_credit = rig->peer->tx_mseq + 4;
	is_int(post(rig, 6 * PART, &done), 0);
	is_int(done, 6 * PART);
	is_int(rig->n_sent, 4);
	rig_ack(rig, 4, 0, NULL);
	rig_poll(rig, 0);
	is_int(rig->n_sent, 6);
	for (uint32_t i = 0; i < 6; i++)
		is_int(rig->sent[i].rail, 1);
	are_parts(rig, 0, 0, 6);
	rig_close(rig);
}

/* Short rows of a burst wait with the messages between them, until many packets are held. */
TAP_TEST(chan_post_row__short_ones_of_a_burst_are_held)
{
	struct rig *rig = open_with_bulk();
	uint64_t done;
	uint32_t i;

	chan_cork(rig->chan, true);
	for (i = 0; i < CHAN_CORK_PACKETS - 2; i += 2) {
		is_int(post(rig, 2 * PART, &done), 0);
		is_int(done, 2 * PART);
	}
	is_int(rig->n_sent, 0);
	is_int(post(rig, 2 * PART, &done), 0);
	is_int(rig->n_sent, CHAN_CORK_PACKETS);
	for (i = 0; i < CHAN_CORK_PACKETS; i++) {
		is_int(rig->sent[i].rail, 1);
		is_part(rig, i, i, (uint64_t)(i % 2) * PART, PART);
	}
	is_int(post(rig, 2 * PART, &done), 0);
	is_int(rig->n_sent, CHAN_CORK_PACKETS);
	rig_poll(rig, 0);
	is_int(rig->n_sent, CHAN_CORK_PACKETS + 2);
	rig_close(rig);
}

TAP_TEST(chan_post_row__to_the_dead)
{
	struct rig *rig = rig_new(1);
	uint64_t done = 1;

	chan_peer_dead(rig->chan, rig->peer, EPIPE);
	is_int(post(rig, PART, &done), -EPIPE);
	is_int(done, 0);
	rig_close(rig);
}
