// SPDX-License-Identifier: BSD-3-Clause
/*
 * save - quiescing, saving and restoring. The saved form is a header, the datagrams received but
 * unread, and the links' own states:
 *
 *   struct saved_header; per datagram u32 source, u32 length, bytes; composite state
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/api/context.h"
#include "pmcore/util/clock.h"

#define HELD_LOOKS (2 * COMPOSITE_LINKS)  /* in a row that bring nothing: nothing is there */
#define FREE_LOOKS 4096                   /* while something comes, before the clock counts */
#define SAVED_MAGIC 0x3144455641534d50ull /* "PMSAVED1" */

struct saved_header {
	uint64_t magic;
	uint32_t node;
	uint32_t n_unread;
	uint64_t unread_bytes; /* of the datagram part */
	uint64_t total;        /* bytes of all */
};

struct saved_datagram {
	uint32_t src;
	uint32_t len;
};

int context_check_open(const struct context *ctx, const char *call)
{
	return ctx->is_suspended ? fail(EBUSY, "%s: the context is suspended: call pmRevive", call)
				 : 0;
}

int context_check_still(const struct context *ctx, const char *call)
{
	if (ctx->is_quiet && !ctx->is_armed && !ctx->sends.n_open && !ctx->inbound.n_open &&
	    !ctx->ops.n_open && !ctx->n_answers)
		return 0;
	return fail(EBUSY,
		    "%s: quiesce first and close all descriptors (%u send, %u receive, %u "
		    "one-sided are open, %u of others wait for answers)",
		    call, ctx->sends.n_open, ctx->inbound.n_open, ctx->ops.n_open, ctx->n_answers);
}

/* 0 what was sent is acked, -EAGAIN not yet. */
static int quiesce_step(struct context *ctx)
{
	int err = context_own_all(ctx);

	if (!err && ctx->is_short)
		err = -ENOMEM;
	if (!err)
		err = rma_settle(ctx);
	return err ? err : composite_quiesce(ctx->c);
}

/* One that is quiet takes what comes too: others may not become so without its answer. */
int pmQuiesce(pmContext handle, int timeout_ms)
{
	struct context *ctx = context_get(handle);
	unsigned int idle = 0; /* looks in a row that have brought nothing */
	uint64_t end;
	int err;

	if (!ctx)
		return EBADF;
	end = timeout_ms < 0 ? UINT64_MAX : clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000u;
	ctx->is_quiet = true;
	ctx->is_drained = false;
	for (unsigned int looks = 0;; looks++) {
		/* also at devices that are expensive to ask, and may have the last message */
		if (ctx->is_held)
			composite_look_everywhere(ctx->c);
		idle = context_progress(ctx) ? 0 : idle + 1;
		err = quiesce_step(ctx);
		if (!err && ctx->is_held && idle < HELD_LOOKS) {
			if (looks < FREE_LOOKS)
				continue;
			err = -EAGAIN;
		}
		if (err != -EAGAIN)
			break;
		if (!idle && looks < FREE_LOOKS)
			continue;
		if (clock_monotonic_ns() >= end)
			return fail(ETIMEDOUT, "pmQuiesce: peers did not ack within %d ms",
				    timeout_ms);
		sched_yield();
	}
	ctx->is_drained = !err && ctx->is_held;
	return err ? fail(-err, "pmQuiesce: %s", pmErrorString(-err)) : PM_SUCCESS;
}

int pmResume(pmContext handle)
{
	struct context *ctx = context_get(handle);
	int err = ctx ? context_check_open(ctx, "pmResume") : EBADF;

	if (err)
		return err;
	ctx->is_quiet = ctx->is_held = ctx->is_drained = false;
	composite_resume(ctx->c);
	return PM_SUCCESS;
}

static size_t unread_bytes(const struct context *ctx)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < ctx->stash_count; i++)
		sum += sizeof(struct saved_datagram) +
		       ctx->stash[(ctx->stash_head + i) % ctx->stash_room].in.len;
	return sum;
}

static void put_unread(const struct context *ctx, uint8_t *at)
{
	for (uint32_t i = 0; i < ctx->stash_count; i++) {
		const struct stashed *s = &ctx->stash[(ctx->stash_head + i) % ctx->stash_room];
		struct saved_datagram d = {s->in.src, s->in.len};

		memcpy(at, &d, sizeof(d));
		memcpy(at + sizeof(d), s->in.buf, d.len);
		at += sizeof(d) + d.len;
	}
}

int pmSaveContext(pmContext handle, void *buf, size_t size, size_t *ret_len)
{
	struct context *ctx = context_get(handle);
	struct saved_header h = {.magic = SAVED_MAGIC};
	uint8_t *at = buf;
	size_t head;
	int n, err;

	if (!ctx)
		return EBADF;
	if ((!buf && size) || !ret_len)
		return fail(EINVAL, "pmSaveContext: no place for the state or its length");
	err = context_check_open(ctx, "pmSaveContext");
	if (!err)
		err = context_check_still(ctx, "pmSaveContext");
	if (err)
		return err;
	if (context_own_all(ctx))
		return fail(ENOMEM, "pmSaveContext: out of memory");
	h.unread_bytes = unread_bytes(ctx);
	head = sizeof(h) + h.unread_bytes;
	n = composite_save(ctx->c, size > head ? at + head : NULL, size > head ? size - head : 0);
	if (n < 0)
		return fail_why(ctx, n);
	h.node = ctx->c->self;
	h.n_unread = ctx->stash_count;
	h.total = head + (size_t)n;
	*ret_len = h.total;
	if (h.total > size)
		return ENOSPC;
	memcpy(at, &h, sizeof(h));
	put_unread(ctx, at + sizeof(h));
	return PM_SUCCESS;
}

/* Walks the datagram part; 0 or -EINVAL. */
static int check_unread(const uint8_t *at, size_t len, uint32_t count)
{
	struct saved_datagram d;

	for (uint32_t i = 0; i < count; i++) {
		if (len < sizeof(d))
			return -EINVAL;
		memcpy(&d, at, sizeof(d));
		if (!d.len || d.len > len - sizeof(d))
			return -EINVAL;
		at += sizeof(d) + d.len;
		len -= sizeof(d) + d.len;
	}
	return len ? -EINVAL : 0;
}

static int get_unread(struct context *ctx, const uint8_t *at, uint32_t count)
{
	struct saved_datagram d;

	for (uint32_t i = 0; i < count; i++) {
		struct stashed s = {0};

		memcpy(&d, at, sizeof(d));
		s.owned = malloc(d.len);
		if (!s.owned)
			return -ENOMEM;
		memcpy(s.owned, at + sizeof(d), d.len);
		s.in.buf = s.owned;
		s.in.src = d.src;
		s.in.len = d.len;
		if (context_stash(ctx, &s)) {
			free(s.owned);
			return -ENOMEM;
		}
		at += sizeof(d) + d.len;
	}
	return 0;
}

int pmRestoreContext(pmContext handle, const void *buf, size_t len)
{
	struct context *ctx = context_get(handle);
	const uint8_t *at = buf;
	struct saved_header h;
	int err;

	if (!ctx)
		return EBADF;
	if (!buf || len < sizeof(h))
		return fail(EINVAL, "pmRestoreContext: %zu bytes are no saved context", len);
	err = context_check_open(ctx, "pmRestoreContext");
	if (err)
		return err;
	memcpy(&h, buf, sizeof(h));
	if (h.magic != SAVED_MAGIC || h.total != len || h.unread_bytes > len - sizeof(h) ||
	    check_unread(at + sizeof(h), h.unread_bytes, h.n_unread))
		return fail(EINVAL, "pmRestoreContext: damaged state");
	if (h.node != ctx->c->self)
		return fail(EINVAL, "pmRestoreContext: the state is of node %u, this is node %u",
			    h.node, ctx->c->self);
	err = composite_restore(ctx->c, at + sizeof(h) + h.unread_bytes,
				len - sizeof(h) - h.unread_bytes);
	if (!err)
		err = get_unread(ctx, at + sizeof(h), h.n_unread);
	return err ? fail(-err, "pmRestoreContext: %s",
			  err == -EINVAL ? "damaged state" : pmErrorString(-err))
		   : PM_SUCCESS;
}
