// SPDX-License-Identifier: BSD-3-Clause
/* respond - the parts of node 1. Wrong data are told to node 0, which reports them. */
#include "pmcore/tools/pmtest/respond.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/tools/common/message.h"
#include "pmcore/tools/pmtest/command.h"
#include "pmcore/tools/pmtest/plan.h"
#include "pmcore/tools/pmtest/region.h"
#include "pmcore/tools/pmtest/transfer.h"

/* The state of node 1 between commands. */
struct responder {
	struct session *s;
	char *in, *out;         /* PLAN_SIZE_MAX bytes each */
	struct region region;   /* exported */
	struct command verdict; /* of the running command */
};

static int answer(struct responder *r, enum command_type type)
{
	struct command command = {.type = type, .handle = r->region.handle};

	return command_send(r->s, &command);
}

/* Notes the first wrong byte of the command. */
static void judge(struct responder *r, const struct command *c, uint64_t index, const char *data,
		  size_t len)
{
	struct pattern_fault fault;
	uint64_t seed = c->is_checked ? c->seed + index : c->seed;

	if (r->verdict.is_wrong || pattern_check(data, len, seed, 0, &fault) == 0)
		return;
	r->verdict.is_wrong = 1;
	r->verdict.message = index;
	r->verdict.offset = fault.offset;
	r->verdict.expected = fault.expected;
	r->verdict.got = fault.got;
}

static int echo(struct responder *r, const struct command *c)
{
	size_t len = transfer_bytes(c->size);
	int rc = 0;

	if (!c->is_checked)
		return transfer_echo(r->s, r->in, c->size, c->count);
	for (uint64_t i = 0; i < c->count && !rc; i++) {
		rc = transfer_receive(r->s, r->in, c->size);
		if (!rc)
			judge(r, c, i, r->in, len);
		if (!rc)
			rc = transfer_send(r->s, r->in, c->size);
	}
	return rc;
}

static int sink(struct responder *r, const struct command *c)
{
	int rc = 0;

	for (uint64_t i = 0; i < c->count && !rc; i++) {
		rc = transfer_receive(r->s, r->in, c->size);
		if (!rc && c->is_checked)
			judge(r, c, i, r->in, transfer_bytes(c->size));
	}
	return rc ? rc : answer(r, COMMAND_DONE);
}

static int exchange(struct responder *r, const struct command *c)
{
	size_t len = transfer_bytes(c->size);
	int rc = 0;

	pmCork(r->s->ctx, 1);
	if (!c->is_checked) {
		pattern_fill(r->out, len, c->seed, 0);
		rc = transfer_exchange(r->s, r->out, c->count, r->in, c->count, c->size);
		return rc ? rc : answer(r, COMMAND_DONE);
	}
	for (uint64_t i = 0; i < c->count && !rc; i++) {
		pattern_fill(r->out, len, c->seed + i, 0);
		rc = transfer_exchange(r->s, r->out, 1, r->in, 1, c->size);
		if (!rc)
			judge(r, c, i, r->in, len);
	}
	return rc ? rc : answer(r, COMMAND_DONE);
}

/* A two-sided test: memory ready, the part, the verdict on the last message or on all. */
static int take_part(struct responder *r, const struct command *c)
{
	int rc;

	if (c->size > PLAN_SIZE_MAX) {
		message_error("node %u: asks for messages of %" PRIu64 " bytes", r->s->peer,
			      c->size);
		return -EBADMSG;
	}
	memset(r->in, 0, transfer_bytes(c->size));
	r->verdict = (struct command){.type = COMMAND_VERDICT};
	rc = answer(r, COMMAND_READY);
	if (rc)
		return rc;
	if (c->type == COMMAND_ECHO)
		rc = echo(r, c);
	else
		rc = c->type == COMMAND_SINK ? sink(r, c) : exchange(r, c);
	pmCork(r->s->ctx, 0);
	if (rc)
		return rc;
	if (!c->is_checked)
		judge(r, c, c->count - 1, r->in, transfer_bytes(c->size));
	return command_send(r->s, &r->verdict);
}

static int export(struct responder *r, const struct command *c)
{
	int rc;

	if (c->size > 64 * PLAN_SIZE_MAX) {
		message_error("node %u: asks for a region of %" PRIu64 " bytes", r->s->peer,
			      c->size);
		return -EBADMSG;
	}
	rc = region_export(r->s, &r->region, c->size, c->seed);
	r->s->wait.stays_awake = true;
	return rc ? rc : answer(r, COMMAND_READY);
}

static int withdraw(struct responder *r, const struct command *c)
{
	r->verdict = (struct command){.type = COMMAND_VERDICT};
	if (c->is_checked && c->size <= r->region.len) {
		struct command whole = {.seed = c->seed};

		judge(r, &whole, 0, r->region.mem, c->size);
	}
	region_withdraw(r->s, &r->region);
	r->s->wait.stays_awake = false;
	return command_send(r->s, &r->verdict);
}

/* Both sides cut messages by the lesser MTU. */
static int greet(struct responder *r, const struct command *c)
{
	struct command hello = {.type = COMMAND_HELLO, .size = r->s->mtu};
	int rc;

	if (c->size < sizeof(struct command)) {
		message_error("node %u: an MTU of %" PRIu64 " bytes is too small", r->s->peer,
			      c->size);
		return -EBADMSG;
	}
	if (c->size < r->s->mtu)
		hello.size = c->size;
	rc = command_send(r->s, &hello);
	r->s->mtu = hello.size;
	return rc;
}

static int obey(struct responder *r, const struct command *c)
{
	switch ((enum command_type)c->type) {
	case COMMAND_HELLO:
		return greet(r, c);
	case COMMAND_ECHO:
	case COMMAND_SINK:
	case COMMAND_EXCHANGE:
		return take_part(r, c);
	case COMMAND_EXPORT:
		return export(r, c);
	case COMMAND_WITHDRAW:
		return withdraw(r, c);
	default:
		message_error("node %u: sends command %u out of turn", r->s->peer, c->type);
		return -EBADMSG;
	}
}

/* Node 0 may be busy with reads and writes for as long as it likes. */
static int next_command(struct responder *r, struct command *ret_command)
{
	uint64_t limit = r->s->wait.limit_ns;
	int rc;

	r->s->wait.limit_ns = 0;
	rc = command_receive(r->s, 0, ret_command);
	r->s->wait.limit_ns = limit;
	return rc;
}

static int serve(struct responder *r)
{
	struct command command;
	int rc;

	for (;;) {
		rc = next_command(r, &command);
		if (rc || command.type == COMMAND_QUIT)
			return rc;
		rc = obey(r, &command);
		if (rc)
			return rc;
	}
}

int respond(struct session *s)
{
	struct responder r = {.s = s};
	int rc = -ENOMEM;

	r.in = region_memory(PLAN_SIZE_MAX);
	r.out = region_memory(PLAN_SIZE_MAX);
	if (r.in && r.out)
		rc = serve(&r);
	region_withdraw(s, &r.region);
	free(r.in);
	free(r.out);
	return rc;
}
