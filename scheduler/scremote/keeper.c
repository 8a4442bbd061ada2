// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/descendants.h"
#include "scheduler/proto/program.h"
#include "scheduler/proto/signals.h"
#include "scheduler/scremote/process.h"

#define GRACE_NS (KEEPER_GRACE_S * 1000000000ull)
#define LOOK_MS 20 /* between two looks for what escaped a kill by forking */
#define EXIT_NOT_STARTED 126

struct keeper {
	const struct keeper_plan *plan;
	pid_t self, command;
	int children;        /* signalfd of SIGCHLD */
	bool has_ended;      /* the command */
	bool is_alone;       /* no child is left */
	bool is_killing;     /* everything below us */
	uint64_t killing_ns; /* when that begins by itself; 0: not */
	struct keeper_report report;
};

/* ---- the command ---- */

/* Maybe in the keeper's memory, until the program has its own. Says errno by @told, or nothing. */
static _Noreturn void run(const struct keeper *k, const char *path, int told)
{
	int err;

	setsid();
	signals_reset();
	/* The command must not outlive its keeper, even if that is killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != k->self)
		_exit(EXIT_NOT_STARTED);
	for (int i = 0; i < 3; i++)
		dup2(k->plan->stdio[i], i);
	execve(path, k->plan->run->argv, environ);
	err = errno;
	/* A keeper that is gone needs no word. */
	if (write(told, &err, sizeof(err)) < 0)
		_exit(EXIT_NOT_STARTED);
	_exit(EXIT_NOT_STARTED);
}

static void fail(struct keeper *k, int code, int error)
{
	k->report.status = code << 8;
	k->report.error = error;
	k->has_ended = true;
}

static int error_of(int code)
{
	return code == PROGRAM_NOT_FOUND ? ENOENT : EACCES;
}

/* Where the command runs; its path is relative to that. */
static bool enter_directory(struct keeper *k, char cwd[PATH_MAX])
{
	const struct message *m = k->plan->run;
	const char *wanted = m->directory ? m->directory : k->plan->home;
	int err = chdir(wanted) ? errno : 0;

	/* A home that is not there is no reason not to run. */
	if (err && !m->is_directory_needed && (!chdir(k->plan->home) || !chdir("/")))
		err = 0;
	if (err) {
		snprintf(k->report.text, sizeof(k->report.text), "directory %s, host %s: %s",
			 wanted, k->plan->host, strerror(err));
		fail(k, PROGRAM_NOT_EXECUTABLE, err);
		return false;
	}
	if (!getcwd(cwd, PATH_MAX))
		strcpy(cwd, "/");
	setenv("PWD", cwd, 1);
	return true;
}

static void fail_to_fork(struct keeper *k, int err)
{
	snprintf(k->report.text, sizeof(k->report.text), "host %s: no process: %s", k->plan->host,
		 strerror(err));
	fail(k, PROGRAM_NOT_EXECUTABLE, err);
}

/* Why the command could not be started, once that is known; 0: it runs its program. */
static int hear_start(const int told[2])
{
	int err = 0;

	close(told[1]);
	if (read(told[0], &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(told[0]);
	return err;
}

/*
 * Starts it; waits until it runs its program, or cannot. A fork would copy the page tables for
 * nothing. vfork() may be a fork all the same, as under ThreadSanitizer: it returns early then, and
 * there is no process group yet to send a signal to. So the end of a pipe tells, which exec closes.
 */
static void start(struct keeper *k, const char *path)
{
	int told[2], err;

	if (pipe2(told, O_CLOEXEC)) {
		fail_to_fork(k, errno);
		return;
	}
	k->command = vfork();
	if (!k->command)
		run(k, path, told[1]);
	err = k->command < 0 ? errno : 0;
	if (err) {
		close(told[0]);
		close(told[1]);
		fail_to_fork(k, err);
		return;
	}
	err = hear_start(told);
	if (err) {
		int code = program_failed(k->plan->run->argv[0], k->plan->host, err, k->report.text,
					  sizeof(k->report.text));

		waitpid(k->command, NULL, 0);
		fail(k, code, err);
	}
}

static void start_in_place(struct keeper *k)
{
	const struct message *m = k->plan->run;
	char cwd[PATH_MAX], *path;
	int code;

	for (char **variable = m->env; *variable; variable++)
		putenv(*variable);
	if (!enter_directory(k, cwd))
		return;
	code = program_find(m->argv[0], getenv("PATH"), cwd, k->plan->host, &path, k->report.text,
			    sizeof(k->report.text));
	if (code)
		fail(k, code, error_of(code));
	else
		start(k, path);
}

/* ---- until its end ---- */

static void hear(struct keeper *k)
{
	int signo;
	ssize_t n = recv(k->plan->control, &signo, sizeof(signo), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(signo)) {
		if (!k->has_ended) {
			kill(-k->command, SIGHUP);
			kill(-k->command, SIGCONT);
		}
		k->killing_ns = clock_monotonic_ns() + GRACE_NS;
	} else if (signo == SIGKILL) {
		k->is_killing = true;
	} else if (!k->has_ended) {
		kill(-k->command, signo);
	}
}

static void reap(struct keeper *k)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	/* It is a level that is asked for, not how many there were. */
	while (read(k->children, &info, sizeof(info)) == sizeof(info))
		continue;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != k->command)
			continue;
		k->has_ended = true;
		k->report.status = status;
	}
	k->is_alone = pid < 0;
}

static bool is_done(const struct keeper *k)
{
	return k->is_alone || (k->has_ended && !k->is_killing && !k->killing_ns);
}

static int wait_ms(const struct keeper *k)
{
	uint64_t now = clock_monotonic_ns();

	if (k->is_killing)
		return LOOK_MS;
	if (!k->killing_ns)
		return -1;
	return k->killing_ns <= now ? 0 : (int)((k->killing_ns - now) / 1000000) + 1;
}

static void watch(struct keeper *k)
{
	struct pollfd on[2] = {{.fd = k->children, .events = POLLIN},
			       {.fd = k->plan->control, .events = POLLIN}};

	for (reap(k); !is_done(k); reap(k)) {
		poll(on, 2, wait_ms(k));
		if (on[1].revents && !k->killing_ns)
			hear(k);
		/* Its end is heard once. */
		if (k->killing_ns) {
			on[1].fd = -1;
			k->is_killing |= clock_monotonic_ns() >= k->killing_ns;
		}
		if (k->is_killing)
			descendants_signal(k->self, SIGKILL);
	}
}

/* ---- from its beginning ---- */

/* The command's ends are the command's alone, and ours no longer those of who started the agent. */
static void let_go_stdio(const struct keeper_plan *plan)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++)
		if (i == 0 || plan->stdio[i] != plan->stdio[i - 1])
			close(plan->stdio[i]);
	for (int i = 0; i < 3 && null >= 0; i++)
		dup2(null, i);
	if (null > 2)
		close(null);
}

static void keep(const void *owner)
{
	const struct keeper_plan *plan = owner;
	struct keeper k = {.plan = plan, .self = getpid(), .command = -1};
	sigset_t child;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	k.children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (k.children < 0) {
		snprintf(k.report.text, sizeof(k.report.text), "host %s: no signalfd: %m",
			 plan->host);
		fail(&k, PROGRAM_NOT_EXECUTABLE, errno);
	} else {
		start_in_place(&k);
	}
	let_go_stdio(plan);
	if (!k.has_ended)
		watch(&k);
	/* An agent that is gone needs no report. */
	if (send(plan->control, &k.report, sizeof(k.report), MSG_NOSIGNAL) < 0)
		return;
}

pid_t keeper_fork(const struct keeper_plan *plan)
{
	struct process_plan process = {.work = keep,
				       .plan = plan,
				       .fds = {plan->control, plan->stdio[0], plan->stdio[1],
					       plan->stdio[2]}};

	return process_fork(&process);
}
