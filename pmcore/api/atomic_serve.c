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

/* Answers to the node that wait; *ret_end: where the next one is linked. */
static uint32_t waiting_for(struct context *ctx, uint32_t node, struct atomic_answer ***ret_end)
{
	struct atomic_answer **at;
	uint32_t n = 0;

	for (at = &ctx->answers; *at; at = &(*at)->next)
		n += (*at)->node == node;
	*ret_end = at;
	return n;
}

/* 0 it is sent, or there is nobody to send it to; -EAGAIN not now. */
static int send_answer(struct context *ctx, uint32_t node, const uint8_t *bytes, uint32_t len)
{
	struct composite_node *n;
	int err = composite_node(ctx->c, node, &n);

	if (!err)
		err = n->ops->carry(n->link, n->peer, bytes, len, NULL, 0);
	return err == -EAGAIN ? err : 0;
}

/* In order behind those that wait. A node has no more operations open than its context lets it. */
static void answer(struct context *ctx, const struct wire_atomic *m, uint32_t src)
{
	struct wire_atomic out = {.kind = WIRE_ATOMIC_ANSWER, .id = m->id};
	struct atomic_answer *a, **end;
	uint8_t bytes[WIRE_ATOMIC_BYTES];
	uint32_t len, n = waiting_for(ctx, src, &end);

	out.error = (uint32_t)carry_out(ctx, m, &out.before);
	len = wire_atomic_put(bytes, &out);
	if (!n && !send_answer(ctx, src, bytes, len))
		return;
	a = n < CONTEXT_OPS ? malloc(sizeof(*a) + len) : NULL;
	if (!a) {
		ctx->odd_atomics++;
		return;
	}
	*a = (struct atomic_answer){.node = src, .len = len};
	memcpy(a->bytes, bytes, len);
	*end = a;
	ctx->n_answers++;
}

static void drop(struct context *ctx, struct atomic_answer **at)
{
	struct atomic_answer *a = *at;

	*at = a->next;
	ctx->n_answers--;
	free(a);
}

void atomic_push(struct context *ctx)
{
	struct atomic_answer **at = &ctx->answers;
	uint32_t full = PM_NODE_ANY;

	while (*at) {
		struct atomic_answer *a = *at;

		if (a->node != full && !send_answer(ctx, a->node, a->bytes, a->len)) {
			drop(ctx, at);
			continue;
		}
		full = a->node;
		at = &a->next;
	}
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
		answer(ctx, &got, m->in.src);
	return false;
}

/* ---- the end ---- */

void atomic_forget(struct context *ctx, uint32_t node)
{
	for (struct atomic_answer **at = &ctx->answers; *at;)
		if ((*at)->node == node)
			drop(ctx, at);
		else
			at = &(*at)->next;
	for (uint32_t i = 0; i < ctx->ops.used; i++) {
		struct op_slot *s = (struct op_slot *)ctx->ops.slots + i;

		if (s->slot.generation & 1 && s->kind == OP_ATOMIC && s->atomic.node == node &&
		    !s->atomic.is_over) {
			s->atomic.is_over = true;
			s->atomic.error = EPIPE;
		}
	}
}

void atomic_fini(struct context *ctx)
{
	while (ctx->answers)
		drop(ctx, &ctx->answers);
}
