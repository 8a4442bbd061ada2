// SPDX-License-Identifier: BSD-3-Clause
/* atomic: what pmAtomic and its companions refuse, what waits, and what no honest node sends. */
#include "pmcore/api/context.h"
#include "pmcore/wire/atomic.h"
#include "tests/unit/api/self.h"

static uint64_t numbers[4];
static const pmAtomicOp add = {.kind = PM_ATOMIC_ADD, .width = 8, .operand = 1};

static pmContext begin(pmHandle *ret_handle)
{
	pmContext ctx = self_open();

	memset(numbers, 0, sizeof(numbers));
	is_int(pmMLock(ctx, numbers, sizeof(numbers), ret_handle), 0);
	return ctx;
}

static int finish(pmContext ctx, pmDesc desc, uint64_t *before)
{
	int err = ENOBUFS;

	for (int i = 0; i < 10 && err == ENOBUFS; i++)
		err = pmIsAtomicDone(ctx, desc, before);
	return err;
}

TAP_TEST(pmAtomic__wrong_arguments)
{
	pmAtomicOp op = add;
	pmHandle h, forged;
	pmContext ctx = begin(&h);
	uint64_t before = 55;
	pmDesc desc = 77;

	is_int(pmAtomic(ctx, SELF_NODE, NULL, 0, &add, &desc), EINVAL);
	is_int(pmAtomic(ctx, SELF_NODE, &h, 0, NULL, &desc), EINVAL);
	is_int(pmAtomic(ctx, SELF_NODE, &h, 0, &add, NULL), EINVAL);
	is_int(pmAtomic(ctx, SELF_NODE + 1, &h, 0, &add, &desc), EINVAL);
	self_said("not one of node 6");
	is_int(pmAtomic(ctx, SELF_NODE, &h, 25, &add, &desc), EINVAL);
	is_int(pmAtomic(ctx, SELF_NODE, &h, UINT64_MAX - 3, &add, &desc), EINVAL);
	self_said("the region has 32");
	op.width = 16;
	is_int(pmAtomic(ctx, SELF_NODE, &h, 0, &op, &desc), EINVAL);
	self_said("16 bytes");
	op.width = 8;
	op.kind = 7;
	is_int(pmAtomic(ctx, SELF_NODE, &h, 0, &op, &desc), EINVAL);
	self_said("7 is no operation");
	forged = h;
	forged.word[0]++;
	is_int(pmAtomic(ctx, SELF_NODE, &forged, 0, &add, &desc), EINVAL);
	is_int(pmAtomic(self_closed(), SELF_NODE, &h, 0, &add, &desc), EBADF);
	is_int(desc, 77);
	is_int(pmIsAtomicDone(ctx, 77, &before), EBADF);
	is_int(pmAtomic(ctx, SELF_NODE, &h, 0, &add, &desc), 0);
	is_int(pmIsAtomicDone(ctx, desc, NULL), EINVAL);
	is_int(pmIsReadDone(ctx, desc), EBADF);
	is_int(finish(ctx, desc, &before), 0);
	is_int(before, 0);
	is_int(numbers[0], 1);
	is_int(pmCloseContext(ctx), 0);
}

TAP_TEST(pmAtomicHere__at_once)
{
	pmAtomicOp op = {.kind = PM_ATOMIC_COMPARE_SWAP, .width = 4, .operand = 9, .compare = 5};
	uint32_t narrow[3] = {1, 5, 1};
	uint64_t before = 0;

	is_int(pmAtomicHere(&op, &narrow[1], &before), 0);
	is_int(before, 5);
	is_int(narrow[1], 9);
	ok(narrow[0] == 1 && narrow[2] == 1);
	is_int(pmAtomicHere(&op, (char *)narrow + 1, &before), EINVAL);
	self_said("no multiple of 4");
	is_int(pmAtomicHere(NULL, narrow, &before), EINVAL);
	is_int(pmAtomicHere(&op, NULL, &before), EINVAL);
	is_int(pmAtomicHere(&op, narrow, NULL), EINVAL);
	op.width = 0;
	is_int(pmAtomicHere(&op, narrow, &before), EINVAL);
}

/* 1024 may be open, and none is started while the context is quiet. */
TAP_TEST(pmAtomic__no_room)
{
	pmHandle h;
	pmContext ctx = begin(&h);
	uint64_t before, n = 0;
	pmDesc desc[300];
	int err;

	while (n < 300 && !(err = pmAtomic(ctx, SELF_NODE, &h, 0, &add, &desc[n])))
		n++;
	is_int(err, ENOBUFS);
	ok(n > 100);
	for (uint64_t i = 0; i < n; i++) {
		err = ENOBUFS;
		for (uint64_t j = 0; j <= 2 * n && err; j++)
			err = pmIsAtomicDone(ctx, desc[i], &before);
		is_int(err, 0);
		is_int(before, i);
	}
	is_int(pmQuiesce(ctx, 100), 0);
	is_int(pmAtomic(ctx, SELF_NODE, &h, 0, &add, &desc[0]), ENOBUFS);
	is_int(pmCloseContext(ctx), 0);
}

/* A context that is quiet carries out what it was asked for, and answers when it goes on. */
TAP_TEST(pmAtomic__answer_of_a_quiet_context)
{
	pmHandle h;
	pmContext ctx = begin(&h);
	uint8_t state[4096];
	uint64_t before;
	pmDesc first, desc;
	size_t len;

	is_int(pmAtomic(ctx, SELF_NODE, &h, 8, &add, &first), 0);
	is_int(pmAtomic(ctx, SELF_NODE, &h, 8, &add, &desc), 0);
	/* it polls once, so the second one still waits to be taken */
	is_int(pmQuiesce(ctx, 100), 0);
	is_int(numbers[1], 1);
	is_int(finish(ctx, first, &before), 0);
	is_int(finish(ctx, desc, &before), ENOBUFS);
	is_int(numbers[1], 2);
	is_int(context_get(ctx)->n_answers, 1);
	is_int(pmSaveContext(ctx, state, sizeof(state), &len), EBUSY);
	self_said("1 of others wait");
	is_int(pmResume(ctx), 0);
	is_int(finish(ctx, desc, &before), 0);
	is_int(before, 1);
	is_int(context_get(ctx)->n_answers, 0);
	is_int(numbers[1], 2);
	is_int(pmCloseContext(ctx), 0);
}

/* It waits in a pmWait too, which an answer ends. */
TAP_TEST(pmAtomic__ends_a_wait)
{
	pmHandle h;
	pmContext ctx = begin(&h);
	uint64_t before;
	pmDesc desc;

	is_int(pmAtomic(ctx, SELF_NODE, &h, 0, &add, &desc), 0);
	is_int(pmWait(ctx, 5000), 0);
	is_int(pmIsAtomicDone(ctx, desc, &before), 0);
	is_int(pmWait(ctx, 0), ETIMEDOUT);
	is_int(pmCloseContext(ctx), 0);
}

static void carry(pmContext ctx, const void *bytes, uint32_t len)
{
	struct composite_node *n = composite_find(context_get(ctx)->c, SELF_NODE);

	if (ok(n != NULL))
		is_int(n->ops->carry(n->link, n->peer, bytes, len, NULL, 0), 0);
}

/* All of it is dropped, and counted. */
TAP_TEST(atomic_arrived__what_nobody_sends)
{
	struct wire_atomic m = {.kind = WIRE_ATOMIC_ANSWER};
	uint8_t bytes[WIRE_ATOMIC_BYTES];
	pmHandle h;
	pmContext ctx = begin(&h);
	uint64_t before;
	pmDesc desc, read;
	uint32_t len;

	is_int(pmAtomic(ctx, SELF_NODE, &h, 0, &add, &desc), 0);
	memset(bytes, 0xff, sizeof(bytes));
	carry(ctx, bytes, 11);
	carry(ctx, bytes, sizeof(bytes));
	/* of no operation; of one that is none of these; of one that is over */
	m.id = 12345;
	carry(ctx, bytes, wire_atomic_put(bytes, &m));
	is_int(pmRead(ctx, SELF_NODE, &h, 0, &before, sizeof(before), &read), 0);
	m.id = read;
	carry(ctx, bytes, wire_atomic_put(bytes, &m));
	is_int(finish(ctx, desc, &before), 0);
	m.id = desc;
	carry(ctx, bytes, wire_atomic_put(bytes, &m));
	m = (struct wire_atomic){.kind = WIRE_ATOMIC, .op = 1, .width = 8, .rkey = 1};
	len = wire_atomic_put(bytes, &m);
	bytes[2] = 7;
	carry(ctx, bytes, len);
	for (int i = 0; i < 20; i++)
		is_int(pmWait(ctx, 0), ETIMEDOUT);
	is_int(context_get(ctx)->odd_atomics, 6);
	is_int(numbers[0], 1);
	is_int(pmIsReadDone(ctx, read), 0);
	is_int(pmCloseContext(ctx), 0);
}

static void ignore(struct pm_link *link, uint64_t cookie)
{
	(void)link, (void)cookie;
}

/* A node that takes no answers is kept no more of them than it may ask for. */
TAP_TEST(atomic_arrived__more_than_a_node_may_ask_for)
{
	struct wire_atomic m = {.kind = WIRE_ATOMIC, .op = 1, .width = 8, .operand = 1};
	uint8_t bytes[WIRE_ATOMIC_BYTES];
	struct composite_inbound in = {.in = {.buf = bytes, .src = SELF_NODE}};
	pmHandle h;
	pmContext ctx = begin(&h);
	struct context *c = context_get(ctx);
	uint64_t before;
	pmDesc desc;

	m.rkey = h.word[0];
	in.in.len = wire_atomic_put(bytes, &m);
	is_int(pmAtomic(ctx, SELF_NODE, &h, 0, &add, &desc), 0);
	is_int(finish(ctx, desc, &before), 0);
	is_int(pmQuiesce(ctx, 100), 0);
	c->c->slots[0].ops.release = ignore;
	for (int i = 0; i < CONTEXT_OPS + 5; i++)
		ok(!atomic_arrived(c, &in));
	is_int(c->n_answers, CONTEXT_OPS);
	is_int(c->odd_atomics, 5);
	is_int(numbers[0], CONTEXT_OPS + 1);
	is_int(pmRemoveNode(ctx, SELF_NODE), 0);
	is_int(c->n_answers, 0);
	is_int(pmCloseContext(ctx), 0);
}
