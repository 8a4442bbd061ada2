// SPDX-License-Identifier: BSD-3-Clause
/*
 * keeper: one command from its start to the report, and what the agent's words, or its end, do to
 * it.
 */
#include "scheduler/scremote/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/scremote/ends.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scremote/fake_scout.h"

static struct {
	struct ends ends;
	pid_t keeper;
	char out[256];
} t;

static char *text_of(const char *from)
{
	return (char *)(uintptr_t)from;
}

/* One command with its output in a pipe. */
static void begin(const struct message *m)
{
	struct keeper_plan plan = {.run = m, .host = SCOUT_HOST, .home = "/"};

	t.ends = ENDS_NONE;
	is_int(ends_open_control(&t.ends), 0);
	is_int(ends_make_pipe(t.ends.in, 1), 0);
	is_int(ends_make_pipe(t.ends.out, 0), 0);
	plan.control = t.ends.control[1];
	plan.stdio[0] = t.ends.in[1];
	plan.stdio[1] = plan.stdio[2] = t.ends.out[1];
	fflush(NULL);
	t.keeper = keeper_fork(&plan);
	ok(t.keeper > 0);
	ends_close(&t.ends, 1);
}

static void begin_line(const char *line)
{
	char *argv[] = {text_of("sh"), text_of("-c"), text_of(line), NULL};
	char *env[] = {NULL};

	begin(&(struct message){.argv = argv, .env = env});
}

/* Until the command says a line. */
static void hear_line(void)
{
	struct pollfd on = {.fd = t.ends.out[0], .events = POLLIN};
	ssize_t n;

	ok(poll(&on, 1, SCOUT_HEAR_MS) == 1);
	n = read(t.ends.out[0], t.out, sizeof(t.out) - 1);
	t.out[n > 0 ? n : 0] = 0;
}

static struct keeper_report report(void)
{
	struct pollfd on = {.fd = t.ends.control[0], .events = POLLIN};
	struct keeper_report got = {.status = -1};

	ok(poll(&on, 1, SCOUT_HEAR_MS) == 1);
	is_int(recv(t.ends.control[0], &got, sizeof(got), MSG_DONTWAIT), sizeof(got));
	return got;
}

static void finish(void)
{
	int status;

	ends_close(&t.ends, 0);
	is_int(waitpid(t.keeper, &status, 0), t.keeper);
	is_int(status, 0);
}

static void say(const void *word, size_t size)
{
	is_int(send(t.ends.control[0], word, size, MSG_NOSIGNAL), size);
}

static void say_signal(int signal)
{
	say(&signal, sizeof(signal));
}

TAP_TEST(keeper__how_a_command_ends)
{
	begin_line("exit 7");
	is_int(report().status, 7 << 8);
	finish();
	begin_line("kill -USR1 $$");
	is_int(report().status, SIGUSR1);
	finish();
}

TAP_TEST(keeper__a_command_has_its_variables_and_directory)
{
	char *argv[] = {text_of("printenv"), text_of("A"), text_of("PWD"), NULL};
	char *env[] = {text_of("A=b c"), NULL};

	begin(&(struct message){.argv = argv, .env = env, .directory = text_of("/usr")});
	is_int(report().status, 0);
	hear_line();
	is_str(t.out, "b c\n/usr\n");
	finish();
}

static void is_not_started(const struct message *m, int code, int error, const char *part)
{
	struct keeper_report got;

	begin(m);
	got = report();
	is_int(got.status, code << 8);
	is_int(got.error, error);
	okf(strstr(got.text, part) && strstr(got.text, "host " SCOUT_HOST),
	    "\"%s\" and the host are not in: %s", part, got.text);
	finish();
}

TAP_TEST(keeper__cannot_start_it)
{
	char *nowhere[] = {text_of("/no/such/program"), NULL},
	     *file[] = {text_of("/etc/passwd"), NULL};
	char *true_[] = {text_of("true"), NULL}, *env[] = {NULL};

	is_not_started(&(struct message){.argv = nowhere, .env = env}, 127, ENOENT,
		       "/no/such/program");
	is_not_started(&(struct message){.argv = file, .env = env}, 126, EACCES, "/etc/passwd");
	is_not_started(&(struct message){.argv = true_,
					 .env = env,
					 .directory = text_of("/no/such"),
					 .is_directory_needed = true},
		       126, ENOENT, "directory /no/such");
}

TAP_TEST(keeper__a_directory_that_need_not_be_there)
{
	char *argv[] = {text_of("pwd"), NULL}, *env[] = {NULL};

	begin(&(struct message){.argv = argv, .env = env, .directory = text_of("/no/such")});
	is_int(report().status, 0);
	hear_line();
	is_str(t.out, "/\n");
	finish();
}

TAP_TEST(keeper__a_signal_goes_to_the_group)
{
	begin_line("trap 'exit 5' USR2; sleep 1000 & echo ready; wait");
	hear_line();
	say_signal(SIGUSR2);
	is_int(report().status, 5 << 8);
	finish();
}

TAP_TEST(keeper__sigkill_goes_to_all_that_is_below)
{
	pid_t left;

	/* Its parent is gone: it is found as the keeper's. */
	begin_line("(setsid sh -c 'echo $$; exec sleep 1000' &); exec sleep 1000");
	hear_line();
	left = atoi(t.out);
	must(left > 1);
	say_signal(SIGKILL);
	is_int(report().status, SIGKILL);
	ok(is_gone(left));
	finish();
}

TAP_TEST(keeper__a_word_of_another_length_is_the_end_of_the_agent)
{
	begin_line("trap 'exit 6' HUP; echo ready; while :; do sleep 0.01; done");
	hear_line();
	say("xy", 2);
	is_int(report().status, 6 << 8);
	finish();
}

/* Whether the process is stopped within some seconds; its parent alone would be told. */
static bool is_stopped(pid_t pid)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (int ms = 0; ms < SCOUT_HEAR_MS && state != 'T'; ms += 10) {
		FILE *file = fopen(path, "re");

		if (!file || fscanf(file, "%*d %*s %c", &state) != 1)
			state = 0;
		if (file)
			fclose(file);
		poll(NULL, 0, 10);
	}
	return state == 'T';
}

TAP_TEST(keeper__a_stopped_command_hears_of_the_end)
{
	begin_line("trap 'exit 6' HUP; echo $$; kill -STOP $$; exec sleep 1000");
	hear_line();
	ok(is_stopped(atoi(t.out)));
	say("", 1);
	is_int(report().status, 6 << 8);
	finish();
}

TAP_TEST(keeper__the_agent_has_gone)
{
	pid_t command;
	int status;

	begin_line("trap '' HUP; echo $$; exec sleep 1000");
	hear_line();
	command = atoi(t.out);
	must(command > 1);
	ends_close(&t.ends, 0);
	/* It ignores SIGHUP, so it is killed after the grace. */
	is_int(waitpid(t.keeper, &status, 0), t.keeper);
	is_int(status, 0);
	ok(is_gone(command));
}
