// SPDX-License-Identifier: BSD-3-Clause
/* Atomic operations on every device, alone, in floods, and beside messages and writes. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "tests/conformance/variant.h"

static int start(struct crew *crew, unsigned int who, unsigned int owner, const pmHandle *h,
		 uint64_t offset, const pmAtomicOp *op, pmDesc *desc)
{
	int err;

	while ((err = pmAtomic(crew->ctx[who], crew_node(crew, owner), h, offset, op, desc)) ==
	       ENOBUFS)
		crew_turn(crew);
	return err;
}

/* Waits while all members make progress. */
static int finish(struct crew *crew, unsigned int who, pmDesc desc, uint64_t *before)
{
	int err = ENOBUFS;

	for (long i = 0; i < 20000000 && err == ENOBUFS; i++) {
		err = pmIsAtomicDone(crew->ctx[who], desc, before);
		crew_turn(crew);
	}
	return err;
}

/* One operation by @who on the memory of member 1, and its result. */
static int run(struct crew *crew, unsigned int who, const pmHandle *h, uint64_t offset,
	       const pmAtomicOp *op, uint64_t *before)
{
	pmDesc desc;
	int err = start(crew, who, 1, h, offset, op, &desc);

	if (err)
		return err;
	err = finish(crew, who, desc, before);
	is_int(pmIsAtomicDone(crew->ctx[who], desc, before), EBADF);
	return err;
}

CONFORMS(pmAtomic__each_operation)
{
	static const struct {
		enum pmAtomicKind kind;
		uint64_t operand, compare, after;
	} cases[] = {
		{PM_ATOMIC_ADD, 7, 0, 0x100000012},
		{PM_ATOMIC_ADD, -1ull, 0, 0x10000000a},
		{PM_ATOMIC_AND, 0x10000000c, 0, 0x100000008},
		{PM_ATOMIC_OR, 0x30000000c, 0, 0x30000000f},
		{PM_ATOMIC_XOR, 0x10000000e, 0, 5},
		{PM_ATOMIC_SWAP, 0x9abcdef012345678, 0, 0x9abcdef012345678},
		{PM_ATOMIC_COMPARE_SWAP, 4, 0x10000000b, 4},
		{PM_ATOMIC_COMPARE_SWAP, 4, 5, 0x10000000b},
	};
	const uint64_t begin = 0x10000000b;
	uint64_t wide[4], before;
	pmHandle h;

	must(pmMLock(crew->ctx[1], wide, sizeof(wide), &h) == PM_SUCCESS);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (unsigned int who = 0; who < 3; who++)
			for (uint32_t width = 4; width <= 8; width += 4) {
				const pmAtomicOp op = {.kind = cases[i].kind,
						       .width = width,
						       .operand = cases[i].operand,
						       .compare = cases[i].compare};
				const uint64_t mask = width == 4 ? UINT32_MAX : UINT64_MAX;
				uint64_t after = (begin & ~mask) | (cases[i].after & mask);

				memset(wide, 0xa5, sizeof(wide));
				wide[2] = begin;
				before = 1;
				is_int(run(crew, who, &h, 16, &op, &before), PM_SUCCESS);
				okf(before == (begin & mask), "case %zu by %u: before %#llx", i,
				    who, (unsigned long long)before);
				okf(wide[2] == after, "case %zu by %u, %u bytes: %#llx", i, who,
				    width, (unsigned long long)wide[2]);
				ok(wide[1] == 0xa5a5a5a5a5a5a5a5 && wide[3] == wide[1]);
			}
	is_int(pmMUnlock(crew->ctx[1], &h), PM_SUCCESS);
	(void)variant;
}

CONFORMS(pmAtomic__refused)
{
	pmAtomicOp op = {.kind = PM_ATOMIC_ADD, .width = 8, .operand = 1};
	uint64_t numbers[4] = {0}, before;
	pmHandle h, old;
	pmDesc desc;

	must(pmMLock(crew->ctx[1], numbers, sizeof(numbers), &old) == PM_SUCCESS);
	must(pmMUnlock(crew->ctx[1], &old) == PM_SUCCESS);
	must(pmMLock(crew->ctx[1], numbers, sizeof(numbers), &h) == PM_SUCCESS);
	for (unsigned int who = 0; who < 3; who++) {
		is_int(run(crew, who, &old, 0, &op, &before), EACCES);
		is_int(run(crew, who, &h, 4, &op, &before), EACCES);
		is_int(run(crew, who, &h, 25, &op, &before), EINVAL);
	}
	op.width = 2;
	is_int(run(crew, 0, &h, 0, &op, &before), EINVAL);
	op.width = 4;
	op.kind = PM_ATOMIC_COMPARE_SWAP + 1;
	is_int(run(crew, 0, &h, 0, &op, &before), EINVAL);
	op.kind = 0;
	is_int(run(crew, 0, &h, 0, &op, &before), EINVAL);
	is_int(pmAtomic(crew->ctx[0], crew_node(crew, 2), &h, 0, &op, &desc), EINVAL);
	is_int(pmAtomic(crew->ctx[0], crew_node(crew, 1), NULL, 0, &op, &desc), EINVAL);
	for (int i = 0; i < 4; i++)
		okf(!numbers[i], "number %d was touched", i);
	(void)variant;
}

/* All members add to one number, and take what was there: each value comes once. */
CONFORMS(pmAtomic__all_add_to_one_number)
{
	enum { ADDS = 300, OPEN = 40 };
	const pmAtomicOp op = {.kind = PM_ATOMIC_ADD, .width = 8, .operand = 1};
	static uint8_t seen[3 * ADDS];
	uint64_t number = 0, before;
	pmDesc desc[3][OPEN] = {{0}};
	unsigned int started[3] = {0}, over[3] = {0};
	pmHandle h;

	memset(seen, 0, sizeof(seen));
	must(pmMLock(crew->ctx[1], &number, sizeof(number), &h) == PM_SUCCESS);
	for (long turns = 0; turns < 5000000 && over[0] + over[1] + over[2] < 3 * ADDS; turns++) {
		crew_turn(crew);
		for (unsigned int who = 0; who < 3; who++) {
			if (started[who] < ADDS && started[who] - over[who] < OPEN &&
			    !pmAtomic(crew->ctx[who], crew_node(crew, 1), &h, 0, &op,
				      &desc[who][started[who] % OPEN]))
				started[who]++;
			if (started[who] == over[who] ||
			    pmIsAtomicDone(crew->ctx[who], desc[who][over[who] % OPEN], &before))
				continue;
			over[who]++;
			must(before < 3 * ADDS);
			seen[before]++;
		}
	}
	is_int((long long)number, 3 * ADDS);
	for (unsigned int i = 0; i < 3 * ADDS; i++)
		if (seen[i] != 1)
			okf(false, "%u was there %u times", i, seen[i]);
	is_int(pmMUnlock(crew->ctx[1], &h), PM_SUCCESS);
	(void)variant;
}

/* Member 1 takes two messages, between which the number @i is swapped for 0. */
static void is_in_place(struct crew *crew, const uint64_t *number, uint64_t i)
{
	uint64_t until = crew->received[0][1] + 2;

	for (long turns = 0; turns < 20000000 && crew->received[0][1] < until; turns++) {
		const bool is_first = crew->received[0][1] + 2 == until;

		if (crew_receive(crew, 1))
			okf(*number == (is_first ? i : 0), "%llu with the %s message",
			    (unsigned long long)*number, is_first ? "first" : "second");
		crew_receive(crew, 0);
		crew_receive(crew, 2);
	}
	is_int((long long)crew->received[0][1], (long long)until);
}

/*
 * An operation comes behind the messages before it, and in front of those behind it. Writes that
 * are done are seen by it.
 */
CONFORMS(pmAtomic__in_order_with_messages)
{
	const pmAtomicOp op = {.kind = PM_ATOMIC_SWAP, .width = 8, .operand = 0};
	uint64_t numbers[2] = {0}, local, before;
	pmHandle h;
	pmDesc desc;

	must(pmMLock(crew->ctx[1], numbers, sizeof(numbers), &h) == PM_SUCCESS);
	for (uint64_t i = 1; i <= 50; i++) {
		int err;

		local = i;
		while ((err = pmWrite(crew->ctx[0], crew_node(crew, 1), &h, 8, &local,
				      sizeof(local), &desc)) == ENOBUFS)
			crew_turn(crew);
		must(err == PM_SUCCESS);
		while ((err = pmIsWriteDone(crew->ctx[0], desc)) == ENOBUFS)
			crew_turn(crew);
		must(err == PM_SUCCESS);
		must(crew_send_hard(crew, 0, 1, 1 + i % 100));
		must(start(crew, 0, 1, &h, 8, &op, &desc) == PM_SUCCESS);
		must(crew_send_hard(crew, 0, 1, 1 + i * 7 % 900));
		is_in_place(crew, &numbers[1], i);
		is_int(finish(crew, 0, desc, &before), PM_SUCCESS);
		is_int((long long)before, (long long)i);
		is_int((long long)numbers[1], 0);
	}
	crew_drain(crew);
	is_int(pmMUnlock(crew->ctx[1], &h), PM_SUCCESS);
	(void)variant;
}

/* With the node the operations that wait for it are gone. */
CONFORMS(pmAtomic__node_removed)
{
	const pmAtomicOp op = {.kind = PM_ATOMIC_ADD, .width = 8, .operand = 1};
	uint64_t number = 0, before;
	pmHandle h;
	pmDesc desc;

	must(pmMLock(crew->ctx[1], &number, sizeof(number), &h) == PM_SUCCESS);
	must(run(crew, 0, &h, 0, &op, &before) == PM_SUCCESS);
	must(start(crew, 0, 1, &h, 0, &op, &desc) == PM_SUCCESS);
	is_int(pmRemoveNode(crew->ctx[0], crew_node(crew, 1)), PM_SUCCESS);
	is_int(pmIsAtomicDone(crew->ctx[0], desc, &before), EPIPE);
	is_int(pmIsAtomicDone(crew->ctx[0], desc, &before), EBADF);
	(void)variant;
}

/* The owner has taken the request in, has not answered, and closes its context. */
static void body_pmAtomic__owner_closes(const struct variant *variant, struct crew *crew)
{
	const pmAtomicOp op = {.kind = PM_ATOMIC_ADD, .width = 8, .operand = 1};
	uint64_t number = 0, before;
	time_t end = time(NULL) + 30;
	pmHandle h;
	pmDesc desc;
	int err = ENOBUFS;

	must(pmMLock(crew->ctx[1], &number, sizeof(number), &h) == PM_SUCCESS);
	must(run(crew, 0, &h, 0, &op, &before) == PM_SUCCESS);
	is_int(pmQuiesce(crew->ctx[1], 0) & ~ETIMEDOUT, 0);
	must(start(crew, 0, 1, &h, 0, &op, &desc) == PM_SUCCESS);
	for (int i = 0; i < 2000 && number == 1; i++)
		crew_turn(crew);
	is_int((long long)number, 2);
	is_int(pmIsAtomicDone(crew->ctx[0], desc, &before), ENOBUFS);
	is_int(pmCloseContext(crew->ctx[1]), PM_SUCCESS);
	crew->ctx[1] = PM_CONTEXT_NONE;
	while (err == ENOBUFS && time(NULL) < end) {
		err = pmIsAtomicDone(crew->ctx[0], desc, &before);
		pmWait(crew->ctx[0], 10);
	}
	is_int(err, EPIPE);
	(void)variant;
}

#define SHORT "devices=self+udp,udp.rails=lo,channel.peer_timeout=1500"
CONFORMS_ON(pmAtomic__owner_closes, shmem, false, "devices=self+shmem", "devices=self+shmem",
	    "devices=self+shmem")
CONFORMS_ON(pmAtomic__owner_closes, udp, false, SHORT, SHORT, SHORT)
CONFORMS_ON_VERBS(pmAtomic__owner_closes, verbs, false, "verbs.path=connected")
