// SPDX-License-Identifier: BSD-3-Clause
#include "meet.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CALLS 100           /* while nobody listens */
#define PAUSE_NS 100000000L /* between them */

/* Tried with each address that a host has. The result is a socket, or -1 and errno. */
typedef int (*attempt)(int fd, const struct addrinfo *address);

/* -1 and errno. */
static int try_each(const struct addrinfo *found, attempt attempt)
{
	int fd = -1, err = 0;

	for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
		int s = socket(a->ai_family, a->ai_socktype, a->ai_protocol);

		fd = s < 0 ? -1 : attempt(s, a);
		err = errno;
		if (s >= 0 && fd != s)
			close(s);
	}
	errno = err;
	return fd;
}

static int try_all(const char *host, const char *port, attempt attempt, int times)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = host ? 0 : AI_PASSIVE};
	struct addrinfo *found;
	const char *where = host ? host : "this host";
	int err = getaddrinfo(host, port, &hints, &found), fd = -1;

	if (err) {
		fprintf(stderr, "%s port %s: %s\n", where, port, gai_strerror(err));
		return -1;
	}
	for (int i = 0; i < times && fd < 0; i++) {
		if (i)
			nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		fd = try_each(found, attempt);
		err = errno;
		if (err != ECONNREFUSED)
			break;
	}
	freeaddrinfo(found);
	if (fd < 0)
		fprintf(stderr, "%s port %s: %s\n", where, port, strerror(err));
	return fd;
}

static int take_one(int fd, const struct addrinfo *address)
{
	int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, address->ai_addr, address->ai_addrlen) || listen(fd, 1))
		return -1;
	return accept(fd, NULL, NULL);
}

static int call(int fd, const struct addrinfo *address)
{
	return connect(fd, address->ai_addr, address->ai_addrlen) ? -1 : fd;
}

int meet_wait(const char *port)
{
	return try_all(NULL, port, take_one, 1);
}

int meet_call(const char *host, const char *port)
{
	return try_all(host, port, call, CALLS);
}

int meet_exchange(int connection, const void *mine, void *theirs, size_t len)
{
	ssize_t n = send(connection, mine, len, MSG_NOSIGNAL);

	if (n == (ssize_t)len)
		n = recv(connection, theirs, len, MSG_WAITALL);
	if (n == (ssize_t)len)
		return 0;
	fprintf(stderr, "the other side: %s\n", n < 0 ? strerror(errno) : "it has left");
	return -1;
}
