// SPDX-License-Identifier: BSD-3-Clause
/*
 * atomic - atomic operations on exported memory, as the program asks for them. Each is a request
 * that links carry in order with the messages and deliver once, also when another device takes the
 * node over; atomic_serve.c has the other half.
 */
#include "pmcore/util/atomic.h"

#include <errno.h>

#include "pmcore/api/context.h"
#include "pmcore/wire/atomic.h"

_Static_assert(WIRE_ATOMIC_BYTES <= PM_CARRY_SHORT, "every link carries it");
_Static_assert((int)PM_ATOMIC_ADD == ATOMIC_ADD && (int)PM_ATOMIC_AND == ATOMIC_AND &&
		       (int)PM_ATOMIC_OR == ATOMIC_OR && (int)PM_ATOMIC_XOR == ATOMIC_XOR &&
		       (int)PM_ATOMIC_SWAP == ATOMIC_SWAP &&
		       (int)PM_ATOMIC_COMPARE_SWAP == ATOMIC_COMPARE_SWAP,
	       "the same operations");

static int check_op(const char *call, const pmAtomicOp *op)
{
	if (op->kind < ATOMIC_ADD || op->kind >= ATOMIC_OPS)
		return fail(EINVAL, "%s: %u is no operation: see enum pmAtomicKind", call,
			    op->kind);
	if (op->width != 4 && op->width != 8)
		return fail(EINVAL, "%s: a number of %u bytes: 4 or 8 are possible", call,
			    op->width);
	return 0;
}

int pmAtomicHere(const pmAtomicOp *op, void *at, uint64_t *ret_before)
{
	int err;

	if (!op || !at || !ret_before)
		return fail(EINVAL, "pmAtomicHere: operation, address and place for the value "
				    "before must not be 0");
	err = check_op("pmAtomicHere", op);
	if (err)
		return err;
	if ((uintptr_t)at % op->width)
		return fail(EINVAL, "pmAtomicHere: %p is no multiple of %u", at, op->width);
	*ret_before = atomic_apply(op->kind, op->width == 4, at, op->operand, op->compare);
	return PM_SUCCESS;
}

int pmAtomic(pmContext handle, pmNode node, const pmHandle *remote, uint64_t roffset,
	     const pmAtomicOp *op, pmDesc *ret_desc)
{
	struct context *ctx = context_get(handle);
	uint8_t request[WIRE_ATOMIC_BYTES];
	struct composite_node *n;
	struct wire_atomic m;
	struct op_slot *s;
	pmDesc desc;
	int err;

	if (!ctx)
		return EBADF;
	if (!remote || !op || !ret_desc)
		return fail(EINVAL, "pmAtomic: handle, operation and descriptor must not be 0");
	err = check_op("pmAtomic", op);
	if (!err)
		err = rma_check("pmAtomic", node, remote, roffset, op->width);
	if (err)
		return err;
	err = composite_node(ctx->c, node, &n);
	if (err)
		return err == -EAGAIN ? ENOBUFS : fail_why(ctx, err);
	s = context_refuses(ctx) ? NULL : slot_open(&ctx->ops, struct op_slot, &desc);
	if (!s)
		return ENOBUFS;
	m = (struct wire_atomic){.kind = WIRE_ATOMIC,
				 .id = desc,
				 .op = (uint8_t)op->kind,
				 .width = (uint8_t)op->width,
				 .rkey = remote->word[0],
				 .offset = roffset,
				 .operand = op->operand,
				 .compare = op->compare};
	err = n->ops->carry(n->link, n->peer, request, wire_atomic_put(request, &m), NULL, 0);
	if (err) {
		slot_close(&ctx->ops, desc, &s->slot);
		return err == -EAGAIN ? ENOBUFS : fail_why(ctx, err);
	}
	if (!n->n_awaited++)
		n->ops->await(n->link, n->peer, true);
	s->kind = OP_ATOMIC;
	s->atomic = (struct op_atomic){.node = node};
	*ret_desc = desc;
	return PM_SUCCESS;
}

/* Nobody is there who could answer: the node is dead, has left, or was removed. */
static bool is_hopeless(struct context *ctx, uint32_t node)
{
	const struct composite_node *n = composite_find(ctx->c, node);

	return !n || n->is_dead || n->ops->is_gone(n->link, n->peer);
}

int pmIsAtomicDone(pmContext handle, pmDesc desc, uint64_t *ret_before)
{
	struct context *ctx = context_get(handle);
	struct op_slot *s;
	int err;

	if (!ctx)
		return EBADF;
	if (!ret_before)
		return fail(EINVAL, "pmIsAtomicDone: no place for the value before");
	s = slot_get(&ctx->ops, struct op_slot, desc);
	if (!s || s->kind != OP_ATOMIC)
		return fail(EBADF, "one-sided descriptor: not open, or of another kind");
	if (!s->atomic.is_over)
		(void)context_progress(ctx);
	if (s->atomic.is_over) {
		ctx->n_over--;
		err = s->atomic.error;
	} else if (is_hopeless(ctx, s->atomic.node)) {
		atomic_ended(ctx, s->atomic.node);
		err = EPIPE;
	} else {
		return ENOBUFS;
	}
	slot_close(&ctx->ops, desc, &s->slot);
	if (err)
		return fail(err, "pmAtomic: %s", pmErrorString(err));
	*ret_before = s->atomic.before;
	return PM_SUCCESS;
}
