// SPDX-License-Identifier: BSD-3-Clause
/* Tests of the descriptors that children do not keep. */
#include "pmcore/util/forked.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

/* Whether a child of fork() has the descriptor. */
static bool child_has(int fd)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fcntl(fd, F_GETFD) >= 0);
	ok(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

TAP_TEST(forked_close__children_lack_it)
{
	int fd[40];

	for (int i = 0; i < 40; i++) {
		fd[i] = dup(1);
		is_int(forked_close(fd[i]), 0);
	}
	for (int i = 0; i < 40; i++)
		ok(!child_has(fd[i]) && fcntl(fd[i], F_GETFD) >= 0);
	for (int i = 0; i < 40; i++) {
		forked_keep(fd[i]);
		close(fd[i]);
	}
}

TAP_TEST(forked_keep__children_have_it_again)
{
	int a = dup(1), b = dup(1);

	is_int(forked_close(a), 0);
	is_int(forked_close(b), 0);
	forked_keep(a);
	ok(child_has(a));
	ok(!child_has(b));
	forked_keep(b);
	forked_keep(b);
	ok(child_has(b));
	close(a);
	close(b);
}
