// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/holdings/sockdiag.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_BYTES 32768
#define ANSWER_LIMIT_S 5
#define SHUT_BOTH 3

static bool take_address(int family, const __be32 *address, __be16 port, struct sockaddr_in6 *ret)
{
	*ret = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
	if (family == AF_INET6) {
		memcpy(&ret->sin6_addr, address, sizeof(ret->sin6_addr));
		return true;
	}
	ret->sin6_addr.s6_addr[10] = ret->sin6_addr.s6_addr[11] = 0xff;
	memcpy(&ret->sin6_addr.s6_addr[12], address, 4);
	return family == AF_INET;
}

bool sockdiag_decode_inet(const void *body, size_t size, enum held_kind kind,
			  struct held_socket *ret)
{
	struct inet_diag_msg m;
	struct held_socket s = {.kind = kind};

	if (size < sizeof(m))
		return false;
	memcpy(&m, body, sizeof(m));
	if (!take_address(m.idiag_family, m.id.idiag_src, m.id.idiag_sport, &s.here) ||
	    !take_address(m.idiag_family, m.id.idiag_dst, m.id.idiag_dport, &s.there))
		return false;
	s.inode = m.idiag_inode;
	s.state = m.idiag_state;
	s.waiting = m.idiag_rqueue;
	*ret = s;
	return true;
}

/* The body of attribute @type, NULL if it is missing or has fewer than @least bytes. */
static const void *find_attribute(const char *at, size_t size, unsigned type, size_t least)
{
	struct nlattr head;

	while (size >= sizeof(head)) {
		size_t step;

		memcpy(&head, at, sizeof(head));
		if (head.nla_len < sizeof(head) || head.nla_len > size)
			return NULL;
		if ((head.nla_type & NLA_TYPE_MASK) == type)
			return head.nla_len - sizeof(head) >= least ? at + sizeof(head) : NULL;
		step = NLA_ALIGN(head.nla_len);
		if (step > size)
			return NULL;
		at += step;
		size -= step;
	}
	return NULL;
}

bool sockdiag_decode_unix(const void *body, size_t size, struct held_socket *ret)
{
	struct held_socket s = {.kind = HELD_UNIX};
	const char *rest = (const char *)body + sizeof(struct unix_diag_msg);
	const void *attribute;
	struct unix_diag_rqlen queue;
	struct unix_diag_msg m;
	__u32 peer;

	if (size < sizeof(m))
		return false;
	memcpy(&m, body, sizeof(m));
	if (m.udiag_family != AF_UNIX)
		return false;
	s.inode = m.udiag_ino;
	s.type = m.udiag_type;
	s.state = m.udiag_state;
	size -= sizeof(m);
	if ((attribute = find_attribute(rest, size, UNIX_DIAG_PEER, sizeof(peer)))) {
		memcpy(&peer, attribute, sizeof(peer));
		s.peer = peer;
	}
	if ((attribute = find_attribute(rest, size, UNIX_DIAG_RQLEN, sizeof(queue)))) {
		memcpy(&queue, attribute, sizeof(queue));
		s.waiting = queue.udiag_rqueue;
	}
	attribute = find_attribute(rest, size, UNIX_DIAG_SHUTDOWN, 1);
	s.is_shut = attribute && (*(const __u8 *)attribute & SHUT_BOTH) == SHUT_BOTH;
	*ret = s;
	return true;
}

/* A dump that is under way. */
struct dump {
	enum held_kind kind;
	bool (*each)(const struct held_socket *socket, void *owner);
	void *owner;
};

/* 1: more answers come; 0: it was the last; or -errno. */
static int take_answer(const struct dump *dump, const struct nlmsghdr *head)
{
	const void *body = NLMSG_DATA(head);
	size_t size = head->nlmsg_len - NLMSG_HDRLEN;
	struct held_socket socket;
	int err;

	if (head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR) {
		if (size < sizeof(err))
			return 0;
		memcpy(&err, body, sizeof(err));
		return err < 0 ? err : 0;
	}
	if (dump->kind == HELD_UNIX ? !sockdiag_decode_unix(body, size, &socket)
				    : !sockdiag_decode_inet(body, size, dump->kind, &socket))
		return 1;
	return dump->each(&socket, dump->owner) ? 1 : -ECANCELED;
}

static int take_answers(const struct dump *dump, int fd)
{
	_Alignas(struct nlmsghdr) static _Thread_local char bytes[ANSWER_BYTES];
	int more = 1;

	while (more > 0) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
		const struct nlmsghdr *head = (const void *)bytes;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		for (size_t left = (size_t)n; more > 0 && NLMSG_OK(head, left);
		     head = NLMSG_NEXT(head, left))
			more = take_answer(dump, head);
	}
	return more;
}

static int ask(int fd, enum held_kind kind, int family)
{
	struct {
		struct nlmsghdr head;
		union {
			struct inet_diag_req_v2 inet;
			struct unix_diag_req local;
		};
	} question = {.head = {.nlmsg_len = NLMSG_LENGTH(kind == HELD_UNIX ? sizeof(question.local)
									   : sizeof(question.inet)),
			       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};

	if (kind == HELD_UNIX)
		question.local =
			(struct unix_diag_req){.sdiag_family = AF_UNIX,
					       .udiag_states = ~0u,
					       .udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN};
	else
		question.inet = (struct inet_diag_req_v2){
			.sdiag_family = (__u8)family,
			.sdiag_protocol = kind == HELD_TCP ? IPPROTO_TCP : IPPROTO_UDP,
			.idiag_states = ~0u};
	return send(fd, &question, question.head.nlmsg_len, 0) < 0 ? -errno : 0;
}

static int dump_family(const struct dump *dump, int family)
{
	struct timeval limit = {.tv_sec = ANSWER_LIMIT_S};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	err = ask(fd, dump->kind, family);
	if (!err)
		err = take_answers(dump, fd);
	close(fd);
	return err;
}

int sockdiag_each(enum held_kind kind, bool (*each)(const struct held_socket *socket, void *owner),
		  void *owner)
{
	struct dump dump = {.kind = kind, .each = each, .owner = owner};
	int err;

	if (kind == HELD_UNIX)
		return dump_family(&dump, AF_UNIX);
	err = dump_family(&dump, AF_INET);
	return err ? err : dump_family(&dump, AF_INET6);
}
