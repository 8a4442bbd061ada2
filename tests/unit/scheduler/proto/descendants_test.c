// SPDX-License-Identifier: BSD-3-Clause
/* The processes below one, while they fork. */
#include "scheduler/proto/descendants.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/harness/eventually.h"
#include "tests/harness/tap.h"

#define CHILDREN 200

/* Its children are in sessions of their own. */
static void be_forker(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		if (!fork()) {
			setsid();
			for (;;)
				pause();
		}
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	for (;;)
		pause();
}

/* A subreaper above a process that forks. */
static pid_t start(void)
{
	pid_t ancestor = fork();

	if (ancestor)
		return ancestor;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!fork())
		be_forker();
	for (;;)
		if (waitpid(-1, NULL, 0) < 0)
			pause();
}

TAP_TEST(descendants__of_nobody)
{
	is_int(descendants_signal(0, SIGSTOP), -ESRCH);
	is_int(descendants_signal(-1, SIGKILL), -ESRCH);
	is_int(descendants_count(0), 0);
	is_int(descendants_count(getpid()), 0);
	is_int(descendants_signal(getpid(), SIGKILL), 0);
}

TAP_TEST(descendants__stopped_while_they_fork)
{
	pid_t ancestor = start();
	size_t n;

	must(ancestor > 0);
	ok(EVENTUALLY(descendants_count(ancestor) > 2));
	ok(!descendants_is_stopped(ancestor));
	ok(EVENTUALLY(!descendants_signal(ancestor, SIGSTOP) && descendants_is_stopped(ancestor)));
	n = descendants_count(ancestor);
	for (int i = 0; i < 20; i++)
		eventually_nap();
	is_int(descendants_count(ancestor), n);
	ok(descendants_is_stopped(ancestor));
	is_int(descendants_signal(ancestor, SIGCONT), 0);
	ok(EVENTUALLY(descendants_count(ancestor) == CHILDREN + 1));
	is_int(descendants_signal(ancestor, SIGSTOP), 0);
	ok(EVENTUALLY(descendants_is_stopped(ancestor)));
	/* Stopped ones die as well, and the ancestor lives. */
	ok(EVENTUALLY(!descendants_signal(ancestor, SIGKILL) && !descendants_count(ancestor)));
	is_int(kill(ancestor, 0), 0);
	kill(ancestor, SIGKILL);
	is_int(waitpid(ancestor, NULL, 0), ancestor);
}
