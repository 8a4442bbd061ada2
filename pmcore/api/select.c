// SPDX-License-Identifier: BSD-3-Clause
/*
 * select - waiting: spin while it pays, yield when cores are short, sleep on the links'
 * descriptors.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pmcore/api/context.h"
#include "pmcore/util/clock.h"

#define SPIN_MIN_NS 2000u
#define ANSWER_RETRY_NS 5000000u
#define FDS_MAX 32

static int make_epoll(struct context *ctx)
{
	int fds[FDS_MAX], n, fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0)
		return fail(errno, "epoll_create: %m");
	for (unsigned int i = 0; i < ctx->c->n_slots; i++) {
		struct composite_slot *slot = &ctx->c->slots[i];

		n = slot->ops.poll_fds(slot->link, fds, FDS_MAX);
		for (int j = 0; j < n; j++) {
			struct epoll_event event = {.events = EPOLLIN};

			if (epoll_ctl(fd, EPOLL_CTL_ADD, fds[j], &event) && errno != EEXIST) {
				int err = fail(errno, "epoll_ctl: %s descriptor %d: %m", slot->name,
					       fds[j]);

				close(fd);
				return err;
			}
		}
	}
	ctx->epoll_fd = fd;
	return 0;
}

/* A bit for each link. */
static uint32_t all_links(const struct context *ctx)
{
	return (1u << ctx->c->n_slots) - 1;
}

static void disarm(struct context *ctx, uint32_t armed)
{
	for (unsigned int i = 0; armed; i++, armed >>= 1) {
		if (armed & 1)
			ctx->c->slots[i].ops.disarm(ctx->c->slots[i].link);
	}
}

/*
 * Arms all links: 0 and the longest sleep, or -EAGAIN with none armed. Each link looks after its
 * timers then, also if another one has something for the program, which may be busy with other
 * things than to take it.
 */
static int arm(struct context *ctx, uint64_t *ret_timeout_ns)
{
	uint64_t timeout_ns = UINT64_MAX;
	uint32_t armed = 0;

	/*
	 * a link that has no room for one wakes us when it has; memory, and a resolver that does
	 * not know the node yet, do not
	 */
	if (ctx->n_answers)
		atomic_push(ctx);
	if (ctx->n_answers)
		timeout_ns = ANSWER_RETRY_NS;
	composite_look_everywhere(ctx->c);
	for (unsigned int i = 0; i < ctx->c->n_slots; i++) {
		struct composite_slot *slot = &ctx->c->slots[i];

		if (!slot->ops.arm(slot->link, &timeout_ns))
			armed |= 1u << i;
	}
	if (armed != all_links(ctx)) {
		disarm(ctx, armed);
		return -EAGAIN;
	}
	*ret_timeout_ns = timeout_ns;
	return 0;
}

static int has_waiting(const struct context *ctx)
{
	return ctx->stash_count || ctx->n_dead || ctx->n_over;
}

static int to_ms(uint64_t ns)
{
	if (ns == UINT64_MAX)
		return -1;
	ns = (ns + 999999) / 1000000;
	return ns > 1000000 ? 1000000 : (int)ns;
}

int pmBeforeSelect(pmContext handle, int *ret_fd, int *ret_timeout_ms)
{
	struct context *ctx = context_get(handle);
	uint64_t timeout_ns;
	int err;

	if (!ctx)
		return EBADF;
	if (!ret_fd || !ret_timeout_ms)
		return fail(EINVAL, "pmBeforeSelect: no place for an output");
	if (ctx->is_armed)
		return fail(EINVAL, "pmBeforeSelect: called twice: call pmAfterSelect first");
	err = ctx->epoll_fd < 0 ? make_epoll(ctx) : 0;
	if (err)
		return err;
	if (arm(ctx, &timeout_ns))
		return ENOBUFS;
	if (has_waiting(ctx)) {
		disarm(ctx, all_links(ctx));
		return ENOBUFS;
	}
	ctx->is_armed = true;
	*ret_fd = ctx->epoll_fd;
	*ret_timeout_ms = to_ms(timeout_ns);
	return PM_SUCCESS;
}

int pmAfterSelect(pmContext handle)
{
	struct context *ctx = context_get(handle);

	if (!ctx)
		return EBADF;
	if (!ctx->is_armed)
		return fail(EINVAL, "pmAfterSelect: pmBeforeSelect was not called");
	ctx->is_armed = false;
	disarm(ctx, all_links(ctx));
	return PM_SUCCESS;
}

/* Sleeps until a descriptor is readable, at most @limit_ns. */
static int sleep_once(struct context *ctx, uint64_t limit_ns)
{
	struct pollfd pfd = {.events = POLLIN};
	struct timespec ts, *timeout = NULL;
	uint64_t timeout_ns;
	int err;

	err = ctx->epoll_fd < 0 ? make_epoll(ctx) : 0;
	if (err)
		return err;
	if (arm(ctx, &timeout_ns))
		return 0;
	if (limit_ns < timeout_ns)
		timeout_ns = limit_ns;
	if (timeout_ns != UINT64_MAX) {
		ts.tv_sec = (time_t)(timeout_ns / 1000000000u);
		ts.tv_nsec = (long)(timeout_ns % 1000000000u);
		timeout = &ts;
	}
	pfd.fd = ctx->epoll_fd;
	/* a signal ends the sleep early, which is as good as a message: the caller looks again */
	if (ppoll(&pfd, 1, timeout, NULL) < 0 && errno != EINTR)
		err = fail(errno, "ppoll: %m");
	disarm(ctx, all_links(ctx));
	return err;
}

/* Polls for up to spin_ns. True when something was stashed. */
static bool spin(struct context *ctx, uint64_t start)
{
	uint64_t until = start + ctx->spin_ns;

	do {
		for (int i = 0; i < 16; i++) {
			if (context_progress(ctx))
				return true;
			if (ctx->is_crowded)
				sched_yield();
		}
	} while (clock_monotonic_ns() < until);
	return false;
}

int pmWait(pmContext handle, int timeout_ms)
{
	struct context *ctx = context_get(handle);
	uint64_t start, end, t, max;
	int err;

	if (!ctx)
		return EBADF;
	if (ctx->is_armed)
		return fail(EINVAL, "pmWait: between pmBeforeSelect and pmAfterSelect");
	if (has_waiting(ctx))
		return PM_SUCCESS;
	/* nothing could end it */
	if (timeout_ms < 0 && ctx->is_suspended)
		return context_check_open(ctx, "pmWait");
	max = ctx->c->conf.spin_us * 1000u;
	start = clock_monotonic_ns();
	end = timeout_ms < 0 ? UINT64_MAX : start + (uint64_t)timeout_ms * 1000000u;
	if (spin(ctx, start)) {
		/* spinning paid: allow more of it next time */
		ctx->spin_ns = ctx->spin_ns * 2 < max ? ctx->spin_ns * 2 : (uint32_t)max;
		return PM_SUCCESS;
	}
	ctx->spin_ns = ctx->spin_ns / 2 > SPIN_MIN_NS ? ctx->spin_ns / 2 : SPIN_MIN_NS;
	for (;;) {
		t = clock_monotonic_ns();
		if (t >= end)
			return ETIMEDOUT;
		err = sleep_once(ctx, end == UINT64_MAX ? UINT64_MAX : end - t);
		if (err)
			return err;
		/* whatever woke us may have left work in several links */
		for (int i = 0; i < 4; i++)
			if (context_progress(ctx))
				return PM_SUCCESS;
	}
}
