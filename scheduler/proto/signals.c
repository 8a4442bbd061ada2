// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/signals.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

void signals_hold(sigset_t *ret_before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, ret_before);
}

void signals_release(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

pid_t signals_fork(void)
{
	sigset_t before;
	pid_t pid;

	signals_hold(&before);
	pid = fork();
	if (!pid)
		return 0;
	pid = pid < 0 ? -errno : pid;
	signals_release(&before);
	return pid;
}

void signals_reset(void)
{
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++)
		if (signo != SIGKILL && signo != SIGSTOP)
			signal(signo, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
