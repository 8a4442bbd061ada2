// SPDX-License-Identifier: BSD-3-Clause
/*
 * CRIU runs inside the namespaces of the job: it sees the numbers and paths that the job has, and
 * takes the namespaces themselves for those of the host, which it does not store.
 */
#include "scheduler/scnoded/criu/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/proto/daemon.h"
#include "scheduler/proto/signals.h"
#include "scheduler/scnoded/criu/complaint.h"
#include "scheduler/scnoded/criu/pack.h"
#include "scheduler/scnoded/criu/program.h"

#define SAID "dump.said" /* what CRIU says without its log */
#define EXE_FD 4
#define LOOK_REMEDY "see " DUMP_LOG " beside the image"

/* As execve() wants them: not constant. */
static char search[] = PROGRAM_PATH;

struct call {
	char script[64], tmp[PATH_MAX + 32];
	int images, said, exe;
};

/* No sentence without these two. */
static char *fault(const struct dump_order *order, const char *what, int error)
{
	return daemon_text("host %s: job %llu can't be written to disk: %s: %s; look after that "
			   "host, then try again",
			   order->host, (unsigned long long)order->job, what, strerror(error));
}

/* Threads of the program that starts CRIU are not wanted: a namespace of mounts is of all. */
static char *enter(const struct dump_order *order, int pidfd)
{
	/* CRIU writes down an IPC namespace that is not its own, so that one is not entered. */
	if (setns(pidfd, CLONE_NEWNS | CLONE_NEWPID))
		return fault(order, "the namespaces of the job can't be entered", errno);
	return NULL;
}

static _Noreturn void run_criu(const struct dump_order *order, struct call *call)
{
	/* The path leads by CRIU's own descriptors: it closes those of its scripts. */
	const char *const argv[] = {"criu",
				    "dump",
				    "--tree",
				    "2",
				    "--images-dir",
				    "/proc/self/fd/3",
				    "--leave-running",
				    "--tcp-established",
				    "--network-lock",
				    "skip",
				    "--file-locks",
				    "--ghost-limit",
				    DUMP_GHOST_BYTES,
				    "--manage-cgroups=ignore",
				    "-v2",
				    "--log-file",
				    DUMP_LOG,
				    "--action-script",
				    call->script,
				    NULL};
	char *const env[] = {search, call->tmp, NULL};
	struct program program = {.path = order->criu->program,
				  .argv = argv,
				  .env = env,
				  .files = {-1, call->said, call->said, call->images, call->exe},
				  .n_files = EXE_FD + 1};
	char target[64];

	snprintf(call->script, sizeof(call->script), "/proc/%d/fd/3/" PACK_NAME, (int)getpid());
	snprintf(target, sizeof(target), "/proc/%d/fd/%d", (int)getpid(), EXE_FD);
	if (symlinkat(target, call->images, PACK_NAME))
		_exit(1);
	program_exec(&program);
}

/* NULL, or why the image is none. */
static char *judge(const struct dump_order *order, int status, int pidfd)
{
	struct pollfd init = {.fd = pidfd, .events = POLLIN};
	char why[COMPLAINT_MAX], end[128];
	bool is_lost = WIFSIGNALED(status) || poll(&init, 1, 0) > 0;

	if (!status)
		return NULL;
	complaint_read(order->images, DUMP_LOG, why);
	if (!*why)
		complaint_read(order->images, SAID, why);
	return daemon_text(
		"host %s: job %llu can't be written to disk: CRIU %s: %s; %s, and " LOOK_REMEDY,
		order->host, (unsigned long long)order->job, program_end(status, end, sizeof(end)),
		*why ? why : "it gives no reason",
		is_lost ? "its processes may be lost" : "the job goes on");
}

static char *run(const struct dump_order *order, struct call *call, int pidfd)
{
	pid_t pid;
	int status;

	snprintf(call->tmp, sizeof(call->tmp), PACK_TMP "=%s", order->tmp);
	pid = signals_fork();
	if (!pid)
		run_criu(order, call);
	if (pid < 0)
		return fault(order, "no process for CRIU", -pid);
	while (waitpid(pid, &status, 0) != pid)
		if (errno != EINTR)
			return fault(order, "the end of CRIU is not known", errno);
	unlinkat(order->images, PACK_NAME, 0);
	return judge(order, status, pidfd);
}

char *dump_job(const struct dump_order *order)
{
	int pidfd = pidfd_open(order->init, 0);
	struct call call = {.images = order->images,
			    .said = openat(order->images, SAID,
					   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600),
			    .exe = open("/proc/self/exe", O_PATH | O_CLOEXEC)};
	char *text = NULL;

	if (pidfd < 0)
		text = fault(order, "its process 1 is not there", errno);
	else if (call.said < 0)
		text = fault(order, "a file beside the image", errno);
	else if (call.exe < 0)
		text = fault(order, "scnoded's own program", errno);
	if (!text)
		text = enter(order, pidfd);
	if (!text)
		text = run(order, &call, pidfd);
	for (int fds[] = {pidfd, call.said, call.exe}, i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return text;
}
