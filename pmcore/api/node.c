// SPDX-License-Identifier: BSD-3-Clause
/* node - who we are, who the others are, and what is known about them. */
#include <errno.h>

#include "pmcore/api/context.h"

int pmGetAddress(pmContext handle, void *buf, size_t *len)
{
	struct context *ctx = context_get(handle);
	int n, err;

	if (!ctx)
		return EBADF;
	if (!buf || !len)
		return fail(EINVAL, "pmGetAddress: no place for the address");
	err = context_check_open(ctx, "pmGetAddress");
	if (err)
		return err;
	n = composite_address(ctx->c, buf, *len);
	if (n < 0)
		return fail(-n, "pmGetAddress: %zu bytes are too few: give PM_ADDRESS_MAX", *len);
	*len = (size_t)n;
	return PM_SUCCESS;
}

int pmAddNode(pmContext handle, pmNode node, const void *addr, size_t len)
{
	struct context *ctx = context_get(handle);
	int err;

	if (!ctx)
		return EBADF;
	if (!addr || node == PM_NODE_ANY)
		return fail(EINVAL, "pmAddNode: no address, or PM_NODE_ANY");
	err = context_check_open(ctx, "pmAddNode");
	if (err)
		return err;
	err = composite_add(ctx->c, node, addr, len);
	return err ? fail_why(ctx, err) : PM_SUCCESS;
}

int pmRemoveNode(pmContext handle, pmNode node)
{
	struct context *ctx = context_get(handle);
	struct composite_node *n;

	if (!ctx)
		return EBADF;
	n = nodemap_get(&ctx->c->nodes, node);
	if (!n)
		return fail(ENOENT, "pmRemoveNode: node %u was never in contact", node);
	for (uint32_t i = 0; i < ctx->sends.used; i++) {
		struct send_slot *s = (struct send_slot *)ctx->sends.slots + i;

		if (!(s->slot.generation & 1) || s->node != n)
			continue;
		n->ops->send(n->link, n->peer, s->cookie, 0);
		slot_close(&ctx->sends, (uint64_t)s->slot.generation << 32 | (i + 1), &s->slot);
	}
	atomic_forget(ctx, node);
	composite_remove(ctx->c, node);
	return PM_SUCCESS;
}

int pmProbeNode(pmContext handle, pmNode node)
{
	struct context *ctx = context_get(handle);
	struct composite_node *n;
	int err;

	if (!ctx)
		return EBADF;
	if (node == PM_NODE_ANY)
		return fail(EINVAL, "pmProbeNode: PM_NODE_ANY: name one node");
	err = composite_node(ctx->c, node, &n);
	if (!err)
		err = ctx->is_quiet ? -EAGAIN : n->ops->probe(n->link, n->peer);
	if (err)
		return err == -EAGAIN ? ENOBUFS : fail_why(ctx, err);
	return PM_SUCCESS;
}

int pmSetResolver(pmContext handle, pmResolver resolver, void *arg)
{
	struct context *ctx = context_get(handle);

	if (!ctx)
		return EBADF;
	ctx->c->resolver = resolver;
	ctx->c->resolver_arg = arg;
	return PM_SUCCESS;
}

int pmGetSelf(pmContext handle, pmNode *ret_node)
{
	struct context *ctx = context_get(handle);

	if (!ctx)
		return EBADF;
	if (!ret_node)
		return fail(EINVAL, "pmGetSelf: no place for the node");
	*ret_node = ctx->c->self;
	return PM_SUCCESS;
}

static uint32_t smallest_mtu(const struct composite *c)
{
	uint32_t smallest = UINT32_MAX;

	for (unsigned int i = 0; i < c->n_slots; i++) {
		const struct composite_slot *slot = &c->slots[i];
		uint32_t mtu = slot == c->stream ? UINT32_MAX : slot->ops.mtu(slot->link, NULL);

		if (mtu < smallest)
			smallest = mtu;
	}
	return smallest;
}

/* The node's place in the composite: PM_SUCCESS, ENOBUFS, EHOSTUNREACH or EPIPE. */
static int find(struct context *ctx, pmNode node, struct composite_node **ret)
{
	int err = composite_node(ctx->c, node, ret);

	if (!err)
		return PM_SUCCESS;
	return err == -EAGAIN ? ENOBUFS : fail_why(ctx, err);
}

int pmGetMtu(pmContext handle, pmNode node, size_t *ret_mtu)
{
	struct context *ctx = context_get(handle);
	struct composite_node *n;
	int err;

	if (!ctx)
		return EBADF;
	if (!ret_mtu)
		return fail(EINVAL, "pmGetMtu: no place for the size");
	if (ctx->is_suspended)
		return ENOBUFS;
	if (node == PM_NODE_ANY) {
		*ret_mtu = smallest_mtu(ctx->c);
		return PM_SUCCESS;
	}
	err = find(ctx, node, &n);
	if (err)
		return err;
	*ret_mtu = n->mtu;
	return PM_SUCCESS;
}

int pmGetLongRead(pmContext handle, pmNode node, uint64_t *ret_bytes)
{
	struct context *ctx = context_get(handle);
	struct composite_node *n;
	int err;

	if (!ctx)
		return EBADF;
	if (!ret_bytes)
		return fail(EINVAL, "pmGetLongRead: no place for the length");
	err = find(ctx, node, &n);
	if (err)
		return err;
	*ret_bytes = longread_worth(ctx->c, n);
	return PM_SUCCESS;
}

int pmIsStreamOpen(pmContext handle, pmNode node)
{
	struct context *ctx = context_get(handle);
	struct composite_node *n;
	int err;

	if (!ctx)
		return EBADF;
	err = find(ctx, node, &n);
	if (err)
		return err;
	return longread_is_open(ctx->c, n) ? PM_SUCCESS : ENOBUFS;
}

int pmGetDeviceName(pmContext handle, pmNode node, const char **ret_name)
{
	struct context *ctx = context_get(handle);
	struct composite_node *n;
	int err;

	if (!ctx)
		return EBADF;
	if (!ret_name)
		return fail(EINVAL, "pmGetDeviceName: no place for the name");
	err = find(ctx, node, &n);
	if (err)
		return err;
	*ret_name = ctx->c->slots[n->slot].device;
	return PM_SUCCESS;
}
