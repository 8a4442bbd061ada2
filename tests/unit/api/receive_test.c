// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/api/self.h"

TAP_TEST(pmReceive__wrong_arguments)
{
	pmContext ctx = self_open();
	void *untouched = &ctx, *buf = untouched;
	pmDesc desc = 77;
	pmNode src = 77;
	size_t len = 77;

	is_int(pmPost(ctx, SELF_NODE, "hello", 5), 0);
	is_int(pmReceive(ctx, NULL, &len, &src, &desc), EINVAL);
	is_int(pmReceive(ctx, &buf, NULL, &src, &desc), EINVAL);
	is_int(pmReceive(ctx, &buf, &len, NULL, &desc), EINVAL);
	is_int(pmReceive(ctx, &buf, &len, &src, NULL), EINVAL);
	self_said("pmReceive");
	is_int(pmReceive(self_closed(), &buf, &len, &src, &desc), EBADF);
	ok(buf == untouched && len == 77 && src == 77 && desc == 77);
	/* none of these took the message */
	self_expect(ctx, "hello");
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmReceive__nothing_there)
{
	pmContext ctx = self_open();
	void *untouched = &ctx, *buf = untouched;
	pmDesc desc = 77;
	pmNode src = 77;
	size_t len = 77;

	is_int(pmReceive(ctx, &buf, &len, &src, &desc), ENOBUFS);
	ok(buf == untouched && len == 77 && src == 77 && desc == 77);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmReceiveRow__wrong_arguments)
{
	pmContext ctx = self_open();
	struct iovec row[2] = {{NULL, 77}, {NULL, 77}};
	pmDesc desc = 77;
	pmNode src = 77;
	size_t n = 77;

	is_int(pmPost(ctx, SELF_NODE, "hello", 5), 0);
	is_int(pmReceiveRow(ctx, NULL, 2, &n, &src, &desc), EINVAL);
	is_int(pmReceiveRow(ctx, row, 0, &n, &src, &desc), EINVAL);
	is_int(pmReceiveRow(ctx, row, 2, NULL, &src, &desc), EINVAL);
	self_said("pmReceiveRow");
	is_int(pmReceiveRow(ctx, row, 2, &n, NULL, &desc), EINVAL);
	is_int(pmReceiveRow(ctx, row, 2, &n, &src, NULL), EINVAL);
	is_int(pmReceiveRow(self_closed(), row, 2, &n, &src, &desc), EBADF);
	ok(!row[0].iov_base && row[0].iov_len == 77 && n == 77 && src == 77 && desc == 77);
	/* none of these took the message */
	self_expect(ctx, "hello");
	is_int(pmReceiveRow(ctx, row, 2, &n, &src, &desc), ENOBUFS);
	ok(!row[0].iov_base && row[0].iov_len == 77 && n == 77 && src == 77 && desc == 77);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmReceiveRow__one_message_at_least)
{
	pmContext ctx = self_open();
	struct iovec row[4];
	pmDesc desc;
	pmNode src;
	size_t n = 0;

	is_int(pmPost(ctx, SELF_NODE, "hello", 5), 0);
	must(is_int(pmReceiveRow(ctx, row, 4, &n, &src, &desc), 0));
	is_int(n, 1);
	is_int(src, SELF_NODE);
	is_int(row[0].iov_len, 5);
	is_mem(row[0].iov_base, "hello", 5);
	is_int(pmReleaseReceiveBuffer(ctx, desc), 0);
	is_int(pmReleaseReceiveBuffer(ctx, desc), EBADF);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmReleaseReceiveBuffer__any_order_and_twice)
{
	pmContext ctx = self_open();
	pmDesc descs[3];
	void *bufs[3];
	pmNode src;
	size_t len;

	for (int i = 0; i < 3; i++) {
		is_int(pmPost(ctx, SELF_NODE, &"abc"[i], 1), 0);
		must(is_int(pmReceive(ctx, &bufs[i], &len, &src, &descs[i]), 0));
	}
	is_int(pmReleaseReceiveBuffer(ctx, descs[1]), 0);
	is_int(pmReleaseReceiveBuffer(ctx, descs[1]), EBADF);
	self_said("released before");
	is_mem(bufs[0], "a", 1);
	is_mem(bufs[2], "c", 1);
	is_int(pmReleaseReceiveBuffer(ctx, descs[2]), 0);
	is_int(pmReleaseReceiveBuffer(ctx, descs[0]), 0);
	is_int(pmReleaseReceiveBuffer(ctx, 0), EBADF);
	is_int(pmReleaseReceiveBuffer(self_closed(), descs[0]), EBADF);
	is_int(pmCloseContext(ctx), 0);
}
