// SPDX-License-Identifier: BSD-3-Clause
/* scout - see scout.h. */
#include "scheduler/scrun/scout.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ADDRESS_MAX 320

extern char **environ;

static char *variable(const char *name)
{
	char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool scout_is_asked(const char *server_option)
{
	return !server_option && !variable("SCORE_SERVER") && variable("SCOUT_SESSION");
}

const char *scout_is_overruled(const char *server_option)
{
	return server_option || !variable("SCOUT_SESSION") ? NULL : variable("SCORE_SERVER");
}

/* @out becomes its standard output. 0 or -errno. */
static int spawn_scout(pid_t *pid, char *program, int out)
{
	char option[] = "--private-scored", *argv[] = {program, option, NULL};
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	err = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!err)
		err = posix_spawnp(pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* All that comes up to its end, cut at the first newline. */
static void read_line(int fd, char *to, size_t size)
{
	size_t used = 0;
	ssize_t n = 1;

	while (n > 0 && used + 1 < size) {
		n = read(fd, to + used, size - 1 - used);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			used += (size_t)n;
	}
	to[used] = 0;
	to[strcspn(to, "\n")] = 0;
}

static int await(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

int scout_server(char **ret, char *why, size_t why_size)
{
	char fallback[] = "scout", *program = variable("SCOUT_PROGRAM");
	char address[ADDRESS_MAX];
	int ends[2], err;
	pid_t pid;

	*why = 0;
	program = program ? program : fallback;
	if (pipe2(ends, O_CLOEXEC)) {
		err = -errno;
		snprintf(why, why_size, "no pipe for scout: %s", strerror(-err));
		return err;
	}
	err = spawn_scout(&pid, program, ends[1]);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		snprintf(why, why_size, "%s, which starts the scored of this session: %s", program,
			 strerror(-err));
		return err;
	}
	read_line(ends[0], address, sizeof(address));
	close(ends[0]);
	err = await(pid);
	if (err)
		return err;
	if (!*address) {
		snprintf(why, why_size, "%s does not tell where the scored of this session is",
			 program);
		return -EPROTO;
	}
	*ret = strdup(address);
	return *ret ? 0 : -ENOMEM;
}
