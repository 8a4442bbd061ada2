// SPDX-License-Identifier: BSD-3-Clause
/* send - reserving, filling and sending datagrams. */
#include <errno.h>

#include "pmcore/api/context.h"

/* The node, or a positive errno: a resolver that is not ready is ENOBUFS to the user. */
static int get_node(struct context *ctx, pmNode node, struct composite_node **ret_node)
{
	int err = composite_node(ctx->c, node, ret_node);

	if (!err)
		return 0;
	return err == -EAGAIN ? ENOBUFS : fail_why(ctx, err);
}

int pmGetSendBuffer(pmContext handle, pmNode node, size_t len, void **ret_buf, pmDesc *ret_desc)
{
	struct context *ctx = context_get(handle);
	struct composite_node *n;
	struct send_slot *s;
	uint64_t cookie;
	void *buf;
	int err;

	if (!ctx)
		return EBADF;
	if (!ret_buf || !ret_desc)
		return fail(EINVAL, "pmGetSendBuffer: no place for the buffer or the descriptor");
	err = get_node(ctx, node, &n);
	if (err)
		return err;
	if (len == 0 || len > n->mtu)
		return fail(EINVAL, "pmGetSendBuffer: %zu bytes to node %u: 1 to %u are possible",
			    len, node, n->mtu);
	if (context_refuses(ctx) || ctx->sends.n_open == ctx->sends.capacity)
		return ENOBUFS;
	err = n->ops->get_send(n->link, n->peer, (uint32_t)len, &buf, &cookie);
	if (err)
		return err == -EAGAIN ? ENOBUFS : fail_why(ctx, err);
	s = slot_open(&ctx->sends, struct send_slot, ret_desc);
	s->len = (uint32_t)len;
	s->node = n;
	s->cookie = cookie;
	*ret_buf = buf;
	return PM_SUCCESS;
}

static struct send_slot *get_send(struct context *ctx, pmDesc desc)
{
	struct send_slot *s = slot_get(&ctx->sends, struct send_slot, desc);

	if (!s)
		fail(EBADF, "send descriptor: not open: it was sent or discarded before");
	return s;
}

int pmTruncateBuffer(pmContext handle, pmDesc desc, size_t len)
{
	struct context *ctx = context_get(handle);
	struct send_slot *s = ctx ? get_send(ctx, desc) : NULL;

	if (!s)
		return EBADF;
	if (len == 0 || len > s->len)
		return fail(EINVAL, "pmTruncateBuffer: %zu bytes: 1 to %u are possible", len,
			    s->len);
	s->len = (uint32_t)len;
	return PM_SUCCESS;
}

int pmSend(pmContext handle, pmDesc desc)
{
	struct context *ctx = context_get(handle);
	struct send_slot *s = ctx ? get_send(ctx, desc) : NULL;
	struct composite_node *n;
	int err;

	if (!s)
		return EBADF;
	n = s->node;
	err = n->ops->send(n->link, n->peer, s->cookie, s->len);
	slot_close(&ctx->sends, desc, &s->slot);
	return err ? fail_why(ctx, err) : PM_SUCCESS;
}

int pmPost(pmContext handle, pmNode node, const void *data, size_t len)
{
	struct context *ctx = context_get(handle);
	struct composite_node *n;
	int err;

	if (!ctx)
		return EBADF;
	n = composite_find(ctx->c, node);
	if (__builtin_expect(!n || n->is_dead, 0)) {
		err = get_node(ctx, node, &n);
		if (err)
			return err;
	}
	if (__builtin_expect(!data || len - 1 >= n->mtu, 0))
		return fail(EINVAL, "pmPost: %zu bytes to node %u: 1 to %u are possible", len, node,
			    n->mtu);
	if (__builtin_expect(context_refuses(ctx), 0))
		return ENOBUFS;
	err = n->ops->post(n->link, n->peer, data, (uint32_t)len);
	if (__builtin_expect(err, 0))
		return err == -EAGAIN ? ENOBUFS : fail_why(ctx, err);
	return PM_SUCCESS;
}

/* Each datagram of a row has something of its data, and fits a packet. */
static bool fits(const pmRowHead *head, uint32_t mtu)
{
	return head->len < mtu && head->part && head->part <= mtu - head->len;
}

/* The node of a row that can be sent, or a positive errno. */
static int row_node(struct context *ctx, pmNode node, const pmRowHead *first,
		    const pmRowHead *others, const char *call, struct composite_node **ret_node)
{
	int err = get_node(ctx, node, ret_node);
	const pmRowHead *bad;
	uint32_t mtu;

	if (err)
		return err;
	mtu = (*ret_node)->mtu;
	bad = !fits(first, mtu) ? first : !fits(others, mtu) ? others : NULL;
	if (bad)
		return fail(EINVAL, "%s: %zu and %zu bytes to node %u: 1 to %u are possible", call,
			    bad->len, bad->part, node, mtu);
	return context_refuses(ctx) ? ENOBUFS : 0;
}

static struct pm_row_head short_head(const pmRowHead *head)
{
	return (struct pm_row_head){.data = head->len ? head->data : "",
				    .len = (uint32_t)head->len,
				    .part = (uint32_t)head->part};
}

/* @row: its data or its gather, and their length. */
static int post_row(pmContext handle, pmNode node, const pmRowHead *first, const pmRowHead *others,
		    struct pm_row *row, const char *call, size_t *ret_done)
{
	struct context *ctx = context_get(handle);
	struct composite_node *n;
	uint64_t done;
	int err;

	if (!ctx)
		return EBADF;
	if ((!row->data && !row->gather) || !row->len || !ret_done || !first || !others ||
	    (!first->data && first->len) || (!others->data && others->len))
		return fail(EINVAL,
			    "%s: no data or function, no head, or no place for what was taken",
			    call);
	*ret_done = 0;
	err = row_node(ctx, node, first, others, call, &n);
	if (err)
		return err;
	row->first = short_head(first);
	row->others = short_head(others);
	err = n->ops->post_row(n->link, n->peer, row, &done);
	*ret_done = done;
	if (err)
		return err == -EAGAIN ? ENOBUFS : fail_why(ctx, err);
	return PM_SUCCESS;
}

int pmPostHeadedRow(pmContext ctx, pmNode node, const pmRowHead *first, const pmRowHead *others,
		    const void *data, size_t len, size_t *ret_done)
{
	struct pm_row row = {.data = data, .len = len};

	return post_row(ctx, node, first, others, &row, "pmPostHeadedRow", ret_done);
}

int pmGatherHeadedRow(pmContext ctx, pmNode node, const pmRowHead *first, const pmRowHead *others,
		      pmGather gather, void *arg, size_t len, size_t *ret_done)
{
	struct pm_row row = {.gather = gather, .arg = arg, .len = len};

	return post_row(ctx, node, first, others, &row, "pmGatherHeadedRow", ret_done);
}

int pmPostRow(pmContext ctx, pmNode node, const void *head, size_t headLen, const void *data,
	      size_t len, size_t part, size_t *ret_done)
{
	const pmRowHead all = {head, headLen, part};
	struct pm_row row = {.data = data, .len = len};

	return post_row(ctx, node, &all, &all, &row, "pmPostRow", ret_done);
}

int pmGatherRow(pmContext ctx, pmNode node, const void *head, size_t headLen, pmGather gather,
		void *arg, size_t len, size_t part, size_t *ret_done)
{
	const pmRowHead all = {head, headLen, part};
	struct pm_row row = {.gather = gather, .arg = arg, .len = len};

	return post_row(ctx, node, &all, &all, &row, "pmGatherRow", ret_done);
}

int pmCork(pmContext handle, int is_on)
{
	struct context *ctx = context_get(handle);

	if (!ctx)
		return EBADF;
	composite_cork(ctx->c, is_on);
	return PM_SUCCESS;
}

int pmDiscardSendBuffer(pmContext handle, pmDesc desc)
{
	struct context *ctx = context_get(handle);
	struct send_slot *s = ctx ? get_send(ctx, desc) : NULL;

	if (!s)
		return EBADF;
	s->node->ops->send(s->node->link, s->node->peer, s->cookie, 0);
	slot_close(&ctx->sends, desc, &s->slot);
	return PM_SUCCESS;
}

int pmIsSendOut(pmContext handle, pmNode node)
{
	struct context *ctx = context_get(handle);
	const struct composite_node *n;

	if (!ctx)
		return EBADF;
	n = nodemap_get(&ctx->c->nodes, node);
	if (!n || n->is_dead)
		return PM_SUCCESS;
	return n->ops->send_out(n->link, n->peer) ? ENOBUFS : PM_SUCCESS;
}

static int all_done(struct context *ctx)
{
	for (unsigned int i = 0; i < ctx->c->n_slots; i++) {
		int err = ctx->c->slots[i].ops.send_done(ctx->c->slots[i].link, NULL);

		if (err)
			return err;
	}
	return 0;
}

static int fail_dead(const struct composite_node *n)
{
	return fail(EPIPE, "%s", n->why ? n->why : pmErrorString(EPIPE));
}

int pmIsSendDone(pmContext handle, pmNode node)
{
	struct context *ctx = context_get(handle);
	struct composite_node *n = NULL;
	int err;

	if (!ctx)
		return EBADF;
	if (node != PM_NODE_ANY) {
		n = nodemap_get(&ctx->c->nodes, node);
		if (!n)
			return PM_SUCCESS; /* nothing was ever sent there */
		if (n->is_dead)
			return fail_dead(n);
	}
	err = n ? n->ops->send_done(n->link, n->peer) : all_done(ctx);
	/* who holds takes in what others still have to send */
	if (err == -EAGAIN || ctx->is_held) {
		context_progress(ctx);
		/* found just now */
		if (n && n->is_dead)
			return fail_dead(n);
		err = n ? n->ops->send_done(n->link, n->peer) : all_done(ctx);
	}
	return err == -EAGAIN ? ENOBUFS : -err;
}
