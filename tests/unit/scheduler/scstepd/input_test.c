// SPDX-License-Identifier: BSD-3-Clause
/*
 * input: chunks for one rank, for several, for a terminal; what is acknowledged and when.
 */
#include "scheduler/scstepd/input.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "scheduler/scstepd/terminal.h"
#include "tests/unit/scheduler/scstepd/fake_step.h"

static struct rank ranks[2];
static int ends[2]; /* of the ranks */
static char got[1 << 20];

static void begin(size_t n)
{
	fake_open(1, 2);
	fake.step.input = input_open(&fake.step);
	for (size_t i = 0; i < n; i++) {
		int fds[2];

		ok(!pipe2(fds, O_CLOEXEC | O_NONBLOCK));
		ends[i] = fds[0];
		is_int(input_add(fake.step.input, &ranks[i], fds[1], false), 0);
	}
}

static void finish(size_t n)
{
	input_close(fake.step.input);
	for (size_t i = 0; i < n; i++)
		close(ends[i]);
	fake_close();
}

static const char *hear(size_t i)
{
	ssize_t n = read(ends[i], got, sizeof(got) - 1);

	got[n > 0 ? n : 0] = '\0';
	return n == 0 ? "end" : got;
}

TAP_TEST(input_is_for__which_ranks)
{
	struct world spawned = {.is_spawned = true};
	const struct world *world;

	fake_open(1, 2);
	world = worlds_get(&fake.step.worlds, 0);
	fake.small.job.stdin_rank = 1;
	ok(!input_is_for(&fake.step, world, 0) && input_is_for(&fake.step, world, 1));
	fake.small.job.stdin_rank = JOB_STDIN_ALL;
	ok(input_is_for(&fake.step, world, 0) && input_is_for(&fake.step, world, 1));
	ok(!input_is_for(&fake.step, &spawned, 0));
	fake.small.job.stdin_rank = JOB_STDIN_NONE;
	ok(!input_is_for(&fake.step, world, 0));
	fake_close();
}

TAP_TEST(input_told__before_the_ranks_begin)
{
	begin(1);
	input_told(fake.step.input, "early", 5);
	is_str(hear(0), "");
	ok(!fake.first);
	input_begin(fake.step.input);
	is_str(hear(0), "early");
	fake_sent(0, "{\"bytes\":5,\"op\":\"in_room\"}", "");
	finish(1);
}

TAP_TEST(input_told__all_ranks)
{
	begin(2);
	input_begin(fake.step.input);
	input_told(fake.step.input, "one", 3);
	input_told(fake.step.input, "two", 3);
	is_str(hear(0), "onetwo");
	is_str(hear(1), "onetwo");
	fake_sent(0, "{\"bytes\":3,\"op\":\"in_room\"}", "");
	fake_sent(0, "{\"bytes\":3,\"op\":\"in_room\"}", "");
	input_told(fake.step.input, NULL, 0);
	is_str(hear(0), "end");
	is_str(hear(1), "end");
	ok(!fake.first);
	finish(2);
}

TAP_TEST(input_told__the_slowest_rank_counts)
{
	static char much[200000];

	memset(much, 'x', sizeof(much));
	begin(2);
	fcntl(ends[0], F_SETPIPE_SZ, 1 << 20);
	input_begin(fake.step.input);
	input_told(fake.step.input, much, sizeof(much));
	is_int(strlen(hear(0)), sizeof(much));
	fake_turn();
	ok(!fake.first);
	for (size_t n = 0; n < sizeof(much); fake_turn())
		n += strlen(hear(1));
	fake_sent(0, "{\"bytes\":200000,\"op\":\"in_room\"}", "");
	finish(2);
}

TAP_TEST(input_rank_ended__nobody_waits_for_it)
{
	static char much[200000];

	begin(2);
	fcntl(ends[0], F_SETPIPE_SZ, 1 << 20);
	input_begin(fake.step.input);
	input_told(fake.step.input, much, sizeof(much));
	ok(!fake.first);
	input_rank_ended(fake.step.input, &ranks[1]);
	fake_sent(0, "{\"bytes\":200000,\"op\":\"in_room\"}", "");
	input_rank_ended(fake.step.input, &ranks[0]);
	/* Without any reader it goes nowhere, and scrun is not kept. */
	input_told(fake.step.input, "more", 4);
	fake_sent(0, "{\"bytes\":4,\"op\":\"in_room\"}", "");
	finish(2);
}

TAP_TEST(input_told__a_rank_that_has_closed_its_end)
{
	begin(1);
	signal(SIGPIPE, SIG_IGN);
	input_begin(fake.step.input);
	close(ends[0]);
	input_told(fake.step.input, "lost", 4);
	fake_sent(0, "{\"bytes\":4,\"op\":\"in_room\"}", "");
	finish(0);
}

/* ---- terminals ---- */

static void is_size(int fd, int columns, int rows)
{
	struct winsize size = {0};

	ok(!ioctl(fd, TIOCGWINSZ, &size));
	is_int(size.ws_col, columns);
	is_int(size.ws_row, rows);
}

TAP_TEST(input_window__before_and_after_the_terminal)
{
	int ours, rank;

	begin(0);
	if (is_int(terminal_open(&ours, &rank), 0)) {
		input_window(fake.step.input, 99, 33);
		is_int(input_add(fake.step.input, &ranks[0], ours, true), 0);
		is_size(rank, 99, 33);
		input_window(fake.step.input, 80, 24);
		is_size(rank, 80, 24);
		close(rank);
	}
	finish(0);
}

TAP_TEST(input_told__the_end_at_a_terminal)
{
	int ours, rank;

	begin(0);
	if (is_int(terminal_open(&ours, &rank), 0)) {
		is_int(input_add(fake.step.input, &ranks[0], ours, true), 0);
		input_begin(fake.step.input);
		input_told(fake.step.input, "line\n", 5);
		is_int(read(rank, got, sizeof(got)), 5);
		input_told(fake.step.input, NULL, 0);
		is_int(read(rank, got, sizeof(got)), 0);
		close(rank);
	}
	finish(0);
}
