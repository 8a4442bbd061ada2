// SPDX-License-Identifier: BSD-3-Clause
/* error - the sentence of the last failure per thread, and the names of the codes. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pmcore/api/context.h"

static __thread char last[COMPOSITE_WHY + 64];

int fail(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(last, sizeof(last), format, args);
	va_end(args);
	return error;
}

int fail_why(struct context *ctx, int negative)
{
	return fail(-negative, "%s", ctx->c->why[0] ? ctx->c->why : pmErrorString(-negative));
}

const char *pmLastError(void)
{
	return last;
}

const char *pmErrorString(int error)
{
	switch (error) {
	case PM_SUCCESS:
		return "success";
	case ENOBUFS:
		return "not now: no buffer is free or nothing has arrived";
	case EPIPE:
		return "the node is dead";
	case EBADF:
		return "not an open context or descriptor";
	case EHOSTUNREACH:
		return "no device reaches the node";
	case ENODEV:
		return "no device could be opened";
	case EINVAL:
		return "invalid argument";
	case EACCES:
		return "the remote region does not exist or the range is outside";
	case ETIMEDOUT:
		return "time limit reached";
	case EBUSY:
		return "the context is not quiet, or buffers are still open";
	default:
		return strerrordesc_np(error) ? strerrordesc_np(error) : "unknown error";
	}
}
