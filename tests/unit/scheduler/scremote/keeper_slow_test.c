// SPDX-License-Identifier: BSD-3-Clause
/*
 * keeper: a command whose process is slow to become its program, where vfork() does not wait for
 * that. POSIX allows it, and ThreadSanitizer does so.
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

#define TOO_LONG (1u << 20) /* for one argument */
#define SLOW_MS 100         /* a keeper that does not wait has long read its control link */

/* In place of the C library's. */
pid_t vfork(void)
{
	pid_t pid = fork();

	if (!pid)
		poll(NULL, 0, SLOW_MS);
	return pid;
}

/* The report of "sleep @argument", which is sent @signo at once; 0: none. */
static struct keeper_report report_of(char *argument, int signo)
{
	char sleep[] = "sleep", *argv[] = {sleep, argument, NULL}, *env[] = {NULL};
	struct message run = {.argv = argv, .env = env};
	struct ends ends = ENDS_NONE;
	struct keeper_plan plan = {.run = &run, .host = SCOUT_HOST, .home = "/"};
	struct keeper_report got = {.status = -1};
	struct pollfd on;
	pid_t keeper;

	is_int(ends_open_control(&ends), 0);
	plan.control = ends.control[1];
	for (int i = 0; i < 3; i++)
		plan.stdio[i] = STDERR_FILENO;
	if (signo)
		is_int(send(ends.control[0], &signo, sizeof(signo), 0), sizeof(signo));
	fflush(NULL);
	keeper = keeper_fork(&plan);
	ends_close(&ends, 1);
	on = (struct pollfd){.fd = ends.control[0], .events = POLLIN};
	is_int(poll(&on, 1, SCOUT_HEAR_MS), 1);
	is_int(recv(ends.control[0], &got, sizeof(got), MSG_DONTWAIT), sizeof(got));
	ends_close(&ends, 0);
	is_int(waitpid(keeper, NULL, 0), keeper);
	return got;
}

TAP_TEST(keeper__a_signal_before_the_command_runs)
{
	char seconds[] = "1000";
	struct keeper_report got = report_of(seconds, SIGTERM);

	is_int(got.status, SIGTERM);
	is_int(got.error, 0);
}

TAP_TEST(keeper__why_it_cannot_start)
{
	char *much = malloc(TOO_LONG + 1);
	struct keeper_report got;

	must(much != NULL);
	memset(much, '1', TOO_LONG);
	much[TOO_LONG] = 0;
	got = report_of(much, 0);
	is_int(got.status, 126 << 8);
	is_int(got.error, E2BIG);
	okf(strstr(got.text, "sleep, host " SCOUT_HOST) != NULL, "%s", got.text);
	free(much);
}
