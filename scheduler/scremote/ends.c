// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/ends.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

int ends_open_control(struct ends *ends)
{
	int both[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, both))
		return -errno;
	ends->control[0] = both[0];
	ends->control[1] = both[1];
	return 0;
}

int ends_make_pipe(int ret[2], int ours)
{
	int both[2];

	if (pipe2(both, O_CLOEXEC))
		return -errno;
	ret[0] = both[ours];
	ret[1] = both[!ours];
	return fcntl(ret[0], F_SETFL, O_NONBLOCK) ? -errno : 0;
}

static void close_end(int fd)
{
	if (fd >= 0)
		close(fd);
}

void ends_close(const struct ends *ends, int side)
{
	close_end(ends->control[side]);
	close_end(ends->in[side]);
	close_end(ends->out[side]);
	close_end(ends->err[side]);
}
