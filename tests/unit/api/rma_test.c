// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/api/self.h"

static char memory[64], local[64];

static pmContext begin(pmHandle *ret_handle)
{
	pmContext ctx = self_open();

	strcpy(memory, "0123456789abcdef");
	strcpy(local, "untouched");
	is_int(pmMLock(ctx, memory, sizeof(memory), ret_handle), 0);
	return ctx;
}

TAP_TEST(pmMLock__wrong_arguments)
{
	pmContext ctx = self_open();
	pmHandle h = {{1, 2, 3, 4}}, before = h;

	is_int(pmMLock(ctx, NULL, 8, &h), EINVAL);
	is_int(pmMLock(ctx, memory, 0, &h), EINVAL);
	is_int(pmMLock(ctx, memory, 8, NULL), EINVAL);
	is_int(pmMLock(ctx, memory, SIZE_MAX, &h), EINVAL);
	self_said("pmMLock");
	is_int(pmMLock(self_closed(), memory, 8, &h), EBADF);
	is_mem(&h, &before, sizeof(h));
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmMUnlock__twice)
{
	pmHandle h;
	pmContext ctx = begin(&h);
	pmDesc desc;

	is_int(pmMUnlock(ctx, NULL), ENOENT);
	is_int(pmMUnlock(self_closed(), &h), EBADF);
	is_int(pmMUnlock(ctx, &h), 0);
	is_int(pmMUnlock(ctx, &h), ENOENT);
	self_said("unlocked before");
	/* the handle looks right, the owner refuses it */
	is_int(pmRead(ctx, SELF_NODE, &h, 0, local, 4, &desc), 0);
	is_int(pmIsReadDone(ctx, desc), EACCES);
	is_str(local, "untouched");
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmRead__wrong_arguments)
{
	pmHandle h, forged;
	pmContext ctx = begin(&h);
	pmDesc desc = 77;

	is_int(pmRead(ctx, SELF_NODE, NULL, 0, local, 4, &desc), EINVAL);
	is_int(pmRead(ctx, SELF_NODE, &h, 0, NULL, 4, &desc), EINVAL);
	is_int(pmRead(ctx, SELF_NODE, &h, 0, local, 0, &desc), EINVAL);
	is_int(pmRead(ctx, SELF_NODE, &h, 0, local, 4, NULL), EINVAL);
	is_int(pmRead(ctx, SELF_NODE + 1, &h, 0, local, 4, &desc), EINVAL);
	self_said("not one of node 6");
	is_int(pmRead(ctx, SELF_NODE, &h, sizeof(memory) - 3, local, 4, &desc), EINVAL);
	self_said("the region has 64");
	is_int(pmRead(ctx, SELF_NODE, &h, UINT64_MAX, local, 4, &desc), EINVAL);
	forged = h;
	forged.word[1] = 4096;
	is_int(pmRead(ctx, SELF_NODE, &forged, 100, local, 4, &desc), EINVAL);
	is_int(pmRead(self_closed(), SELF_NODE, &h, 0, local, 4, &desc), EBADF);
	is_int(desc, 77);
	is_str(local, "untouched");
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmIsReadDone__of_the_other_kind_and_twice)
{
	pmHandle h;
	pmContext ctx = begin(&h);
	pmDesc desc;

	is_int(pmRead(ctx, SELF_NODE, &h, 4, local, 4, &desc), 0);
	is_int(pmIsWriteDone(ctx, desc), EBADF);
	self_said("another kind");
	is_int(pmIsReadDone(ctx, desc), 0);
	is_mem(local, "4567uched", 9);
	is_int(pmIsReadDone(ctx, desc), EBADF);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmWrite__to_the_region_s_last_byte)
{
	pmHandle h;
	pmContext ctx = begin(&h);
	pmDesc desc;

	is_int(pmWrite(ctx, SELF_NODE, &h, sizeof(memory) - 1, "!?", 2, &desc), EINVAL);
	self_said("pmWrite");
	is_int(memory[sizeof(memory) - 1], 0);
	is_int(pmWrite(ctx, SELF_NODE, &h, sizeof(memory) - 1, "!", 1, &desc), 0);
	is_int(pmIsReadDone(ctx, desc), EBADF);
	is_int(pmIsWriteDone(ctx, desc), 0);
	is_int(memory[sizeof(memory) - 1], '!');
	memory[sizeof(memory) - 1] = 0;
	is_int(pmCloseContext(ctx), 0);
}
