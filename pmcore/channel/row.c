// SPDX-License-Identifier: BSD-3-Clause
/*
 * row - many datagrams to one peer given in one call, as the parts of a long message are. Their
 * packets are filled and transmitted by the run, and wait in no queue while the way is free.
 * Messages that were given before the row leave before it.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/copier.h"
#include "pmcore/channel/credit.h"
#include "pmcore/channel/emit.h"
#include "pmcore/channel/limit.h"
#include "pmcore/channel/road.h"
#include "pmcore/channel/sendwin.h"
#include "pmcore/channel/submit.h"

/* The number of datagrams from @at on. */
static uint64_t count_from(const struct pm_row *row, uint64_t at)
{
	uint64_t next = at + pm_row_part(row, at);

	return 1 + (row->len - next + row->others.part - 1) / row->others.part;
}

static void fill(const struct pm_row *row, uint64_t at, uint32_t mseq, enum copy_way way,
		 struct pm_packet *packet)
{
	const struct pm_row_head *head = pm_row_head(row, at);
	uint32_t part = pm_row_part(row, at);
	struct wire_msg msg = {
		.length = (uint16_t)(head->len + part), .kind = WIRE_DATAGRAM, .op = mseq};
	uint8_t *body = packet->data + WIRE_OVERHEAD;

	assert(packet->room >= WIRE_OVERHEAD + msg.length);
	wire_put_msg(packet->data + sizeof(struct wire_header), &msg);
	memcpy(body, head->data, head->len);
	if (row->data)
		copy_by(way, body + head->len, row->data + at, part);
	else
		row->gather(row->arg, body + head->len, part);
	packet->is_past_caches = way == COPY_PAST_CACHES;
	packet->len = (uint32_t)WIRE_OVERHEAD + head->len + part;
}

/*
 * Packets of the row from *at on, as many as there are buffers for and no more than are filled
 * together.
 */
static uint32_t fill_run(struct chan *chan, struct chan_peer *peer, const struct pm_row *row,
			 bool is_bulk, uint64_t *at, struct pm_packet **ret_packets)
{
	uint32_t waiting = peer->flow->msgs.count;
	uint64_t most = min_u64(chan->queue_max - waiting, chan->user_max - chan->user_packets);
	uint64_t begin = *at;
	struct copier_run run = {.way = COPY_ORDINARY};
	uint32_t n, i;

	if (row->data)
		copier_begin(chan, is_bulk, row->len,
			     min_u64(most, (row->len - begin) / row->others.part), &run);
	most = min_u64(min_u64(most, chan->fill_most), count_from(row, begin));
	n = emit_alloc_run(chan, is_bulk, (uint32_t)most, ret_packets);
	for (i = 0; i < n; i++) {
		fill(row, *at, peer->tx_mseq + waiting + i, run.way, ret_packets[i]);
		*at += pm_row_part(row, *at);
	}
	copier_end(chan, &run, n, *at - begin);
	return n;
}

/*
 * So many of a run can leave at once, behind nothing that waits. Short rows of a burst are held, as
 * messages are.
 */
static uint32_t room_for(const struct chan *chan, const struct chan_peer *peer, uint32_t n,
			 bool is_long)
{
	bool is_held = !is_long && peer->flow->msgs_in_flight >= chan->cork_after;

	if (peer->flow->msgs.count || is_held || chan->is_stopped)
		return 0;
	return (uint32_t)min_u64(n, min_u64(limit_room(peer, 0), credit_room(peer)));
}

/* Sends a run, or queues what can't leave. */
static void send_run(struct chan *chan, struct chan_peer *peer, struct pm_packet *const *packets,
		     uint32_t n, bool is_long)
{
	uint8_t flags = is_long && chan->config.bulk_rails ? SLOT_MSG | SLOT_BULK : SLOT_MSG;
	uint32_t room = room_for(chan, peer, n, is_long), i = 0;

	chan->unacked += n;
	chan->user_packets += n;
	if (room)
		i = sendwin_transmit_run(chan, peer, packets, room, flags);
	if (i == n)
		return;
	for (; i < n; i++)
		submit_enqueue(peer->flow, packets[i]);
	chan_ready(chan, peer);
}

/*
 * It is long data, so what is queued of it goes the same way later, and what a cork holds before it
 * goes now.
 */
static bool begin(struct chan *chan, struct chan_peer *peer, const struct pm_row *row)
{
	bool is_long = count_from(row, 0) >= CHAN_BULK;
	int posted = 0;

	if (is_long && chan->config.bulk_rails) {
		if (chan->cork_after)
			chan->n_bursts++;
		peer->flow->bulk_burst = chan->n_bursts;
	}
	if (peer->flow->msgs.count && is_long)
		(void)sendwin_output(chan, peer, &posted);
	return is_long;
}

static bool is_for_bulk(struct chan *chan, struct chan_peer *peer, bool is_long)
{
	return is_long ? road_is_bulk(chan, peer) : submit_is_for_bulk(chan, peer);
}

int chan_post_row(struct chan *chan, struct chan_peer *peer, const struct pm_row *row, uint64_t now,
		  uint64_t *ret_done)
{
	int rc = submit_check(chan, peer, row->first.len + pm_row_part(row, 0));
	struct pm_packet *packets[CHAN_RUN];
	uint64_t done = 0, heads = 0;
	uint32_t n;
	bool is_long;

	*ret_done = 0;
	if (rc)
		return rc;
	chan->now = now;
	peer->flow->used_ns = now;
	is_long = begin(chan, peer, row);
	while (done < row->len) {
		n = fill_run(chan, peer, row, is_for_bulk(chan, peer, is_long), &done, packets);
		if (!n)
			break;
		send_run(chan, peer, packets, n, is_long);
		heads += (uint64_t)n * row->others.len;
		chan->stats->tx_messages += n;
	}
	if (done)
		heads += (uint64_t)row->first.len - row->others.len;
	chan->stats->tx_bytes += done + heads;
	*ret_done = done;
	if (submit_is_much_held(peer))
		chan_poll(chan, now);
	if (done == row->len)
		return 0;
	chan->stats->no_buffer++;
	return -EAGAIN;
}
