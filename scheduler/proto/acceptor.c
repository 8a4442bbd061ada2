// SPDX-License-Identifier: BSD-3-Clause
/*
 * acceptor - see acceptor.h. All strangers have the same time, so the list of them in the order
 * they came is that of their ends.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/acceptor.h"
#include "scheduler/proto/files.h"
#include "pmcore/util/clock.h"
#include "scheduler/proto/frame.h"
#include "scheduler/proto/netaddr.h"

#define ACCEPT_AT_ONCE 64 /* strangers, before others have their turn */
#define NO_FILES_S 0.1    /* rest when there are no descriptors and nobody to show out */

struct pending {
	struct pending *prev, *next; /* older, younger */
	struct acceptor *acceptor;
	ev_io io;
	ev_tstamp until;
	size_t got; /* bytes of the preamble */
	char preamble[PREAMBLE_BYTES];
};

struct acceptor {
	struct ev_loop *loop;
	acceptor_enter *enter;
	void *owner;
	int port;
	ev_io io;
	ev_timer limit; /* of the oldest stranger */
	ev_timer rest;
	struct pending *oldest, *youngest;
	unsigned int n_pending;
};

static void set_limit(struct acceptor *acceptor)
{
	ev_timer_stop(acceptor->loop, &acceptor->limit);
	if (!acceptor->oldest)
		return;
	ev_timer_set(&acceptor->limit, acceptor->oldest->until - clock_monotonic_s(), 0.);
	ev_timer_start(acceptor->loop, &acceptor->limit);
}

/* Out of the list; the descriptor is the caller's. */
static int forget(struct pending *pending)
{
	struct acceptor *acceptor = pending->acceptor;
	bool was_oldest = acceptor->oldest == pending;
	int fd = pending->io.fd;

	ev_io_stop(acceptor->loop, &pending->io);
	*(pending->prev ? &pending->prev->next : &acceptor->oldest) = pending->next;
	*(pending->next ? &pending->next->prev : &acceptor->youngest) = pending->prev;
	acceptor->n_pending--;
	free(pending);
	if (was_oldest)
		set_limit(acceptor);
	return fd;
}

static void show_out(struct pending *pending)
{
	close(forget(pending));
}

static void on_preamble(struct ev_loop *loop, ev_io *io, int events)
{
	struct pending *pending = io->data;
	struct acceptor *acceptor = pending->acceptor;
	uint64_t job;
	ssize_t n = recv(io->fd, pending->preamble + pending->got,
			 sizeof(pending->preamble) - pending->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		show_out(pending);
		return;
	}
	pending->got += (size_t)n;
	if (pending->got < sizeof(pending->preamble))
		return;
	if (preamble_decode(pending->preamble, &job))
		show_out(pending);
	else
		acceptor->enter(forget(pending), job, acceptor->owner);
}

static void let_in(struct acceptor *acceptor, int fd)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (!pending) {
		close(fd);
		return;
	}
	if (acceptor->oldest && files_full(acceptor->n_pending, ACCEPTOR_PENDING_MAX))
		show_out(acceptor->oldest);
	pending->acceptor = acceptor;
	pending->until = clock_monotonic_s() + ACCEPTOR_PREAMBLE_S;
	pending->prev = acceptor->youngest;
	*(acceptor->youngest ? &acceptor->youngest->next : &acceptor->oldest) = pending;
	acceptor->youngest = pending;
	acceptor->n_pending++;
	ev_io_init(&pending->io, on_preamble, fd, EV_READ);
	pending->io.data = pending;
	ev_io_start(acceptor->loop, &pending->io);
	if (acceptor->oldest == pending)
		set_limit(acceptor);
}

/*
 * No descriptor is free: somebody who said nothing yet gives his. Without one the acceptor rests,
 * as the loop would spin.
 */
static void make_place(struct acceptor *acceptor)
{
	if (acceptor->oldest) {
		show_out(acceptor->oldest);
		return;
	}
	ev_io_stop(acceptor->loop, &acceptor->io);
	ev_timer_stop(acceptor->loop, &acceptor->rest);
	ev_timer_set(&acceptor->rest, NO_FILES_S, 0.);
	ev_timer_start(acceptor->loop, &acceptor->rest);
}

static void on_knock(struct ev_loop *loop, ev_io *io, int events)
{
	struct acceptor *acceptor = io->data;

	for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
		int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			let_in(acceptor, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			files_say(errno);
			make_place(acceptor);
		}
		/* All else is that of one stranger who went again, or of none being there. */
		return;
	}
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct acceptor *acceptor = timer->data;

	while (acceptor->oldest && acceptor->oldest->until <= clock_monotonic_s())
		show_out(acceptor->oldest);
	set_limit(acceptor);
}

static void on_rested(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct acceptor *acceptor = timer->data;

	ev_io_start(loop, &acceptor->io);
}

/* A listening socket, or -errno. */
static int listen_at(const struct addrinfo *at)
{
	static const int yes = 1, no = 0;
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	if (at->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) &&
	    !bind(fd, at->ai_addr, at->ai_addrlen) && !listen(fd, SOMAXCONN))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* IPv6 first: without a host it takes IPv4 as well. */
static int listen_at_any(const struct addrinfo *list)
{
	static const int families[] = {AF_INET6, AF_INET};
	int fd = -EADDRNOTAVAIL;

	for (int i = 0; i < 2; i++) {
		for (const struct addrinfo *at = list; at; at = at->ai_next) {
			if (at->ai_family != families[i])
				continue;
			fd = listen_at(at);
			if (fd >= 0 || fd == -EADDRINUSE || fd == -EACCES)
				return fd;
		}
	}
	return fd;
}

static int port_of(int fd)
{
	struct sockaddr_storage at = {0};
	socklen_t len = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &len))
		return -errno;
	return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
					      : ((struct sockaddr_in *)&at)->sin_port);
}

struct acceptor *acceptor_open(struct ev_loop *loop, const char *where, acceptor_enter *enter,
			       void *owner)
{
	struct addrinfo *list = NULL;
	struct acceptor *acceptor;
	char why[NETADDR_TEXT_MAX + 64];
	int err = netaddr_find(&list, where, true, why, sizeof(why)), fd;

	if (err) {
		errno = -err;
		return NULL;
	}
	fd = listen_at_any(list);
	freeaddrinfo(list);
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	acceptor = calloc(1, sizeof(*acceptor));
	if (!acceptor) {
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	acceptor->loop = loop;
	acceptor->enter = enter;
	acceptor->owner = owner;
	acceptor->port = port_of(fd);
	ev_io_init(&acceptor->io, on_knock, fd, EV_READ);
	ev_timer_init(&acceptor->limit, on_limit, 0., 0.);
	ev_timer_init(&acceptor->rest, on_rested, 0., 0.);
	acceptor->io.data = acceptor->limit.data = acceptor->rest.data = acceptor;
	ev_io_start(loop, &acceptor->io);
	return acceptor;
}

int acceptor_port(const struct acceptor *acceptor)
{
	return acceptor->port;
}

void acceptor_close(struct acceptor *acceptor)
{
	while (acceptor->oldest)
		show_out(acceptor->oldest);
	ev_io_stop(acceptor->loop, &acceptor->io);
	ev_timer_stop(acceptor->loop, &acceptor->limit);
	ev_timer_stop(acceptor->loop, &acceptor->rest);
	close(acceptor->io.fd);
	free(acceptor);
}
