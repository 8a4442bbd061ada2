// SPDX-License-Identifier: BSD-3-Clause
/* ends: the agent's ends never wait, no end outlives an exec, and each side is closed alone. */
#include "scheduler/scremote/ends.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static bool never_waits(int fd)
{
	return fcntl(fd, F_GETFL) & O_NONBLOCK;
}

TAP_TEST(ends_open_control__keeps_messages_apart)
{
	struct ends ends = ENDS_NONE;
	char got[8];

	is_int(ends_open_control(&ends), 0);
	for (int i = 0; i < 2; i++)
		ok(fcntl(ends.control[i], F_GETFD) & FD_CLOEXEC);
	is_int(send(ends.control[1], "ab", 2, 0), 2);
	is_int(send(ends.control[1], "c", 1, 0), 1);
	is_int(recv(ends.control[0], got, sizeof(got), MSG_DONTWAIT), 2);
	is_int(recv(ends.control[0], got, sizeof(got), MSG_DONTWAIT), 1);
	ends_close(&ends, 0);
	ends_close(&ends, 1);
}

TAP_TEST(ends_make_pipe__ours_reads_or_writes)
{
	int fds[2];
	char got[4];

	for (int ours = 0; ours < 2; ours++) {
		is_int(ends_make_pipe(fds, ours), 0);
		is_int(write(fds[!ours], "x", 1), 1);
		is_int(read(fds[ours], got, sizeof(got)), 1);
		ok(never_waits(fds[0]) && !never_waits(fds[1]));
		for (int i = 0; i < 2; i++) {
			ok(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
			close(fds[i]);
		}
	}
}

TAP_TEST(ends_close__one_side)
{
	struct ends ends = ENDS_NONE;

	is_int(ends_open_control(&ends), 0);
	is_int(ends_make_pipe(ends.in, 1), 0);
	is_int(ends_make_pipe(ends.out, 0), 0);
	is_int(ends_make_pipe(ends.err, 0), 0);
	ends_close(&ends, 1);
	ok(!is_open(ends.control[1]) && !is_open(ends.in[1]) && !is_open(ends.out[1]) &&
	   !is_open(ends.err[1]));
	ok(is_open(ends.control[0]) && is_open(ends.in[0]) && is_open(ends.out[0]) &&
	   is_open(ends.err[0]));
	ends_close(&ends, 0);
	ok(!is_open(ends.control[0]) && !is_open(ends.in[0]) && !is_open(ends.out[0]) &&
	   !is_open(ends.err[0]));
}

TAP_TEST(ends__no_descriptor_is_left)
{
	struct ends ends = ENDS_NONE;
	int fds[2] = {-7, -7};
	struct rlimit before, none;

	must(!getrlimit(RLIMIT_NOFILE, &before));
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	must(!setrlimit(RLIMIT_NOFILE, &none));
	is_int(ends_open_control(&ends), -EMFILE);
	is_int(ends_make_pipe(fds, 0), -EMFILE);
	is_int(setrlimit(RLIMIT_NOFILE, &before), 0);
	/* A call that failed has left nothing to close. */
	is_int(ends.control[0], -1);
	is_int(ends.control[1], -1);
	is_int(fds[0], -7);
	is_int(fds[1], -7);
}
