// SPDX-License-Identifier: BSD-3-Clause
/* attribute - numbers about a context, and its state as text. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pmcore/api/context.h"

static uint64_t memory(const struct context *ctx)
{
	return sizeof(*ctx) + composite_memory(ctx->c) +
	       (uint64_t)ctx->sends.used * ctx->sends.size +
	       (uint64_t)ctx->inbound.used * ctx->inbound.size +
	       (uint64_t)ctx->ops.used * ctx->ops.size +
	       (uint64_t)ctx->stash_room * sizeof(struct stashed);
}

static uint32_t largest_mtu(const struct composite *c)
{
	uint32_t largest = 0;

	for (unsigned int i = 0; i < c->n_slots; i++) {
		uint32_t mtu = c->slots[i].ops.mtu(c->slots[i].link, NULL);

		if (mtu > largest)
			largest = mtu;
	}
	return largest;
}

/* Of the first device that has rails: the preferred one. */
static uint32_t network_rails(const struct composite *c)
{
	for (unsigned int i = 0; i < c->n_slots; i++)
		if (c->slots[i].stats->n_rails)
			return c->slots[i].stats->n_rails;
	return 0;
}

int pmGetAttribute(pmContext handle, enum pmAttribute attribute, uint64_t *ret_value)
{
	struct context *ctx = context_get(handle);

	if (!ctx)
		return EBADF;
	if (!ret_value)
		return fail(EINVAL, "pmGetAttribute: no place for the value");
	switch (attribute) {
	case PM_ATTR_SEND_BUFFERS:
		*ret_value = CONTEXT_SENDS;
		return PM_SUCCESS;
	case PM_ATTR_RECEIVE_BUFFERS:
		*ret_value = CONTEXT_INBOUND;
		return PM_SUCCESS;
	case PM_ATTR_RAILS:
		*ret_value = network_rails(ctx->c);
		return PM_SUCCESS;
	case PM_ATTR_PEERS:
		*ret_value = ctx->c->nodes.count;
		return PM_SUCCESS;
	case PM_ATTR_MEMORY:
		*ret_value = memory(ctx);
		return PM_SUCCESS;
	case PM_ATTR_MTU_MAX:
		if (ctx->is_suspended)
			return ENOBUFS;
		*ret_value = largest_mtu(ctx->c);
		return PM_SUCCESS;
	}
	return fail(EINVAL, "pmGetAttribute: no attribute %d", (int)attribute);
}

int pmGetNote(pmContext handle, const char **ret_text)
{
	struct context *ctx = context_get(handle);

	if (!ctx)
		return EBADF;
	if (!ret_text)
		return fail(EINVAL, "pmGetNote: no place for the text");
	/* ours: devices may be given back */
	snprintf(ctx->note, sizeof(ctx->note), "%s", ctx->c->note);
	*ret_text = ctx->note;
	return PM_SUCCESS;
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(errno, "pmDumpContext: write to descriptor %d: %m", fd);
		text += n;
		len -= (size_t)n;
	}
	return PM_SUCCESS;
}

static int dump_link(struct composite_slot *slot, int fd)
{
	size_t room = 4096;
	char *text = NULL;
	int n, err;

	for (;;) {
		char *grown = realloc(text, room);

		if (!grown) {
			free(text);
			return fail(ENOMEM, "pmDumpContext: out of memory");
		}
		text = grown;
		n = slot->ops.dump(slot->link, text, room);
		if (n < 0 || (size_t)n < room)
			break;
		room = (size_t)n + 1;
	}
	err = n > 0 ? write_all(fd, text, (size_t)n) : PM_SUCCESS;
	free(text);
	return err;
}

int pmDumpContext(pmContext handle, int fd)
{
	struct context *ctx = context_get(handle);
	char head[512];
	int n, err;

	if (!ctx)
		return EBADF;
	n = snprintf(head, sizeof(head),
		     "context %u: node %u, %u peers, %u send buffers and %u receive buffers and %u "
		     "one-sided operations open, %u messages stashed, %u answers wait, %llu odd "
		     "requests "
		     "dropped, %llu bytes%s%s%s\n",
		     handle, ctx->c->self, ctx->c->nodes.count, ctx->sends.n_open,
		     ctx->inbound.n_open, ctx->ops.n_open, ctx->stash_count, ctx->n_answers,
		     (unsigned long long)ctx->odd_atomics, (unsigned long long)memory(ctx),
		     ctx->is_suspended ? ", suspended"
		     : ctx->is_quiet   ? ", quiet"
		     : ctx->is_held    ? ", held"
				       : "",
		     ctx->c->closed[0] ? ", not open: " : "", ctx->c->closed);
	err = write_all(fd, head, (size_t)n < sizeof(head) ? (size_t)n : sizeof(head) - 1);
	for (unsigned int i = 0; !err && i < ctx->c->n_slots; i++)
		err = dump_link(&ctx->c->slots[i], fd);
	return err;
}
