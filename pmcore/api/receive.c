// SPDX-License-Identifier: BSD-3-Clause
/* receive - taking datagrams and giving their buffers back. */
#include <errno.h>
#include <stdlib.h>

#include "pmcore/api/context.h"

#define CARRIED_MAX 32 /* in one receive: a program with messages must not wait for floods */

/*
 * The first datagram that was stashed, else a node that was found dead meanwhile, else a poll, as
 * composite_poll.
 */
static __attribute__((cold, noinline)) int
take_waiting(struct context *ctx, struct composite_inbound *ret, void **ret_owned)
{
	const struct stashed *s;

	if (ctx->n_answers)
		atomic_push(ctx);
	if (!ctx->stash_count && !ctx->n_dead)
		return composite_poll(ctx->c, ret);
	if (!ctx->stash_count) {
		ret->in.src = ctx->dead[--ctx->n_dead];
		return -EPIPE;
	}
	s = &ctx->stash[ctx->stash_head];
	ret->in = s->in;
	ret->slot = s->link;
	*ret_owned = s->owned;
	ctx->stash_head = (ctx->stash_head + 1) % ctx->stash_room;
	ctx->stash_count--;
	return 1;
}

static int report_dead(struct context *ctx, uint32_t node, pmNode *ret_src)
{
	const struct composite_node *n = nodemap_get(&ctx->c->nodes, node);

	*ret_src = node;
	if (n && n->why)
		return fail(EPIPE, "%s", n->why);
	return fail(EPIPE, "node %u: %s", node, pmErrorString(EPIPE));
}

/*
 * The poll has brought something of another node's api. Polls on until something else has come: 1,
 * 0 or -EPIPE, as composite_poll.
 */
static __attribute__((cold, noinline)) int take_carried(struct context *ctx,
							struct composite_inbound *m)
{
	int got = 2;

	for (int i = 0; got == 2 && i < CARRIED_MAX; i++) {
		(void)atomic_arrived(ctx, m);
		got = composite_poll(ctx->c, m);
	}
	if (got != 2)
		return got;
	(void)atomic_arrived(ctx, m);
	return 0;
}

/* The next datagram, and the slot of its descriptor: as pmReceive. */
static inline int receive(struct context *ctx, struct pm_inbound *ret, pmNode *ret_src,
			  pmDesc *ret_desc, struct inbound_slot **ret_slot)
{
	struct composite_inbound m;
	struct inbound_slot *s;
	void *owned = NULL;
	int got;

	if (ctx->inbound.n_open == ctx->inbound.capacity)
		return ENOBUFS;
	if (__builtin_expect((ctx->stash_count | ctx->n_dead | ctx->n_answers) > 0, 0))
		got = take_waiting(ctx, &m, &owned);
	else
		got = composite_poll(ctx->c, &m);
	if (__builtin_expect(got > 1, 0))
		got = take_carried(ctx, &m);
	if (got == 0)
		return ENOBUFS;
	if (__builtin_expect(got < 0, 0))
		return report_dead(ctx, m.in.src, ret_src);
	s = slot_open(&ctx->inbound, struct inbound_slot, ret_desc);
	s->link = m.slot;
	s->owned = owned;
	s->cookie = m.in.cookie;
	*ret_src = m.in.src;
	*ret = m.in;
	*ret_slot = s;
	return PM_SUCCESS;
}

int pmReceive(pmContext handle, void **ret_buf, size_t *ret_len, pmNode *ret_src, pmDesc *ret_desc)
{
	struct context *ctx = context_get(handle);
	struct inbound_slot *s;
	struct pm_inbound in;
	int err;

	if (!ctx)
		return EBADF;
	if (!ret_buf || !ret_len || !ret_src || !ret_desc)
		return fail(EINVAL, "pmReceive: no place for an output");
	err = receive(ctx, &in, ret_src, ret_desc, &s);
	if (err)
		return err;
	*ret_buf = in.buf;
	*ret_len = in.len;
	return PM_SUCCESS;
}

int pmReceiveRow(pmContext handle, struct iovec *ret_parts, size_t room, size_t *ret_n,
		 pmNode *ret_src, pmDesc *ret_desc)
{
	struct context *ctx = context_get(handle);
	const struct composite_slot *from;
	struct inbound_slot *s;
	struct pm_inbound in;
	int err;

	if (!ctx)
		return EBADF;
	if (!ret_parts || !room || !ret_n || !ret_src || !ret_desc)
		return fail(EINVAL, "pmReceiveRow: no place for an output");
	err = receive(ctx, &in, ret_src, ret_desc, &s);
	if (err)
		return err;
	ret_parts[0] = (struct iovec){in.buf, in.len};
	*ret_n = 1;
	from = &ctx->c->slots[s->link];
	/* stashed messages have come before those that the link still has */
	if (!s->owned && !ctx->stash_count)
		*ret_n += from->ops.receive_more(from->link, s->cookie, ret_parts + 1,
						 room - 1 < UINT32_MAX ? (uint32_t)(room - 1)
								       : UINT32_MAX);
	return PM_SUCCESS;
}

int pmReleaseReceiveBuffer(pmContext handle, pmDesc desc)
{
	struct context *ctx = context_get(handle);
	struct inbound_slot *s;

	if (!ctx)
		return EBADF;
	s = slot_get(&ctx->inbound, struct inbound_slot, desc);
	if (!s)
		return fail(EBADF, "receive descriptor: not open: it was released before");
	if (s->owned)
		free(s->owned);
	else
		ctx->c->slots[s->link].ops.release(ctx->c->slots[s->link].link, s->cookie);
	slot_close(&ctx->inbound, desc, &s->slot);
	return PM_SUCCESS;
}
