// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/util/clock.h"
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

/* --- messages that get lost between two contexts over UDP --- */

enum { LOST_MESSAGES = 16, LOST_LIMIT_S = 5 };

static pmContext open_lossy(pmNode node)
{
	struct pmOptions options = {.size = sizeof(options),
				    .self = node,
				    .nodes = 2,
				    .job_key = 77,
				    .config = "devices=self+udp,udp.rails=lo,fault=7:drop=20%"};
	pmContext ctx = PM_CONTEXT_NONE;

	okf(!pmOpenContext(&options, &ctx), "%s", pmLastError());
	return ctx;
}

static void introduce(pmContext ctx, pmContext to, pmNode node)
{
	char address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);

	is_int(pmGetAddress(to, address, &len), 0);
	is_int(pmAddNode(ctx, node, address, len), 0);
}

static int drain(pmContext ctx)
{
	pmDesc desc;
	pmNode src;
	size_t len;
	void *buf;
	int n = 0;

	while (!pmReceive(ctx, &buf, &len, &src, &desc)) {
		pmReleaseReceiveBuffer(ctx, desc);
		n++;
	}
	return n;
}

/*
 * A sender only calls pmBeforeSelect, and is told each time that a message waits for it: so many of
 * its own arrive.
 */
static int get_from_a_sleeper(pmContext sender, pmContext receiver)
{
	uint64_t end = clock_monotonic_ns() + LOST_LIMIT_S * 1000000000ull;
	int fd, timeout, n = 0;

	for (int i = 0; i < LOST_MESSAGES; i++)
		is_int(pmPost(sender, 1, "lost", 4), 0);
	while (n < LOST_MESSAGES && clock_monotonic_ns() < end) {
		if (pmBeforeSelect(sender, &fd, &timeout) != ENOBUFS)
			break;
		n += drain(receiver);
	}
	return n;
}

TAP_TEST(pmBeforeSelect__sends_lost_messages_again_while_one_waits)
{
	pmContext sender = open_lossy(0), receiver = open_lossy(1);

	introduce(sender, receiver, 1);
	introduce(receiver, sender, 0);
	is_int(pmPost(sender, 0, "x", 1), 0);
	is_int(get_from_a_sleeper(sender, receiver), LOST_MESSAGES);
	/* the same with one that pmWait has taken from its link already */
	is_int(pmWait(sender, -1), 0);
	is_int(get_from_a_sleeper(sender, receiver), LOST_MESSAGES);
	is_int(pmCloseContext(sender), 0);
	is_int(pmCloseContext(receiver), 0);
}
