// SPDX-License-Identifier: BSD-3-Clause
/*
 * serve - answers owed to the operations of other nodes: ranges of exported memory to stream, and
 * verdicts. A range is a cursor; packets are made from it only when the window has room, so that
 * messages submitted meanwhile overtake it. They hold a copy, or are sent from the region itself
 * until it is withdrawn: those that are not acked by then get their copy.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/copier.h"
#include "pmcore/channel/emit.h"
#include "pmcore/channel/limit.h"
#include "pmcore/channel/memory.h"
#include "pmcore/channel/road.h"
#include "pmcore/channel/sendwin.h"
#include "pmcore/channel/serve.h"

#define SERVE_CHUNK 64
#define LEND_MIN 256 /* bytes from which on naming memory costs less than copying it */

static bool has_room(struct chan *chan)
{
	struct chan_serve *serve;
	uint32_t i;

	if (!dlist_is_empty(&chan->serve_free))
		return true;
	if (chan->n_serves >= CHAN_SERVES_MAX)
		return false;
	serve = chunk_alloc(chan, &chan->serve_chunks, SERVE_CHUNK * sizeof(*serve));
	if (!serve)
		return false;
	for (i = 0; i < SERVE_CHUNK; i++)
		dlist_add_tail(&chan->serve_free, &serve[i].link);
	chan->n_serves += SERVE_CHUNK;
	return true;
}

struct chan_serve *serve_take(struct chan *chan)
{
	struct chan_serve *serve;

	if (!has_room(chan))
		return NULL;
	serve = dlist_entry(chan->serve_free.next, struct chan_serve, link);
	dlist_del(&serve->link);
	return serve;
}

void serve_give(struct chan *chan, struct chan_serve *serve)
{
	dlist_del(&serve->link);
	dlist_add_head(&chan->serve_free, &serve->link);
}

/* Verdicts are short and end an operation: they go before ranges. */
void serve_verdict(struct chan *chan, struct chan_peer *peer, struct chan_serve *serve, uint32_t op,
		   uint32_t error)
{
	serve->kind = error ? WIRE_REFUSE : WIRE_WRITTEN;
	serve->op = op;
	serve->error = error;
	serve->is_bulk = false;
	serve->at = NULL;
	serve->left = 0;
	dlist_add_head(&peer->flow->serves, &serve->link);
	chan_ready(chan, peer);
}

enum drop_reason serve_read(struct chan *chan, struct chan_peer *peer,
			    const struct wire_msg_view *view)
{
	struct chan_serve *serve;
	struct wire_read body;
	void *addr;

	if (wire_get_read(view, &body) || !body.length)
		return DROP_MALFORMED;
	serve = serve_take(chan);
	if (!serve)
		return DROP_NO_BUFFER;
	if (region_find(chan->config.regions, body.rkey, body.roffset, body.length, &addr)) {
		serve_verdict(chan, peer, serve, view->msg.op, EACCES);
		return DROP_NONE;
	}
	serve->kind = WIRE_PLACE;
	serve->op = view->msg.op;
	serve->error = 0;
	serve->is_bulk = chan->config.bulk_rails &&
			 body.length >= (uint64_t)CHAN_BULK * serve_payload(peer);
	serve->at = addr;
	serve->left = body.length;
	serve->offset = body.offset;
	serve->rkey = body.rkey;
	dlist_add_tail(&peer->flow->serves, &serve->link);
	chan_ready(chan, peer);
	return DROP_NONE;
}

uint32_t serve_payload(const struct chan_peer *peer)
{
	uint32_t len = peer->mtu - (uint32_t)CHAN_PLACE_LEN;
	uint32_t most = UINT16_MAX - (uint32_t)(CHAN_PLACE_LEN - sizeof(struct wire_header));

	return (len < most ? len : most) & ~(uint32_t)(WIRE_ALIGN - 1);
}

/*
 * Sent from where it lies, where the device can do that cheaply; a copy that leaves uncopied then
 * is cheaper still. A checksum needs the packet in one piece.
 */
static bool is_lent(const struct chan *chan, bool is_bulk, uint32_t len)
{
	return chan->config.can_gather && !chan->config.crc && len >= LEND_MIN &&
	       (is_bulk || !chan->config.bulk_rails) && !chan->config.can_show;
}

/* The part of a range that begins @skip bytes ahead. */
static void fill_place(const struct chan_serve *serve, uint64_t skip, uint32_t len, bool is_lent,
		       enum copy_way way, struct pm_packet *packet)
{
	struct wire_place body = {.offset = serve->offset + skip};
	struct wire_msg msg = {
		.length = (uint16_t)(sizeof(body) + len), .kind = WIRE_PLACE, .op = serve->op};

	wire_put_msg(packet->data + sizeof(struct wire_header), &msg);
	wire_put_place(packet->data + WIRE_OVERHEAD, &body);
	packet->len = (uint32_t)CHAN_PLACE_LEN;
	if (is_lent) {
		packet->more = serve->at + skip;
		packet->more_len = len;
	} else {
		copy_by(way, packet->data + CHAN_PLACE_LEN, serve->at + skip, len);
		packet->is_past_caches = way == COPY_PAST_CACHES;
		packet->len += len;
	}
}

static void fill_verdict(const struct chan_serve *serve, struct pm_packet *packet)
{
	struct wire_refuse body = {.error = serve->error};
	struct wire_msg msg = {.length = sizeof(body), .kind = serve->kind, .op = serve->op};

	wire_put_msg(packet->data + sizeof(struct wire_header), &msg);
	wire_put_refuse(packet->data + WIRE_OVERHEAD, &body);
	packet->len = (uint32_t)(WIRE_OVERHEAD + sizeof(body));
}

/*
 * Packets of what is left of a range, at most @most and no more than are filled together; their
 * number.
 */
static uint32_t fill_places(struct chan *chan, struct chan_peer *peer,
			    const struct chan_serve *serve, uint32_t most,
			    struct pm_packet **ret_packets)
{
	bool is_bulk = serve->is_bulk && road_is_bulk(chan, peer);
	uint32_t payload = serve_payload(peer), n = 0, len;
	struct pm_packet *packet;
	struct copier_run run;
	uint64_t skip;

	copier_begin(chan, is_bulk, serve->left, min_u64(most, serve->left / payload), &run);
	for (skip = 0; skip < serve->left && n < most && n < chan->fill_most; skip += len) {
		packet = is_bulk ? emit_alloc_bulk(chan) : emit_alloc(chan);
		if (!packet)
			break;
		len = (uint32_t)min_u64(serve->left - skip, payload);
		fill_place(serve, skip, len, is_lent(chan, is_bulk, len), run.way, packet);
		ret_packets[n++] = packet;
	}
	copier_end(chan, &run, n, skip);
	return n;
}

/* So many packets of the answer have left. */
static void advance(struct chan *chan, const struct chan_peer *peer, struct chan_serve *serve,
		    uint32_t n)
{
	uint64_t len = min_u64(serve->left, (uint64_t)n * serve_payload(peer));

	if (serve->left == len) {
		serve_give(chan, serve);
		return;
	}
	serve->at += len;
	serve->offset += len;
	serve->left -= len;
}

/* At most @most packets of the answer: how many have left, at least one if that can leave. */
static uint32_t send_some(struct chan *chan, struct chan_peer *peer, struct chan_serve *serve,
			  uint32_t most)
{
	uint8_t flags = serve->is_bulk ? SLOT_BULK : 0;
	struct pm_packet *packets[CHAN_RUN];
	uint32_t n = 0, left, i;

	if (serve->kind == WIRE_PLACE) {
		n = fill_places(chan, peer, serve, most, packets);
	} else if ((packets[0] = emit_alloc(chan))) {
		fill_verdict(serve, packets[0]);
		n = 1;
	}
	left = sendwin_transmit_run(chan, peer, packets, n, flags);
	for (i = left; i < n; i++) {
		packets[i]->more_len = 0;
		emit_free(chan, packets[i]);
	}
	if (left)
		advance(chan, peer, serve, left);
	return left;
}

/* A trial of the road reads the time at each poll, so it has more of them. */
static int let_others(struct chan *chan, const struct chan_flow *flow)
{
	if (!flow->road.is_trial)
		return 1;
	chan_wake_at(chan, chan->now + 1);
	return -EAGAIN;
}

/* An eighth of the window stays free for messages. 0, -EAGAIN, or 1: more could go at once. */
int serve_output(struct chan *chan, struct chan_peer *peer, int *posted)
{
	struct chan_flow *flow = peer->flow;
	uint32_t burst = flow->road.is_trial ? CHAN_BURST : chan->serve_burst, room, left;
	struct chan_serve *serve;

	while (!dlist_is_empty(&flow->serves)) {
		serve = dlist_entry(flow->serves.next, struct chan_serve, link);
		room = limit_room(peer, serve->kind == WIRE_PLACE ? peer->limit / 8u : 0);
		if (!room)
			return 0;
		if (!burst)
			return let_others(chan, flow);
		left = send_some(chan, peer, serve, room < burst ? room : burst);
		if (!left)
			return -EAGAIN;
		burst -= left;
		*posted += (int)left;
	}
	return 0;
}

/* Ranges go by key, not by address: regions may overlap, the others stay exported. */
void serve_unexport(struct chan *chan, struct chan_peer *peer, uint64_t rkey, const void *addr,
		    uint64_t len)
{
	struct dlist *head = &peer->flow->serves;
	struct dlist *link, *next;
	struct chan_serve *serve;

	for (link = head->next; link != head; link = next) {
		next = link->next;
		serve = dlist_entry(link, struct chan_serve, link);
		if (!serve->left || serve->rkey != rkey)
			continue;
		dlist_del(&serve->link);
		serve_verdict(chan, peer, serve, serve->op, EACCES);
	}
	sendwin_take_back(chan, peer, addr, len);
}

void serve_clear(struct chan *chan, struct chan_peer *peer)
{
	struct dlist *head = &peer->flow->serves;

	while (!dlist_is_empty(head))
		serve_give(chan, dlist_entry(head->next, struct chan_serve, link));
}

void serve_fini(struct chan *chan)
{
	chunks_free(chan, &chan->serve_chunks);
}
