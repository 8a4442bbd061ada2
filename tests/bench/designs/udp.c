// SPDX-License-Identifier: BSD-3-Clause
/*
 * udp - a connected socket and datagrams as long as the MTU allows. There is one system call for
 * each, one for up to 64 of them (sendmmsg), or one for a row of them that stays in one piece in
 * the kernel (UDP_SEGMENT, UDP_GRO).
 */
#include <errno.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include "tests/bench/designs/design.h"
#include "tests/bench/designs/net.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103 /* older C libraries do not have them */
#define UDP_GRO 104
#endif

#define IP_UDP 28     /* bytes of both headers */
#define ROW_MAX 65507 /* bytes of the longest datagram, and of a row that is cut by the kernel */
#define BATCH 64      /* datagrams of one system call */

static int fd;
static size_t datagram, row; /* bytes of each; of what one system call takes */

static void udp_open(struct end *end)
{
	struct sockaddr_in ours = {.sin_family = AF_INET, .sin_addr = net_address(end->interface)};
	socklen_t len = sizeof(ours);
	struct sockaddr_in theirs;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&ours, len) ||
	    getsockname(fd, (struct sockaddr *)&ours, &len))
		die(end->interface);
	meet_exchange(&ours, sizeof(ours), &theirs);
	if (connect(fd, (struct sockaddr *)&theirs, sizeof(theirs)))
		die("connect");
	net_make_room(fd);
	datagram = end->mtu - IP_UDP;
	if (datagram > ROW_MAX)
		datagram = ROW_MAX;
	row = datagram;
}

static void gso_open(struct end *end)
{
	udp_open(end);
	net_set(fd, IPPROTO_UDP, UDP_SEGMENT, (int)datagram);
	net_set(fd, IPPROTO_UDP, UDP_GRO, 1);
	row = ROW_MAX / datagram * datagram;
}

static inline size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void udp_send(struct end *end, const unsigned char *data, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		size_t n = least(bytes - done, row);

		if (sendto(fd, data + done, n, 0, NULL, 0) != (ssize_t)n)
			die("sendto");
		done += n;
	}
	lap(end, STEP_SEND);
}

static size_t made_messages(struct mmsghdr *messages, struct iovec *parts, unsigned char *data,
			    size_t bytes)
{
	size_t n = 0;

	for (size_t done = 0; done < bytes && n < BATCH; done += datagram, n++) {
		parts[n] = (struct iovec){data + done, least(bytes - done, datagram)};
		messages[n] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[n], .msg_iovlen = 1}};
	}
	return n;
}

static void batch_send(struct end *end, const unsigned char *data, size_t bytes)
{
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];

	for (size_t done = 0; done < bytes;) {
		/* sendmmsg() does not write the data, though an iovec can't say so */
		size_t n = made_messages(messages, parts, (unsigned char *)(uintptr_t)data + done,
					 bytes - done);

		if (sendmmsg(fd, messages, (unsigned int)n, 0) != (int)n)
			die("sendmmsg");
		done += least(bytes - done, n * datagram);
	}
	lap(end, STEP_SEND);
}

static inline size_t taken(struct end *end, ssize_t n)
{
	if (n < 0 && errno == EAGAIN)
		return nothing(end);
	if (n <= 0)
		die("recvfrom");
	lap(end, STEP_RECEIVE);
	return (size_t)n;
}

static size_t take_blocking(struct end *end, unsigned char *to, size_t room)
{
	return taken(end, recvfrom(fd, to, room, 0, NULL, NULL));
}

static size_t take_polling(struct end *end, unsigned char *to, size_t room)
{
	return taken(end, recvfrom(fd, to, room, MSG_DONTWAIT, NULL, NULL));
}

static size_t batch_take(struct end *end, unsigned char *to, size_t room)
{
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	size_t n = made_messages(messages, parts, to, room), bytes = 0;
	int got = recvmmsg(fd, messages, (unsigned int)n, MSG_DONTWAIT, NULL);

	for (int i = 0; i < got; i++)
		bytes += messages[i].msg_len;
	return taken(end, got < 0 ? got : (ssize_t)bytes);
}

const struct design udp_block = {
	.name = "udp-block",
	.about = "UDP, a system call per datagram; recvfrom() sleeps until one is there",
	.is_blocking = true,
	.open = udp_open,
	.send = udp_send,
	.take = take_blocking,
};

const struct design udp_poll = {
	.name = "udp-poll",
	.about = "UDP, a system call per datagram; recvfrom() is called until it brings one",
	.open = udp_open,
	.send = udp_send,
	.take = take_polling,
};

const struct design udp_batch = {
	.name = "udp-batch",
	.about = "UDP, a system call for up to 64 datagrams (sendmmsg, recvmmsg), called until it "
		 "brings any",
	.open = udp_open,
	.send = batch_send,
	.take = batch_take,
};

const struct design udp_gso_block = {
	.name = "udp-gso-block",
	.about = "UDP, rows of datagrams cut by the kernel (UDP_SEGMENT, UDP_GRO); recvfrom() "
		 "sleeps",
	.is_blocking = true,
	.open = gso_open,
	.send = udp_send,
	.take = take_blocking,
};

const struct design udp_gso_poll = {
	.name = "udp-gso-poll",
	.about = "UDP, rows of datagrams cut by the kernel; recvfrom() is called until it brings "
		 "data",
	.open = gso_open,
	.send = udp_send,
	.take = take_polling,
};
