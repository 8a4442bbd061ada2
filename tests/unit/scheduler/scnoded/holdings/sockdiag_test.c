// SPDX-License-Identifier: BSD-3-Clause
/* sockdiag: answers as the kernel gives them, cut and changed; and the kernel itself. */
#include "scheduler/scnoded/holdings/sockdiag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/proto/netaddr.h"
#include "tests/harness/tap.h"

static struct inet_diag_msg inet_answer(int family)
{
	struct inet_diag_msg m = {.idiag_family = (__u8)family,
				  .idiag_state = TCP_ESTABLISHED,
				  .idiag_rqueue = 9,
				  .idiag_inode = 4294967295u,
				  .id.idiag_sport = htons(1024),
				  .id.idiag_dport = htons(7999)};

	inet_pton(AF_INET, "10.0.0.1", m.id.idiag_src);
	inet_pton(AF_INET, "10.0.0.9", m.id.idiag_dst);
	return m;
}

TAP_TEST(sockdiag_decode_inet__ipv4)
{
	struct inet_diag_msg m = inet_answer(AF_INET);
	struct held_socket s;
	char text[NETADDR_TEXT_MAX];

	must(sockdiag_decode_inet(&m, sizeof(m), HELD_TCP, &s));
	is_int(s.kind, HELD_TCP);
	is_int(s.inode, 4294967295u);
	is_int(s.state, TCP_ESTABLISHED);
	is_int(s.waiting, 9);
	netaddr_text(text, sizeof(text), (const struct sockaddr *)&s.here);
	is_str(text, "10.0.0.1:1024");
	netaddr_text(text, sizeof(text), (const struct sockaddr *)&s.there);
	is_str(text, "10.0.0.9:7999");
}

TAP_TEST(sockdiag_decode_inet__ipv6)
{
	struct inet_diag_msg m = inet_answer(AF_INET6);
	struct held_socket s;
	char text[NETADDR_TEXT_MAX];

	inet_pton(AF_INET6, "fe80::1", m.id.idiag_src);
	inet_pton(AF_INET6, "::ffff:10.0.0.9", m.id.idiag_dst);
	must(sockdiag_decode_inet(&m, sizeof(m) + 8, HELD_UDP, &s));
	netaddr_text(text, sizeof(text), (const struct sockaddr *)&s.here);
	is_str(text, "[fe80::1]:1024");
	netaddr_text(text, sizeof(text), (const struct sockaddr *)&s.there);
	is_str(text, "10.0.0.9:7999");
}

TAP_TEST(sockdiag_decode_inet__refused)
{
	struct inet_diag_msg m = inet_answer(AF_INET);
	struct held_socket s = {.inode = 5};

	ok(!sockdiag_decode_inet(&m, sizeof(m) - 1, HELD_TCP, &s));
	ok(!sockdiag_decode_inet(&m, 0, HELD_TCP, &s));
	m.idiag_family = AF_UNIX;
	ok(!sockdiag_decode_inet(&m, sizeof(m), HELD_TCP, &s));
	is_int(s.inode, 5);
}

struct unix_answer {
	struct unix_diag_msg head;
	struct nlattr peer_head;
	__u32 peer;
	struct nlattr queue_head;
	struct unix_diag_rqlen queue;
	struct nlattr shut_head;
	__u8 shut;
	__u8 pad[3];
};

static struct unix_answer unix_answer(void)
{
	return (struct unix_answer){.head = {.udiag_family = AF_UNIX,
					     .udiag_type = SOCK_SEQPACKET,
					     .udiag_state = TCP_LISTEN,
					     .udiag_ino = 7},
				    .peer_head = {.nla_len = 8, .nla_type = UNIX_DIAG_PEER},
				    .peer = 8,
				    .queue_head = {.nla_len = 12,
						   .nla_type = UNIX_DIAG_RQLEN | NLA_F_NESTED},
				    .queue = {.udiag_rqueue = 3, .udiag_wqueue = 4},
				    .shut_head = {.nla_len = 5, .nla_type = UNIX_DIAG_SHUTDOWN},
				    .shut = 3};
}

TAP_TEST(sockdiag_decode_unix__all_parts)
{
	struct unix_answer m = unix_answer();
	struct held_socket s;

	must(sockdiag_decode_unix(&m, sizeof(m), &s));
	is_int(s.inode, 7);
	is_int(s.type, SOCK_SEQPACKET);
	is_int(s.state, TCP_LISTEN);
	is_int(s.peer, 8);
	is_int(s.waiting, 3);
	ok(s.is_shut);
	m.shut = 1;
	must(sockdiag_decode_unix(&m, sizeof(m), &s));
	ok(!s.is_shut);
	must(sockdiag_decode_unix(&m.head, sizeof(m.head), &s));
	is_int(s.peer, 0);
	is_int(s.waiting, 0);
	ok(!s.is_shut);
}

TAP_TEST(sockdiag_decode_unix__each_cut)
{
	struct unix_answer m = unix_answer();
	struct held_socket s;

	for (size_t size = 0; size <= sizeof(m); size++) {
		char copy[sizeof(m)];

		memcpy(copy, &m, sizeof(m));
		okf(sockdiag_decode_unix(copy, size, &s) == (size >= sizeof(m.head)), "%zu", size);
	}
	for (int length = 0; length < 12; length++) {
		m.peer_head.nla_len = (__u16)length;
		ok(sockdiag_decode_unix(&m, sizeof(m), &s));
	}
	m.peer_head.nla_len = UINT16_MAX;
	ok(sockdiag_decode_unix(&m, sizeof(m), &s));
	is_int(s.peer, 0);
	m.head.udiag_family = AF_INET;
	ok(!sockdiag_decode_unix(&m, sizeof(m), &s));
}

struct wanted {
	uint64_t inode;
	struct held_socket found;
	int n;
};

static bool take(const struct held_socket *socket, void *owner)
{
	struct wanted *w = owner;

	if (socket->inode == w->inode) {
		w->found = *socket;
		w->n++;
	}
	return true;
}

static bool stop(const struct held_socket *socket, void *owner)
{
	(void)socket;
	++*(int *)owner;
	return false;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

TAP_TEST(sockdiag_each__of_the_kernel)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0), pair[2], n = 0;
	struct wanted w = {0};

	must(fd >= 0 && !bind(fd, (struct sockaddr *)&any, sizeof(any)) && !listen(fd, 1));
	w.inode = inode_of(fd);
	is_int(sockdiag_each(HELD_TCP, take, &w), 0);
	is_int(w.n, 1);
	is_int(w.found.state, TCP_LISTEN);
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	w = (struct wanted){.inode = inode_of(pair[0])};
	is_int(sockdiag_each(HELD_UNIX, take, &w), 0);
	is_int(w.n, 1);
	is_int(w.found.peer, inode_of(pair[1]));
	is_int(sockdiag_each(HELD_UNIX, stop, &n), -ECANCELED);
	is_int(n, 1);
	close(pair[0]);
	close(pair[1]);
	close(fd);
}
