// SPDX-License-Identifier: BSD-3-Clause
/*
 * output: what ranks write, up to the room there is; and when a rank's end may be told.
 */
#include "scheduler/scstepd/output.h"

#include <fcntl.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "tests/unit/scheduler/scstepd/fake_step.h"

static struct rank rank;
static int ends[2]; /* of the rank: standard output, error */

static void begin(void)
{
	fake_open(1, 2);
	fake.step.output = output_open(&fake.step);
	rank = (struct rank){
		.step = &fake.step, .world = worlds_get(&fake.step.worlds, 0), .number = 1};
	for (int i = 0; i < 2; i++) {
		int fds[2];

		ok(!pipe2(fds, O_CLOEXEC | O_NONBLOCK));
		ends[i] = fds[1];
		is_int(output_add(fake.step.output, &rank, i + 1, fds[0]), 0);
	}
}

static void finish(void)
{
	output_close(fake.step.output);
	fake_close();
}

static void reap(void)
{
	rank.has_ended = true;
	output_rank_ended(fake.step.output, &rank);
}

TAP_TEST(output__bytes_and_ends)
{
	begin();
	is_int(write(ends[0], "out", 3), 3);
	fake_turn();
	fake_sent(0, "{\"op\":\"out\",\"rank\":1,\"stream\":1,\"world\":0}", "out");
	is_int(write(ends[1], "err", 3), 3);
	fake_turn();
	fake_sent(0, "{\"op\":\"out\",\"rank\":1,\"stream\":2,\"world\":0}", "err");
	close(ends[0]);
	close(ends[1]);
	fake_turn();
	is_int(fake.n_over, 0);
	ok(fake.first && !fake.first->size && fake.first->next && !fake.first->next->size);
	reap();
	is_int(fake.n_over, 1);
	ok(fake.over == &rank);
	finish();
}

TAP_TEST(output_rank_ended__what_it_wrote_comes_before)
{
	begin();
	is_int(write(ends[0], "last words", 10), 10);
	reap();
	is_str(fake.first ? fake.first->body : "", "last words");
	/* Somebody it has started still holds both pipes. */
	is_int(fake.n_over, 1);
	is_int(write(ends[0], "more", 4), 4);
	fake_turn();
	is_str(fake.first && fake.first->next ? fake.first->next->body : "", "more");
	close(ends[0]);
	close(ends[1]);
	fake_turn();
	is_int(fake.n_over, 1);
	finish();
}

/* Bytes that were sent, all forgotten. */
static size_t count(void)
{
	size_t n = 0;

	for (; fake.first; fake_drop())
		n += fake.first->size;
	return n;
}

static void fill(void)
{
	static const char much[FRAME_CHUNK];

	while (write(ends[0], much, sizeof(much)) > 0)
		;
}

TAP_TEST(output_room__the_rank_waits)
{
	int64_t window = output_window(1);
	size_t sent = 0;

	begin();
	for (int i = 0; i < 100; i++) {
		fill();
		fake_turn();
		sent += count();
	}
	/* The last chunk may be above it. */
	okf((int64_t)sent >= window && (int64_t)sent <= window + (int64_t)FRAME_CHUNK, "%zu", sent);
	output_room(fake.step.output, (int64_t)sent);
	fake_turn();
	ok(count() > 0);
	/* A negative credit, or one for more bytes than can be under way, is ignored. */
	output_room(fake.step.output, -5);
	output_room(fake.step.output, INT64_MAX);
	close(ends[0]);
	close(ends[1]);
	finish();
}

TAP_TEST(output_rank_ended__told_when_there_is_room)
{
	begin();
	fake.is_full = true;
	output_check(fake.step.output);
	is_int(write(ends[0], "kept", 4), 4);
	close(ends[0]);
	close(ends[1]);
	reap();
	fake_turn();
	ok(!fake.first);
	is_int(fake.n_over, 0);
	fake.is_full = false;
	output_check(fake.step.output);
	fake_turn();
	is_str(fake.first ? fake.first->body : "", "kept");
	is_int(fake.n_over, 1);
	finish();
}
