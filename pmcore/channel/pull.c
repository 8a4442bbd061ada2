// SPDX-License-Identifier: BSD-3-Clause
/*
 * pull - one-sided operations that this node carries out: reads, and the writes of others, which
 * are reads from here. All data is asked for in pieces and the sum of what is on the way is
 * bounded, so that any number of senders together never exceeds what we can take. Data that a
 * silent owner owes are not on the way: a program that computes keeps no others from being read.
 * Also holds our own writes until the peer has pulled them. Pieces are served by serve.c.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/grant.h"
#include "pmcore/channel/memory.h"
#include "pmcore/channel/pull.h"
#include "pmcore/channel/sendwin.h"
#include "pmcore/channel/serve.h"

#define OP_TABLE (CHAN_OPS_MAX / OP_CHUNK)
#define PIECE_MIN (16 * 1024)
#define PIECE_MAX (256 * 1024)
/*
 * Not heard for so long, an owner counts as silent. 1 MiB, the most that is asked for by default,
 * takes 8.4 ms at 1 Gbit/s. On a slower link, or with more asked for, data of an owner may wait in
 * a queue for longer; then as much again may be asked for.
 */
#define SILENT_NS 10000000
#define LOOK_NS                                                                                    \
	(SILENT_NS / 8) /* between two looks, at least: each of them goes through all flows */

int pull_init(struct chan *chan)
{
	dlist_init(&chan->pulling);
	dlist_init(&chan->serve_free);
	chan->op_free = UINT32_MAX;
	chan->op_chunks = chan_alloc(chan, OP_TABLE * sizeof(*chan->op_chunks));
	return chan->op_chunks ? 0 : -ENOMEM;
}

static struct chan_op *op_at(const struct chan *chan, uint32_t index)
{
	return &chan->op_chunks[index / OP_CHUNK][index % OP_CHUNK];
}

static int ops_grow(struct chan *chan)
{
	uint32_t first = chan->n_op_chunks * OP_CHUNK;
	struct chan_op *chunk;
	uint32_t i;

	if (chan->n_op_chunks == OP_TABLE)
		return -EAGAIN;
	chunk = chan_alloc(chan, OP_CHUNK * sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	chan->op_chunks[chan->n_op_chunks++] = chunk;
	for (i = 0; i < OP_CHUNK; i++) {
		dlist_init(&chunk[i].link);
		chunk[i].id = (first + i) | 1u << 16;
		chunk[i].next_free = i + 1 < OP_CHUNK ? first + i + 1 : chan->op_free;
	}
	chan->op_free = first;
	return 0;
}

static struct chan_op *op_take(struct chan *chan, struct chan_peer *peer, enum op_kind kind)
{
	struct chan_op *op;

	if (chan->op_free == UINT32_MAX && ops_grow(chan))
		return NULL;
	op = op_at(chan, chan->op_free);
	chan->op_free = op->next_free;
	op->kind = (uint8_t)kind;
	op->peer = peer;
	op->asked = 0;
	op->arrived = 0;
	op->verdict = NULL;
	op->status = -EAGAIN;
	if (!peer->flow->ops++)
		peer->flow->heard_ns = chan->now;
	if (kind != OP_PULL)
		chan->ops_user++;
	return op;
}

/* The number gets a new generation, so that late answers to it are known as such. */
static void op_give(struct chan *chan, struct chan_op *op)
{
	uint32_t index = op->id & UINT16_MAX;
	uint32_t generation = (op->id >> 16) + 1;

	if (generation > UINT16_MAX)
		generation = 1;
	if (op->kind != OP_PULL)
		chan->ops_user--;
	op->kind = OP_FREE;
	op->id = index | generation << 16;
	op->next_free = chan->op_free;
	chan->op_free = index;
}

struct chan_op *pull_find(const struct chan *chan, uint32_t id)
{
	uint32_t index = id & UINT16_MAX;
	struct chan_op *op;

	if (index >= chan->n_op_chunks * OP_CHUNK)
		return NULL;
	op = op_at(chan, index);
	return op->kind != OP_FREE && op->id == id ? op : NULL;
}

/*
 * The user may free what was written from: nothing reads it from here on, whatever the peer asked
 * for.
 */
static void withdraw_source(struct chan *chan, struct chan_peer *peer, const struct chan_op *op)
{
	uint64_t len;
	void *addr;

	if (region_remove(chan->config.regions, op->rkey, &addr, &len))
		return;
	serve_unexport(chan, peer, op->rkey, addr, len);
}

/* ---- what is on the way ---- */

static void enlist_flow(struct chan *chan, struct chan_flow *flow)
{
	if (!dlist_is_empty(&flow->pulls) && dlist_is_empty(&flow->pulling))
		dlist_add_tail(&chan->pulling, &flow->pulling);
}

static void set_silent(struct chan *chan, struct chan_flow *flow, bool is_silent)
{
	if (flow->is_silent == is_silent)
		return;
	flow->is_silent = is_silent;
	if (is_silent) {
		chan->silent += flow->owed;
		return;
	}
	chan->silent -= flow->owed;
	enlist_flow(chan, flow);
}

/*
 * The next look is due when the next owner may have become silent. For rounds in which all that
 * came has been taken.
 */
static void look_for_silence(struct chan *chan)
{
	uint64_t next = chan->now + SILENT_NS;
	struct chan_flow *flow;
	struct dlist *link;

	for (link = chan->flows.next; link != &chan->flows; link = link->next) {
		flow = dlist_entry(link, struct chan_flow, link);
		if (!flow->owed)
			continue;
		set_silent(chan, flow, chan->now >= flow->heard_ns + SILENT_NS);
		if (!flow->is_silent)
			next = min_u64(next, flow->heard_ns + SILENT_NS);
	}
	chan->silence_at = next > chan->now + LOOK_NS ? next : chan->now + LOOK_NS;
}

static bool is_room(const struct chan *chan, uint64_t len)
{
	uint64_t on_way = chan->outstanding - chan->silent;

	return !on_way || on_way + len <= chan->grant.budget;
}

/* The owner owes so many bytes more. */
static void add_owed(struct chan *chan, struct chan_flow *flow, uint64_t len)
{
	if (!flow->owed)
		flow->heard_ns = chan->now;
	flow->owed += len;
	chan->outstanding += len;
}

/* So many bytes have come, or never will. */
static void take_owed(struct chan *chan, struct chan_flow *flow, uint64_t len)
{
	flow->owed -= len;
	chan->outstanding -= len;
	if (flow->is_silent)
		chan->silent -= len;
	if (!flow->owed)
		set_silent(chan, flow, false);
}

/* ---- operations ---- */

/* Nothing more happens to the operation; a write carried out for a peer is answered. */
static void op_finish(struct chan *chan, struct chan_op *op, int status)
{
	struct chan_peer *peer = op->peer;

	dlist_del(&op->link);
	take_owed(chan, peer->flow, op->asked - op->arrived);
	peer->flow->ops--;
	op->peer = NULL;
	op->status = status;
	if (op->kind == OP_WRITE)
		withdraw_source(chan, peer, op);
	if (op->kind == OP_READ && !status)
		chan->stats->read_bytes += op->len;
	if (op->kind == OP_WRITE && !status)
		chan->stats->write_bytes += op->len;
	if (op->kind != OP_PULL)
		return;
	if (status == -EPIPE)
		serve_give(chan, op->verdict);
	else
		serve_verdict(chan, peer, op->verdict, op->initiator, (uint32_t)-status);
	op_give(chan, op);
}

/* Whole packets only, so that all but the last of an operation are of one size. */
static uint64_t piece_len(const struct chan *chan, const struct chan_peer *peer, uint64_t left)
{
	uint64_t piece = chan->grant.budget / 4;
	uint32_t payload = serve_payload(peer);

	if (piece < PIECE_MIN)
		piece = PIECE_MIN;
	if (piece > PIECE_MAX)
		piece = PIECE_MAX;
	piece = piece < payload ? payload : piece - piece % payload;
	return min_u64(piece, left);
}

static int ask(struct chan *chan, struct chan_op *op, uint64_t len)
{
	struct wire_read body = {.rkey = op->rkey,
				 .roffset = op->roffset + op->asked,
				 .offset = op->asked,
				 .length = len};
	struct wire_msg msg = {.length = sizeof(body), .kind = WIRE_READ, .op = op->id};
	uint8_t *at = sendwin_control(chan, op->peer, &msg);

	if (!at)
		return -EAGAIN;
	wire_put_read(at, &body);
	op->asked += len;
	add_owed(chan, op->peer->flow, len);
	return 0;
}

/* One that is due waits for a round in which all that came has been taken. */
static uint64_t next_look(const struct chan *chan)
{
	return chan->silence_at > chan->now ? chan->silence_at : chan->now + 1;
}

/*
 * Peers take turns; the operations of a peer go one after the other, so that the oldest is done
 * first.
 */
bool pull_output(struct chan *chan, bool has_heard_all)
{
	struct chan_flow *flow;
	struct chan_op *op;
	uint64_t len;

	while (!dlist_is_empty(&chan->pulling)) {
		flow = dlist_entry(chan->pulling.next, struct chan_flow, pulling);
		if (dlist_is_empty(&flow->pulls) || flow->is_silent) {
			dlist_del(&flow->pulling);
			continue;
		}
		op = dlist_entry(flow->pulls.next, struct chan_op, link);
		len = piece_len(chan, op->peer, op->len - op->asked);
		if (!is_room(chan, len) && has_heard_all && chan->now >= chan->silence_at) {
			look_for_silence(chan);
			continue;
		}
		if (!is_room(chan, len)) {
			chan->grant.is_used_up = true;
			chan_wake_at(chan, next_look(chan));
			return true;
		}
		if (ask(chan, op, len))
			return false;
		if (op->asked == op->len)
			dlist_del(&op->link);
		dlist_del(&flow->pulling);
		dlist_add_tail(&chan->pulling, &flow->pulling);
	}
	return true;
}

/* The operation has something to ask for. */
static void enlist(struct chan *chan, struct chan_op *op)
{
	struct chan_flow *flow = op->peer->flow;

	dlist_add_tail(&flow->pulls, &op->link);
	enlist_flow(chan, flow);
}

enum drop_reason pull_place(struct chan *chan, struct chan_peer *peer,
			    const struct wire_msg_view *view)
{
	struct chan_op *op = pull_find(chan, view->msg.op);
	struct wire_place body;
	uint64_t len;

	if (wire_get_place(view, &body))
		return DROP_MALFORMED;
	if (!op || op->peer != peer || op->kind == OP_WRITE)
		return DROP_STALE;
	len = view->msg.length - sizeof(body);
	if (body.offset > op->asked || len > op->asked - body.offset ||
	    len > op->asked - op->arrived)
		return DROP_MALFORMED;
	copy_bytes(op->local + body.offset, view->payload + sizeof(body), len);
	op->arrived += len;
	set_silent(chan, peer->flow, false);
	take_owed(chan, peer->flow, len);
	grant_arrived(chan, len);
	if (op->arrived == op->len)
		op_finish(chan, op, 0);
	return DROP_NONE;
}

enum drop_reason pull_verdict(struct chan *chan, struct chan_peer *peer,
			      const struct wire_msg_view *view)
{
	struct chan_op *op = pull_find(chan, view->msg.op);
	struct wire_refuse body;

	if (wire_get_refuse(view, &body))
		return DROP_MALFORMED;
	if (!op || op->peer != peer)
		return DROP_STALE;
	if (view->msg.kind == WIRE_WRITTEN && op->kind != OP_WRITE)
		return DROP_MALFORMED;
	op_finish(chan, op, view->msg.kind == WIRE_WRITTEN ? 0 : -EACCES);
	return DROP_NONE;
}

enum drop_reason pull_write(struct chan *chan, struct chan_peer *peer,
			    const struct wire_msg_view *view)
{
	struct chan_serve *verdict;
	struct wire_write body;
	struct chan_op *op;
	void *addr;

	if (wire_get_write(view, &body) || !body.length)
		return DROP_MALFORMED;
	verdict = serve_take(chan);
	if (!verdict)
		return DROP_NO_BUFFER;
	if (region_find_writable(chan->config.regions, body.rkey, body.roffset, body.length,
				 &addr)) {
		serve_verdict(chan, peer, verdict, view->msg.op, EACCES);
		return DROP_NONE;
	}
	op = op_take(chan, peer, OP_PULL);
	if (!op) {
		serve_give(chan, verdict);
		return DROP_NO_BUFFER;
	}
	op->local = addr;
	op->len = body.length;
	op->rkey = body.source;
	op->roffset = 0;
	op->target = body.rkey;
	op->initiator = view->msg.op;
	op->verdict = verdict;
	enlist(chan, op);
	return DROP_NONE;
}

static int announce(struct chan *chan, struct chan_op *op, uint64_t rkey, uint64_t roffset)
{
	struct wire_write body = {
		.rkey = rkey, .roffset = roffset, .length = op->len, .source = op->rkey};
	struct wire_msg msg = {.length = sizeof(body), .kind = WIRE_WRITE, .op = op->id};
	uint8_t *at = sendwin_control(chan, op->peer, &msg);

	if (!at)
		return -EAGAIN;
	wire_put_write(at, &body);
	return 0;
}

/* Of the operation just begun; one without data is done. */
static void begin(struct chan *chan, struct chan_op *op, uint32_t *ret_op)
{
	*ret_op = op->id;
	if (!op->len)
		op_finish(chan, op, 0);
	else if (op->kind == OP_READ)
		enlist(chan, op);
}

int pull_begin_read(struct chan *chan, struct chan_peer *peer, uint64_t rkey, uint64_t roffset,
		    void *local, uint64_t len, uint32_t *ret_op)
{
	struct chan_op *op = op_take(chan, peer, OP_READ);

	if (!op)
		return -EAGAIN;
	op->local = local;
	op->len = len;
	op->rkey = rkey;
	op->roffset = roffset;
	begin(chan, op, ret_op);
	return 0;
}

int pull_begin_write(struct chan *chan, struct chan_peer *peer, uint64_t rkey, uint64_t roffset,
		     const void *local, uint64_t len, uint32_t *ret_op)
{
	struct chan_op *op = op_take(chan, peer, OP_WRITE);
	int rc;

	if (!op)
		return -EAGAIN;
	op->len = len;
	rc = len ? region_add_readonly(chan->config.regions, local, len, &op->rkey) : 0;
	if (!rc && len) {
		rc = announce(chan, op, rkey, roffset);
		if (rc)
			region_remove(chan->config.regions, op->rkey, &(void *){NULL},
				      &(uint64_t){0});
	}
	if (rc || !len)
		op->kind = OP_READ; /* no region to remove */
	if (rc) {
		op_finish(chan, op, rc);
		op_give(chan, op);
		return rc == -EINVAL ? rc : -EAGAIN;
	}
	begin(chan, op, ret_op);
	return 0;
}

int pull_done(struct chan *chan, uint32_t id)
{
	struct chan_op *op = pull_find(chan, id);
	int status;

	if (!op || op->kind == OP_PULL)
		return -ENOENT;
	status = op->status;
	if (status != -EAGAIN)
		op_give(chan, op);
	return status;
}

void pull_peer_gone(struct chan *chan, struct chan_peer *peer)
{
	uint32_t n = chan->n_op_chunks * OP_CHUNK;
	struct chan_op *op;
	uint32_t i;

	if (!peer->flow || !peer->flow->ops)
		return;
	for (i = 0; i < n; i++) {
		op = op_at(chan, i);
		if (op->kind != OP_FREE && op->peer == peer)
			op_finish(chan, op, -EPIPE);
	}
}

void pull_unexport(struct chan *chan, uint64_t rkey)
{
	uint32_t n = chan->n_op_chunks * OP_CHUNK;
	struct chan_op *op;
	uint32_t i;

	for (i = 0; i < n; i++) {
		op = op_at(chan, i);
		if (op->kind == OP_PULL && op->target == rkey)
			op_finish(chan, op, -EACCES);
	}
}

void pull_fini(struct chan *chan)
{
	while (chan->n_op_chunks)
		chan_free(chan, chan->op_chunks[--chan->n_op_chunks],
			  OP_CHUNK * sizeof(struct chan_op));
	chan_free(chan, chan->op_chunks, OP_TABLE * sizeof(*chan->op_chunks));
}
