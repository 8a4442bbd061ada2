// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/bulk.h"

#include <errno.h>
#include <stdlib.h>

#include "pmcore/util/copy.h"

#define STEPS 32   /* chunks moved each way per peer and poll */
#define LINGER 100 /* looks for the next chunk before a poll gives up, all peers together */

/* ---- operations ---- */

static struct pms_rma *get_rma(struct pms_link *link)
{
	struct pms_rma *rma = link->rma;

	if (rma)
		return rma;
	rma = calloc(1, sizeof(*rma));
	if (!rma)
		return NULL;
	for (uint32_t i = PMS_OPS; i-- > 0;) {
		rma->ops[i].name = i;
		rma->ops[i].next = rma->free;
		rma->free = &rma->ops[i];
	}
	link->rma = rma;
	return rma;
}

static struct pms_op *find_op(const struct pms_link *link, uint32_t name)
{
	struct pms_op *op;

	if (!link->rma)
		return NULL;
	op = &link->rma->ops[name % PMS_OPS];
	return op->name == name && op->state != PMS_OP_FREE ? op : NULL;
}

static struct pms_op *take_op(struct pms_rma *rma)
{
	struct pms_op *op = rma->free;

	if (!op)
		return NULL;
	rma->free = op->next;
	/* a name is not used again for 16 million uses of the place; 0 is never one */
	op->name += PMS_OPS;
	if (op->name < PMS_OPS)
		op->name += PMS_OPS;
	return op;
}

static void put_op(struct pms_rma *rma, struct pms_op *op)
{
	op->state = PMS_OP_FREE;
	op->next = rma->free;
	rma->free = op;
}

static void push_op(struct pms_op *op)
{
	struct pms_bulk *bulk = op->peer->bulk;

	op->next = NULL;
	*bulk->ready_ops_tail = op;
	bulk->ready_ops_tail = &op->next;
}

/* Takes an operation out of the list, if it is there. */
static void unlink_op(struct pms_op *op)
{
	struct pms_bulk *bulk = op->peer->bulk;
	struct pms_op **at = &bulk->ready_ops;

	while (*at && *at != op)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = op->next;
	if (!*at)
		bulk->ready_ops_tail = at;
}

static void finish(struct pms_link *link, struct pms_op *op, int result)
{
	pms_lease_end(link, op);
	if (op->state == PMS_OP_STREAM || op->state == PMS_OP_CANCEL || op->state == PMS_OP_COPY)
		unlink_op(op);
	op->peer->bulk->n_ops--;
	link->n_bulk--;
	if (op->state != PMS_OP_CANCEL && op->state != PMS_OP_CANCELLED)
		op->result = result;
	op->state = PMS_OP_FINISHED;
	if (op->result)
		return;
	if (op->is_write)
		link->stats->write_bytes += op->len;
	else
		link->stats->read_bytes += op->len;
}

/* Reads by ourselves, if that is possible. The first piece at once: most reads have no other. */
static bool start_copy(struct pms_link *link, struct pms_op *op)
{
	struct pms_bulk *bulk = op->peer->bulk;

	if (op->is_write || !pms_direct_begin(link, op))
		return false;
	op->state = PMS_OP_COPY;
	op->lease = PMS_LEASES;
	bulk->n_ops++;
	link->n_bulk++;
	if (op->moved == op->len)
		finish(link, op, 0);
	else
		push_op(op);
	return true;
}

static int start(struct pms_link *link, struct pm_link_peer *peer, bool is_write, uint64_t rkey,
		 uint64_t roffset, void *local, uint64_t len, uint32_t *ret_op)
{
	struct pms_rma *rma = get_rma(link);
	struct pms_request ask = {.rkey = rkey, .roffset = roffset, .len = len};
	struct pms_bulk *bulk;
	struct pms_op *op;
	int err;

	if (!rma)
		return -ENOMEM;
	if (peer->state != PMS_PEER_ALIVE)
		return -EPIPE;
	if (link->is_stopped)
		return -EAGAIN;
	err = pms_bulk_get(link, peer, &bulk);
	if (err)
		return err;
	if (is_write)
		pms_bulk_fill(link, peer);
	op = take_op(rma);
	if (!op)
		return -EAGAIN;
	op->peer = peer;
	op->local = local;
	op->len = len;
	op->moved = 0;
	op->result = 0;
	op->is_write = is_write;
	op->rkey = rkey;
	op->roffset = roffset;
	*ret_op = op->name;
	if (start_copy(link, op))
		return 0;
	op->lease = pms_lease_give(bulk, op->name, len);
	ask.local = (uintptr_t)local;
	ask.op = op->name;
	ask.lease = op->lease;
	err = pms_send_control(link, peer, is_write ? PMS_KIND_WRITE : PMS_KIND_READ, &ask,
			       sizeof(ask));
	if (err) {
		pms_lease_end(link, op);
		put_op(rma, op);
		return err;
	}
	op->state = PMS_OP_ASKED;
	bulk->n_ops++;
	link->n_bulk++;
	return 0;
}

int pms_read(struct pm_link *base, struct pm_link_peer *peer, uint64_t rkey, uint64_t roffset,
	     void *local, uint64_t len, uint32_t *ret_op)
{
	return start(pms_of(base), peer, false, rkey, roffset, local, len, ret_op);
}

int pms_write(struct pm_link *base, struct pm_link_peer *peer, uint64_t rkey, uint64_t roffset,
	      const void *local, uint64_t len, uint32_t *ret_op)
{
	return start(pms_of(base), peer, true, rkey, roffset, (void *)(uintptr_t)local, len,
		     ret_op);
}

int pms_rma_done(struct pm_link *base, uint32_t name)
{
	struct pms_link *link = pms_of(base);
	struct pms_op *op = find_op(link, name);

	if (!op)
		return -ENOENT;
	if (op->state != PMS_OP_FINISHED)
		return -EAGAIN;
	put_op(link->rma, op);
	return op->result;
}

/* ---- progress ---- */

/* Data of a read: in order, as the ring is. False: nonsense. */
static bool place(struct pms_link *link, struct pms_op *op, const struct pms_chunk *chunk,
		  const uint8_t *data)
{
	if (op->is_write || chunk->offset != op->moved || chunk->len > op->len - op->moved)
		return false;
	if (op->state == PMS_OP_ASKED)
		copy_bytes(op->local + op->moved, data, chunk->len);
	op->moved += chunk->len;
	if (op->moved == op->len)
		finish(link, op, 0);
	return true;
}

/*
 * The error of a refusal for the user. The peer chose @error, so not every number is passed on:
 * -EAGAIN would read as "under way" and -EPIPE as the peer's death.
 */
static int refusal(int32_t error)
{
	switch (error) {
	case -ENOSPC:
	case -ENOMEM:
	case -EFAULT:
	case -EIO:
		return error;
	default:
		return -EACCES;
	}
}

/* A chunk about an operation of ours. False: nonsense. */
static bool answered(struct pms_link *link, struct pm_link_peer *peer,
		     const struct pms_chunk *chunk, const uint8_t *data)
{
	struct pms_op *op = find_op(link, chunk->op);

	/* of an operation that is no more: passed over */
	if (!op || op->peer != peer || op->state == PMS_OP_FINISHED)
		return true;
	switch (chunk->kind) {
	case PMS_CHUNK_DATA:
		return place(link, op, chunk, data);
	case PMS_CHUNK_GRANT:
		if (op->state == PMS_OP_ASKED && op->is_write) {
			op->state = PMS_OP_STREAM;
			push_op(op);
		}
		return op->is_write;
	case PMS_CHUNK_DONE:
		finish(link, op, 0);
		return true;
	default:
		finish(link, op, refusal(chunk->error));
		return true;
	}
}

static bool take_chunk(struct pms_link *link, struct pm_link_peer *peer)
{
	struct pms_bulk *bulk = peer->bulk;
	struct pms_chunk chunk;
	const uint8_t *data;
	bool is_sound;

	if (!pms_chunk_poll(&bulk->rx))
		return false;
	is_sound = pms_chunk_decode(&bulk->rx, &chunk, &data);
	if (is_sound && chunk.kind >= PMS_CHUNK_PUT) {
		if (!pms_serve_chunk(link, peer, &chunk, data))
			return false;
	} else if (!is_sound || !answered(link, peer, &chunk, data)) {
		pms_peer_condemn(link, peer, "it wrote nonsense into its bulk ring");
		return false;
	}
	pms_chunk_take(&bulk->rx);
	pms_wake_fence();
	if (pms_chunk_is_blocked(&bulk->rx))
		pms_wake_peer(link, peer);
	return true;
}

static void put_data(struct pms_bulk *bulk, struct pms_op *op)
{
	struct pms_chunk chunk = {.op = op->name, .kind = PMS_CHUNK_PUT, .offset = op->moved};

	chunk.len = pms_bulk_step(bulk, op->len, op->len - op->moved);
	copy_bytes(pms_chunk_data(&bulk->tx), op->local + op->moved, chunk.len);
	pms_chunk_put(&bulk->tx, &chunk);
	op->moved += chunk.len;
}

/* Whether the first operation may be sent on: a target must find the request before it is told to
 * forget it. */
static bool is_sendable(const struct pm_link_peer *peer)
{
	const struct pms_op *op = peer->bulk->ready_ops;

	return op && (op->state == PMS_OP_STREAM || !peer->queue) &&
	       pms_chunk_has_room(&peer->bulk->tx);
}

static bool is_copy_next(const struct pms_bulk *bulk)
{
	return bulk->ready_ops && bulk->ready_ops->state == PMS_OP_COPY;
}

/* The next piece of a read of ours; others have their turn then. */
static void copy_piece(struct pms_link *link, struct pms_op *op)
{
	int err = pms_direct_step(link, op);

	if (err == -ESRCH)
		err = -EPIPE;
	if (err) {
		finish(link, op, err == -EPIPE ? err : refusal(err));
	} else if (op->moved == op->len) {
		finish(link, op, 0);
	} else {
		unlink_op(op);
		push_op(op);
	}
}

/* One chunk of the operation whose turn it is. */
static bool send_chunk(struct pms_link *link, struct pm_link_peer *peer)
{
	struct pms_bulk *bulk = peer->bulk;
	struct pms_op *op = bulk->ready_ops;

	if (is_copy_next(bulk)) {
		copy_piece(link, op);
		return true;
	}
	if (!is_sendable(peer))
		return false;
	if (op->state == PMS_OP_STREAM) {
		put_data(bulk, op);
	} else {
		const struct pms_chunk chunk = {.op = op->name, .kind = PMS_CHUNK_CANCEL};

		pms_chunk_put(&bulk->tx, &chunk);
		unlink_op(op);
		op->state = PMS_OP_CANCELLED;
	}
	if (op->state == PMS_OP_STREAM && op->moved == op->len) {
		unlink_op(op);
		/* what is left is to hear of its end */
		op->state = PMS_OP_SENT;
	} else if (op->state == PMS_OP_STREAM && op->moved % PMS_TURN == 0) {
		unlink_op(op);
		push_op(op);
	}
	pms_wake_peer(link, peer);
	return true;
}

/* One chunk each way; false when there was nothing to do. */
static bool progress_peer(struct pms_link *link, struct pm_link_peer *peer)
{
	struct pms_bulk *bulk = peer->bulk;
	bool is_busy;

	if (peer->state != PMS_PEER_ALIVE)
		return false;
	is_busy = take_chunk(link, peer);
	is_busy |= bulk->ready_ops && send_chunk(link, peer);
	is_busy |= bulk->ready_jobs && pms_serve_step(link, peer);
	return is_busy;
}

static bool has_message(const struct pms_link *link)
{
	return link->hot && pms_ring_poll(&link->hot->rx);
}

void pms_bulk_progress(struct pms_link *link)
{
	uint32_t waits = 0, linger = LINGER / (link->n_bulk_peers ? link->n_bulk_peers : 1);

	/*
	 * The other side is copying its chunk meanwhile. Going all the way up to the user to be
	 * told there is nothing to receive, and to yield for it, costs more than the next chunk
	 * takes to come.
	 */
	for (uint32_t i = 0; i < STEPS && waits <= linger && link->n_bulk && !has_message(link);) {
		bool is_busy = false;

		for (uint32_t n = 0; n < link->n_bulk_peers; n++)
			if (pms_bulk_is_active(link->bulk_peers[n]->bulk))
				is_busy |= progress_peer(link, link->bulk_peers[n]);
		if (is_busy)
			i++;
		waits = is_busy ? 0 : waits + 1;
	}
}

/* ---- the end ---- */

/* Ends an operation with a peer that is gone, or begins to with one that is not. */
static void give_up(struct pms_link *link, struct pms_op *op)
{
	pms_lease_end(link, op);
	if (op->peer->state != PMS_PEER_ALIVE || op->state == PMS_OP_COPY) {
		finish(link, op, -EPIPE);
		return;
	}
	if (op->state == PMS_OP_CANCELLED || op->state == PMS_OP_CANCEL)
		return;
	if (op->state != PMS_OP_STREAM)
		push_op(op);
	op->state = PMS_OP_CANCEL;
	op->result = -EPIPE;
}

void pms_bulk_abort(struct pms_link *link, struct pm_link_peer *peer)
{
	if (!peer->bulk)
		return;
	/* what it had answered before its end is valid */
	while (peer->state != PMS_PEER_ALIVE && take_chunk(link, peer))
		;
	for (uint32_t i = 0; i < PMS_OPS && peer->bulk->n_ops; i++) {
		struct pms_op *op = &link->rma->ops[i];

		if (op->peer == peer && op->state != PMS_OP_FREE && op->state != PMS_OP_FINISHED)
			give_up(link, op);
	}
	if (peer->state != PMS_PEER_ALIVE)
		pms_serve_abort(link, peer);
}

void pms_bulk_unsent(struct pms_link *link, const struct pm_link_peer *peer)
{
	for (const struct pms_buffer *b = peer->queue; b; b = b->next) {
		const struct pms_request *ask = b->data;
		struct pms_op *op = b->kind >= PMS_KIND_READ ? find_op(link, ask->op) : NULL;

		if (op && op->state != PMS_OP_FINISHED)
			finish(link, op, -EPIPE);
	}
}

void pms_bulk_fini(struct pms_link *link, struct pm_link_peer *peer)
{
	struct pms_bulk *bulk = peer->bulk;

	if (!bulk)
		return;
	/* whatever its state, it is as good as dead to us now */
	if (peer->state == PMS_PEER_ALIVE)
		peer->state = PMS_PEER_LEFT;
	pms_bulk_abort(link, peer);
	pms_serve_abort(link, peer);
	pms_segment_unmap(&link->seg, PMS_PART_BULK, bulk->tx_memory);
	pms_segment_unmap(&link->seg, PMS_PART_BULK, bulk->rx_memory);
	free(bulk);
	peer->bulk = NULL;
	for (uint32_t i = 0; i < link->n_bulk_peers; i++)
		if (link->bulk_peers[i] == peer)
			link->bulk_peers[i] = link->bulk_peers[--link->n_bulk_peers];
}

/* ---- sleeping ---- */

void pms_bulk_flag(struct pm_link_peer *peer, bool is_blocked)
{
	struct pms_bulk *bulk = peer->bulk;

	if (!bulk)
		return;
	is_blocked = is_blocked && pms_bulk_is_active(bulk);
	if (bulk->is_blocked == is_blocked)
		return;
	bulk->is_blocked = is_blocked;
	atomic_store_explicit(&bulk->tx.head->blocked, is_blocked, memory_order_relaxed);
}

bool pms_bulk_has_work(struct pm_link_peer *peer)
{
	struct pms_bulk *bulk = peer->bulk;

	if (!bulk || !pms_bulk_is_active(bulk))
		return false;
	if (pms_chunk_poll(&bulk->rx))
		return true;
	return is_copy_next(bulk) || is_sendable(peer) ||
	       (bulk->ready_jobs && pms_chunk_has_room(&bulk->tx));
}
