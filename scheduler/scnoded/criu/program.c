// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/criu/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/proto/signals.h"

#define EXIT_NO_PROGRAM 127

_Noreturn void program_exec(const struct program *program)
{
	/* execve() wants words that are not constant, and leaves them as they are. */
	union {
		const char *const *words;
		char *const *argv;
	} call = {program->argv};
	int up[PROGRAM_FILES_MAX];

	signals_reset();
	/* Out of the way of the numbers that they are to have. */
	for (int i = 0; i < program->n_files; i++) {
		int fd = program->files[i];

		if (fd < 0)
			fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		up[i] = fcntl(fd, F_DUPFD_CLOEXEC, PROGRAM_FILES_MAX);
	}
	for (int i = 0; i < program->n_files; i++)
		if (dup2(up[i], i) < 0)
			_exit(EXIT_NO_PROGRAM);
	close_range((unsigned)program->n_files, ~0u, 0);
	if (strchr(program->path, '/'))
		execve(program->path, call.argv, program->env);
	else
		execvpe(program->path, call.argv, program->env);
	_exit(EXIT_NO_PROGRAM);
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) != pid)
		if (errno != EINTR)
			return -errno;
	return status;
}

int program_run(const struct program *program)
{
	pid_t pid = signals_fork();

	if (!pid)
		program_exec(program);
	return pid < 0 ? pid : wait_for(pid);
}

/* Words that do not fit are read too, as a full pipe would stop the program. */
static void take_words(int fd, char *ret, size_t size)
{
	char rest[512];
	size_t n = 0;
	ssize_t got;

	do {
		bool is_full = n + 1 >= size;

		got = read(fd, is_full ? rest : ret + n, is_full ? sizeof(rest) : size - 1 - n);
		if (got > 0 && !is_full)
			n += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	ret[n] = 0;
}

int program_ask(struct program *program, char *ret, size_t size)
{
	int ends[2];
	pid_t pid;

	ret[0] = 0;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	program->files[STDOUT_FILENO] = program->files[STDERR_FILENO] = ends[1];
	pid = signals_fork();
	if (!pid)
		program_exec(program);
	close(ends[1]);
	if (pid > 0)
		take_words(ends[0], ret, size);
	close(ends[0]);
	return pid < 0 ? pid : wait_for(pid);
}

const char *program_end(int status, char *ret, size_t size)
{
	if (status < 0)
		snprintf(ret, size, "could not be started: %s", strerror(-status));
	else if (WIFSIGNALED(status))
		snprintf(ret, size, "was killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == EXIT_NO_PROGRAM)
		snprintf(ret, size, "could not be executed");
	else
		snprintf(ret, size, "exited with code %d", WEXITSTATUS(status));
	return ret;
}
