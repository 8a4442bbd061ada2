// SPDX-License-Identifier: BSD-3-Clause
/* process_fork(): what the new process has of the agent's, and what it has not. */
#include "scheduler/scremote/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define FDS 40

struct seen {
	bool is_open[FDS];
	pid_t pid, session;
	bool blocks_term, ignores_child;
};

struct look {
	int to;
};

static void look(const void *owner)
{
	const struct look *plan = owner;
	struct seen seen = {.pid = getpid(), .session = getsid(0)};
	struct sigaction child;
	sigset_t mask;

	for (int fd = 0; fd < FDS; fd++)
		seen.is_open[fd] = fcntl(fd, F_GETFD) >= 0;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	seen.blocks_term = sigismember(&mask, SIGTERM);
	sigaction(SIGCHLD, NULL, &child);
	seen.ignores_child = child.sa_handler == SIG_IGN;
	if (write(plan->to, &seen, sizeof(seen)) != sizeof(seen))
		_exit(1);
}

/* Opens all numbers below FDS; from, to: ends of a pipe that are none of them. */
static struct seen fork_with(const int fds[PROCESS_FDS_MAX], int to, int from, pid_t *ret_pid)
{
	struct look plan = {.to = to};
	struct process_plan process = {.work = look, .plan = &plan};
	struct seen seen = {0};

	for (int i = 0; i < PROCESS_FDS_MAX; i++)
		process.fds[i] = fds[i];
	*ret_pid = process_fork(&process);
	ok(*ret_pid > 0);
	close(to);
	is_int(read(from, &seen, sizeof(seen)), sizeof(seen));
	return seen;
}

/* All numbers from 3 on are open; two of them are a pipe. */
static void fill(int pair[2])
{
	int null = open("/dev/null", O_RDONLY), both[2];

	ok(null >= 0 && !pipe(both));
	for (int fd = 3; fd < FDS; fd++)
		if (fd != null && fd != both[0] && fd != both[1])
			dup2(null, fd);
	pair[0] = both[0];
	pair[1] = both[1];
}

static void empty(void)
{
	close_range(3, FDS, 0);
}

TAP_TEST(process_fork__keeps_the_descriptors_of_the_plan_alone)
{
	int pair[2], status;
	struct seen seen;
	pid_t pid;

	fill(pair);
	/* In any order, at both ends, and with gaps. */
	seen = fork_with((const int[]){30, pair[1], -1, 11}, pair[1], pair[0], &pid);
	for (int fd = 3; fd < FDS; fd++)
		okf(seen.is_open[fd] == (fd == 30 || fd == 11 || fd == pair[1]), "descriptor %d",
		    fd);
	for (int fd = 0; fd < 3; fd++)
		okf(seen.is_open[fd], "descriptor %d", fd);
	is_int(waitpid(pid, &status, 0), pid);
	is_int(status, 0);
	empty();
}

TAP_TEST(process_fork__neighbours)
{
	int pair[2], status;
	struct seen seen;
	pid_t pid;

	fill(pair);
	seen = fork_with((const int[]){21, 20, pair[1], 22}, pair[1], pair[0], &pid);
	ok(seen.is_open[20] && seen.is_open[21] && seen.is_open[22]);
	ok(!seen.is_open[19] && !seen.is_open[23]);
	is_int(waitpid(pid, &status, 0), pid);
	empty();
}

TAP_TEST(process_fork__is_a_session_without_the_agents_signals)
{
	int pair[2], status;
	sigset_t mask;
	struct seen seen;
	pid_t pid;

	must(!pipe(pair));
	signal(SIGCHLD, SIG_IGN);
	seen = fork_with((const int[]){pair[1], -1, -1, -1}, pair[1], pair[0], &pid);
	signal(SIGCHLD, SIG_DFL);
	is_int(seen.pid, pid);
	is_int(seen.session, pid);
	ok(seen.blocks_term);
	ok(!seen.ignores_child);
	/* Ours are as they were. */
	sigprocmask(SIG_SETMASK, NULL, &mask);
	ok(!sigismember(&mask, SIGTERM));
	/* It was ignored, or is reaped now. */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	empty();
}
