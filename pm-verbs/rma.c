// SPDX-License-Identifier: BSD-3-Clause
/*
 * rma - one-sided operations, asking side. The key of pmMLock tells the device nothing, so at the first use of a
 * region its owner is asked for address, length and verbs key (export.c), which are kept until the owner
 * revokes them or the connection breaks. Then the data moves by RDMA in parts, straight between both memories.
 * An operation that its connection did not live to see done goes on over the next one; one that the
 * device refuses - a key that was revoked while it was on its way - ends with -EACCES.
 */
#include <errno.h>
#include <stdlib.h>

#include "pm-verbs/connection.h"
#include "pm-verbs/local.h"
#include "pm-verbs/peer.h"
#include "pm-verbs/rma.h"
#include "pm-verbs/tx.h"

#define PARTS 4        /* of an operation that are posted at once */
#define GRANTS_MAX 256 /* kept per peer when an operation begins */
#define TRIES 3        /* an operation that breaks so many connections is given up */

struct pmv_piece {
	struct pmv_work work; /* first */
	struct pmv_op *op;
	uint32_t len;
	bool is_posted;
};

struct pmv_op {
	struct pmv_op *next;       /* of the peer */
	struct pm_link_peer *peer; /* NULL when it is over */
	uint32_t id;               /* 0 = free */
	bool is_write;
	bool is_asked;  /* an ASK is under way */
	bool is_waited; /* rma_done has not told the result yet */
	uint8_t tries;
	uint64_t rkey, roffset;
	uint8_t *local;
	uint64_t len;
	uint64_t posted, completed; /* bytes */
	uint32_t n_parts;           /* posted and not come back */
	int result;                 /* 0 or -errno; decides when is_over */
	bool is_over;
	struct pmv_rail *rail;         /* of memory */
	struct regcache_entry *memory; /* covers what is under way; NULL: nothing is */
	struct pmv_piece parts[PARTS];
};

/* ---- operations ---- */

static struct pmv_op *new_op(struct pmv_link *link)
{
	if (!link->ops)
		link->ops = calloc(PMV_OPS, sizeof(*link->ops));
	if (!link->ops || link->n_ops == PMV_OPS)
		return NULL;
	for (;;) {
		uint32_t id = ++link->next_op;
		struct pmv_op *op = &link->ops[id % PMV_OPS];

		if (!id || op->id)
			continue;
		*op = (struct pmv_op){.id = id, .is_waited = true};
		link->n_ops++;
		return op;
	}
}

static void let_go(struct pmv_link *link, struct pmv_op *op)
{
	if (!op->memory)
		return;
	pinned_put(op->rail->pinned, op->memory);
	op->memory = NULL;
	link->n_holding--;
	link->is_given_back = true;
}

/* Frees an operation that nobody waits for and of which nothing is under way. */
static void free_op(struct pmv_link *link, struct pmv_op *op)
{
	if (op->is_waited || op->n_parts || !op->is_over)
		return;
	let_go(link, op);
	op->id = 0;
	link->n_ops--;
}

/* The operation leaves its peer; the memory is let go of when all parts are back. */
static void end(struct pmv_link *link, struct pmv_op *op, int result)
{
	struct pmv_op **at = &op->peer->ops;

	while (*at != op)
		at = &(*at)->next;
	*at = op->next;
	op->peer = NULL;
	op->is_over = true;
	op->result = result;
	if (!op->n_parts)
		let_go(link, op);
}

static struct pmv_grant *find_grant(const struct pm_link_peer *peer, uint64_t rkey)
{
	for (struct pmv_grant *g = peer->grants; g; g = g->next)
		if (g->region.rkey == rkey)
			return g;
	return NULL;
}

/* Somebody's ASK for the region is under way: its answer serves all. */
static bool is_asked_for(const struct pm_link_peer *peer, uint64_t rkey)
{
	for (const struct pmv_op *op = peer->ops; op; op = op->next)
		if (op->is_asked && op->rkey == rkey)
			return true;
	return false;
}

static bool is_inside(const struct pmv_op *op, const struct pmv_control *region)
{
	return op->roffset <= region->len && op->len <= region->len - op->roffset &&
	       (!op->is_write || region->is_writable);
}

/* ---- parts ---- */

static struct pmv_piece *free_part(struct pmv_op *op)
{
	for (int i = 0; i < PARTS; i++)
		if (!op->parts[i].is_posted)
			return &op->parts[i];
	return NULL;
}

static bool post_part(struct pmv_op *op, struct pmv_piece *part, struct pmv_qp *qp,
		      const struct pmv_control *region)
{
	const struct ibv_mr *mr = op->memory->mr;
	uint64_t covered = op->memory->end - (uintptr_t)op->local;
	uint64_t left = (covered < op->len ? covered : op->len) - op->posted;
	uint32_t len = left < PMV_PIECE_BYTES ? (uint32_t)left : PMV_PIECE_BYTES;
	struct ibv_sge sge = {
		.addr = (uintptr_t)(op->local + op->posted), .length = len, .lkey = mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)&part->work,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op->is_write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = region->addr + op->roffset + op->posted,
			    .rkey = region->key},
	};
	struct ibv_send_wr *bad;

	*part = (struct pmv_piece){.work = {PMV_WORK_PIECE, qp}, .op = op, .len = len};
	if (ibv_post_send(qp->qp, &wr, &bad))
		return false;
	part->is_posted = true;
	op->posted += len;
	op->n_parts++;
	qp->n_pieces++;
	qp->n_sends++;
	return true;
}

/* Sees that the next byte to be moved is registered: 0, -EAGAIN: not now, or why it can't be. */
static int take_memory(struct pmv_link *link, struct pmv_op *op)
{
	uint8_t *at = op->local + op->posted;
	int err;

	if (op->memory && (uintptr_t)at < op->memory->end)
		return 0;
	/* all that was registered is under way */
	if (op->n_parts)
		return -EAGAIN;
	let_go(link, op);
	op->rail = op->peer->qp->rail;
	err = pmv_local_get(link, op->rail, at, op->len - op->posted, op->is_write, &op->memory);
	if (!err) {
		link->n_holding++;
		return 0;
	}
	if (err != -ENOBUFS && err != -ENOMEM)
		return err;
	if (!link->n_holding)
		return -ENOMEM;
	/* others have it, and give it back when they are done */
	link->is_short = true;
	return -EAGAIN;
}

/* Posts parts as far as queue pair and memory go: 0, -EAGAIN; -EPIPE: one can't be posted; else as take_memory. */
static int post_parts(struct pmv_link *link, struct pmv_op *op, const struct pmv_control *region)
{
	struct pmv_qp *qp = op->peer->qp;
	struct pmv_piece *part;

	while (op->posted < op->len && qp->n_pieces < PMV_PIECES && (part = free_part(op))) {
		int err = take_memory(link, op);

		if (err)
			return err;
		if (!post_part(op, part, qp, region))
			return -EPIPE;
	}
	return 0;
}

/* Goes on with one operation; false: the connection is lost, or the peer. */
static bool step(struct pmv_link *link, struct pmv_op *op)
{
	struct pm_link_peer *peer = op->peer;
	struct pmv_grant *grant = find_grant(peer, op->rkey);
	int err;

	if (!grant) {
		const struct pmv_control ask = {.rkey = op->rkey, .op = op->id};

		if (is_asked_for(peer, op->rkey))
			return true;
		op->is_asked = true;
		return pmv_send_control(link, peer, PMV_ASK, &ask) && peer->stage == PMV_READY;
	}
	err = is_inside(op, &grant->region) ? post_parts(link, op, &grant->region) : -EACCES;
	if (err == -EPIPE) {
		pmv_connection_lost(link, peer, UINT64_MAX, "a transfer cannot be posted");
		return false;
	}
	if (err && err != -EAGAIN)
		end(link, op, err);
	return true;
}

void pmv_rma_pump(struct pmv_link *link, struct pm_link_peer *peer)
{
	struct pmv_op *next;

	for (struct pmv_op *op = peer->ops; op && peer->stage == PMV_READY; op = next) {
		next = op->next;
		if (!step(link, op))
			return;
	}
}

void pmv_rma_turn(struct pmv_link *link)
{
	if (!link->is_given_back)
		return;
	/* who still gets none says so again */
	link->is_short = link->is_given_back = false;
	for (struct pm_link_peer *peer = link->peers; peer; peer = peer->next)
		pmv_rma_pump(link, peer);
}

/* What a part says about its operation: 0 nothing, or how it ends. */
static int verdict(struct pmv_op *op, enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
	case IBV_WC_WR_FLUSH_ERR:
	case IBV_WC_RETRY_EXC_ERR:
		return 0;
	case IBV_WC_REM_ACCESS_ERR:
		return -EACCES;
	case IBV_WC_LOC_PROT_ERR:
		return -EFAULT;
	default:
		return ++op->tries < TRIES ? 0 : -EIO;
	}
}

void pmv_piece_done(struct pmv_link *link, struct pmv_piece *piece, enum ibv_wc_status status)
{
	struct pmv_op *op = piece->op;
	struct pm_link_peer *peer = op->peer;
	int err = verdict(op, status);

	piece->is_posted = false;
	op->n_parts--;
	if (!status)
		op->completed += piece->len;
	if (!peer) {
		if (!op->n_parts)
			let_go(link, op);
		free_op(link, op);
		return;
	}
	if (!status) {
		peer->failures = 0;
		peer->used = link->turn;
	}
	if (err || op->completed == op->len)
		end(link, op, err);
	pmv_rma_pump(link, peer);
}

/* ---- what the owner says ---- */

void pmv_granted(struct pmv_link *link, struct pm_link_peer *peer,
		 const struct pmv_control *control)
{
	struct pmv_grant *grant;
	struct pmv_op *op = NULL;

	for (struct pmv_op *o = peer->ops; o; o = o->next)
		if (o->id == control->op && o->rkey == control->rkey)
			op = o;
	if (!op)
		return;
	op->is_asked = false;
	if (control->error) {
		/* whatever the owner says: some errors mean something else to who asks for the result */
		end(link, op, control->error == ENOMEM ? -ENOMEM : -EACCES);
		pmv_rma_pump(link, peer);
		return;
	}
	grant = find_grant(peer, control->rkey);
	if (!grant) {
		grant = calloc(1, sizeof(*grant));
		if (!grant) {
			end(link, op, -ENOMEM);
			pmv_rma_pump(link, peer);
			return;
		}
		grant->next = peer->grants;
		peer->grants = grant;
		peer->n_grants++;
	}
	grant->region = *control;
	pmv_rma_pump(link, peer);
}

static void drop_grant(struct pm_link_peer *peer, struct pmv_grant **at)
{
	struct pmv_grant *grant = *at;

	*at = grant->next;
	peer->n_grants--;
	free(grant);
}

void pmv_revoked(struct pm_link_peer *peer, uint64_t rkey)
{
	for (struct pmv_grant **at = &peer->grants; *at; at = &(*at)->next)
		if ((*at)->region.rkey == rkey) {
			drop_grant(peer, at);
			return;
		}
}

/* Who uses it again asks again. */
static void drop_oldest_grant(struct pm_link_peer *peer)
{
	struct pmv_grant **at = &peer->grants;

	while ((*at)->next)
		at = &(*at)->next;
	drop_grant(peer, at);
}

/* ---- the end of connections ---- */

void pmv_rma_lost(struct pmv_link *link, struct pm_link_peer *peer)
{
	while (peer->grants)
		drop_grant(peer, &peer->grants);
	for (struct pmv_op *op = peer->ops; op; op = op->next) {
		/* nothing of it is under way; the next connection may take another rail */
		op->is_asked = false;
		op->posted = op->completed;
		let_go(link, op);
	}
}

void pmv_rma_abort(struct pmv_link *link, struct pm_link_peer *peer)
{
	while (peer->ops)
		end(link, peer->ops, -EPIPE);
	while (peer->grants)
		drop_grant(peer, &peer->grants);
}

void pmv_rma_fini(struct pmv_link *link)
{
	for (uint32_t i = 0; link->ops && i < PMV_OPS; i++)
		if (link->ops[i].id)
			let_go(link, &link->ops[i]);
	free(link->ops);
}

/* ---- taken over by another device ---- */

int pmv_rma_unfinished(struct pm_link *base, struct pm_link_peer *peer, struct pm_unfinished *ops,
		       int room)
{
	int n = 0;

	(void)base;
	for (const struct pmv_op *op = peer->ops; op && n < room; op = op->next)
		ops[n++] = (struct pm_unfinished){.op = op->id,
						  .is_write = op->is_write,
						  .rkey = op->rkey,
						  .roffset = op->roffset,
						  .local = op->local,
						  .len = op->len};
	return n;
}

void pmv_rma_finish(struct pm_link *base, uint32_t id, int result)
{
	struct pmv_link *link = pmv_of(base);
	struct pmv_op *op = &link->ops[id % PMV_OPS];

	if (op->id == id && op->peer)
		end(link, op, result);
}

/* ---- calls ---- */

static int start(struct pmv_link *link, struct pm_link_peer *peer, const struct pmv_op *want,
		 uint32_t *ret_op)
{
	struct pmv_op *op, **at;

	if (peer->state != PMV_PEER_ALIVE)
		return pmv_peer_refuse(link, peer);
	op = link->is_stopped ? NULL : new_op(link);
	if (!op)
		return -EAGAIN;
	op->peer = peer;
	op->is_write = want->is_write;
	op->rkey = want->rkey;
	op->roffset = want->roffset;
	op->local = want->local;
	op->len = want->len;
	/* at the end: those that began before go first */
	for (at = &peer->ops; *at; at = &(*at)->next)
		continue;
	*at = op;
	*ret_op = op->id;
	if (want->is_write)
		link->stats->write_bytes += want->len;
	else
		link->stats->read_bytes += want->len;
	while (peer->n_grants > GRANTS_MAX)
		drop_oldest_grant(peer);
	if (peer->stage == PMV_READY)
		step(link, op);
	else
		pmv_connect(link, peer);
	return 0;
}

int pmv_read(struct pm_link *base, struct pm_link_peer *peer, uint64_t rkey, uint64_t roffset,
	     void *local, uint64_t len, uint32_t *ret_op)
{
	const struct pmv_op want = {.rkey = rkey, .roffset = roffset, .local = local, .len = len};

	return start(pmv_of(base), peer, &want, ret_op);
}

int pmv_write(struct pm_link *base, struct pm_link_peer *peer, uint64_t rkey, uint64_t roffset,
	      const void *local, uint64_t len, uint32_t *ret_op)
{
	const struct pmv_op want = {.rkey = rkey,
				    .roffset = roffset,
				    .local = (uint8_t *)(uintptr_t)local,
				    .len = len,
				    .is_write = true};

	return start(pmv_of(base), peer, &want, ret_op);
}

int pmv_rma_done(struct pm_link *base, uint32_t id)
{
	struct pmv_link *link = pmv_of(base);
	struct pmv_op *op = link->ops ? &link->ops[id % PMV_OPS] : NULL;
	int result;

	if (!op || !id || op->id != id || !op->is_waited)
		return -ENOENT;
	/* an operation that was refused is over when no part of it can touch the memory any more */
	if (!op->is_over || op->n_parts)
		return -EAGAIN;
	result = op->result;
	op->is_waited = false;
	free_op(link, op);
	return result;
}
