// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/api/self.h"

TAP_TEST(pmQuiesce__closes_the_entrance)
{
	pmContext ctx = self_open();
	pmDesc desc = 77;
	void *buf;

	is_int(pmQuiesce(ctx, 0), 0);
	is_int(pmPost(ctx, SELF_NODE, "no", 2), ENOBUFS);
	is_int(pmGetSendBuffer(ctx, SELF_NODE, 2, &buf, &desc), ENOBUFS);
	is_int(desc, 77);
	is_int(pmResume(ctx), 0);
	is_int(pmPost(ctx, SELF_NODE, "yes", 3), 0);
	self_expect(ctx, "yes");
	is_int(pmQuiesce(self_closed(), 0), EBADF);
	is_int(pmResume(self_closed()), EBADF);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmSaveContext__not_quiet_or_descriptors_open)
{
	pmContext ctx = self_open();
	size_t len = 77;
	char blob[256];
	pmDesc desc;
	void *buf;

	is_int(pmSaveContext(ctx, blob, sizeof(blob), &len), EBUSY);
	is_int(pmGetSendBuffer(ctx, SELF_NODE, 2, &buf, &desc), 0);
	is_int(pmQuiesce(ctx, 0), 0);
	is_int(pmSaveContext(ctx, blob, sizeof(blob), &len), EBUSY);
	self_said("1 send");
	is_int(len, 77);
	is_int(pmDiscardSendBuffer(ctx, desc), 0);
	is_int(pmSaveContext(ctx, blob, sizeof(blob), &len), 0);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmSaveContext__wrong_arguments)
{
	pmContext ctx = self_open();
	char blob[256];
	size_t len = 77, need = 0;

	is_int(pmPost(ctx, SELF_NODE, "hello", 5), 0);
	is_int(pmQuiesce(ctx, 0), 0);
	is_int(pmSaveContext(ctx, NULL, 5, &len), EINVAL);
	is_int(pmSaveContext(ctx, blob, sizeof(blob), NULL), EINVAL);
	is_int(pmSaveContext(self_closed(), blob, sizeof(blob), &len), EBADF);
	is_int(len, 77);
	is_int(pmSaveContext(ctx, NULL, 0, &need), ENOSPC);
	must(need > 5 && need < sizeof(blob));
	is_int(pmSaveContext(ctx, blob, need - 1, &len), ENOSPC);
	is_int(len, need);
	is_int(pmSaveContext(ctx, blob, need, &len), 0);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmRestoreContext__what_was_saved)
{
	pmContext ctx = self_open(), again = self_open();
	char blob[256];
	size_t len;

	is_int(pmPost(ctx, SELF_NODE, "one", 3), 0);
	is_int(pmWait(ctx, 0), 0); /* takes it from the link: it is unread, but not queued */
	is_int(pmPost(ctx, SELF_NODE, "two", 3), 0);
	is_int(pmQuiesce(ctx, 0), 0);
	must(is_int(pmSaveContext(ctx, blob, sizeof(blob), &len), 0));
	is_int(pmCloseContext(ctx), 0);
	is_int(pmRestoreContext(again, blob, len), 0);
	self_expect(again, "one");
	self_expect(again, "two");
	is_int(pmCloseContext(again), 0);
}

TAP_TEST(pmRestoreContext__damaged_or_of_another_node)
{
	struct pmOptions options = {
		.size = sizeof(options), .self = SELF_NODE + 1, .config = "devices=self"};
	pmContext ctx = self_open(), other;
	char blob[256];
	pmDesc desc;
	pmNode src;
	size_t len, n;
	void *buf;

	must(is_int(pmOpenContext(&options, &other), 0));
	is_int(pmPost(ctx, SELF_NODE, "hello", 5), 0);
	is_int(pmQuiesce(ctx, 0), 0);
	must(is_int(pmSaveContext(ctx, blob, sizeof(blob), &len), 0));
	is_int(pmResume(ctx), 0);
	self_expect(ctx, "hello");
	for (size_t cut = 0; cut < len; cut++)
		is_int(pmRestoreContext(ctx, blob, cut), EINVAL);
	is_int(pmRestoreContext(ctx, NULL, len), EINVAL);
	is_int(pmRestoreContext(self_closed(), blob, len), EBADF);
	blob[0] ^= 1;
	is_int(pmRestoreContext(ctx, blob, len), EINVAL);
	self_said("damaged");
	is_int(pmReceive(ctx, &buf, &n, &src, &desc), ENOBUFS);
	blob[0] ^= 1;
	is_int(pmRestoreContext(other, blob, len), EINVAL);
	self_said("of node 5");
	is_int(pmReceive(other, &buf, &n, &src, &desc), ENOBUFS);
	is_int(pmCloseContext(ctx), 0);
	is_int(pmCloseContext(other), 0);
}
