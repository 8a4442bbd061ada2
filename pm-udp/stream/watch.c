// SPDX-License-Identifier: BSD-3-Clause
/* watch - the sockets of a stream link, and the epoll set that all of them are in. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pm-udp/stream/private.h"
#include "pmcore/util/forked.h"

/*
 * A host that is gone is noticed, by a connection on which nothing goes, after idle + count *
 * interval seconds.
 */
#define KEEP_IDLE_S 10
#define KEEP_INTERVAL_S 5
#define KEEP_COUNT 3

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

static int prepare(int fd, uint32_t address, uint16_t port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
	/* a descriptor that a child keeps would hide our death */
	int err = forked_close(fd);

	if (err)
		return err;
	if (set(fd, IPPROTO_TCP, TCP_NODELAY, 1) || set(fd, SOL_SOCKET, SO_KEEPALIVE, 1) ||
	    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S) ||
	    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S) ||
	    set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT))
		return -errno;
	return bind(fd, (struct sockaddr *)&sin, sizeof(sin)) ? -errno : 0;
}

int pmt_socket_make(uint32_t address, uint16_t port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	err = prepare(fd, address, port);
	if (!err)
		return fd;
	forked_keep(fd);
	close(fd);
	return err;
}

int pmt_watch(struct pmt_link *s, struct pmt_socket *socket, bool wants_room)
{
	struct epoll_event event = {.events = EPOLLIN | (wants_room ? EPOLLOUT : 0u),
				    .data.ptr = socket};

	if (!epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, socket->fd, &event) ||
	    (errno == ENOENT && !epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, socket->fd, &event))) {
		socket->wants_room = wants_room;
		return 0;
	}
	return -errno;
}

int pmt_mute(struct pmt_link *s, struct pmt_socket *socket)
{
	struct epoll_event event = {.data.ptr = socket};

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, socket->fd, &event) ? -errno : 0;
}

void pmt_unwatch(struct pmt_link *s, struct pmt_socket *socket)
{
	if (socket->fd < 0)
		return;
	/* closing alone does nothing, here and for the other side, while a child has it open */
	(void)epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, socket->fd, NULL);
	(void)shutdown(socket->fd, SHUT_RDWR);
	forked_keep(socket->fd);
	close(socket->fd);
	socket->fd = -1;
}
