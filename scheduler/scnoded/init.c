// SPDX-License-Identifier: BSD-3-Clause
/*
 * The namespaces are made by a process that has threads, so nothing but system calls is done until
 * process 1 executes scnoded anew: that also leaves the daemon's memory, which holds keys.
 */
#include "scheduler/scnoded/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/proto/signals.h"
#include "scheduler/scnoded/criu/program.h"

#define SHM "/dev/shm"
#define FILES "openscore-job" /* name of the file systems in the list of mounts */
#define EXIT_LOST 1
#define SHARE "size=5%"
#define MOUNTS_MAX 256 /* on one directory: a user may have mounted more on top, by FUSE */

enum init_step { ALONE, HOST_SHM, OWN_SHM, OWN_TMP, OWN_PROC, LOG, START };

static const char *const step_names[] = {
	[ALONE] = "a mount namespace of its own",
	[HOST_SHM] = "its way to the host's " SHM,
	[OWN_SHM] = "a " SHM " of its own",
	[OWN_TMP] = "a file system for its temporary files",
	[OWN_PROC] = "a /proc of its own",
	[LOG] = "a file for what its scstepd says",
	[START] = "a process in its namespace",
};

/* As execve() wants it: not constant. */
static char name[] = INIT_NAME;
static char first[] = "2";

void init_plan(struct init_plan *ret, uid_t uid, gid_t gid, uint64_t bytes)
{
	/* As a share of the host's memory where that of the job has no limit. */
	char size[64] = SHARE;

	/* Pages and inodes are in the memory group of the process that has made them. */
	if (bytes)
		snprintf(size, sizeof(size), "nr_inodes=0,size=%llu", (unsigned long long)bytes);
	snprintf(ret->log, sizeof(ret->log), "%s/" INIT_LOG, ret->tmp);
	ret->uid = uid;
	ret->gid = gid;
	snprintf(ret->tmp_options, sizeof(ret->tmp_options), "mode=0700,uid=%u,gid=%u,%s", uid, gid,
		 size);
	snprintf(ret->shm_options, sizeof(ret->shm_options), "mode=1777,%s", size);
}

const char *init_step_name(int step)
{
	return step >= 0 && step <= START ? step_names[step] : "process 1";
}

/*
 * A fork() without what libc does around it: other threads may hold its locks. @number: of the
 * child; 0: the next one that is free.
 */
static pid_t bare_fork(uint64_t flags, pid_t number)
{
	struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};

	if (number) {
		args.set_tid = (uintptr_t)&number;
		args.set_tid_size = 1;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

pid_t init_fork(void)
{
	sigset_t before;
	pid_t pid;

	signals_hold(&before);
	pid = bare_fork(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC, 0);
	if (!pid)
		return 0;
	pid = pid < 0 ? -errno : pid;
	signals_release(&before);
	return pid;
}

static void tell(const struct init_plan *plan, int step)
{
	struct init_told told = {.step = step, .error = errno};

	/* A daemon that has ended meanwhile does not read it. */
	if (write(plan->told, &told, sizeof(told)) < 0)
		errno = 0;
}

static void must(const struct init_plan *plan, int rc, enum init_step step)
{
	if (rc >= 0)
		return;
	tell(plan, step);
	_exit(EXIT_LOST);
}

/*
 * The host's later mounts and unmounts come in here too, and nothing goes out. Without that a file
 * system of the host could not be taken away while the job runs.
 */
static void mount_all(const struct init_plan *plan)
{
	const unsigned long data = MS_NOSUID | MS_NODEV;

	must(plan, mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL), ALONE);
	/* On a host that shares no mounts they would stay in memory until we end. */
	for (char **at = plan->hidden; at && *at; at++)
		for (int n = 0; n < MOUNTS_MAX; n++)
			if (umount2(*at, MNT_DETACH | UMOUNT_NOFOLLOW))
				break;
	must(plan, mount(SHM, plan->shm, NULL, MS_BIND, NULL), HOST_SHM);
	must(plan, mount(FILES, SHM, "tmpfs", data, plan->shm_options), OWN_SHM);
	must(plan, mount(FILES, plan->tmp, "tmpfs", data, plan->tmp_options), OWN_TMP);
	must(plan, mount("proc", "/proc", "proc", data | MS_NOEXEC, NULL), OWN_PROC);
}

static void drop_descriptors(void)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDOUT_FILENO; fd++)
		dup2(null, fd);
	close_range(STDERR_FILENO + 1, ~0u, 0);
}

/* The daemon's log may be a socket, or on a mount of its own: neither is restorable. */
static int open_log(const struct init_plan *plan)
{
	int fd = open(plan->log, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);

	must(plan, fd, LOG);
	must(plan, fchown(fd, plan->uid, plan->gid), LOG);
	return fd;
}

/* The log comes with the files of the job. */
static _Noreturn void become_helper(const struct init_plan *plan)
{
	const struct program program = {.path = "/proc/self/exe",
					.argv = plan->helper->argv,
					.env = plan->helper->env,
					.files = {-1, -1, -1, plan->helper->given, plan->told},
					.n_files = 5};

	setsid();
	program_exec(&program);
}

/* In the child of process 1. */
static void become_child(const struct init_plan *plan, int log)
{
	if (plan->helper)
		become_helper(plan);
	if (dup2(log, STDERR_FILENO) < 0)
		_exit(EXIT_LOST);
	/* its session and its group have no process of root's in them */
	setsid();
}

void init_become(const struct init_plan *plan)
{
	pid_t helper = plan->helper ? plan->helper->number : 0, pid;
	char number[16] = "0";
	char *const argv[] = {name, first, number, NULL};
	char *const env[] = {NULL};
	int log;

	if (helper)
		memcpy(number, plan->helper->word, sizeof(number));
	mount_all(plan);
	log = plan->helper ? -1 : open_log(plan);
	pid = bare_fork(0, helper);
	must(plan, pid, START);
	if (!pid) {
		become_child(plan, log);
		return;
	}
	tell(plan, -1);
	/* The descriptors of the daemon must not outlive it in us. */
	drop_descriptors();
	execve("/proc/self/exe", argv, env);
	_exit(init_serve(INIT_CHILD, helper));
}

static int code_of(int status)
{
	return WIFSIGNALED(status) ? INIT_SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Of process 1: those whose end it awaits. */
struct awaited {
	pid_t pid, helper; /* 0: it has ended, or never was */
	int code;
};

/* Reaps what has ended. Whether that was all that is awaited. */
static bool reap(struct awaited *a)
{
	int status;
	pid_t ended;

	while ((ended = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		if (ended == a->helper)
			a->helper = 0;
		if (ended == a->pid) {
			a->pid = 0;
			a->code = code_of(status);
		}
	}
	return (ended < 0 && errno == ECHILD) || (!a->pid && !a->helper);
}

int init_serve(pid_t pid, pid_t helper)
{
	struct awaited awaited = {pid, helper, EXIT_LOST};
	sigset_t all;
	int signo;

	prctl(PR_SET_NAME, INIT_NAME);
	/* Process 1 gets no signal that it does not want; one that waits blocked it gets. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	while (!reap(&awaited)) {
		signo = sigwaitinfo(&all, NULL);
		if (signo > 0 && signo != SIGCHLD)
			kill(pid, signo);
	}
	return awaited.code;
}
