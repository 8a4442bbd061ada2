// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static void handle(int signo)
{
	(void)signo;
}

static int told[2]; /* a pipe, as a loop has one for its signals */

static void tell(int signo)
{
	if (write(told[1], &signo, sizeof(signo)) < 0)
		_exit(1);
}

/* Whether the signal has its default action and is not blocked. */
static bool is_untouched(int signo)
{
	struct sigaction now;
	sigset_t blocked;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	return !sigaction(signo, NULL, &now) && now.sa_handler == SIG_DFL &&
	       !sigismember(&blocked, signo);
}

TAP_TEST(signals_reset__handled_ignored_and_blocked)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		sigset_t all;
		int n_touched = 0;

		signal(SIGPIPE, SIG_IGN);
		signal(SIGUSR1, handle);
		signal(SIGRTMAX, SIG_IGN);
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		signals_reset();
		for (int signo = 1; signo <= SIGRTMAX; signo++)
			/* the C library keeps two for itself */
			if (signo < __SIGRTMIN || signo >= SIGRTMIN)
				n_touched += !is_untouched(signo);
		_exit(n_touched);
	}
	is_int(waitpid(pid, &status, 0), pid);
	is_int(status, 0);
}

TAP_TEST(signals_reset__what_waits_comes)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		sigset_t all;

		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		raise(SIGUSR2);
		signals_reset();
		_exit(0);
	}
	is_int(waitpid(pid, &status, 0), pid);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR2);
}

/* Blocked signals that the C library does not keep for itself. */
static int count_blocked(void)
{
	sigset_t blocked;
	int n = 0;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int signo = 1; signo <= SIGRTMAX; signo++)
		n += sigismember(&blocked, signo) == 1;
	return n;
}

TAP_TEST(signals_fork__a_signal_that_comes_at_once_is_the_childs)
{
	sigset_t some;
	int status, signo;
	pid_t pid;

	is_int(pipe2(told, O_NONBLOCK | O_CLOEXEC), 0);
	signal(SIGTERM, tell);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	sigprocmask(SIG_SETMASK, &some, NULL);
	pid = signals_fork();
	if (!pid) {
		raise(SIGTERM);
		signals_reset();
		_exit(0);
	}
	is_int(waitpid(pid, &status, 0), pid);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	is_int(read(told[0], &signo, sizeof(signo)), -1); /* no handler of ours ran in it */
	is_int(count_blocked(), 1);
	sigprocmask(SIG_UNBLOCK, &some, NULL);
	signal(SIGTERM, SIG_DFL);
	close(told[0]);
	close(told[1]);
}

TAP_TEST(signals_fork__the_child_has_all_blocked)
{
	int status, most;
	pid_t pid = signals_fork();

	if (!pid)
		_exit(count_blocked());
	is_int(waitpid(pid, &status, 0), pid);
	/* SIGKILL and SIGSTOP can't be blocked, and the C library keeps signals for itself */
	most = 31 - 2 + SIGRTMAX - SIGRTMIN + 1;
	is_int(WEXITSTATUS(status), most);
	is_int(count_blocked(), 0);
}

TAP_TEST(signals_fork__no_process_can_be_had)
{
	struct rlimit none = {0, 0};
	int status;
	pid_t pid = fork();

	/* as a user, since the limit is not for root */
	if (!pid) {
		if (setrlimit(RLIMIT_NPROC, &none) || (!geteuid() && setuid(65534)))
			_exit(2);
		_exit(signals_fork() == -EAGAIN && !count_blocked() ? 0 : 1);
	}
	is_int(waitpid(pid, &status, 0), pid);
	is_int(status, 0);
}
