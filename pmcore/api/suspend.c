// SPDX-License-Identifier: BSD-3-Clause
/*
 * suspend - a context gives all of its devices back and gets others later, as a process does whose
 * memory is written to disk and read again elsewhere. Handles, regions with their keys, and what
 * was received stay. Nothing of the old devices' state goes to the new ones: both ends begin to
 * count anew, with another key of the job, so that nothing old can reach them.
 */
#include <errno.h>
#include <unistd.h>

#include "pmcore/api/context.h"

int pmHold(pmContext handle)
{
	struct context *ctx = context_get(handle);
	int err = ctx ? context_check_open(ctx, "pmHold") : EBADF;

	if (err || ctx->is_held)
		return err;
	/* a buffer of a link that stays lent holds up who sends to us */
	if (context_own_all(ctx))
		return fail(ENOMEM, "pmHold: out of memory");
	ctx->is_held = true;
	ctx->is_drained = false;
	return PM_SUCCESS;
}

/* Messages that were accepted may not have left: a receiver that takes nothing holds them up. */
static int check_sent(struct context *ctx)
{
	for (unsigned int i = 0; i < ctx->c->n_slots; i++) {
		struct composite_slot *slot = &ctx->c->slots[i];

		if (slot->ops.send_done(slot->link, NULL) == -EAGAIN)
			return fail(EBUSY,
				    "pmSuspend: %s has messages that have not reached their "
				    "nodes: after pmHold wait until pmIsSendDone says so, then "
				    "pmQuiesce",
				    slot->device);
	}
	return 0;
}

/* The other composite serves the context from here on. */
static void replace(struct context *ctx, struct composite *by)
{
	composite_close(ctx->c);
	ctx->c = by;
	if (ctx->epoll_fd >= 0)
		close(ctx->epoll_fd);
	ctx->epoll_fd = -1;
}

/* The resolver may be another than at first. */
static void read_resolver(struct context *ctx)
{
	ctx->options.resolver = ctx->c->resolver;
	ctx->options.resolver_arg = ctx->c->resolver_arg;
}

int pmSuspend(pmContext handle)
{
	struct context *ctx = context_get(handle);
	struct composite *parked;
	int err = ctx ? context_check_open(ctx, "pmSuspend") : EBADF;

	if (!err)
		err = context_check_still(ctx, "pmSuspend");
	if (!err && !ctx->is_drained)
		err = fail(EBUSY, "pmSuspend: call pmHold, and then pmQuiesce until it succeeds");
	if (!err)
		err = check_sent(ctx);
	if (err)
		return err;
	read_resolver(ctx);
	if (context_own_all(ctx) || composite_open_parked(&ctx->options, ctx->c->regions,
							  "the context is suspended", &parked))
		return fail(ENOMEM, "pmSuspend: out of memory");
	(void)composite_take_regions(ctx->c);
	replace(ctx, parked);
	ctx->is_suspended = true;
	return PM_SUCCESS;
}

int pmRevive(pmContext handle, const char *config, uint64_t job_key)
{
	struct context *ctx = context_get(handle);
	struct pmOptions options;
	char why[COMPOSITE_WHY];
	struct composite *c;
	int err;

	if (!ctx)
		return EBADF;
	if (!ctx->is_suspended)
		return fail(EINVAL, "pmRevive: the context is not suspended");
	if (ctx->is_armed)
		return fail(EINVAL, "pmRevive: between pmBeforeSelect and pmAfterSelect");
	if (job_key == ctx->options.job_key)
		return fail(EINVAL, "pmRevive: the key of the job must be another one, or what was "
				    "sent before could be taken for new");
	read_resolver(ctx);
	options = ctx->options;
	options.config = config;
	options.job_key = job_key;
	err = -composite_open(&options, ctx->c->regions, &c, why, sizeof(why));
	if (err)
		return fail(err, "pmRevive: %s", why);
	(void)composite_take_regions(ctx->c);
	replace(ctx, c);
	ctx->options.job_key = job_key;
	ctx->n_dead = 0; /* in the life before */
	ctx->is_drained = false;
	ctx->spin_ns = c->conf.spin_us * 1000;
	ctx->is_suspended = false;
	return PM_SUCCESS;
}
