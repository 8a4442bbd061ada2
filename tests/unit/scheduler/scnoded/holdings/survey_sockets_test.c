// SPDX-License-Identifier: BSD-3-Clause
/* survey: a process that opens sockets, and what scnoded sees of them. */
#include "scheduler/scnoded/holdings/survey.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scnoded/holdings/surveyed.h"

static int outside = -1; /* a listener of this program */
static uint16_t outside_port;

static void listen_outside(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	outside = socket(AF_INET, SOCK_STREAM, 0);
	ok(!bind(outside, (struct sockaddr *)&address, sizeof(address)) && !listen(outside, 8));
	ok(!getsockname(outside, (struct sockaddr *)&address, &size));
	outside_port = address.sin_port;
}

static bool connect_to(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = port};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return !connect(fd, (struct sockaddr *)&address, sizeof(address));
}

static bool connect_outside(void)
{
	return connect_to(outside_port);
}

static bool listen_inside(uint16_t *ret_port, int *ret_fd)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6};
	socklen_t size = sizeof(address);

	/* IPv4 comes in by it as well: the two ends are of different families. */
	*ret_fd = socket(AF_INET6, SOCK_STREAM, 0);
	if (*ret_fd < 0 || bind(*ret_fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(*ret_fd, 8) || getsockname(*ret_fd, (struct sockaddr *)&address, &size))
		return false;
	*ret_port = address.sin6_port;
	return true;
}

static bool connect_inside(void)
{
	uint16_t port;
	int fd;

	return listen_inside(&port, &fd) && connect_to(port) && accept(fd, NULL, NULL) >= 0;
}

static bool leave_in_the_queue(void)
{
	uint16_t port;
	int fd;

	return listen_inside(&port, &fd) && connect_to(port);
}

TAP_TEST(survey_job__tcp_outside)
{
	char clause[128];

	listen_outside();
	snprintf(clause, sizeof(clause),
		 "holds a TCP connection to 127.0.0.1:%u (descriptor 3), which cannot be restored; "
		 "close it before a checkpoint\n",
		 ntohs(outside_port));
	refused(connect_outside, clause);
	close(outside);
}

TAP_TEST(survey_job__tcp_inside)
{
	fine(connect_inside);
}

TAP_TEST(survey_job__tcp_not_accepted)
{
	if (surveyed_start(leave_in_the_queue)) {
		surveyed_judge();
		ok(strstr(surveyed.text, "listens on [::]:") != NULL);
		ok(strstr(surveyed.text, "has not accepted all connections") != NULL);
		ok(strstr(surveyed.text, "holds a TCP connection to 127.0.0.1:") != NULL);
	}
	surveyed_end();
}

static bool bind_udp(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return !bind(fd, (struct sockaddr *)&address, sizeof(address));
}

static bool open_udp(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0) >= 0 && socket(AF_INET, SOCK_STREAM, 0) >= 0;
}

static bool open_raw(void)
{
	return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0;
}

static bool open_packet(void)
{
	return socket(AF_PACKET, SOCK_RAW, 0) >= 0;
}

static bool open_xdp(void)
{
	return socket(AF_XDP, SOCK_RAW, 0) >= 0;
}

TAP_TEST(survey_job__udp)
{
	refused(bind_udp, "holds a UDP socket at 127.0.0.1:");
	fine(open_udp);
}

TAP_TEST(survey_job__raw)
{
	refused(open_raw, "holds a raw socket (descriptor 3)");
}

TAP_TEST(survey_job__packet)
{
	refused(open_packet, "holds a packet socket (descriptor 3)");
}

TAP_TEST(survey_job__xdp)
{
	refused(open_xdp, "holds an AF_XDP socket (descriptor 3)");
}

static bool bind_netlink(int protocol)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK};
	int fd = socket(AF_NETLINK, SOCK_RAW, protocol);

	return fd >= 0 && !bind(fd, (struct sockaddr *)&address, sizeof(address));
}

static bool idle_netlink(void)
{
	return bind_netlink(NETLINK_ROUTE) && bind_netlink(NETLINK_SOCK_DIAG);
}

static bool strange_netlink(void)
{
	return bind_netlink(NETLINK_KOBJECT_UEVENT);
}

static bool unread_netlink(void)
{
	struct {
		struct nlmsghdr head;
		struct rtgenmsg body;
	} question = {.head = {.nlmsg_len = sizeof(question),
			       .nlmsg_type = RTM_GETLINK,
			       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};

	return bind_netlink(NETLINK_ROUTE) && send(3, &question, sizeof(question), 0) > 0;
}

TAP_TEST(survey_job__netlink)
{
	fine(idle_netlink);
	refused(strange_netlink, "holds a netlink socket of protocol 15 (descriptor 3)");
	refused(unread_netlink, "has not read all that came by a netlink socket (descriptor 3)");
}

/* A child has one end, as with PMI-1. */
static bool pair_inside(void)
{
	int fds[2], gone[2], dgram = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (dgram < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, gone))
		return false;
	close(gone[1]);
	if (!fork()) {
		close(REPORT_FD);
		close(fds[0]);
		for (;;)
			pause();
	}
	close(fds[1]);
	return true;
}

static struct sockaddr_un unix_address; /* abstract; the job inherits it */

static void name_unix(void)
{
	unix_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(unix_address.sun_path + 1, sizeof(unix_address.sun_path) - 1, "survey_test.%d",
		 getpid());
}

static bool connect_unix(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	return !connect(fd, (struct sockaddr *)&unix_address, sizeof(unix_address));
}

TAP_TEST(survey_job__unix_inside)
{
	fine(pair_inside);
}

TAP_TEST(survey_job__unix_outside)
{
	char want[128];
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), got;

	name_unix();
	must(!bind(fd, (struct sockaddr *)&unix_address, sizeof(unix_address)) && !listen(fd, 8));
	if (surveyed_start(connect_unix)) {
		got = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		surveyed_judge();
		snprintf(want, sizeof(want),
			 "holds a unix socket (descriptor 3) that is connected to process %d (",
			 getpid());
		ok(strstr(surveyed.text, want) != NULL);
		is_int(surveyed.h.n_files, 4);
		close(got);
	}
	close(fd);
	surveyed_end();
}
