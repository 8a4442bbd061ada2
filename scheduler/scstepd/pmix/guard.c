// SPDX-License-Identifier: BSD-3-Clause
/*
 * guard - see guard.h. PMIx has no hook between accept() and the first bytes of a client, so that
 * accept() and send() themselves are ours: the linker takes them before the C library's for all of
 * this program. The kernel's socket diagnosis knows who made the other end, which is on this host,
 * too.
 */
#include "scheduler/scstepd/pmix/guard.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one question at a time */
static int kernel = -1;

/* The other end as the kernel sees it: its own address comes first. */
static bool identify(int fd, struct inet_diag_req_v2 *request)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} here, there;
	socklen_t here_size = sizeof(here), there_size = sizeof(there);

	if (getsockname(fd, &here.any, &here_size) || getpeername(fd, &there.any, &there_size))
		return false;
	request->sdiag_family = (__u8)there.any.sa_family;
	request->sdiag_protocol = IPPROTO_TCP;
	request->id.idiag_cookie[0] = request->id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	if (there.any.sa_family == AF_INET) {
		request->id.idiag_sport = there.v4.sin_port;
		request->id.idiag_dport = here.v4.sin_port;
		memcpy(request->id.idiag_src, &there.v4.sin_addr, sizeof(there.v4.sin_addr));
		memcpy(request->id.idiag_dst, &here.v4.sin_addr, sizeof(here.v4.sin_addr));
	} else if (there.any.sa_family == AF_INET6) {
		request->id.idiag_sport = there.v6.sin6_port;
		request->id.idiag_dport = here.v6.sin6_port;
		memcpy(request->id.idiag_src, &there.v6.sin6_addr, sizeof(there.v6.sin6_addr));
		memcpy(request->id.idiag_dst, &here.v6.sin6_addr, sizeof(here.v6.sin6_addr));
	} else {
		return false;
	}
	return true;
}

/*
 * The socket's owner. False: there is no such socket, or its process has closed it: the kernel then
 * says root.
 */
static bool find_owner(const struct inet_diag_req_v2 *request, uid_t *uid)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} question = {.head = {.nlmsg_len = sizeof(question),
			       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			       .nlmsg_flags = NLM_F_REQUEST},
		      .body = *request};
	union {
		char bytes[ANSWER_BYTES];
		struct nlmsghdr head;
	} answer;
	const struct inet_diag_msg *found = NLMSG_DATA(&answer.head);
	ssize_t n;

	if (send(kernel, &question, sizeof(question), 0) != (ssize_t)sizeof(question))
		return false;
	do
		n = recv(kernel, &answer, sizeof(answer), 0);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*found)) ||
	    answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || !found->idiag_inode)
		return false;
	*uid = found->idiag_uid;
	return true;
}

static bool is_ours(int fd)
{
	struct inet_diag_req_v2 request = {.idiag_states = ~0u};
	uid_t uid = (uid_t)-1;
	bool is_known;

	if (!identify(fd, &request))
		return false;
	pthread_mutex_lock(&lock);
	is_known = kernel >= 0 && find_owner(&request, &uid);
	pthread_mutex_unlock(&lock);
	return is_known && uid == getuid();
}

/* For PMIx. A client that is not let in reads the end of the connection; the next is accepted. */
__attribute__((visibility("default"))) int accept(int fd, struct sockaddr *address, socklen_t *size)
{
	socklen_t room = size ? *size : 0;
	int got;

	while ((got = accept4(fd, address, size, SOCK_CLOEXEC)) >= 0 && !is_ours(got)) {
		close(got);
		if (size)
			*size = room;
	}
	return got;
}

static bool is_tcp(int fd)
{
	int protocol = 0;
	socklen_t size = sizeof(protocol);

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) &&
	       protocol == IPPROTO_TCP;
}

/*
 * For PMIx. If a rank is killed before it has the answer to its first message, PMIx frees its
 * record of the rank once too often, and hangs when it is told to forget the job. See "error:" in
 * its ptl_base_connection_hdlr.c, of all releases up to 5.0.7. So the answer counts as sent. That
 * promises no arrival anyway, and the next read tells PMIx that the connection has ended.
 */
__attribute__((visibility("default"))) ssize_t send(int fd, const void *bytes, size_t size,
						    int flags)
{
	ssize_t n = sendto(fd, bytes, size, flags, NULL, 0);

	if (n < 0 && (errno == EPIPE || errno == ECONNRESET) && is_tcp(fd))
		return (ssize_t)size;
	return n;
}

int guard_open(void)
{
	kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	return kernel < 0 ? -errno : 0;
}

void guard_close(void)
{
	pthread_mutex_lock(&lock);
	if (kernel >= 0)
		close(kernel);
	kernel = -1;
	pthread_mutex_unlock(&lock);
}
