// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/api/self.h"

TAP_TEST(pmGetAddress__wrong_arguments)
{
	pmContext ctx = self_open();
	char address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);

	is_int(pmGetAddress(ctx, NULL, &len), EINVAL);
	is_int(pmGetAddress(ctx, address, NULL), EINVAL);
	is_int(pmGetAddress(self_closed(), address, &len), EBADF);
	is_int(len, sizeof(address));
	len = 0;
	is_int(pmGetAddress(ctx, address, &len), ENOSPC);
	self_said("PM_ADDRESS_MAX");
	is_int(len, 0);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmAddNode__wrong_arguments)
{
	pmContext ctx = self_open();
	char address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);
	uint64_t peers = 77;

	must(is_int(pmGetAddress(ctx, address, &len), 0));
	is_int(pmAddNode(ctx, 6, NULL, len), EINVAL);
	is_int(pmAddNode(ctx, PM_NODE_ANY, address, len), EINVAL);
	is_int(pmAddNode(ctx, SELF_NODE, address, len - 1), EINVAL);
	is_int(pmAddNode(self_closed(), SELF_NODE, address, len), EBADF);
	is_int(pmGetAttribute(ctx, PM_ATTR_PEERS, &peers), 0);
	is_int(peers, 0);
	is_int(pmAddNode(ctx, SELF_NODE, address, len), 0);
	is_int(pmGetAttribute(ctx, PM_ATTR_PEERS, &peers), 0);
	is_int(peers, 1);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmRemoveNode__the_one_sent_to_last)
{
	pmContext ctx = self_open();

	for (int i = 0; i < 3; i++) {
		is_int(pmPost(ctx, SELF_NODE, "x", 1), 0);
		self_expect(ctx, "x");
		is_int(pmRemoveNode(ctx, SELF_NODE), 0);
	}
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmRemoveNode__open_send_buffer)
{
	pmContext ctx = self_open();
	pmDesc desc;
	void *buf;

	is_int(pmGetSendBuffer(ctx, SELF_NODE, 8, &buf, &desc), 0);
	is_int(pmRemoveNode(ctx, SELF_NODE), 0);
	is_int(pmSend(ctx, desc), EBADF);
	is_int(pmRemoveNode(ctx, SELF_NODE), ENOENT);
	self_said("node 5");
	is_int(pmRemoveNode(self_closed(), SELF_NODE), EBADF);
	/* contact is made anew */
	is_int(pmPost(ctx, SELF_NODE, "x", 1), 0);
	self_expect(ctx, "x");
	is_int(pmCloseContext(ctx), 0);
}

static int resolve(void *arg, pmNode node, const void **ret_addr, size_t *ret_len)
{
	(void)node, (void)ret_addr, (void)ret_len;
	++*(int *)arg;
	return *(int *)arg == 1 ? EAGAIN : ESRCH;
}

TAP_TEST(pmSetResolver__not_yet_then_never)
{
	pmContext ctx = self_open();
	int calls = 0;

	is_int(pmSetResolver(self_closed(), resolve, &calls), EBADF);
	is_int(pmSetResolver(ctx, resolve, &calls), 0);
	is_int(pmPost(ctx, 6, "x", 1), ENOBUFS);
	is_int(pmPost(ctx, 6, "x", 1), ESRCH);
	is_int(calls, 2);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmGetSelf__and_other_questions)
{
	pmContext ctx = self_open();
	const char *name = "untouched";
	pmNode self = 77;
	size_t mtu = 77;

	is_int(pmGetSelf(ctx, NULL), EINVAL);
	is_int(pmGetSelf(self_closed(), &self), EBADF);
	is_int(self, 77);
	is_int(pmGetSelf(ctx, &self), 0);
	is_int(self, SELF_NODE);
	is_int(pmGetMtu(ctx, 6, &mtu), EHOSTUNREACH);
	is_int(mtu, 77);
	is_int(pmGetMtu(ctx, PM_NODE_ANY, &mtu), 0);
	is_int(mtu, 16384);
	is_int(pmGetDeviceName(ctx, SELF_NODE, NULL), EINVAL);
	is_int(pmGetDeviceName(ctx, 6, &name), EHOSTUNREACH);
	is_str(name, "untouched");
	is_int(pmGetDeviceName(ctx, SELF_NODE, &name), 0);
	is_str(name, "self");
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmProbeNode__device_without_probe)
{
	pmContext ctx = self_open();
	pmDesc desc;
	pmNode src;
	size_t len;
	void *buf;

	is_int(pmProbeNode(ctx, SELF_NODE), 0);
	is_int(pmReceive(ctx, &buf, &len, &src, &desc), ENOBUFS);
	is_int(pmQuiesce(ctx, 1000), 0);
	is_int(pmProbeNode(ctx, SELF_NODE), ENOBUFS);
	is_int(pmResume(ctx), 0);
	is_int(pmProbeNode(ctx, SELF_NODE), 0);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmProbeNode__wrong_arguments)
{
	pmContext ctx = self_open();
	int calls = 0;

	is_int(pmProbeNode(self_closed(), SELF_NODE), EBADF);
	is_int(pmProbeNode(ctx, PM_NODE_ANY), EINVAL);
	self_said("PM_NODE_ANY");
	is_int(pmProbeNode(ctx, 6), EHOSTUNREACH);
	is_int(pmSetResolver(ctx, resolve, &calls), 0);
	is_int(pmProbeNode(ctx, 6), ENOBUFS);
	is_int(pmProbeNode(ctx, 6), ESRCH);
	is_int(pmCloseContext(ctx), 0);
}
