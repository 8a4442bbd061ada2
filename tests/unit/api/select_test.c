// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/api/self.h"

TAP_TEST(pmBeforeSelect__wrong_arguments)
{
	pmContext ctx = self_open();
	int fd = 77, timeout = 77;

	is_int(pmBeforeSelect(ctx, NULL, &timeout), EINVAL);
	is_int(pmBeforeSelect(ctx, &fd, NULL), EINVAL);
	self_said("pmBeforeSelect");
	is_int(pmBeforeSelect(self_closed(), &fd, &timeout), EBADF);
	is_int(fd, 77);
	is_int(timeout, 77);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmBeforeSelect__message_waiting)
{
	pmContext ctx = self_open();
	int fd = 77, timeout = 77;

	is_int(pmPost(ctx, SELF_NODE, "x", 1), 0);
	is_int(pmBeforeSelect(ctx, &fd, &timeout), ENOBUFS);
	is_int(fd, 77);
	is_int(timeout, 77);
	/* not armed then */
	is_int(pmAfterSelect(ctx), EINVAL);
	self_expect(ctx, "x");
	is_int(pmBeforeSelect(ctx, &fd, &timeout), 0);
	ok(fd >= 0 && fd != 77);
	is_int(timeout, -1);
	is_int(pmAfterSelect(ctx), 0);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmAfterSelect__each_needs_its_before)
{
	pmContext ctx = self_open();
	int fd, timeout;

	is_int(pmAfterSelect(ctx), EINVAL);
	self_said("pmBeforeSelect was not called");
	is_int(pmBeforeSelect(ctx, &fd, &timeout), 0);
	is_int(pmBeforeSelect(ctx, &fd, &timeout), EINVAL);
	self_said("called twice");
	is_int(pmWait(ctx, 0), EINVAL);
	is_int(pmAfterSelect(ctx), 0);
	is_int(pmAfterSelect(ctx), EINVAL);
	is_int(pmAfterSelect(self_closed()), EBADF);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmWait__with_and_without_a_message)
{
	pmContext ctx = self_open();

	is_int(pmWait(ctx, 0), ETIMEDOUT);
	is_int(pmPost(ctx, SELF_NODE, "x", 1), 0);
	is_int(pmWait(ctx, -1), 0);
	/* looking does not take it */
	is_int(pmWait(ctx, -1), 0);
	self_expect(ctx, "x");
	is_int(pmWait(ctx, 0), ETIMEDOUT);
	is_int(pmWait(self_closed(), 0), EBADF);
	is_int(pmCloseContext(ctx), 0);
}
