// SPDX-License-Identifier: BSD-3-Clause
/*
 * door - see door.h. All strangers have the same time, so the list of them in the order they came
 * is that of their ends.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/door.h"
#include "scheduler/proto/files.h"
#include "pmcore/util/clock.h"
#include "scheduler/proto/frame.h"
#include "scheduler/proto/netaddr.h"

#define ACCEPT_AT_ONCE 64 /* strangers, before others have their turn */
#define NO_FILES_S 0.1    /* rest when there are no descriptors and nobody to show out */

struct stranger {
	struct stranger *prev, *next; /* older, younger */
	struct door *door;
	ev_io io;
	ev_tstamp until;
	size_t got; /* bytes of the preamble */
	char preamble[PREAMBLE_BYTES];
};

struct door {
	struct ev_loop *loop;
	door_enter *enter;
	void *owner;
	int port;
	ev_io io;
	ev_timer limit; /* of the oldest stranger */
	ev_timer rest;
	struct stranger *oldest, *youngest;
	unsigned int n_strangers;
};

static void set_limit(struct door *door)
{
	ev_timer_stop(door->loop, &door->limit);
	if (!door->oldest)
		return;
	ev_timer_set(&door->limit, door->oldest->until - clock_monotonic_s(), 0.);
	ev_timer_start(door->loop, &door->limit);
}

/* Out of the list; the descriptor is the caller's. */
static int forget(struct stranger *stranger)
{
	struct door *door = stranger->door;
	bool was_oldest = door->oldest == stranger;
	int fd = stranger->io.fd;

	ev_io_stop(door->loop, &stranger->io);
	*(stranger->prev ? &stranger->prev->next : &door->oldest) = stranger->next;
	*(stranger->next ? &stranger->next->prev : &door->youngest) = stranger->prev;
	door->n_strangers--;
	free(stranger);
	if (was_oldest)
		set_limit(door);
	return fd;
}

static void show_out(struct stranger *stranger)
{
	close(forget(stranger));
}

static void on_preamble(struct ev_loop *loop, ev_io *io, int events)
{
	struct stranger *stranger = io->data;
	struct door *door = stranger->door;
	uint64_t job;
	ssize_t n = recv(io->fd, stranger->preamble + stranger->got,
			 sizeof(stranger->preamble) - stranger->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		show_out(stranger);
		return;
	}
	stranger->got += (size_t)n;
	if (stranger->got < sizeof(stranger->preamble))
		return;
	if (preamble_decode(stranger->preamble, &job))
		show_out(stranger);
	else
		door->enter(forget(stranger), job, door->owner);
}

static void let_in(struct door *door, int fd)
{
	struct stranger *stranger = calloc(1, sizeof(*stranger));

	if (!stranger) {
		close(fd);
		return;
	}
	if (door->oldest && files_full(door->n_strangers, DOOR_STRANGERS_MAX))
		show_out(door->oldest);
	stranger->door = door;
	stranger->until = clock_monotonic_s() + DOOR_PREAMBLE_S;
	stranger->prev = door->youngest;
	*(door->youngest ? &door->youngest->next : &door->oldest) = stranger;
	door->youngest = stranger;
	door->n_strangers++;
	ev_io_init(&stranger->io, on_preamble, fd, EV_READ);
	stranger->io.data = stranger;
	ev_io_start(door->loop, &stranger->io);
	if (door->oldest == stranger)
		set_limit(door);
}

/*
 * No descriptor is free: somebody who said nothing yet gives his. Without one the door rests, as
 * the loop would spin.
 */
static void make_place(struct door *door)
{
	if (door->oldest) {
		show_out(door->oldest);
		return;
	}
	ev_io_stop(door->loop, &door->io);
	ev_timer_stop(door->loop, &door->rest);
	ev_timer_set(&door->rest, NO_FILES_S, 0.);
	ev_timer_start(door->loop, &door->rest);
}

static void on_knock(struct ev_loop *loop, ev_io *io, int events)
{
	struct door *door = io->data;

	for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
		int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			let_in(door, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			files_say(errno);
			make_place(door);
		}
		/* All else is that of one stranger who went again, or of none being there. */
		return;
	}
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct door *door = timer->data;

	while (door->oldest && door->oldest->until <= clock_monotonic_s())
		show_out(door->oldest);
	set_limit(door);
}

static void on_rested(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct door *door = timer->data;

	ev_io_start(loop, &door->io);
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

struct door *door_open(struct ev_loop *loop, const char *where, door_enter *enter, void *owner)
{
	struct addrinfo *list = NULL;
	struct door *door;
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
	door = calloc(1, sizeof(*door));
	if (!door) {
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	door->loop = loop;
	door->enter = enter;
	door->owner = owner;
	door->port = port_of(fd);
	ev_io_init(&door->io, on_knock, fd, EV_READ);
	ev_timer_init(&door->limit, on_limit, 0., 0.);
	ev_timer_init(&door->rest, on_rested, 0., 0.);
	door->io.data = door->limit.data = door->rest.data = door;
	ev_io_start(loop, &door->io);
	return door;
}

int door_port(const struct door *door)
{
	return door->port;
}

void door_close(struct door *door)
{
	while (door->oldest)
		show_out(door->oldest);
	ev_io_stop(door->loop, &door->io);
	ev_timer_stop(door->loop, &door->limit);
	ev_timer_stop(door->loop, &door->rest);
	close(door->io.fd);
	free(door);
}
