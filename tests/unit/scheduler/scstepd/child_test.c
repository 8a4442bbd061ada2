// SPDX-License-Identifier: BSD-3-Clause
/*
 * child: real processes of /bin/sh. Their output, and the ends of their pipes, tell when
 * something has happened.
 */
#include "scheduler/scstepd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/scstepd/terminal.h"
#include "tests/harness/tap.h"

#define LIMIT_MS 20000 /* a test that takes longer hangs */

static char *argv[] = {(char *)"sh", (char *)"-c", NULL, NULL};
static char variable[] = "COLOUR=green", path[] = "PATH=/bin:/usr/bin";
static char *env[] = {variable, path, NULL};

static struct {
	struct child_plan plan;
	struct job job;
	struct job_limit limit;
	int in, out, err, go, failure; /* our ends */
	pid_t pid;
	char text[4096];
} t;

static int make_pipe(int *ret_write)
{
	int fds[2] = {-1, -1};

	ok(!pipe2(fds, O_CLOEXEC));
	*ret_write = fds[1];
	return fds[0];
}

static void begin(const char *script)
{
	memset(&t, 0, sizeof(t));
	argv[2] = (char *)(uintptr_t)script;
	t.job.umask = 022;
	t.plan = (struct child_plan){
		.path = "/bin/sh", .argv = argv, .env = env, .cwd = "/", .job = &t.job, .keep = -1};
	t.plan.in = make_pipe(&t.in);
	t.out = make_pipe(&t.plan.out);
	t.err = make_pipe(&t.plan.err);
	t.plan.go = make_pipe(&t.go);
	t.failure = make_pipe(&t.plan.failure);
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_its_ends(void)
{
	close_one(&t.plan.in);
	close_one(&t.plan.out);
	close_one(&t.plan.err);
	close_one(&t.plan.go);
	close_one(&t.plan.failure);
}

static bool start(void)
{
	t.pid = child_fork(&t.plan);
	close_its_ends();
	return ok(t.pid > 0);
}

static void let_go(void)
{
	is_int(write(t.go, "g", 1), 1);
	close_one(&t.go);
}

/* All that comes from there until its end. */
static const char *hear(int fd)
{
	size_t n = 0;

	for (;;) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		ssize_t some;

		if (!okf(poll(&ready, 1, LIMIT_MS) == 1, "nothing more comes"))
			break;
		some = read(fd, t.text + n, sizeof(t.text) - 1 - n);
		/* A terminal whose other side is closed says so. */
		if (some <= 0)
			break;
		n += (size_t)some;
	}
	t.text[n] = '\0';
	return t.text;
}

static void finish(int want_code)
{
	int status = 0;

	close_one(&t.in);
	is_int(waitpid(t.pid, &status, 0), t.pid);
	ok(WIFEXITED(status));
	is_int(WEXITSTATUS(status), want_code);
	close_one(&t.out);
	close_one(&t.err);
	close_one(&t.go);
	close_one(&t.failure);
}

/* The whole run of @script. */
static const char *run(const char *script)
{
	begin(script);
	if (start()) {
		let_go();
		hear(t.out);
		finish(0);
	}
	return t.text;
}

static void has_failed(enum child_stage stage, int error, int what)
{
	struct child_failure failure = {.stage = -1};

	is_int(read(t.failure, &failure, sizeof(failure)), sizeof(failure));
	is_int(failure.stage, stage);
	is_int(failure.error, error);
	is_int(failure.what, what);
}

/* ---- what it is given ---- */

TAP_TEST(child__arguments_environment_directory)
{
	char nothing;

	begin("echo $0 $COLOUR $PWD $(umask); exit 7");
	t.job.umask = 027;
	t.plan.cwd = "/usr";
	must(start());
	let_go();
	is_str(hear(t.out), "sh green /usr 0027\n");
	is_int(read(t.failure, &nothing, 1), 0);
	finish(7);
}

TAP_TEST(child__standard_input_output_and_error)
{
	begin("read line; echo \"out $line\"; echo err >&2");
	must(start());
	let_go();
	is_int(write(t.in, "words\n", 6), 6);
	is_str(hear(t.out), "out words\n");
	is_str(hear(t.err), "err\n");
	finish(0);
}

/* Of ours, that one alone is open in it which is to be. */
TAP_TEST(child__descriptors)
{
	char script[128];
	int ends[2];

	must(!pipe2(ends, O_CLOEXEC));
	snprintf(script, sizeof(script),
		 "for fd in %d %d; do [ -e /proc/$$/fd/$fd ] && echo $fd is open; done; exit 0",
		 ends[0], ends[1]);
	begin(script);
	t.plan.keep = ends[1];
	must(start());
	let_go();
	snprintf(script, sizeof(script), "%d is open\n", ends[1]);
	is_str(hear(t.out), script);
	finish(0);
	ok(fcntl(ends[1], F_GETFD) & FD_CLOEXEC);
	close(ends[0]);
	close(ends[1]);
}

TAP_TEST(child__no_signal_is_handled_ignored_or_blocked)
{
	sigset_t some, before;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	sigprocmask(SIG_BLOCK, &some, &before);
	/* 32 and 33 are the C library's, which lets nobody change whether they are ignored */
	is_str(run("grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -s '\\t\\n' '  ' | "
		   "sed 's/000000018/000000000/'"),
	       "SigBlk: 0000000000000000 SigIgn: 0000000000000000 ");
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGPIPE, SIG_DFL);
}

TAP_TEST(child__session_of_its_own)
{
	char byte;

	begin("echo; read line");
	must(start());
	let_go();
	is_int(read(t.out, &byte, 1), 1);
	is_int(getsid(t.pid), t.pid);
	is_int(getpgid(t.pid), t.pid);
	is_int(write(t.in, "\n", 1), 1);
	finish(0);
}

TAP_TEST(child__terminal)
{
	int ours;

	begin("[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo hello >/dev/tty");
	close_one(&t.plan.in);
	must(is_int(terminal_open(&ours, &t.plan.in), 0));
	close_one(&t.plan.out);
	close_one(&t.plan.err);
	t.plan.out = t.plan.err = t.plan.in;
	t.plan.is_terminal = true;
	t.pid = child_fork(&t.plan);
	t.plan.out = t.plan.err = -1;
	close_its_ends();
	must(t.pid > 0);
	let_go();
	is_str(hear(ours), "hello\r\n");
	finish(0);
	close(ours);
}

TAP_TEST(child__cpus)
{
	unsigned long mask[16] = {0};
	cpu_set_t own;
	char want[16];
	int cpu = 0;

	must(!sched_getaffinity(0, sizeof(own), &own));
	for (int i = 0; i < 1024; i++)
		if (CPU_ISSET(i, &own))
			cpu = i;
	begin("sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status");
	mask[(size_t)cpu / (8 * sizeof(*mask))] = 1ul << ((size_t)cpu % (8 * sizeof(*mask)));
	t.plan.mask = mask;
	t.plan.mask_bytes = sizeof(mask);
	must(start());
	let_go();
	snprintf(want, sizeof(want), "%d\n", cpu);
	is_str(hear(t.out), want);
	finish(0);
	/* None of them is there any more: it runs where it may. */
	begin("echo runs");
	memset(mask, 0, sizeof(mask));
	t.plan.mask = mask;
	t.plan.mask_bytes = sizeof(mask);
	must(start());
	let_go();
	is_str(hear(t.out), "runs\n");
	finish(0);
}

/* ---- limits ---- */

static const char *run_with_limit(int resource, uint64_t soft, uint64_t hard)
{
	begin("ulimit -Sn; ulimit -Hn");
	t.limit = (struct job_limit){.resource = resource, .soft = soft, .hard = hard};
	t.job.limits = &t.limit;
	t.job.n_limits = 1;
	if (!start())
		return "";
	let_go();
	return hear(t.out);
}

TAP_TEST(child__limits_of_the_user)
{
	is_str(run_with_limit(RLIMIT_NOFILE, 40, 50), "40\n50\n");
	finish(0);
}

/* The host allows less than the user has where he typed. */
TAP_TEST(child__limits_that_are_more_than_there_is)
{
	struct rlimit ours;
	char want[64];

	must(!getrlimit(RLIMIT_NOFILE, &ours));
	snprintf(want, sizeof(want), "40\n%llu\n", (unsigned long long)ours.rlim_max);
	is_str(run_with_limit(RLIMIT_NOFILE, 40, RLIM_INFINITY), want);
	finish(0);
	snprintf(want, sizeof(want), "%llu\n%llu\n", (unsigned long long)ours.rlim_max,
		 (unsigned long long)ours.rlim_max);
	is_str(run_with_limit(RLIMIT_NOFILE, RLIM_INFINITY, RLIM_INFINITY), want);
	finish(0);
	is_str(run_with_limit(RLIMIT_NOFILE, 50, 40), "40\n40\n");
	finish(0);
}

TAP_TEST(child__limit_that_there_is_not)
{
	is_str(run_with_limit(99, 1, 1), "");
	has_failed(CHILD_LIMIT, EINVAL, 99);
	finish(125);
}

/* ---- what can go wrong ---- */

TAP_TEST(child__no_such_directory)
{
	begin("echo");
	t.plan.cwd = "/no/such/directory";
	must(start());
	let_go();
	has_failed(CHILD_CWD, ENOENT, 0);
	finish(125);
}

TAP_TEST(child__no_such_descriptor)
{
	int none = 900;

	begin("echo");
	close_one(&t.plan.err);
	t.plan.err = none;
	t.pid = child_fork(&t.plan);
	t.plan.err = -1;
	close_its_ends();
	must(t.pid > 0);
	let_go();
	has_failed(CHILD_STDIO, EBADF, 0);
	finish(125);
}

TAP_TEST(child__no_such_program)
{
	begin("echo");
	t.plan.path = "/no/such/program";
	must(start());
	let_go();
	has_failed(CHILD_EXEC, ENOENT, 0);
	finish(127);
	begin("echo");
	t.plan.path = "/usr";
	must(start());
	let_go();
	has_failed(CHILD_EXEC, EACCES, 0);
	finish(126);
}

/* ---- until it is let go ---- */

TAP_TEST(child__not_let_go)
{
	char nothing;

	begin("echo");
	close_one(&t.go);
	must(start());
	is_str(hear(t.out), "");
	is_int(read(t.failure, &nothing, 1), 0);
	finish(125);
}

/* Whether it sleeps, as it does when it waits to be let go, or is dead. */
static bool is_at_rest(pid_t pid)
{
	char name[64], state = '?';
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	file = fopen(name, "re");
	if (!file)
		return false;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	fclose(file);
	return state == 'S' || state == 'Z';
}

/* The child of a process that ends at once, or when the child waits. Its death ends its output. */
static void orphan(bool is_waiting)
{
	pid_t between, child;
	int status;

	begin("echo");
	between = fork();
	if (!between) {
		child = child_fork(&t.plan);
		while (is_waiting && child > 0 && !is_at_rest(child))
			sched_yield();
		_exit(child > 0 ? 0 : 1);
	}
	close_its_ends();
	must(between > 0);
	is_int(waitpid(between, &status, 0), between);
	is_int(status, 0);
	is_str(hear(t.out), "");
	close_one(&t.in);
	close_one(&t.out);
	close_one(&t.err);
	close_one(&t.go);
	close_one(&t.failure);
}

/* The end of its pipe cannot tell it: we hold it. */
TAP_TEST(child__its_parent_dies)
{
	orphan(true);
}

TAP_TEST(child__its_parent_is_dead_before_it_has_begun)
{
	orphan(false);
}
