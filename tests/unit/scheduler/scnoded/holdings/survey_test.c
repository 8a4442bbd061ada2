// SPDX-License-Identifier: BSD-3-Clause
/* survey: processes and threads in odd states, and such as come and go. */
#include "scheduler/scnoded/holdings/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/scnoded/holdings/survey_inside.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scnoded/holdings/surveyed.h"

TAP_TEST(survey_job__nothing_held)
{
	fine(NULL);
}

/* Its parent waits for exec() without a limit. */
static bool begin_vfork(void)
{
	pid_t pid = fork();

	if (!pid) {
		close(REPORT_FD);
		pid = vfork();
		if (!pid) {
			for (;;)
				pause();
		}
		_exit(0);
	}
	return pid > 0;
}

/* For what the kernel does a moment after the last that the job can say: a limit of looks. */
static bool look_until(const char *part)
{
	for (int i = 0; i < 10000; i++) {
		surveyed_judge();
		if (strstr(surveyed.text, part))
			return true;
	}
	return false;
}

TAP_TEST(survey_job__vfork)
{
	if (surveyed_start(begin_vfork)) {
		ok(look_until("shares its memory with process"));
		is_int(surveyed.h.n_processes, 3);
		is_int(surveyed.h.processes[2].rank, RANK);
	}
	surveyed_end();
}

static bool leave_uts(void)
{
	return !unshare(CLONE_NEWUTS | CLONE_NEWIPC);
}

static bool fork_apart(void)
{
	int report[2], err = EIO;

	if (pipe(report))
		return false;
	if (!fork()) {
		err = leave_uts() ? 0 : errno;
		close(REPORT_FD);
		if (write(report[1], &err, sizeof(err)) != sizeof(err))
			_exit(1);
		for (;;)
			pause();
	}
	if (read(report[0], &err, sizeof(err)) < 0)
		err = errno;
	errno = err;
	return !err;
}

TAP_TEST(survey_job__namespace_of_its_own)
{
	fine(leave_uts); /* of the whole tree */
	if (surveyed_start(fork_apart)) {
		surveyed_judge();
		ok(strstr(surveyed.text, "is in an IPC namespace of its own") != NULL);
	}
	surveyed_end();
}

static void *stay(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static bool end_first_thread(void)
{
	pid_t pid = fork();
	pthread_t thread;

	if (!pid) {
		close(REPORT_FD);
		pthread_create(&thread, NULL, stay, NULL);
		pthread_exit(NULL);
	}
	return pid > 0;
}

static bool leave_zombie(void)
{
	pid_t pid = fork();
	siginfo_t info;

	if (!pid)
		_exit(0);
	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
}

TAP_TEST(survey_job__threads)
{
	if (surveyed_start(end_first_thread)) {
		ok(look_until("has a thread that has ended and is still there"));
	}
	surveyed_end();
	fine(leave_zombie);
}

TAP_TEST(survey_job__traced)
{
	char want[64];

	if (surveyed_start(NULL)) {
		ok(!ptrace(PTRACE_SEIZE, surveyed.root, NULL, NULL));
		surveyed_judge();
		snprintf(want, sizeof(want), "is traced by process %d", getpid());
		ok(strstr(surveyed.text, want) != NULL);
	}
	surveyed_end();
}

TAP_TEST(survey_job__stopped_is_fine)
{
	if (surveyed_start(NULL)) {
		kill(surveyed.root, SIGSTOP);
		waitpid(surveyed.root, NULL, WUNTRACED);
		surveyed_judge();
		is_str(surveyed.text, "");
	}
	surveyed_end();
}

TAP_TEST(survey_job__session_from_outside)
{
	pid_t pid;

	if (geteuid()) {
		tap_skip("needs root, as scnoded does");
		return;
	}
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	surveyed.root = pid;
	surveyed_judge();
	ok(strstr(surveyed.text, "is in a session that began outside the job") != NULL);
	surveyed_end();
}

TAP_TEST(survey_job__gone)
{
	struct survey_order order = {.limit_ms = LIMIT_MS};
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	order.root = pid;
	is_int(surveyed_look(&order), -ESRCH);
	order.root = 0;
	is_int(surveyed_look(&order), -ESRCH);
	order.root = -1;
	is_int(surveyed_look(&order), -ESRCH);
	holdings_free(&surveyed.h);
}

static bool fork_once(void)
{
	if (!fork()) {
		close(REPORT_FD);
		for (;;)
			pause();
	}
	return true;
}

TAP_TEST(survey_job__strangers)
{
	struct survey_order order = {.limit_ms = LIMIT_MS, .n_members = 3};
	pid_t members[3];

	if (surveyed_start(fork_once)) {
		members[0] = surveyed.root;
		members[1] = getpid();
		members[2] = INT32_MAX; /* there is none */
		order.root = surveyed.root;
		order.members = members;
		is_int(surveyed_look(&order), 0);
		if (is_int(surveyed.h.n_strangers, 1))
			is_int(surveyed.h.strangers[0].pid, getpid());
		is_int(surveyed.h.n_processes, 2);
	}
	surveyed_end();
}

static bool fork_with_the_other_end(void)
{
	int fds[2];

	if (pipe(fds))
		return false;
	return fork_once() && !close(fds[1]);
}

/* As if the child came after the tree was read. */
TAP_TEST(survey_outsiders__young_child)
{
	struct holdings h = {.n_processes = 0};
	struct survey s = {.holdings = &h, .until_ns = UINT64_MAX};

	if (surveyed_start(fork_with_the_other_end)) {
		must(holdings_add_process(&h, surveyed.root) != NULL);
		survey_files(&s, 0);
		survey_outsiders(&s);
		ok(h.n_files > 3);
		is_int(h.n_outsiders, 0);
		is_str(h.trouble, "");
	}
	holdings_free(&h);
	surveyed_end();
}

TAP_TEST(survey_mounts__of_a_process_that_is_gone)
{
	struct holdings h = {.n_processes = 0};
	struct survey s = {.holdings = &h, .until_ns = UINT64_MAX};
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	must(holdings_add_process(&h, pid) != NULL);
	survey_mounts(&s);
	is_str(h.trouble, "its mounts can't be read: No such file or directory; try again");
	holdings_free(&h);
}

TAP_TEST(survey_job__no_time)
{
	struct survey_order order = {.limit_ms = 0};

	if (surveyed_start(NULL)) {
		order.root = surveyed.root;
		is_int(surveyed_look(&order), 0);
		is_str(surveyed.h.trouble,
		       "it took longer than 0 ms; make it smaller, or try again");
	}
	surveyed_end();
}

static bool fork_without_end(void)
{
	if (fork())
		return true;
	close(REPORT_FD);
	for (;;) {
		if (!fork())
			_exit(0);
		waitpid(-1, NULL, 0);
	}
}

static bool open_without_end(void)
{
	if (fork())
		return true;
	close(REPORT_FD);
	for (;;) {
		int fds[2];

		for (int i = 0; i < 50; i++)
			if (!pipe(fds) && open("/dev/null", O_RDWR) < 0)
				break;
		close_range(3, ~0u, 0);
	}
}

TAP_TEST(survey_job__things_that_vanish)
{
	for (int k = 0; k < 2; k++) {
		if (surveyed_start(k ? open_without_end : fork_without_end))
			for (int i = 0; i < 200; i++) {
				surveyed_judge();
				if (!is_str(surveyed.text, ""))
					break;
			}
		surveyed_end();
	}
}
