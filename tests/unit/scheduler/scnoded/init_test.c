// SPDX-License-Identifier: BSD-3-Clause
/* init: process 1 of namespaces that are really made, with a child that is the test. */
#include "scheduler/scnoded/init.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/proto/signals.h"
#include "tests/harness/tap.h"

#define BYTES (1u << 20)
#define USER 70001u /* no user of this machine */

/* The test program is process 1's as well: it executes itself. */
int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[0], INIT_NAME))
		return init_serve(atoi(argv[1]), atoi(argv[2]));
	return tap_main(argc, argv);
}

static char base[64];
static struct init_plan plan;

/* Not in each container, and not below a chroot() whose root is no mount. */
static bool can_mount(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid)
		_exit(unshare(CLONE_NEWNS | CLONE_NEWPID) ||
		      mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL));
	return waitpid(pid, &status, 0) == pid && !status;
}

static bool begin(void)
{
	if (geteuid() || !can_mount()) {
		tap_skip("no right to make namespaces and to mount");
		return false;
	}
	strcpy(base, "/var/tmp/init-XXXXXX");
	if (!ok(mkdtemp(base) != NULL))
		return false;
	plan = (struct init_plan){0};
	snprintf(plan.tmp, sizeof(plan.tmp), "%s/tmp", base);
	init_plan(&plan, USER, USER, BYTES);
	snprintf(plan.shm, sizeof(plan.shm), "%s/shm", base);
	return ok(!mkdir(plan.tmp, 0711) && !mkdir(plan.shm, 0711));
}

static void end(void)
{
	ok(!rmdir(plan.tmp) && !rmdir(plan.shm) && !rmdir(base));
}

/* Runs @body below an init; its exit code, and what it told. */
static int code_of(void (*body)(void), struct init_told *told)
{
	int fds[2], status = 0;
	pid_t pid;

	if (!ok(!pipe(fds)))
		return -1;
	plan.told = fds[1];
	pid = init_fork();
	if (!pid) {
		init_become(&plan);
		body();
		_exit(0);
	}
	close(fds[1]);
	*told = (struct init_told){0};
	ok(pid > 0 && read(fds[0], told, sizeof(*told)) == sizeof(*told));
	is_int(waitpid(pid, &status, 0), pid);
	ok(WIFEXITED(status));
	close(fds[0]);
	return WEXITSTATUS(status);
}

static void exit_with_5(void)
{
	_exit(5);
}

static void die(void)
{
	kill(getpid(), SIGKILL);
}

/* 1 for each thing that is not as it should be. */
static void look_around(void)
{
	struct stat tmp, shm, host;
	int wrong = 0;

	if (getpid() != 2 || getppid() != 1)
		wrong |= 1;
	if (stat(plan.tmp, &tmp) || tmp.st_uid != USER || (tmp.st_mode & 07777) != 0700)
		wrong |= 2;
	if (stat("/dev/shm", &shm) || (shm.st_mode & 07777) != 01777)
		wrong |= 4;
	if (stat(plan.shm, &host) || host.st_dev == shm.st_dev || tmp.st_dev == shm.st_dev)
		wrong |= 8;
	if (access("/proc/2/status", R_OK) || !access("/proc/3/status", R_OK))
		wrong |= 16;
	_exit(wrong);
}

/* Bits as above: standard error is a file of the job, in its own directory. */
static void look_at_log(void)
{
	char path[PATH_MAX];
	struct stat err, log;
	int wrong = 0;

	snprintf(path, sizeof(path), "%s/" INIT_LOG, plan.tmp);
	if (fstat(STDERR_FILENO, &err) || stat(path, &log))
		_exit(64);
	if (err.st_dev != log.st_dev || err.st_ino != log.st_ino || !S_ISREG(log.st_mode))
		wrong |= 1;
	if (log.st_uid != USER || log.st_gid != USER || (log.st_mode & 07777) != 0600)
		wrong |= 2;
	/* Others who write there do not write over it. */
	if (!(fcntl(STDERR_FILENO, F_GETFL) & O_APPEND))
		wrong |= 4;
	/* No second descriptor of it is left for what it executes. */
	for (int fd = STDERR_FILENO + 1; fd < 64; fd++)
		if (!fstat(fd, &err) && err.st_ino == log.st_ino && err.st_dev == log.st_dev &&
		    !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			wrong |= 8;
	_exit(wrong);
}

static void leave_orphans(void)
{
	for (int i = 0; i < 3; i++) {
		if (fork())
			continue;
		/* Its parent ends first, and process 1 has it. */
		if (!fork())
			_exit(7);
		_exit(8);
	}
	_exit(9);
}

TAP_TEST(init_become__exit_codes)
{
	struct init_told told;

	if (!begin())
		return;
	is_int(code_of(exit_with_5, &told), 5);
	is_int(told.step, -1);
	is_int(code_of(die, &told), INIT_SIGNALLED + SIGKILL);
	is_int(code_of(leave_orphans, &told), 9);
	end();
}

TAP_TEST(init_become__what_its_child_sees)
{
	struct init_told told;

	if (!begin())
		return;
	is_int(code_of(look_around, &told), 0);
	end();
}

TAP_TEST(init_become__what_its_child_says_is_in_a_file_of_the_job)
{
	struct init_told told;

	if (!begin())
		return;
	is_int(code_of(look_at_log, &told), 0);
	is_int(told.step, -1);
	end();
}

/* Somewhere else than in the file system that was mounted for it. */
TAP_TEST(init_become__cannot_open_the_log)
{
	struct init_told told;

	if (!begin())
		return;
	snprintf(plan.log, sizeof(plan.log), "%s/none/" INIT_LOG, base);
	is_int(code_of(exit_with_5, &told), 1);
	is_int(told.error, ENOENT);
	is_str(init_step_name(told.step), "a file for what its scstepd says");
	end();
}

TAP_TEST(init_become__cannot_mount)
{
	struct init_told told;

	if (!begin())
		return;
	ok(!rmdir(plan.tmp));
	is_int(code_of(exit_with_5, &told), 1);
	is_int(told.error, ENOENT);
	is_str(init_step_name(told.step), "a file system for its temporary files");
	ok(!mkdir(plan.tmp, 0700));
	end();
}

TAP_TEST(init_step_name__out_of_bounds)
{
	is_str(init_step_name(-1), "process 1");
	is_str(init_step_name(4711), "process 1");
}

/* Gets SIGUSR1 by way of process 1. */
TAP_TEST(init_serve__signals_are_passed)
{
	int fds[2], status = 0;
	struct init_told told;
	pid_t pid;

	if (!begin())
		return;
	must(!pipe(fds));
	plan.told = fds[1];
	pid = init_fork();
	if (!pid) {
		signals_reset();
		init_become(&plan);
		for (;;)
			pause();
	}
	is_int(read(fds[0], &told, sizeof(told)), sizeof(told));
	/* Process 1 ignores it until it has executed itself, and blocked it. */
	while (!waitpid(pid, &status, WNOHANG)) {
		kill(pid, SIGUSR1);
		usleep(1000);
	}
	ok(WIFEXITED(status) && WEXITSTATUS(status) == INIT_SIGNALLED + SIGUSR1);
	close(fds[0]);
	close(fds[1]);
	end();
}
