// SPDX-License-Identifier: BSD-3-Clause
/*
 * one_sided - node 0's part of read, write and atomic. The other node exports depth places of one
 * message each. Place i of both sides holds bytes [i * size, (i + 1) * size) of one stream of data.
 * So a pass of any length leaves memory that can be verified. An atomic operation swaps a place
 * with these bytes. Operations end in the order they began.
 */
#include <errno.h>
#include <string.h>

#include "pmcore/tools/common/pattern.h"
#include "pmcore/tools/pmtest/command.h"
#include "pmcore/tools/pmtest/pass.h"
#include "pmcore/tools/pmtest/region.h"
#include "pmcore/tools/pmtest/transfer.h"
#include "pmcore/util/clock.h"

#define CHECK_OPERATIONS 256 /* between two looks for signals */

static const struct {
	const char *start, *done;
} calls[TESTS] = {
	[TEST_READ] = {"pmRead", "pmIsReadDone"},
	[TEST_WRITE] = {"pmWrite", "pmIsWriteDone"},
	[TEST_ATOMIC] = {"pmAtomic", "pmIsAtomicDone"},
};

static int start_one(struct session *s, const struct pass *pass, const pmHandle *handle,
		     uint64_t place, pmDesc *ret_desc)
{
	size_t size = transfer_bytes(pass->size);
	uint64_t at = place * size;
	pmAtomicOp swap = {.kind = PM_ATOMIC_SWAP, .width = PLAN_ATOMIC_SIZE};

	if (pass->test == TEST_READ)
		return pmRead(s->ctx, s->peer, handle, at, pass->in + at, size, ret_desc);
	if (pass->test == TEST_WRITE)
		return pmWrite(s->ctx, s->peer, handle, at, pass->out + at, size, ret_desc);
	memcpy(&swap.operand, pass->out + at, sizeof(swap.operand));
	return pmAtomic(s->ctx, s->peer, handle, at, &swap, ret_desc);
}

static int ask_one(struct session *s, const struct pass *pass, pmDesc desc)
{
	uint64_t before;

	if (pass->test == TEST_READ)
		return pmIsReadDone(s->ctx, desc);
	if (pass->test == TEST_WRITE)
		return pmIsWriteDone(s->ctx, desc);
	return pmIsAtomicDone(s->ctx, desc, &before);
}

/* Waits for room in PM's tables. */
static int begin(struct session *s, const struct pass *pass, const pmHandle *handle, uint64_t place,
		 pmDesc *ret_desc)
{
	int err, rc = 0;

	while ((err = start_one(s, pass, handle, place, ret_desc)) == ENOBUFS && !rc)
		rc = wait_idle(&s->wait, WAIT_ROOM);
	if (rc)
		return session_gave_up(s, "answer", s->peer, rc);
	wait_busy(&s->wait);
	return err ? session_failed(s, calls[pass->test].start, s->peer, err) : 0;
}

static int finish(struct session *s, const struct pass *pass, pmDesc desc)
{
	int err, rc = 0;

	while ((err = ask_one(s, pass, desc)) == ENOBUFS && !rc)
		rc = wait_idle(&s->wait, WAIT_ROOM);
	if (rc)
		return session_gave_up(s, "data", s->peer, rc);
	wait_busy(&s->wait);
	return err ? session_failed(s, calls[pass->test].done, s->peer, err) : 0;
}

static int operate(struct session *s, struct pass *pass, const pmHandle *handle)
{
	pmDesc desc[PLAN_DEPTH_MAX];
	uint64_t begun = 0, ended = 0;
	int rc = 0;

	while (ended < pass->count && !rc) {
		if (begun < pass->count && begun - ended < pass->depth) {
			rc = begin(s, pass, handle, begun % pass->depth,
				   &desc[begun % pass->depth]);
			begun++;
			continue;
		}
		rc = finish(s, pass, desc[ended % pass->depth]);
		if (++ended % CHECK_OPERATIONS)
			continue;
		if (wait_is_interrupted())
			return -EINTR;
		if (pass->tick)
			pass->tick(ended, pass->count);
	}
	return rc;
}

/* The places that the pass has used hold the stream. */
static int verify(struct session *s, const struct pass *pass, const char *mem)
{
	uint64_t used = pass->count < pass->depth ? pass->count : pass->depth;
	struct pattern_fault fault;
	size_t size = transfer_bytes(pass->size);

	if (pattern_check(mem, used * size, pass->seed, 0, &fault) == 0)
		return 0;
	return command_report(pass->test == TEST_READ ? s->self : s->peer, fault.offset / size,
			      &(struct pattern_fault){fault.offset % size, fault.expected,
						      fault.got});
}

/* Has the other node (or ourselves) export memory: the data for reads, other data for writes. */
static int export_there(struct session *s, const struct pass *pass, struct region *own,
			pmHandle *ret_handle)
{
	struct command command = {
		.type = COMMAND_EXPORT,
		.size = pass->depth * transfer_bytes(pass->size),
		.seed = pass->test == TEST_READ ? pass->seed : ~pass->seed,
	};
	int rc;

	if (s->peer == s->self) {
		rc = region_export(s, own, command.size, command.seed);
		*ret_handle = own->handle;
		return rc;
	}
	rc = command_send(s, &command);
	if (!rc)
		rc = command_receive(s, COMMAND_READY, &command);
	*ret_handle = command.handle;
	return rc;
}

static int withdraw_there(struct session *s, const struct pass *pass, struct region *own)
{
	uint64_t used = pass->count < pass->depth ? pass->count : pass->depth;
	struct command command = {
		.type = COMMAND_WITHDRAW,
		.is_checked = pass->test != TEST_READ,
		.size = used * transfer_bytes(pass->size),
		.seed = pass->seed,
	};
	int rc;

	if (s->peer == s->self) {
		rc = pass->test != TEST_READ ? verify(s, pass, own->mem) : 0;
		region_withdraw(s, own);
		return rc;
	}
	rc = command_send(s, &command);
	if (!rc)
		rc = command_receive(s, COMMAND_VERDICT, &command);
	if (rc || !command.is_wrong)
		return rc;
	return command_report(s->peer, command.offset / transfer_bytes(pass->size),
			      &(struct pattern_fault){command.offset % transfer_bytes(pass->size),
						      command.expected, command.got});
}

int pass_one_sided(struct session *s, struct pass *pass)
{
	size_t len = pass->depth * transfer_bytes(pass->size);
	struct region own = {.mem = NULL};
	pmHandle handle;
	uint64_t start;
	int rc;

	rc = export_there(s, pass, &own, &handle);
	if (rc)
		return rc;
	pattern_fill(pass->out, len, pass->seed, 0);
	pattern_fill(pass->in, len, ~pass->seed, 0);
	start = clock_monotonic_ns();
	rc = operate(s, pass, &handle);
	pass->elapsed_ns = clock_monotonic_ns() - start;
	if (!rc && pass->test == TEST_READ)
		rc = verify(s, pass, pass->in);
	if (!rc)
		return withdraw_there(s, pass, &own);
	region_withdraw(s, &own);
	return rc;
}
