// SPDX-License-Identifier: BSD-3-Clause
/*
 * child - system calls only.
 */
#include "scheduler/scstepd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scheduler/proto/signals.h"

static _Noreturn void fail(const struct child_plan *plan, enum child_stage stage, int what)
{
	struct child_failure failure = {.stage = stage, .error = errno, .what = what};
	bool is_missing = stage == CHILD_EXEC && errno == ENOENT;

	/* Smaller than PIPE_BUF: all or nothing. Without a reader nobody is left to be told. */
	if (write(plan->failure, &failure, sizeof(failure)) < 0)
		_exit(125);
	_exit(stage != CHILD_EXEC ? 125 : is_missing ? 127 : 126);
}

static void set_stdio(const struct child_plan *plan)
{
	if (plan->is_terminal)
		ioctl(plan->in, TIOCSCTTY, 0);
	/* The parent keeps 0 to 2 open, so none of them is a target of another. */
	if (dup2(plan->in, 0) < 0 || dup2(plan->out, 1) < 0 || dup2(plan->err, 2) < 0)
		fail(plan, CHILD_STDIO, 0);
}

static void set_limits(const struct child_plan *plan)
{
	for (size_t i = 0; i < plan->job->n_limits; i++) {
		const struct job_limit *limit = &plan->job->limits[i];
		struct rlimit wanted = {.rlim_cur = limit->soft, .rlim_max = limit->hard}, now;

		if (setrlimit((__rlimit_resource_t)limit->resource, &wanted) == 0)
			continue;
		/* The host allows less than the user has where he typed: as much as there is. */
		if (getrlimit((__rlimit_resource_t)limit->resource, &now) == 0) {
			if (now.rlim_max > wanted.rlim_max)
				now.rlim_max = wanted.rlim_max;
			now.rlim_cur = wanted.rlim_cur < now.rlim_max ? wanted.rlim_cur
								      : now.rlim_max;
			if (setrlimit((__rlimit_resource_t)limit->resource, &now) == 0)
				continue;
		}
		fail(plan, CHILD_LIMIT, limit->resource);
	}
}

static _Noreturn void run(const struct child_plan *plan)
{
	char byte;
	ssize_t n;

	setsid();
	signals_reset();
	/*
	 * Ranks that wait here keep each other's pipes open: the end of the pipe alone would not
	 * tell.
	 */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != plan->parent)
		_exit(125);
	/*
	 * A rank may be looked at by its user's debugger; its parent, who holds the keys, may not.
	 */
	prctl(PR_SET_DUMPABLE, 1);
	do
		n = read(plan->go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(125);
	/* A set that shrank since the order came is no reason to fail. */
	if (plan->mask)
		sched_setaffinity(0, plan->mask_bytes, (const cpu_set_t *)plan->mask);
	set_stdio(plan);
	if (plan->keep >= 0)
		fcntl(plan->keep, F_SETFD, 0);
	umask((mode_t)plan->job->umask);
	if (chdir(plan->cwd))
		fail(plan, CHILD_CWD, 0);
	set_limits(plan);
	execve(plan->path, plan->argv, plan->env);
	fail(plan, CHILD_EXEC, 0);
}

pid_t child_fork(struct child_plan *plan)
{
	pid_t pid;

	plan->parent = getpid();
	pid = signals_fork();
	if (pid == 0)
		run(plan);
	return pid;
}
