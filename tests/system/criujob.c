// SPDX-License-Identifier: BSD-3-Clause
/*
 * criujob - for criu.t: a job of one host without scheduler, in namespaces that init.h makes.
 * usage: criujob start TMP SHM PROGRAM [ARG...]  | dump CRIU IMAGES PID TMP
 *        criujob restore CRIU IMAGES TMP SHM     | find CRIU
 * "start" and "restore" print the number of process 1, and end when that does. All print the
 * sentence of what has failed, and end with 1.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/scnoded/criu/dump.h"
#include "scheduler/scnoded/criu/restore.h"
#include "scheduler/scnoded/criu/role.h"

#define HOST "h0"
#define JOB 7
#define BYTES (64u << 20)

static struct init_plan plan;

static int say(char *text)
{
	if (text)
		puts(text);
	free(text);
	return text ? 1 : 0;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	printf("%d\n", (int)pid);
	fflush(stdout);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* Its process 1; *ret_fd: what that tells. In the child of process 1 it returns 0. */
static pid_t begin(const char *tmp, const char *shm, const struct init_helper *helper, int *ret_fd)
{
	struct init_told told = {0};
	int fds[2];
	pid_t pid;

	snprintf(plan.tmp, sizeof(plan.tmp), "%s", tmp);
	init_plan(&plan, geteuid(), getegid(), BYTES);
	snprintf(plan.shm, sizeof(plan.shm), "%s", shm);
	if (pipe2(fds, O_CLOEXEC))
		exit(2);
	plan.told = fds[1];
	plan.helper = helper;
	pid = init_fork();
	if (!pid) {
		init_become(&plan);
		return 0;
	}
	close(fds[1]);
	if (pid < 0 || read(fds[0], &told, sizeof(told)) != sizeof(told) || told.step >= 0) {
		printf("%s: %s\n", init_step_name(told.step), strerror(told.error));
		exit(2);
	}
	*ret_fd = fds[0];
	return pid;
}

static int start(char **argv)
{
	int fd, null;
	pid_t pid = begin(argv[0], argv[1], NULL, &fd);

	if (pid)
		return wait_for(pid);
	/* As scstepd: nothing from outside, and nothing by a mount of the host. */
	null = open("/dev/null", O_RDWR);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	execv(argv[2], argv + 2);
	_exit(127);
}

static void take_criu(struct criu *criu, const char *said)
{
	if (say(criu_find(criu, said, HOST)))
		exit(1);
}

static int dump(char **argv)
{
	struct criu criu;
	struct dump_order order = {.criu = &criu,
				   .images = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				   .init = atoi(argv[2]),
				   .job = JOB,
				   .host = HOST,
				   .tmp = argv[3]};

	take_criu(&criu, argv[0]);
	return say(dump_job(&order));
}

static int restore(char **argv)
{
	struct criu criu;
	struct restore_order order = {.criu = &criu,
				      .images = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				      .job = JOB,
				      .host = HOST};
	struct restore_answer answer = {0};
	struct restore made;
	pid_t pid;
	int fd;

	take_criu(&criu, argv[0]);
	if (say(restore_prepare(&made, &order)))
		return 1;
	pid = begin(argv[2], argv[3], &made.helper, &fd);
	while (restore_hear(&answer, fd))
		continue;
	if (!say(restore_judge(&answer, &order)))
		return wait_for(pid);
	waitpid(pid, NULL, 0);
	return 1;
}

int main(int argc, char **argv)
{
	struct criu criu;
	int code;

	if (role_play(argc, argv, &code))
		return code;
	if (argc >= 5 && !strcmp(argv[1], "start"))
		return start(argv + 2);
	if (argc == 6 && !strcmp(argv[1], "dump"))
		return dump(argv + 2);
	if (argc == 6 && !strcmp(argv[1], "restore"))
		return restore(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "find"))
		return say(criu_find(&criu, argv[2], HOST));
	return 2;
}
