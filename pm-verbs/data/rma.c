// SPDX-License-Identifier: BSD-3-Clause
/*
 * rma - one-sided operations, asking side. The key of pmMLock tells the device nothing. So at the
 * first use of a region its owner is asked for address, length and verbs key (export.c). They are
 * kept until the owner revokes them or the connection breaks. Then the data moves by RDMA in parts,
 * straight between both memories, those of a large operation over all lanes (lanes.c). An operation
 * that its connection did not live to see done goes on over the next one. An operation that the
 * device refuses ends with -EACCES: its key was revoked while it was on its way.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/lanes.h"
#include "pm-verbs/conn/life.h"
#include "pm-verbs/conn/places.h"
#include "pm-verbs/data/grants.h"
#include "pm-verbs/data/rma.h"
#include "pm-verbs/data/tx.h"
#include "pm-verbs/hw/local.h"

#define PARTS 8           /* of an operation that are posted at once */
#define OWN_PARTS 4       /* ... to one queue pair */
#define SPREAD_MIN 65536u /* bytes; what is larger goes over all lanes */
#define SPREAD_UNIT 4096u /* bytes; parts are whole ones */
#define TRIES 3           /* an operation that breaks so many connections is given up */

/* A range of an operation that is not moved yet. */
struct pmv_piece {
	struct pmv_work work; /* first */
	struct pmv_op *op;
	uint64_t offset;
	uint32_t len;    /* 0 = there is none */
	uint32_t posted; /* bytes of it that are under way, 0 = it is to be posted */
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
	uint64_t divided;   /* bytes that parts were made of */
	uint64_t completed; /* bytes */
	uint32_t n_parts;   /* posted and not come back */
	uint32_t n_waiting; /* parts to be posted */
	int result;         /* 0 or -errno; decides when is_over */
	bool is_over;
	uint32_t barred; /* bit per pair of rails that has no memory for it */
	struct regcache_entry
		*memory[PM_RAILS_MAX]; /* by rail: covers what is under way; NULL: nothing is */
	uint8_t n_out[PM_RAILS_MAX];   /* n_parts by rail */
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
		/* most of it are the parts, of which little need be known */
		memset(op, 0, offsetof(struct pmv_op, parts));
		for (int i = 0; i < PARTS; i++)
			op->parts[i].len = op->parts[i].posted = 0;
		op->id = id;
		op->is_waited = true;
		link->n_ops++;
		return op;
	}
}

static void let_go_on(struct pmv_link *link, struct pmv_op *op, struct pmv_rail *rail)
{
	if (!op->memory[rail->index])
		return;
	pinned_put(rail->pinned, op->memory[rail->index]);
	op->memory[rail->index] = NULL;
	link->n_holding--;
	link->is_given_back = true;
}

static void let_go(struct pmv_link *link, struct pmv_op *op)
{
	for (uint32_t r = 0; r < link->n_rails; r++)
		let_go_on(link, op, &link->rails[r]);
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

/* A part to be posted, of at most @most bytes if it is made now; NULL: none can be, or all are. */
static struct pmv_piece *next_part(struct pmv_op *op, uint32_t most)
{
	uint64_t left = op->len - op->divided;
	struct pmv_piece *part = op->parts, *end = part + PARTS;

	if (op->n_waiting) {
		while (!part->len || part->posted)
			part++;
		return part;
	}
	while (part < end && part->len)
		part++;
	if (part == end)
		return NULL;
	part->offset = op->divided;
	part->len = left < most ? (uint32_t)left : most;
	op->divided += part->len;
	op->n_waiting++;
	return part;
}

static bool post_part(struct pmv_op *op, struct pmv_piece *part, struct pmv_qp *qp,
		      const struct pmv_grant *grant)
{
	const struct regcache_entry *memory = op->memory[qp->rail->index];
	uint8_t *local = op->local + part->offset;
	uint64_t covered = memory->end - (uintptr_t)local;
	uint32_t len = covered < part->len ? (uint32_t)covered : part->len;
	struct ibv_sge sge = {.addr = (uintptr_t)local,
			      .length = len,
			      .lkey = ((const struct ibv_mr *)memory->mr)->lkey};
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)&part->work,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op->is_write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = grant->region.addr + op->roffset + part->offset,
			    .rkey = qp->lane ? grant->keys[qp->lane - 1] : grant->region.key},
	};
	struct ibv_send_wr *bad;

	part->work = (struct pmv_work){PMV_WORK_PIECE, qp};
	part->op = op;
	if (ibv_post_send(qp->qp, &wr, &bad))
		return false;
	part->posted = len;
	op->n_waiting--;
	op->n_parts++;
	op->n_out[qp->rail->index]++;
	qp->n_pieces++;
	qp->n_bytes += len;
	qp->n_sends++;
	return true;
}

/* Sees that the part's first byte is registered: 0, -EAGAIN: not now, or why it can't be. */
static int take_memory(struct pmv_link *link, struct pmv_op *op, struct pmv_rail *rail,
		       const struct pmv_piece *part)
{
	struct regcache_entry **memory = &op->memory[rail->index];
	uint8_t *at = op->local + part->offset;
	int err;

	if (*memory && (uintptr_t)at >= (*memory)->start && (uintptr_t)at < (*memory)->end)
		return 0;
	/* what is registered is under way */
	if (op->n_out[rail->index])
		return -EAGAIN;
	let_go_on(link, op, rail);
	err = pmv_local_get(link, rail, at, op->len - part->offset, op->is_write, memory);
	if (!err)
		link->n_holding++;
	return err;
}

/* Unregisters memory on rails where nothing of the operation is under way; false: there is none. */
static bool let_go_of_idle(struct pmv_link *link, struct pmv_op *op)
{
	uint32_t before = link->n_holding;

	for (uint32_t r = 0; r < link->n_rails; r++)
		if (!op->n_out[r])
			let_go_on(link, op, &link->rails[r]);
	return link->n_holding < before;
}

/* The same for the connection's own queue pair: it waits for memory that others have. */
static int await_memory(struct pmv_link *link, struct pmv_op *op, const struct pmv_piece *part)
{
	struct pmv_rail *rail = op->peer->qp->rail;
	int err = take_memory(link, op, rail, part);

	if ((err == -ENOBUFS || err == -ENOMEM) && let_go_of_idle(link, op))
		err = take_memory(link, op, rail, part);
	if (err != -ENOBUFS && err != -ENOMEM)
		return err;
	if (!link->n_holding)
		return -ENOMEM;
	/* others give it back when they are done */
	link->is_short = true;
	return -EAGAIN;
}

/* ---- spreading ---- */

static bool is_spread(const struct pmv_op *op)
{
	return op->len > SPREAD_MIN && op->peer->n_pairs > 1;
}

/* A lane that takes parts of the operation, or will when its key has come. */
static struct pmv_qp *lane_for(const struct pmv_op *op, const struct pmv_grant *grant,
			       uint32_t pair)
{
	struct pmv_qp *qp = pmv_lane_ready(op->peer, pair);

	return qp && !((grant->refused | op->barred) & 1u << pair) && !qp->rail->is_down ? qp
											 : NULL;
}

/* Asks for the keys that lanes need; false: the connection is lost, or the peer. */
static bool ask_for_lanes(struct pmv_link *link, struct pmv_op *op, struct pmv_grant *grant)
{
	struct pm_link_peer *peer = op->peer;

	for (uint32_t pair = 0; pair < peer->n_pairs; pair++) {
		const struct pmv_control ask = {.rkey = op->rkey, .op = op->id, .lane = pair + 1};

		if (grant->asked & 1u << pair || !pmv_lane_ready(peer, pair))
			continue;
		grant->asked |= 1u << pair;
		if (!pmv_send_control(link, peer, PMV_ASK, &ask) || peer->stage != PMV_READY)
			return false;
	}
	return true;
}

static bool has_room(const struct pmv_op *op, const struct pmv_qp *qp)
{
	return qp->n_pieces < PMV_PIECES && op->n_out[qp->rail->index] < OWN_PARTS;
}

/* Where the next part goes: where the fewest bytes are under way. NULL: nowhere now. */
static struct pmv_qp *choose_lane(const struct pmv_op *op, const struct pmv_grant *grant,
				  uint32_t *ret_share)
{
	struct pmv_qp *best = op->peer->qp;
	uint64_t share = op->len;
	uint32_t n = 1;

	for (uint32_t pair = 0; pair < op->peer->n_pairs; pair++) {
		struct pmv_qp *qp = lane_for(op, grant, pair);

		n += qp != NULL;
		if (qp && qp->n_bytes < best->n_bytes)
			best = qp;
	}
	if (n > 1)
		share = (share / n + SPREAD_UNIT) & ~(uint64_t)(SPREAD_UNIT - 1);
	*ret_share = share < PMV_PIECE_BYTES ? (uint32_t)share : PMV_PIECE_BYTES;
	/* a key that is on its way is waited for */
	if (best->lane && !(grant->known & 1u << (best->lane - 1)))
		return NULL;
	return has_room(op, best) ? best : NULL;
}

static struct pmv_qp *choose(const struct pmv_op *op, const struct pmv_grant *grant,
			     uint32_t *ret_share)
{
	if (is_spread(op))
		return choose_lane(op, grant, ret_share);
	*ret_share = PMV_PIECE_BYTES;
	return has_room(op, op->peer->qp) ? op->peer->qp : NULL;
}

/* Posts parts as far as may be: 0, -EAGAIN; -EPIPE: none can go; or as take_memory. */
static int post_parts(struct pmv_link *link, struct pmv_op *op, const struct pmv_grant *grant)
{
	struct pmv_piece *part;
	struct pmv_qp *qp;
	uint32_t share;

	while ((op->n_waiting || op->divided < op->len) && (qp = choose(op, grant, &share)) &&
	       (part = next_part(op, share))) {
		int err = qp->lane ? take_memory(link, op, qp->rail, part)
				   : await_memory(link, op, part);

		if (err && err != -EAGAIN && qp->lane) {
			op->barred |= 1u << (qp->lane - 1);
			continue;
		}
		if (err)
			return err;
		if (!post_part(op, part, qp, grant)) {
			pmv_lane_rest(link, qp);
			return -EPIPE;
		}
	}
	return 0;
}

/* Goes on with one operation; false: the connection is lost, or the peer. */
static bool step(struct pmv_link *link, struct pmv_op *op)
{
	struct pm_link_peer *peer = op->peer;
	struct pmv_grant *grant = pmv_grant_find(peer, op->rkey);
	int err;

	if (!grant) {
		const struct pmv_control ask = {.rkey = op->rkey, .op = op->id};

		if (is_asked_for(peer, op->rkey))
			return true;
		op->is_asked = true;
		return pmv_send_control(link, peer, PMV_ASK, &ask) && peer->stage == PMV_READY;
	}
	if (is_spread(op) &&
	    (!(op->n_parts || pmv_lanes_want(link, peer)) || !ask_for_lanes(link, op, grant)))
		return false;
	err = is_inside(op, &grant->region) ? post_parts(link, op, grant) : -EACCES;
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

/* The error that a part of an operation ends it with; 0 = none: it goes on, or succeeds. */
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

	piece->work.qp->n_pieces--;
	piece->work.qp->n_bytes -= piece->posted;
	op->n_parts--;
	op->n_out[piece->work.qp->rail->index]--;
	if (!status) {
		op->completed += piece->posted;
		piece->offset += piece->posted;
		piece->len -= piece->posted;
	}
	piece->posted = 0;
	op->n_waiting += piece->len > 0;
	if (!peer) {
		if (!op->n_parts)
			let_go(link, op);
		free_op(link, op);
		return;
	}
	if (!status) {
		pmv_connection_works(peer);
		pmv_places_use(link, peer);
	}
	if (err || op->completed == op->len)
		end(link, op, err);
	pmv_rma_pump(link, peer);
}

/* ---- what the owner says ---- */

void pmv_granted(struct pmv_link *link, struct pm_link_peer *peer,
		 const struct pmv_control *control)
{
	struct pmv_op *op = NULL;

	if (control->lane) {
		pmv_grant_lane(peer, control);
		pmv_rma_pump(link, peer);
		return;
	}
	for (struct pmv_op *o = peer->ops; o; o = o->next)
		if (o->id == control->op && o->rkey == control->rkey)
			op = o;
	if (!op)
		return;
	op->is_asked = false;
	/* whatever the owner says: some errors mean something else to who asks for the result */
	if (control->error)
		end(link, op, control->error == ENOMEM ? -ENOMEM : -EACCES);
	else if (!pmv_grant_keep(peer, control))
		end(link, op, -ENOMEM);
	pmv_rma_pump(link, peer);
}

/* ---- the end of connections ---- */

void pmv_rma_lost(struct pmv_link *link, struct pm_link_peer *peer)
{
	pmv_grants_drop(peer);
	for (struct pmv_op *op = peer->ops; op; op = op->next) {
		/* nothing of it is under way; the next connection may take another rail */
		op->is_asked = false;
		op->barred = 0;
		let_go(link, op);
	}
}

void pmv_rma_abort(struct pmv_link *link, struct pm_link_peer *peer)
{
	while (peer->ops)
		end(link, peer->ops, -EPIPE);
	pmv_grants_drop(peer);
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

	if (!pmv_peer_is_open(peer))
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
	pmv_grants_trim(peer);
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
