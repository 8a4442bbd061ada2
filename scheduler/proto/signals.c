// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/signals.h"

#include <signal.h>
#include <stddef.h>

void signals_reset(void)
{
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++)
		if (signo != SIGKILL && signo != SIGSTOP)
			signal(signo, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
