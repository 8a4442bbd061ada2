// SPDX-License-Identifier: BSD-3-Clause
/*
 * tcp - one connection with TCP_NODELAY; a rank that waits sleeps in recvfrom() or calls it again
 * and again.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/designs/design.h"
#include "tests/bench/designs/net.h"

static int connection;

static int open_socket(const char *interface, struct sockaddr_in *ret_address)
{
	socklen_t len = sizeof(*ret_address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret_address =
		(struct sockaddr_in){.sin_family = AF_INET, .sin_addr = net_address(interface)};
	if (fd < 0 || bind(fd, (struct sockaddr *)ret_address, len) ||
	    getsockname(fd, (struct sockaddr *)ret_address, &len))
		die(interface);
	return fd;
}

/* Rank 1 listens, rank 0 connects. */
static void tcp_open(struct end *end)
{
	struct sockaddr_in ours, theirs;
	int fd = open_socket(end->interface, &ours);

	if (meet_rank == 1 && listen(fd, 1))
		die("listen");
	meet_exchange(&ours, sizeof(ours), &theirs);
	if (meet_rank == 0 && connect(fd, (struct sockaddr *)&theirs, sizeof(theirs)))
		die("connect");
	connection = meet_rank == 0 ? fd : accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (connection < 0)
		die("accept");
	net_set(connection, IPPROTO_TCP, TCP_NODELAY, 1);
}

static inline void send_all(const unsigned char *data, size_t bytes, int flags)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = sendto(connection, data + done, bytes - done, flags | MSG_NOSIGNAL,
				   NULL, 0);

		if (n > 0)
			done += (size_t)n;
		else if (errno != EAGAIN)
			die("sendto");
	}
}

static inline size_t take_some(struct end *end, unsigned char *to, size_t room, int flags)
{
	ssize_t n = recvfrom(connection, to, room, flags, NULL, NULL);

	if (n < 0 && errno == EAGAIN)
		return nothing(end);
	if (n < 0)
		die("recvfrom");
	if (n == 0)
		die_of("recvfrom", "the other rank has closed the connection");
	lap(end, STEP_RECEIVE);
	return (size_t)n;
}

static void send_blocking(struct end *end, const unsigned char *data, size_t bytes)
{
	send_all(data, bytes, 0);
	lap(end, STEP_SEND);
}

static void send_polling(struct end *end, const unsigned char *data, size_t bytes)
{
	send_all(data, bytes, MSG_DONTWAIT);
	lap(end, STEP_SEND);
}

static size_t take_blocking(struct end *end, unsigned char *to, size_t room)
{
	return take_some(end, to, room, 0);
}

static size_t take_polling(struct end *end, unsigned char *to, size_t room)
{
	return take_some(end, to, room, MSG_DONTWAIT);
}

const struct design tcp_block = {
	.name = "tcp-block",
	.about = "TCP; recvfrom() sleeps until data are there",
	.is_blocking = true,
	.open = tcp_open,
	.send = send_blocking,
	.take = take_blocking,
};

const struct design tcp_poll = {
	.name = "tcp-poll",
	.about = "TCP; recvfrom() is called until it brings data",
	.open = tcp_open,
	.send = send_polling,
	.take = take_polling,
};
