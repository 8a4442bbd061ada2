// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/api/self.h"

TAP_TEST(pmGetSendBuffer__wrong_arguments)
{
	pmContext ctx = self_open();
	void *untouched = &ctx, *buf = untouched;
	pmDesc desc = 77;
	size_t mtu;

	is_int(pmGetMtu(ctx, SELF_NODE, &mtu), 0);
	is_int(pmGetSendBuffer(ctx, SELF_NODE, 8, NULL, &desc), EINVAL);
	is_int(pmGetSendBuffer(ctx, SELF_NODE, 8, &buf, NULL), EINVAL);
	is_int(pmGetSendBuffer(ctx, SELF_NODE, 0, &buf, &desc), EINVAL);
	is_int(pmGetSendBuffer(ctx, SELF_NODE, mtu + 1, &buf, &desc), EINVAL);
	self_said("16384");
	is_int(pmGetSendBuffer(ctx, SELF_NODE, (size_t)1 << 32 | 8, &buf, &desc), EINVAL);
	is_int(pmGetSendBuffer(self_closed(), SELF_NODE, 8, &buf, &desc), EBADF);
	ok(buf == untouched);
	is_int(desc, 77);
	is_int(pmGetSendBuffer(ctx, SELF_NODE, mtu, &buf, &desc), 0);
	is_int(pmDiscardSendBuffer(ctx, desc), 0);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmSend__twice)
{
	pmContext ctx = self_open();
	pmDesc desc;
	void *buf;

	is_int(pmGetSendBuffer(ctx, SELF_NODE, 5, &buf, &desc), 0);
	memcpy(buf, "hello", 5);
	is_int(pmSend(ctx, desc), 0);
	is_int(pmSend(ctx, desc), EBADF);
	self_said("sent or discarded before");
	is_int(pmDiscardSendBuffer(ctx, desc), EBADF);
	is_int(pmTruncateBuffer(ctx, desc, 1), EBADF);
	is_int(pmSend(ctx, 0), EBADF);
	self_expect(ctx, "hello");
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmDiscardSendBuffer__nothing_arrives)
{
	pmContext ctx = self_open();
	pmDesc desc, other = 77;
	pmNode src;
	size_t len;
	void *buf;

	is_int(pmGetSendBuffer(ctx, SELF_NODE, 5, &buf, &desc), 0);
	is_int(pmDiscardSendBuffer(ctx, desc), 0);
	is_int(pmSend(ctx, desc), EBADF);
	is_int(pmReceive(ctx, &buf, &len, &src, &other), ENOBUFS);
	is_int(other, 77);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmTruncateBuffer__only_shorter)
{
	pmContext ctx = self_open();
	pmDesc desc;
	void *buf;

	is_int(pmGetSendBuffer(ctx, SELF_NODE, 8, &buf, &desc), 0);
	memcpy(buf, "12345678", 8);
	is_int(pmTruncateBuffer(ctx, desc, 9), EINVAL);
	self_said("1 to 8");
	is_int(pmTruncateBuffer(ctx, desc, 0), EINVAL);
	is_int(pmTruncateBuffer(ctx, desc, 5), 0);
	is_int(pmTruncateBuffer(ctx, desc, 6), EINVAL);
	is_int(pmSend(ctx, desc), 0);
	self_expect(ctx, "12345");
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmPost__wrong_arguments)
{
	pmContext ctx = self_open();
	static char data[16385];

	is_int(pmPost(ctx, SELF_NODE, NULL, 8), EINVAL);
	is_int(pmPost(ctx, SELF_NODE, data, 0), EINVAL);
	is_int(pmPost(ctx, SELF_NODE, data, sizeof(data)), EINVAL);
	self_said("1 to 16384");
	is_int(pmPost(ctx, SELF_NODE + 1, data, 8), EHOSTUNREACH);
	is_int(pmPost(self_closed(), SELF_NODE, data, 8), EBADF);
	is_int(pmPost(ctx, SELF_NODE, "good", 4), 0);
	self_expect(ctx, "good");
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmPost__until_the_device_is_full)
{
	pmContext ctx = self_open();
	int n = 0, err;

	while (!(err = pmPost(ctx, SELF_NODE, "x", 1)) && n < 10000)
		n++;
	is_int(err, ENOBUFS);
	ok(n > 0);
	self_expect(ctx, "x");
	is_int(pmPost(ctx, SELF_NODE, "x", 1), 0);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmPostRow__wrong_arguments)
{
	pmContext ctx = self_open();
	static char data[16385];
	size_t done = 7;

	is_int(pmPostRow(ctx, SELF_NODE, NULL, 0, data, 8, 0, &done), EINVAL);
	self_said("1 to 16384");
	is_int(done, 0);
	is_int(pmPostRow(ctx, SELF_NODE, NULL, 0, NULL, 8, 4, &done), EINVAL);
	is_int(pmPostRow(ctx, SELF_NODE, NULL, 0, data, 0, 4, &done), EINVAL);
	is_int(pmPostRow(ctx, SELF_NODE, NULL, 4, data, 8, 4, &done), EINVAL);
	is_int(pmPostRow(ctx, SELF_NODE, NULL, 0, data, 8, 4, NULL), EINVAL);
	is_int(pmPostRow(ctx, SELF_NODE, data, 8, data, 8, 16377, &done), EINVAL);
	is_int(pmPostRow(ctx, SELF_NODE, data, 16384, data, 8, 1, &done), EINVAL);
	is_int(pmPostRow(ctx, SELF_NODE + 1, NULL, 0, data, 8, 4, &done), EHOSTUNREACH);
	is_int(pmPostRow(self_closed(), SELF_NODE, NULL, 0, data, 8, 4, &done), EBADF);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmPostRow__head_and_parts)
{
	pmContext ctx = self_open();
	size_t done;

	is_int(pmPostRow(ctx, SELF_NODE, "head ", 5, "abcdefgh", 8, 3, &done), 0);
	is_int(done, 8);
	self_expect(ctx, "head abc");
	self_expect(ctx, "head def");
	self_expect(ctx, "head gh");
	is_int(pmPostRow(ctx, SELF_NODE, NULL, 0, "xy", 2, 3, &done), 0);
	self_expect(ctx, "xy");
	is_int(pmCloseContext(ctx), 0);
}

/* The next @n letters of the alphabet. */
static void spell(void *next, void *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = (*(char *)next)++;
}

TAP_TEST(pmGatherRow__wrong_arguments)
{
	pmContext ctx = self_open();
	char next = 'a';
	size_t done = 7;

	is_int(pmGatherRow(ctx, SELF_NODE, NULL, 0, spell, &next, 8, 0, &done), EINVAL);
	self_said("1 to 16384");
	is_int(done, 0);
	is_int(pmGatherRow(ctx, SELF_NODE, NULL, 0, NULL, &next, 8, 4, &done), EINVAL);
	is_int(pmGatherRow(ctx, SELF_NODE, NULL, 0, spell, &next, 0, 4, &done), EINVAL);
	is_int(pmGatherRow(ctx, SELF_NODE, NULL, 4, spell, &next, 8, 4, &done), EINVAL);
	is_int(pmGatherRow(ctx, SELF_NODE, NULL, 0, spell, &next, 8, 4, NULL), EINVAL);
	is_int(pmGatherRow(self_closed(), SELF_NODE, NULL, 0, spell, &next, 8, 4, &done), EBADF);
	is_int(next, 'a');
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmGatherRow__head_and_parts)
{
	pmContext ctx = self_open();
	char next = 'a';
	size_t done;

	is_int(pmGatherRow(ctx, SELF_NODE, "head ", 5, spell, &next, 8, 3, &done), 0);
	is_int(done, 8);
	self_expect(ctx, "head abc");
	self_expect(ctx, "head def");
	self_expect(ctx, "head gh");
	is_int(pmGatherRow(ctx, SELF_NODE, NULL, 0, spell, &next, 2, 3, &done), 0);
	self_expect(ctx, "ij");
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmPostHeadedRow__wrong_arguments)
{
	const pmRowHead good = {"head ", 5, 3}, empty = {"head ", 5, 0}, none = {NULL, 5, 3},
			long_one = {"head ", 5, 16380};
	pmContext ctx = self_open();
	char next = 'a';
	size_t done = 7;

	is_int(pmPostHeadedRow(ctx, SELF_NODE, &long_one, &good, "data", 4, &done), EINVAL);
	self_said("pmPostHeadedRow: 5 and 16380 bytes");
	is_int(done, 0);
	is_int(pmPostHeadedRow(ctx, SELF_NODE, &good, &long_one, "data", 4, &done), EINVAL);
	is_int(pmPostHeadedRow(ctx, SELF_NODE, &empty, &good, "data", 4, &done), EINVAL);
	is_int(pmPostHeadedRow(ctx, SELF_NODE, &good, &empty, "data", 4, &done), EINVAL);
	is_int(pmPostHeadedRow(ctx, SELF_NODE, &none, &good, "data", 4, &done), EINVAL);
	is_int(pmPostHeadedRow(ctx, SELF_NODE, &good, &none, "data", 4, &done), EINVAL);
	is_int(pmPostHeadedRow(ctx, SELF_NODE, NULL, &good, "data", 4, &done), EINVAL);
	is_int(pmPostHeadedRow(ctx, SELF_NODE, &good, NULL, "data", 4, &done), EINVAL);
	is_int(pmPostHeadedRow(ctx, SELF_NODE, &good, &good, NULL, 4, &done), EINVAL);
	is_int(pmPostHeadedRow(ctx, SELF_NODE, &good, &good, "data", 0, &done), EINVAL);
	is_int(pmPostHeadedRow(ctx, SELF_NODE, &good, &good, "data", 4, NULL), EINVAL);
	is_int(pmPostHeadedRow(ctx, SELF_NODE + 1, &good, &good, "data", 4, &done), EHOSTUNREACH);
	is_int(pmPostHeadedRow(self_closed(), SELF_NODE, &good, &good, "data", 4, &done), EBADF);
	is_int(pmGatherHeadedRow(ctx, SELF_NODE, &good, &empty, spell, &next, 4, &done), EINVAL);
	is_int(pmGatherHeadedRow(ctx, SELF_NODE, &good, &good, NULL, &next, 4, &done), EINVAL);
	is_int(next, 'a');
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmPostHeadedRow__heads_and_parts)
{
	const pmRowHead first = {"first: ", 7, 2}, others = {"more: ", 6, 3}, bare = {NULL, 0, 1};
	pmContext ctx = self_open();
	char next = 'a';
	size_t done;

	is_int(pmPostHeadedRow(ctx, SELF_NODE, &first, &others, "abcdef", 6, &done), 0);
	is_int(done, 6);
	self_expect(ctx, "first: ab");
	self_expect(ctx, "more: cde");
	self_expect(ctx, "more: f");
	is_int(pmPostHeadedRow(ctx, SELF_NODE, &first, &others, "x", 1, &done), 0);
	self_expect(ctx, "first: x");
	is_int(pmGatherHeadedRow(ctx, SELF_NODE, &bare, &others, spell, &next, 4, &done), 0);
	is_int(done, 4);
	self_expect(ctx, "a");
	self_expect(ctx, "more: bcd");
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmPostRow__until_the_device_is_full)
{
	pmContext ctx = self_open();
	static char data[20000];
	size_t done;

	memset(data, 'x', sizeof(data));
	is_int(pmPostRow(ctx, SELF_NODE, NULL, 0, data, sizeof(data), 1, &done), ENOBUFS);
	ok(done > 0 && done < sizeof(data));
	for (size_t i = 0; i < done; i++)
		if (!self_expect(ctx, "x"))
			break;
	is_int(pmPostRow(ctx, SELF_NODE, NULL, 0, data, 1, 1, &done), 0);
	is_int(done, 1);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmIsSendDone__known_and_unknown_nodes)
{
	pmContext ctx = self_open();

	is_int(pmPost(ctx, SELF_NODE, "x", 1), 0);
	is_int(pmIsSendDone(ctx, SELF_NODE), 0);
	is_int(pmIsSendDone(ctx, PM_NODE_ANY), 0);
	is_int(pmIsSendDone(ctx, 4711), 0);
	is_int(pmIsSendDone(self_closed(), SELF_NODE), EBADF);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmIsSendOut__known_and_unknown_nodes)
{
	pmContext ctx = self_open();

	is_int(pmPost(ctx, SELF_NODE, "x", 1), 0);
	is_int(pmIsSendOut(ctx, SELF_NODE), 0);
	is_int(pmIsSendOut(ctx, 4711), 0);
	is_int(pmIsSendOut(self_closed(), SELF_NODE), EBADF);
	is_int(pmCloseContext(ctx), 0);
}
