// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/verbsports.h"

#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool has_device(void)
{
	glob_t found = {0};
	bool ret = !glob("/dev/infiniband/uverbs*", 0, NULL, &found) && found.gl_pathc;

	globfree(&found);
	return ret;
}

const char *verbsports_configs(unsigned int n, const char *options,
			       char (*ret_configs)[VERBSPORTS_CONFIG])
{
	const char *at = getenv("TEST_VERBS_PORTS");

	if (!has_device())
		return "no RDMA device here (rdma link shows them)";
	for (unsigned int i = 0; i < n; i++) {
		int len = at ? (int)strcspn(at, " ") : 0;

		snprintf(ret_configs[i], VERBSPORTS_CONFIG, "devices=self+verbs,%s%s%.*s", options,
			 len ? ",verbs.devices=" : "", len, at ? at : "");
		at = at && at[len] ? at + len + 1 : NULL;
	}
	return NULL;
}

unsigned int verbsports_open(void)
{
	unsigned int n = 0;
	glob_t fds = {0};

	glob("/proc/self/fd/*", 0, NULL, &fds);
	for (size_t i = 0; i < fds.gl_pathc; i++) {
		char to[64] = "";

		/* /dev/infiniband/uverbs0, anon_inode:[infinibandevent] */
		if (readlink(fds.gl_pathv[i], to, sizeof(to) - 1) > 0)
			n += strstr(to, "infiniband") != NULL;
	}
	globfree(&fds);
	return n;
}

bool verbsports_are_faulted(void)
{
	return getenv("TEST_VERBS_FAULT") != NULL;
}

/* ---- the command ---- */

static struct {
	pid_t pid; /* 0 = none runs */
	int in;    /* the other end of its standard input */
} fault;

/* No fork: the pages of open contexts belong to devices. */
static bool spawn(char *command, int in)
{
	char sh[] = "sh", c[] = "-c", *argv[] = {sh, c, command, NULL};
	posix_spawn_file_actions_t actions;
	bool ret;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	ret = !posix_spawn(&fault.pid, "/bin/sh", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return ret;
}

void verbsports_break(void)
{
	char *command = getenv("TEST_VERBS_FAULT");
	int fds[2];

	if (!command || pipe2(fds, O_CLOEXEC))
		return;
	if (spawn(command, fds[0]))
		fault.in = fds[1];
	else
		close(fds[1]);
	close(fds[0]);
}

void verbsports_mend(void)
{
	if (!fault.pid)
		return;
	close(fault.in);
	waitpid(fault.pid, NULL, 0);
	fault.pid = 0;
}
