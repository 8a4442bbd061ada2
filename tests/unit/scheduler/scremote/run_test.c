// SPDX-License-Identifier: BSD-3-Clause
/*
 * run: one command by scout's order; the ways of its bytes and its end, with a keeper and without a
 * socket.
 */
#include "scheduler/scremote/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/scheduler/scremote/fake_link.h"

static struct {
	char *argv[4];
	char *env[1];
	struct message message;
} t;

static void begin(const char *line)
{
	fake_open();
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	memset(&t, 0, sizeof(t));
	t.argv[0] = (char *)(uintptr_t) "sh";
	t.argv[1] = (char *)(uintptr_t) "-c";
	t.argv[2] = (char *)(uintptr_t)line;
	t.message = (struct message){.kind = MESSAGE_RUN, .id = 3, .argv = t.argv, .env = t.env};
}

static void start(void)
{
	fflush(NULL);
	run_start(&fake.agent, &t.message);
}

static struct run *the_run(void)
{
	return run_find(&fake.agent, 3);
}

static void finish(void)
{
	while (!TAILQ_EMPTY(&fake.agent.runs))
		run_free(TAILQ_FIRST(&fake.agent.runs));
	is_int(fake.agent.n_runs, 0);
	fake_close();
}

/* The next message is output of that stream. */
static void is_out(int stream, const char *want)
{
	must(fake_wait(fake.scout));
	is_int(json_integer_value(fake_field(fake.scout, OP_OUT, "stream")), stream);
	is_str(fake.scout->first->body, want);
	fake_drop(fake.scout);
}

static void is_end(int status)
{
	must(fake_wait(fake.scout));
	is_int(json_integer_value(fake_field(fake.scout, OP_ENDED, "status")), status);
	ok(!the_run());
}

TAP_TEST(run__output_and_end)
{
	begin("echo out; exit 3");
	start();
	ok(the_run() && run_is_under_way(the_run()) && !run_find(&fake.agent, 4));
	is_out(1, "out\n");
	is_end(3 << 8);
	ok(!json_object_get(fake.scout->first->head, "error"));
	finish();
}

TAP_TEST(run__standard_error_is_a_stream_of_its_own)
{
	begin("echo err >&2");
	start();
	is_out(2, "err\n");
	is_end(0);
	fake_drop(fake.scout);
	t.message.merges_stderr = true;
	start();
	is_out(1, "err\n");
	is_end(0);
	finish();
}

TAP_TEST(run__its_output_waits_for_room)
{
	begin("echo abcd");
	start();
	the_run()->room = 2;
	is_out(1, "ab");
	fake_turn();
	ok(!fake.scout->first);
	run_room(the_run(), LINK_FULL + 9);
	is_int(the_run()->room, LINK_FULL);
	is_out(1, "cd\n");
	is_end(0);
	finish();
}

TAP_TEST(run__its_output_waits_for_a_full_link)
{
	begin("echo abcd");
	fake.scout->is_full = true;
	start();
	while (run_is_under_way(the_run()))
		ev_run(fake.agent.loop, EVRUN_ONCE);
	fake_turn();
	ok(!fake.scout->first);
	fake.scout->is_full = false;
	run_resume(the_run());
	is_out(1, "abcd\n");
	is_end(0);
	finish();
}

TAP_TEST(run_input__comes_to_the_command_and_gives_room)
{
	begin("read x; echo got $x");
	t.message.has_stdin = true;
	start();
	is_int(run_input(the_run(), "abc\n", 4), 0);
	must(fake_wait(fake.scout));
	fake_sent(fake.scout, "{\"bytes\":4,\"id\":3,\"op\":\"in_room\"}");
	is_out(1, "got abc\n");
	is_end(0);
	finish();
}

TAP_TEST(run_input__to_a_command_without_any)
{
	begin("exec sleep 1000");
	start();
	is_int(run_input(the_run(), "abc\n", 4), 0);
	fake_sent(fake.scout, "{\"bytes\":4,\"id\":3,\"op\":\"in_room\"}");
	finish();
}

TAP_TEST(run_signal__until_its_end)
{
	begin("exec sleep 1000");
	start();
	run_signal(the_run(), SIGTERM);
	is_end(SIGTERM);
	finish();
}

TAP_TEST(run__a_process_that_it_leaves_holds_up_nothing)
{
	pid_t left;

	begin("sleep 1000 & echo $!");
	start();
	must(fake_wait(fake.scout));
	left = atoi(fake.scout->first->body);
	fake_drop(fake.scout);
	is_end(0);
	must(left > 1);
	is_int(kill(left, SIGKILL), 0);
	finish();
}

TAP_TEST(run__its_keeper_dies_without_a_word)
{
	begin("kill -9 $PPID; exec sleep 1000");
	start();
	is_end(SIGKILL);
	is_str(json_string_value(fake_field(fake.scout, OP_ENDED, "error")), "ECHILD");
	ok(strstr(json_string_value(fake_field(fake.scout, OP_ENDED, "text")), "host h0") != NULL);
	/* scnoded has to look for what is left. */
	ok(fake.agent.is_cut);
	finish();
}

TAP_TEST(run_refuse__an_error_without_a_name)
{
	struct keeper_report report = {.status = 126 << 8, .error = 99999, .text = "odd \xff"};

	begin("true");
	run_refuse(&fake.agent, 8, &report);
	fake_sent(fake.scout, "{\"error\":\"EIO\",\"id\":8,\"op\":\"ended\",\"status\":32256,"
			      "\"text\":\"odd ?\"}");
	finish();
}

TAP_TEST(run_start__too_many_at_once)
{
	begin("true");
	fake.agent.n_runs = RUN_MAX;
	start();
	fake.agent.n_runs = 0;
	is_end(126 << 8);
	is_str(json_string_value(fake_field(fake.scout, OP_ENDED, "error")), "EAGAIN");
	finish();
}
