// SPDX-License-Identifier: BSD-3-Clause
/* rma - memory regions and one-sided reads and writes. */
#include <errno.h>

#include "pmcore/api/context.h"

/*
 * pmHandle: [0] rkey, [1] length, [2] node, [3] check word. The check only catches bytes that are
 * no handle; access is decided by the rkey at the owner.
 */
#define CHECK 0x4f53434f52454d31ull

static uint64_t check_word(const pmHandle *h)
{
	return CHECK ^ h->word[0] * 0x9e3779b97f4a7c15ull ^ h->word[1] ^ h->word[2] << 17;
}

int pmMLock(pmContext handle, void *addr, size_t len, pmHandle *ret_handle)
{
	struct context *ctx = context_get(handle);
	pmHandle h = {{0}};
	int err;

	if (!ctx)
		return EBADF;
	if (!addr || !len || !ret_handle)
		return fail(EINVAL, "pmMLock: address, length and handle must not be 0");
	err = region_add(ctx->c->regions, addr, len, &h.word[0]);
	if (err)
		return fail(-err, "pmMLock: %p, %zu bytes: %s", addr, len, pmErrorString(-err));
	composite_export(ctx->c, h.word[0], addr, len);
	h.word[1] = len;
	h.word[2] = ctx->c->self;
	h.word[3] = check_word(&h);
	*ret_handle = h;
	return PM_SUCCESS;
}

int pmMUnlock(pmContext handle, const pmHandle *h)
{
	struct context *ctx = context_get(handle);
	uint64_t len;
	void *addr;

	if (!ctx)
		return EBADF;
	if (!h || region_remove(ctx->c->regions, h->word[0], &addr, &len))
		return fail(ENOENT,
			    "pmMUnlock: no such region: it was unlocked before, or is another "
			    "context's");
	for (unsigned int i = 0; i < ctx->c->n_slots; i++)
		ctx->c->slots[i].ops.unexport(ctx->c->slots[i].link, h->word[0], addr, len);
	return PM_SUCCESS;
}

int rma_check(const char *call, pmNode node, const pmHandle *remote, uint64_t roffset, uint64_t len)
{
	if (remote->word[3] != check_word(remote) || remote->word[2] != node)
		return fail(EINVAL, "%s: the handle is not one of node %u", call, node);
	if (roffset > remote->word[1] || len > remote->word[1] - roffset)
		return fail(EINVAL, "%s: %llu bytes at offset %llu: the region has %llu", call,
			    (unsigned long long)len, (unsigned long long)roffset,
			    (unsigned long long)remote->word[1]);
	return 0;
}

static int start(struct context *ctx, enum op_kind kind, pmNode node, const pmHandle *remote,
		 uint64_t roffset, void *local, uint64_t len, pmDesc *ret_desc)
{
	const char *call = kind == OP_READ ? "pmRead" : "pmWrite";
	struct longread read = {.node = node,
				.rkey = remote ? remote->word[0] : 0,
				.roffset = roffset,
				.len = len,
				.local = local};
	struct composite_node *n;
	struct op_slot *s;
	int err;

	if (!remote || !local || !len || !ret_desc)
		return fail(EINVAL,
			    "%s: handle, local address, length and descriptor must not be 0", call);
	err = rma_check(call, node, remote, roffset, len);
	if (err)
		return err;
	err = composite_node(ctx->c, node, &n);
	if (err)
		return err == -EAGAIN ? ENOBUFS : fail_why(ctx, err);
	if (context_refuses(ctx) || ctx->ops.n_open == ctx->ops.capacity)
		return ENOBUFS;
	read.slot = n->slot;
	if (kind == OP_READ)
		err = longread_start(ctx->c, n, &read);
	else
		err = n->ops->write(n->link, n->peer, read.rkey, roffset, local, len, &read.op);
	if (err)
		return err == -EAGAIN ? ENOBUFS : fail_why(ctx, err);
	s = slot_open(&ctx->ops, struct op_slot, ret_desc);
	s->kind = kind;
	s->read = read;
	return PM_SUCCESS;
}

static int finish(struct context *ctx, enum op_kind kind, pmDesc desc)
{
	struct op_slot *s = slot_get(&ctx->ops, struct op_slot, desc);
	int err;

	if (!s || s->kind != kind)
		return fail(EBADF, "one-sided descriptor: not open, or of another kind");
	err = longread_done(ctx->c, &s->read);
	if (err == -EAGAIN) {
		(void)context_progress(ctx);
		err = longread_done(ctx->c, &s->read);
	}
	if (err == -EAGAIN)
		return ENOBUFS;
	slot_close(&ctx->ops, desc, &s->slot);
	return err ? fail(-err, "%s", pmErrorString(-err)) : PM_SUCCESS;
}

int rma_settle(struct context *ctx)
{
	int err = longread_quiesce(ctx->c);

	for (uint32_t i = 0; i < ctx->ops.used && !err; i++) {
		struct slot *slot = slot_at(&ctx->ops, sizeof(struct op_slot), i);
		struct op_slot *s = (struct op_slot *)slot;

		if (slot->generation & 1 && s->kind == OP_READ)
			err = longread_settle(ctx->c, &s->read);
	}
	return err;
}

int pmRead(pmContext handle, pmNode node, const pmHandle *remote, uint64_t roffset, void *local,
	   size_t len, pmDesc *ret_desc)
{
	struct context *ctx = context_get(handle);

	return ctx ? start(ctx, OP_READ, node, remote, roffset, local, len, ret_desc) : EBADF;
}

int pmIsReadDone(pmContext handle, pmDesc desc)
{
	struct context *ctx = context_get(handle);

	return ctx ? finish(ctx, OP_READ, desc) : EBADF;
}

int pmWrite(pmContext handle, pmNode node, const pmHandle *remote, uint64_t roffset,
	    const void *local, size_t len, pmDesc *ret_desc)
{
	struct context *ctx = context_get(handle);

	return ctx ? start(ctx, OP_WRITE, node, remote, roffset, (void *)(uintptr_t)local, len,
			   ret_desc)
		   : EBADF;
}

int pmIsWriteDone(pmContext handle, pmDesc desc)
{
	struct context *ctx = context_get(handle);

	return ctx ? finish(ctx, OP_WRITE, desc) : EBADF;
}
