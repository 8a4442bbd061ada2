// SPDX-License-Identifier: BSD-3-Clause
/*
 * A scnoded that is killed between the fork and the group: what it forked is not left behind. One
 * that may not make namespaces.
 */
#include "scheduler/scnoded/fork.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/scnoded/cores.h"
#include "tests/harness/tap.h"

#define GONE_MS 5000

/* Both the daemon and what it forks hold its other end until they end. */
static int born_fd;

int cgroup_put_step(struct cgroup *group, pid_t pid)
{
	(void)group;
	if (write(born_fd, &pid, sizeof(pid)) == sizeof(pid))
		raise(SIGKILL);
	return -1;
}

const unsigned long *cores_mask(const struct cores *cores, size_t *bytes)
{
	(void)cores;
	*bytes = 0;
	return NULL;
}

static _Noreturn void be_daemon(int fd)
{
	static struct job job;
	static struct order order = {.job = &job};
	static struct scnoded daemon = {.name = "here", .options.scstepd = "/bin/true"};
	static struct step step = {.daemon = &daemon, .order = &order};
	int control;

	born_fd = fd;
	order.uid = geteuid();
	order.gid = getegid();
	free(fork_step(&step, &control));
	_exit(1);
}

TAP_TEST(fork_step__its_scnoded_is_killed_before_the_child_has_its_group)
{
	struct pollfd end;
	int pipe_fds[2], status = 0;
	pid_t daemon, child = 0;

	must(!pipe(pipe_fds));
	daemon = fork();
	must(daemon >= 0);
	if (!daemon)
		be_daemon(pipe_fds[1]);
	close(pipe_fds[1]);
	is_int(waitpid(daemon, &status, 0), daemon);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	is_int(read(pipe_fds[0], &child, sizeof(child)), sizeof(child));
	end = (struct pollfd){.fd = pipe_fds[0], .events = POLLIN};
	if (!is_int(poll(&end, 1, GONE_MS), 1) && child > 0)
		kill(child, SIGKILL);
	ok(end.revents & POLLHUP);
	close(pipe_fds[0]);
}

#define NOBODY 65534u

/* A daemon of an ordinary user answers a job with -checkpoint. */
static _Noreturn void be_refused(int fd)
{
	static struct job job = {.wants_checkpoint = true};
	static struct order order = {.job = &job};
	static struct scnoded daemon = {.name = "here", .options.scstepd = "/bin/true"};
	static struct step step = {.daemon = &daemon, .order = &order};
	int control;
	char *text;

	if (!geteuid() && setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
	order.uid = geteuid();
	order.gid = getegid();
	text = fork_step(&step, &control);
	if (!text || step.pid || write(fd, text, strlen(text)) < 0)
		_exit(1);
	_exit(0);
}

TAP_TEST(fork_step__namespaces_without_root)
{
	char text[300] = "";
	int pipe_fds[2], status = 1;
	pid_t daemon;

	must(!pipe(pipe_fds));
	daemon = fork();
	must(daemon >= 0);
	if (!daemon)
		be_refused(pipe_fds[1]);
	is_int(waitpid(daemon, &status, 0), daemon);
	is_int(status, 0);
	ok(read(pipe_fds[0], text, sizeof(text) - 1) > 0);
	is_str(text, "host here: a job with -checkpoint needs namespaces of its own, which fails: "
		     "Operation not permitted; run scnoded there as root with CAP_SYS_ADMIN and "
		     "nothing around it that forbids to mount, or leave out -checkpoint");
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}
