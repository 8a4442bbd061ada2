// SPDX-License-Identifier: BSD-3-Clause
/*
 * atomic_serve - atomic operations that other nodes ask for, the answers to them, and the answers
 * to ours. Our processor carries them all out, whichever device they come by: those of RDMA
 * hardware are atomic at one NIC only. Answers without room wait.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/api/context.h"
#include "pmcore/util/atomic.h"
#include "pmcore/wire/atomic.h"

static int carry_out(struct context *ctx, const struct wire_atomic *m, uint64_t *ret_before)
{
	void *at;

	if (region_find_writable(ctx->c->regions, m->rkey, m->offset, m->width, &at) ||
	    (uintptr_t)at % m->width)
		return EACCES;
	*ret_before = atomic_apply(m->op, m->width == 4, at, m->operand, m->compare);
	return 0;
}

/* ---- answers that wait ---- */

/* Where the node's queue is linked, or would be. */
static struct atomic_queue **queue_of(struct context *ctx, uint32_t node)
{
	struct atomic_queue **at = &ctx->answers;

	while (*at && (*at)->node != node)
		at = &(*at)->next;
	return at;
}

static struct atomic_queue *open_queue(struct context *ctx, uint32_t node)
{
	struct atomic_queue **at = queue_of(ctx, node), *q = *at;

	if (q)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->node = node;
	q->tail = &q->head;
	*at = q;
	return q;
}

static void drop_first(struct context *ctx, struct atomic_queue *q)
{
	struct atomic_answer *a = q->head;

	q->head = a->next;
	if (!q->head)
		q->tail = &q->head;
	q->n--;
	ctx->n_answers--;
	free(a);
}

static void drop_queue(struct context *ctx, struct atomic_queue **at)
{
	struct atomic_queue *q = *at;

	while (q->head)
		drop_first(ctx, q);
	*at = q->next;
	free(q);
}

/*
 * 0: the answer is sent, or its node will not take it any more. -EAGAIN: it has to wait, also where
 * a link has lost its way to the node and says so by its next receive().
 */
static int send_answer(struct context *ctx, uint32_t node, const uint8_t *bytes)
{
	struct composite_node *n;
	int err = composite_node(ctx->c, node, &n);

	if (err)
		return err == -EAGAIN || err == -ENOMEM || err == -ENOSPC ? -EAGAIN : 0;
	err = n->ops->carry(n->link, n->peer, bytes, WIRE_ATOMIC_ANSWER_BYTES, NULL, 0);
	if (err == -EPIPE)
		return n->ops->is_gone(n->link, n->peer) ? 0 : -EAGAIN;
	return err;
}

void atomic_push(struct context *ctx)
{
	struct atomic_queue **at = &ctx->answers, *q;

	while ((q = *at)) {
		while (q->head && !send_answer(ctx, q->node, q->head->bytes))
			drop_first(ctx, q);
		if (q->head)
			at = &q->next;
		else
			drop_queue(ctx, at);
	}
}

/* ---- requests ---- */

static bool can_answer(struct context *ctx, uint32_t node)
{
	struct composite_node *n;
	int err = composite_node(ctx->c, node, &n);

	return !err || err == -EAGAIN || err == -ENOMEM || err == -ENOSPC;
}

/*
 * Carries it out, and answers behind the answers that wait for the node. A request that could not
 * be answered is not carried out: without memory or address, or one more than a node may have open.
 */
static void serve(struct context *ctx, const struct wire_atomic *m, uint32_t src)
{
	struct wire_atomic out = {.kind = WIRE_ATOMIC_ANSWER, .id = m->id};
	const struct atomic_queue *waiting = ctx->n_answers ? *queue_of(ctx, src) : NULL;
	struct atomic_answer *a = malloc(sizeof(*a));
	struct atomic_queue *q;

	if (!a || (waiting && waiting->n >= CONTEXT_OPS) || !can_answer(ctx, src)) {
		ctx->odd_atomics++;
		free(a);
		return;
	}
	out.error = (uint32_t)carry_out(ctx, m, &out.before);
	wire_atomic_put(a->bytes, &out);
	if (!waiting && !send_answer(ctx, src, a->bytes)) {
		free(a);
		return;
	}
	q = open_queue(ctx, src);
	if (!q) {
		ctx->odd_atomics++;
		free(a);
		return;
	}
	a->next = NULL;
	*q->tail = a;
	q->tail = &a->next;
	q->n++;
	ctx->n_answers++;
}

/* ---- answers to ours ---- */

void atomic_ended(struct context *ctx, uint32_t node)
{
	struct composite_node *n = composite_find(ctx->c, node);

	if (n && n->n_awaited && !--n->n_awaited && !n->is_dead)
		n->ops->await(n->link, n->peer, false);
}

static bool answered(struct context *ctx, const struct wire_atomic *m, uint32_t src)
{
	struct op_slot *s = slot_get(&ctx->ops, struct op_slot, m->id);

	if (!s || s->kind != OP_ATOMIC || s->atomic.node != src || s->atomic.is_over) {
		ctx->odd_atomics++;
		return false;
	}
	s->atomic.is_over = true;
	s->atomic.error = (int)m->error;
	s->atomic.before = m->before;
	ctx->n_over++;
	atomic_ended(ctx, src);
	return true;
}

bool atomic_arrived(struct context *ctx, const struct composite_inbound *m)
{
	const struct composite_slot *slot = &ctx->c->slots[m->slot];
	struct wire_atomic got;
	bool is_good = wire_atomic_get(m->in.buf, m->in.len, &got);

	slot->ops.release(slot->link, m->in.cookie);
	if (!is_good)
		ctx->odd_atomics++;
	else if (got.kind == WIRE_ATOMIC_ANSWER)
		return answered(ctx, &got, m->in.src);
	else
		serve(ctx, &got, m->in.src);
	return false;
}

/* ---- the end ---- */

void atomic_forget(struct context *ctx, uint32_t node)
{
	struct atomic_queue **at = queue_of(ctx, node);

	if (*at)
		drop_queue(ctx, at);
	for (uint32_t i = 0; i < ctx->ops.used; i++) {
		struct op_slot *s = (struct op_slot *)ctx->ops.slots + i;

		if (s->slot.generation & 1 && s->kind == OP_ATOMIC && s->atomic.node == node &&
		    !s->atomic.is_over) {
			s->atomic.is_over = true;
			s->atomic.error = EPIPE;
			ctx->n_over++;
		}
	}
}

void atomic_fini(struct context *ctx)
{
	while (ctx->answers)
		drop_queue(ctx, &ctx->answers);
}
