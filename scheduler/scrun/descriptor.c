// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_again(int fd, bool does_write)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, (does_write ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void descriptor_open(struct descriptor *d, int fd, bool does_write)
{
	struct stat st;
	int again;

	*d = (struct descriptor){.fd = fd, .kind = DESCRIPTOR_SHARED};
	if (fstat(fd, &st))
		return;
	if (S_ISSOCK(st.st_mode)) {
		d->kind = DESCRIPTOR_SOCKET;
	} else if (S_ISREG(st.st_mode)) {
		d->kind = DESCRIPTOR_FILE;
	} else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
		again = open_again(fd, does_write);
		if (again >= 0)
			*d = (struct descriptor){again, DESCRIPTOR_OWN, true};
	}
}

void descriptor_take_file(struct descriptor *d, int fd)
{
	descriptor_open(d, fd, true);
	if (d->fd != fd)
		close(fd);
	d->is_ours = true;
}

void descriptor_close(struct descriptor *d)
{
	if (d->is_ours)
		close(d->fd);
	*d = (struct descriptor){.fd = -1};
}

static bool is_ready(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	return poll(&p, 1, 0) != 0;
}

static ssize_t result(ssize_t n)
{
	return n >= 0 ? n : errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
}

ssize_t descriptor_read(const struct descriptor *d, void *to, size_t size)
{
	if (d->kind == DESCRIPTOR_SOCKET)
		return result(recv(d->fd, to, size, MSG_DONTWAIT));
	if (d->kind == DESCRIPTOR_SHARED && !is_ready(d->fd, POLLIN))
		return -EAGAIN;
	return result(read(d->fd, to, size));
}

ssize_t descriptor_write(const struct descriptor *d, const void *from, size_t size)
{
	if (d->kind == DESCRIPTOR_SOCKET)
		return result(send(d->fd, from, size, MSG_DONTWAIT | MSG_NOSIGNAL));
	if (d->kind != DESCRIPTOR_SHARED)
		return result(write(d->fd, from, size));
	if (!is_ready(d->fd, POLLOUT))
		return -EAGAIN;
	/* A pipe that is ready takes so much at once. */
	return result(write(d->fd, from, size < PIPE_BUF ? size : PIPE_BUF));
}
