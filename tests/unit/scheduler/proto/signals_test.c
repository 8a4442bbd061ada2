// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/signals.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static void handle(int signo)
{
	(void)signo;
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
