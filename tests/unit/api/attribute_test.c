// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include "tests/unit/api/self.h"

static uint64_t get(pmContext ctx, enum pmAttribute attribute)
{
	uint64_t value = 0;

	is_int(pmGetAttribute(ctx, attribute, &value), 0);
	return value;
}

TAP_TEST(pmGetAttribute__wrong_arguments)
{
	pmContext ctx = self_open();
	uint64_t value = 77;

	is_int(pmGetAttribute(ctx, PM_ATTR_PEERS, NULL), EINVAL);
	is_int(pmGetAttribute(ctx, (enum pmAttribute)0, &value), EINVAL);
	is_int(pmGetAttribute(ctx, (enum pmAttribute)4711, &value), EINVAL);
	self_said("4711");
	is_int(pmGetAttribute(self_closed(), PM_ATTR_PEERS, &value), EBADF);
	is_int(value, 77);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmGetAttribute__each_of_a_lone_node)
{
	pmContext ctx = self_open();
	uint64_t before = get(ctx, PM_ATTR_MEMORY);

	is_int(get(ctx, PM_ATTR_SEND_BUFFERS), 1024);
	is_int(get(ctx, PM_ATTR_RECEIVE_BUFFERS), 8192);
	is_int(get(ctx, PM_ATTR_RAILS), 0);
	is_int(get(ctx, PM_ATTR_MTU_MAX), 16384);
	is_int(get(ctx, PM_ATTR_PEERS), 0);
	is_int(pmPost(ctx, SELF_NODE, "x", 1), 0);
	is_int(get(ctx, PM_ATTR_PEERS), 1);
	/* the message's buffer is memory of the context */
	ok(get(ctx, PM_ATTR_MEMORY) >= before + 16384);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmDumpContext__says_what_is_open)
{
	pmContext ctx = self_open();
	char text[1024];
	int fds[2];
	pmDesc desc;
	ssize_t n;
	void *buf;

	must(!pipe(fds));
	is_int(pmPost(ctx, SELF_NODE, "x", 1), 0);
	is_int(pmGetSendBuffer(ctx, SELF_NODE, 1, &buf, &desc), 0);
	is_int(pmDumpContext(ctx, fds[1]), 0);
	n = read(fds[0], text, sizeof(text) - 1);
	must(n > 0);
	text[n] = '\0';
	okf(strstr(text, "node 5") && strstr(text, "1 send buffers"), "%s", text);
	okf(strstr(text, "self: 1 messages queued") != NULL, "%s", text);
	close(fds[0]);
	close(fds[1]);
	is_int(pmDumpContext(ctx, fds[1]), EBADF);
	self_said("write to descriptor");
	is_int(pmDumpContext(self_closed(), 1), EBADF);
	is_int(pmCloseContext(ctx), 0);
}
