// SPDX-License-Identifier: BSD-3-Clause
/*
 * scremote's main(): what the process makes of its descriptors, its session and its signals, and
 * what its exit code says.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scremote/fake_scout.h"

/* It has another name here: main() is the harness's. */
int scremote_main(int argc, char **argv);
#define main scremote_main
#include "scheduler/scremote/main.c"
#undef main

#define AGENT_FD 3

/* How a process has ended, and its words on standard error. */
struct end {
	char text[1024];
	int code; /* -1: by a signal */
};

static int said; /* what the last one says on standard error */

/* In a process of its own, with @fd as AGENT_FD; -1: without. We read its standard error. */
static pid_t start(char *const *argv, int fd, void (*prepare)(void))
{
	int both[2], argc = 0;
	pid_t pid;

	ok(!pipe2(both, O_CLOEXEC));
	while (argv[argc])
		argc++;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(both[1], STDERR_FILENO);
		if (fd >= 0)
			dup2(fd, AGENT_FD);
		close_range(fd >= 0 ? AGENT_FD + 1 : AGENT_FD, ~0u, 0);
		if (prepare)
			prepare();
		_exit(scremote_main(argc, (char **)(uintptr_t)argv));
	}
	close(both[1]);
	said = both[0];
	return pid;
}

static struct end end_of(pid_t pid)
{
	struct end end = {.code = -1};
	size_t used = 0;
	ssize_t n;
	int status = 0;

	while ((n = read(said, end.text + used, sizeof(end.text) - 1 - used)) > 0)
		used += (size_t)n;
	close(said);
	is_int(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		end.code = WEXITSTATUS(status);
	return end;
}

#define RUN(...)                                                                                   \
	end_of(start((char *const[]){(char *)"scremote", (char *)__VA_ARGS__, NULL}, -1, NULL))

static struct scout scout;

static char *const with_fd[] = {(char *)"scremote", (char *)"--fd",     (char *)"3",
				(char *)"--host",   (char *)SCOUT_HOST, NULL};

/* An agent that has a connection and has said so. */
static void begin(void (*prepare)(void))
{
	int pair[2];

	scout = (struct scout){.fd = -1};
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	scout.agent = start(with_fd, pair[1], prepare);
	close(pair[1]);
	scout.fd = pair[0];
	is_str(scout_hear(&scout, SCOUT_HEAR_MS), OP_REMOTE_READY);
	is_str(scout_text(&scout, "host"), SCOUT_HOST);
	is_int(scout_number(&scout, "pid"), scout.agent);
}

/* The connection ends, if it has not. */
static struct end finish(void)
{
	struct end end;

	shutdown(scout.fd, SHUT_RDWR);
	end = end_of(scout.agent);
	scout.agent = 0;
	scout_close(&scout);
	return end;
}

TAP_TEST(main__ends_with_its_connection)
{
	struct end end;

	begin(NULL);
	end = finish();
	is_int(end.code, 0);
	is_str(end.text, "");
}

TAP_TEST(main__ends_when_it_is_told_to)
{
	struct end end;

	begin(NULL);
	is_int(kill(scout.agent, SIGTERM), 0);
	/* The connection is closed by it. */
	is_str(scout_hear(&scout, SCOUT_HEAR_MS), "");
	end = finish();
	is_int(end.code, 0);
	is_str(end.text, "");
}

TAP_TEST(main__scnoded_hears_that_a_command_was_cut_off)
{
	pid_t command;

	begin(NULL);
	scout_run(&scout, "echo $$; exec sleep 1000", NULL);
	command = scout_pid(&scout);
	ok(command > 0);
	is_int(finish().code, REMOTE_EXIT_CUT);
	ok(is_gone(command));
}

TAP_TEST(main__a_command_that_has_ended_is_not_cut_off)
{
	struct scout_end of_command;

	begin(NULL);
	scout_run(&scout, "true", NULL);
	of_command = scout_end_of(&scout);
	is_int(of_command.status, 0);
	scout_free_end(&of_command);
	is_int(finish().code, 0);
}

TAP_TEST(main__bytes_that_are_no_message)
{
	static const char noise[64] = "GET / HTTP/1.1\r\n\r\n";
	struct end end;

	begin(NULL);
	is_int(send(scout.fd, noise, sizeof(noise), MSG_NOSIGNAL), sizeof(noise));
	is_str(scout_hear(&scout, SCOUT_HEAR_MS), "");
	end = finish();
	is_int(end.code, SCREMOTE_EXIT_FAILED);
	ok(*end.text != '\0');
}

TAP_TEST(main__keys_and_the_end_of_a_session_are_scouts_to_hear)
{
	static const int signals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGPIPE, SIGCHLD};

	begin(NULL);
	is_int(getsid(scout.agent), scout.agent);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		is_int(kill(scout.agent, signals[i]), 0);
		scout_say(&scout, json_pack("{s:s, s:i}", "op", OP_PING, "id", (int)i + 1), NULL,
			  0);
		is_str(scout_hear(&scout, SCOUT_HEAR_MS), OP_PONG);
		is_int(scout_number(&scout, "id"), i + 1);
	}
	is_int(finish().code, 0);
}

static void close_stdio(void)
{
	close_range(STDIN_FILENO, STDERR_FILENO, 0);
}

/* Where this descriptor of the agent leads; "": there is none. */
static const char *target_of(int fd)
{
	static char target[128];
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", scout.agent, fd);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	return target;
}

TAP_TEST(main__holds_the_numbers_of_standard_input_and_output)
{
	struct scout_end of_command;

	begin(close_stdio);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		is_str(target_of(fd), "/dev/null");
	/* No number more than it needs. */
	for (int fd = AGENT_FD; fd < 20; fd++)
		okf(strcmp(target_of(fd), "/dev/null") != 0, "descriptor %d", fd);
	scout_run(&scout, "echo out; echo err >&2", NULL);
	of_command = scout_end_of(&scout);
	is_str(of_command.out[0], "out\n");
	is_str(of_command.out[1], "err\n");
	scout_free_end(&of_command);
	is_int(finish().code, 0);
}

TAP_TEST(main__numbers_that_are_taken_stay)
{
	begin(NULL);
	ok(strstr(target_of(STDERR_FILENO), "pipe:") != NULL);
	is_int(finish().code, 0);
}

TAP_TEST(main__words_that_it_does_not_know)
{
	struct end end = RUN("--nonsense");

	is_int(end.code, SCREMOTE_EXIT_USAGE);
	ok(strstr(end.text, "--nonsense is no option") != NULL);
}

TAP_TEST(main__a_connection_that_is_not_there)
{
	struct end end = RUN("--fd", (char *)"99");

	is_int(end.code, SCREMOTE_EXIT_FAILED);
	ok(strstr(end.text, "--fd 99: Bad file descriptor") != NULL);
	end = RUN("--connect", (char *)"/nonexistent/socket");
	is_int(end.code, SCREMOTE_EXIT_FAILED);
	ok(strstr(end.text, "/nonexistent/socket: No such file or directory; is scout running "
			    "there?") != NULL);
}
