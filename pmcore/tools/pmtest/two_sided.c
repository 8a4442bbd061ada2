// SPDX-License-Identifier: BSD-3-Clause
/*
 * two_sided - node 0's part of latency, bandwidth, bidirectional and rate. The clock is read once
 * per batch. A measuring pass sends the same data again and again, and what came last is verified
 * after the clock was stopped; a checked pass verifies every message.
 */
#include <errno.h>
#include <string.h>

#include "pmcore/tools/common/pattern.h"
#include "pmcore/tools/pmtest/command.h"
#include "pmcore/tools/pmtest/pass.h"
#include "pmcore/tools/pmtest/transfer.h"
#include "pmcore/util/clock.h"

#define STREAM_CHUNKS 100 /* parts of a stream, for progress and signals */

void pass_fill(const struct pass *pass, uint64_t index)
{
	pattern_fill(pass->out, transfer_bytes(pass->size),
		     pass->is_checked ? pass->seed + index : pass->seed, 0);
}

int pass_verify(struct session *s, const struct pass *pass, uint64_t index)
{
	struct pattern_fault fault;
	uint64_t seed = pass->is_checked ? pass->seed + index : pass->seed;

	if (pattern_check(pass->in, transfer_bytes(pass->size), seed, 0, &fault) == 0)
		return 0;
	return command_report(s->self, index, &fault);
}

static bool is_alone(const struct session *s)
{
	return s->peer == s->self;
}

static int round_trips(struct session *s, const struct pass *pass, uint64_t count)
{
	int rc = 0;

	if (!is_alone(s))
		return transfer_ping(s, pass->out, pass->in, pass->size, count);
	while (count-- && !rc)
		rc = transfer_exchange(s, pass->out, 1, pass->in, 1, pass->size);
	return rc;
}

static int check_stop(const struct pass *pass, uint64_t done)
{
	if (wait_is_interrupted())
		return -EINTR;
	if (pass->tick)
		pass->tick(done, pass->count);
	return 0;
}

static int measure_latency(struct session *s, struct pass *pass)
{
	uint64_t n_batches = pass->count < PASS_SAMPLES ? pass->count : PASS_SAMPLES;
	uint64_t done = 0, ns;
	int rc = 0;

	for (uint64_t i = 0; i < n_batches && !rc; i++) {
		uint64_t count = (pass->count - done) / (n_batches - i);
		uint64_t start = clock_monotonic_ns();

		rc = round_trips(s, pass, count);
		ns = clock_monotonic_ns() - start;
		/* Alone there is one trip, not two. */
		pass->samples[pass->n_samples++] =
			(double)ns / (double)count / (is_alone(s) ? 1e3 : 2e3);
		pass->elapsed_ns += ns;
		done += count;
		if (!rc)
			rc = check_stop(pass, done);
	}
	return rc;
}

static int check_round_trips(struct session *s, struct pass *pass)
{
	int rc = 0;

	for (uint64_t i = 0; i < pass->count && !rc; i++) {
		pass_fill(pass, i);
		rc = round_trips(s, pass, 1);
		if (!rc)
			rc = pass_verify(s, pass, i);
	}
	return rc;
}

/* Messages of the stream that come back to us. */
static uint64_t incoming(const struct session *s, const struct pass *pass, uint64_t count)
{
	return is_alone(s) || pass->test == TEST_BIDIRECTIONAL ? count : 0;
}

static int stream_chunk(struct session *s, const struct pass *pass, uint64_t count)
{
	uint64_t in = incoming(s, pass, count);
	int rc = 0;

	if (in)
		return transfer_exchange(s, pass->out, count, pass->in, in, pass->size);
	for (uint64_t i = 0; i < count && !rc; i++)
		rc = transfer_send(s, pass->out, pass->size);
	return rc;
}

static int check_stream(struct session *s, struct pass *pass)
{
	int rc = 0;

	for (uint64_t i = 0; i < pass->count && !rc; i++) {
		pass_fill(pass, i);
		rc = stream_chunk(s, pass, 1);
		if (!rc && incoming(s, pass, 1))
			rc = pass_verify(s, pass, i);
	}
	return rc;
}

static int measure_stream(struct session *s, struct pass *pass)
{
	uint64_t chunks = pass->count < STREAM_CHUNKS ? pass->count : STREAM_CHUNKS;
	uint64_t done = 0;
	int rc = 0;

	for (uint64_t i = 0; i < chunks && !rc; i++) {
		uint64_t count = (pass->count - done) / (chunks - i);

		rc = stream_chunk(s, pass, count);
		done += count;
		if (!rc)
			rc = check_stop(pass, done);
	}
	return rc;
}

/* The stream, timed until the other side says that it has all. */
static int stream(struct session *s, struct pass *pass)
{
	uint64_t start = clock_monotonic_ns();
	struct command done;
	int rc;

	pmCork(s->ctx, 1);
	rc = pass->is_checked ? check_stream(s, pass) : measure_stream(s, pass);
	pmCork(s->ctx, 0);
	if (!rc && !is_alone(s))
		rc = command_receive(s, COMMAND_DONE, &done);
	pass->elapsed_ns = clock_monotonic_ns() - start;
	return rc;
}

static enum command_type part_of_peer(enum test test)
{
	switch (test) {
	case TEST_LATENCY:
		return COMMAND_ECHO;
	case TEST_BIDIRECTIONAL:
		return COMMAND_EXCHANGE;
	default:
		return COMMAND_SINK;
	}
}

static int start_peer(struct session *s, const struct pass *pass)
{
	struct command command = {
		.type = part_of_peer(pass->test),
		.is_checked = pass->is_checked,
		.size = pass->size,
		.count = pass->count,
		.seed = pass->seed,
	};
	int rc = command_send(s, &command);

	return rc ? rc : command_receive(s, COMMAND_READY, &command);
}

/* Receives the other node's verdict on the data. */
static int hear_verdict(struct session *s)
{
	struct command verdict;
	int rc = command_receive(s, COMMAND_VERDICT, &verdict);

	if (rc || !verdict.is_wrong)
		return rc;
	return command_report(s->peer, verdict.message,
			      &(struct pattern_fault){verdict.offset, verdict.expected,
						      verdict.got});
}

int pass_two_sided(struct session *s, struct pass *pass)
{
	bool is_latency = pass->test == TEST_LATENCY;
	int rc = 0;

	if (!pass->is_checked)
		pass_fill(pass, 0);
	memset(pass->in, 0, transfer_bytes(pass->size));
	if (!is_alone(s))
		rc = start_peer(s, pass);
	if (!rc && is_latency)
		rc = pass->is_checked ? check_round_trips(s, pass) : measure_latency(s, pass);
	else if (!rc)
		rc = stream(s, pass);
	if (!rc && !is_alone(s))
		rc = hear_verdict(s);
	if (!rc && !pass->is_checked && (is_latency || incoming(s, pass, 1)))
		rc = pass_verify(s, pass, pass->count - 1);
	return rc;
}

int pass_run(struct session *s, struct pass *pass)
{
	pass->n_samples = 0;
	pass->elapsed_ns = 0;
	return plan_is_one_sided(pass->test) ? pass_one_sided(s, pass) : pass_two_sided(s, pass);
}
