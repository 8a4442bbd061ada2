// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/process.h"

#include <signal.h>
#include <unistd.h>

#include "scheduler/proto/signals.h"

/* Above all no control link of another one: it would never end. */
static void close_others(const int *keep)
{
	unsigned from = STDERR_FILENO + 1, next;

	do {
		next = ~0u;
		for (int i = 0; i < PROCESS_FDS_MAX; i++)
			if (keep[i] >= (int)from && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if (next > from)
			close_range(from, next - 1, 0);
		from = next + 1;
	} while (next != ~0u);
}

pid_t process_fork(const struct process_plan *plan)
{
	pid_t pid = signals_fork();

	if (!pid) {
		setsid();
		signal(SIGCHLD, SIG_DFL);
		close_others(plan->fds);
		plan->work(plan->plan);
		_exit(0);
	}
	return pid;
}
