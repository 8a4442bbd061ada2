// SPDX-License-Identifier: BSD-3-Clause
/* guard: accept() lets in connections of this user alone, of both families of addresses. */
#include "scheduler/scstepd/pmix/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define STRANGER 65534

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* A listener at the loopback interface that does not wait; -1: there is no such family here. */
static int listen_at(int family, union address *at)
{
	socklen_t size = family == AF_INET ? sizeof(at->v4) : sizeof(at->v6);
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	memset(at, 0, sizeof(*at));
	at->any.sa_family = (sa_family_t)family;
	if (family == AF_INET)
		at->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		at->v6.sin6_addr = in6addr_loopback;
	if (fd < 0 || bind(fd, &at->any, size) || listen(fd, 8) ||
	    getsockname(fd, &at->any, &size)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static int connect_to(const union address *at)
{
	int fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval timeout = {.tv_sec = 10};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	ok(!connect(fd, &at->any, at->any.sa_family == AF_INET ? sizeof(at->v4) : sizeof(at->v6)));
	return fd;
}

/* Has the other side closed the connection without a word? */
static bool is_turned_away(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void lets_us_in(int family)
{
	union address at, from;
	socklen_t size = sizeof(from);
	int listener = listen_at(family, &at), client, got;

	if (listener < 0) {
		tap_skip("no loopback address of family %d", family);
		return;
	}
	is_int(guard_open(), 0);
	client = connect_to(&at);
	got = accept(listener, &from.any, &size);
	ok(got >= 0);
	ok(fcntl(got, F_GETFD) & FD_CLOEXEC);
	is_int(from.any.sa_family, family);
	close(got);
	close(client);
	close(listener);
	guard_close();
}

TAP_TEST(accept__of_this_user)
{
	lets_us_in(AF_INET);
}

TAP_TEST(accept__of_this_user_by_ipv6)
{
	lets_us_in(AF_INET6);
}

/*
 * A process of another user that connects, and writes a byte to @ready. It exits with 0 if it was
 * turned away.
 */
static pid_t connect_as_stranger(const union address *at, int ready)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (setgid(STRANGER) || setuid(STRANGER))
		_exit(2);
	pid = connect_to(at);
	if (write(ready, "x", 1) != 1)
		_exit(3);
	_exit(is_turned_away(pid) ? 0 : 1);
}

static void turns_another_away(int family)
{
	union address at, from;
	socklen_t size = sizeof(from);
	int listener = listen_at(family, &at), ready[2], client, got, status;
	char byte;
	pid_t pid;

	if (geteuid()) {
		tap_skip("only root can be another user");
		return;
	}
	if (listener < 0) {
		tap_skip("no loopback address of family %d", family);
		return;
	}
	must(!pipe2(ready, O_CLOEXEC));
	is_int(guard_open(), 0);
	pid = connect_as_stranger(&at, ready[1]);
	is_int(read(ready[0], &byte, 1), 1);
	/* Behind it waits one of ours, which is the one that is handed out. */
	client = connect_to(&at);
	got = accept(listener, &from.any, &size);
	must(got >= 0);
	is_int(write(client, "y", 1), 1);
	is_int(read(got, &byte, 1), 1);
	is_int(byte, 'y');
	is_int(waitpid(pid, &status, 0), pid);
	is_int(status, 0);
	is_int(accept(listener, NULL, NULL), -1);
	is_int(errno, EAGAIN);
	close(got);
	close(client);
	close(ready[0]);
	close(ready[1]);
	close(listener);
	guard_close();
}

TAP_TEST(accept__of_another_user)
{
	turns_another_away(AF_INET);
}

TAP_TEST(accept__of_another_user_by_ipv6)
{
	turns_another_away(AF_INET6);
}

TAP_TEST(accept__of_a_socket_without_a_process)
{
	union address at;
	int listener = listen_at(AF_INET, &at), client;

	must(listener >= 0);
	is_int(guard_open(), 0);
	client = connect_to(&at);
	close(client);
	/* The kernel says root of such a one, which may be us. */
	is_int(accept(listener, NULL, NULL), -1);
	is_int(errno, EAGAIN);
	close(listener);
	guard_close();
}

TAP_TEST(accept__without_a_kernel_to_ask)
{
	union address at;
	int listener = listen_at(AF_INET, &at), client;

	must(listener >= 0);
	guard_close();
	client = connect_to(&at);
	is_int(accept(listener, NULL, NULL), -1);
	ok(is_turned_away(client));
	close(client);
	close(listener);
}

TAP_TEST(send__to_a_client_that_was_killed)
{
	union address at;
	int listener = listen_at(AF_INET, &at), client, got;
	char byte;

	must(listener >= 0);
	is_int(guard_open(), 0);
	client = connect_to(&at);
	got = accept(listener, NULL, NULL);
	must(got >= 0);
	/* With a byte unread, the kernel resets the connection. */
	is_int(write(got, "x", 1), 1);
	close(client);
	is_int(send(got, "answer", 6, MSG_NOSIGNAL), 6);
	is_int(send(got, "answer", 6, MSG_NOSIGNAL), 6);
	/* The end of the connection shows here. */
	ok(recv(got, &byte, 1, 0) <= 0);
	close(got);
	close(listener);
	guard_close();
}

TAP_TEST(send__of_another_kind_of_socket_or_error)
{
	int pair[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	is_int(send(pair[0], "x", 1, MSG_NOSIGNAL), 1);
	close(pair[1]);
	is_int(send(pair[0], "x", 1, MSG_NOSIGNAL), -1);
	is_int(errno, EPIPE);
	close(pair[0]);
	is_int(send(pair[0], "x", 1, MSG_NOSIGNAL), -1);
	is_int(errno, EBADF);
}

TAP_TEST(accept__of_another_kind_of_socket)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0),
	    client = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t size = sizeof(at);

	is_int(guard_open(), 0);
	/* The kernel gives it a name. */
	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 10},
		   sizeof(struct timeval));
	must(!bind(listener, (struct sockaddr *)&at, sizeof(sa_family_t)) && !listen(listener, 1));
	must(!getsockname(listener, (struct sockaddr *)&at, &size));
	must(!connect(client, (struct sockaddr *)&at, size));
	is_int(accept(listener, NULL, NULL), -1);
	ok(is_turned_away(client));
	close(client);
	close(listener);
	guard_close();
}
