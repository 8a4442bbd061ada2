// SPDX-License-Identifier: BSD-3-Clause
/*
 * boot_tcp - two programs started by hand. Wire, all numbers little-endian:
 *
 *   both    "OPMTOOL" 0x01, u32 protocol version, u32 zero, u64 job key (the client's counts)
 *   both    u32 length, that many bytes of PM address (after the context was opened)
 *   either  at a barrier: one byte 'b'
 *
 * The connection then stays open: its end tells that the other side is gone. Whoever can reach the
 * port can take part, so it is for trusted networks. Each wait ends after BOOT_WAIT_MS.
 */
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pm.h"
#include "pmcore/tools/common/boot.h"
#include "pmcore/tools/common/message.h"
#include "pmcore/util/clock.h"

#define MAGIC "OPMTOOL\1"
#define VERSION 1

struct hello {
	char magic[8];
	uint32_t version;
	uint32_t zero;
	uint64_t key; /* of the job; the listener's is ignored */
};
_Static_assert(sizeof(struct hello) == 24, "hello is on the wire");

struct wired {
	struct boot boot;
	int fd;                       /* the connection */
	bool has_addr;                /* the other side's address came */
	uint8_t addr[PM_ADDRESS_MAX]; /* it */
	uint32_t len;                 /* of it */
};

/* Waits for @events until the monotonic time @until_ns; 0, -ETIMEDOUT or -EINTR. */
static int wait_for(int fd, short events, uint64_t until_ns)
{
	struct pollfd pfd = {.fd = fd, .events = events};
	uint64_t now = clock_monotonic_ns();
	int n;

	if (now >= until_ns)
		return -ETIMEDOUT;
	n = poll(&pfd, 1, (int)((until_ns - now) / 1000000) + 1);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

static uint64_t limit(void)
{
	return clock_monotonic_ns() + BOOT_WAIT_MS * 1000000ull;
}

static int send_all(int fd, const void *bytes, size_t len)
{
	uint64_t until = limit();
	const char *from = bytes;

	while (len) {
		int rc = wait_for(fd, POLLOUT, until);
		ssize_t n;

		if (rc)
			return rc;
		n = send(fd, from, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN)
			return -errno;
		if (n > 0) {
			from += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int receive_all(int fd, void *bytes, size_t len)
{
	uint64_t until = limit();
	char *to = bytes;

	while (len) {
		int rc = wait_for(fd, POLLIN, until);
		ssize_t n;

		if (rc)
			return rc;
		n = recv(fd, to, len, MSG_DONTWAIT);
		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno != EAGAIN)
			return -errno;
		if (n > 0) {
			to += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int refused(const struct wired *wired, const char *what, int rc)
{
	if (rc == -ETIMEDOUT)
		message_error("%s: no %s within %d s", wired->boot.peer, what, BOOT_WAIT_MS / 1000);
	else if (rc == -ECONNRESET)
		message_error("%s: closed the connection before its %s came", wired->boot.peer,
			      what);
	else if (rc != -EINTR)
		message_error("%s: %s: %s", wired->boot.peer, what, strerror(-rc));
	return rc;
}

static int publish(struct boot *boot, const void *addr, size_t len)
{
	struct wired *wired = (struct wired *)boot;
	uint32_t length = htole32((uint32_t)len);
	int rc;

	rc = send_all(wired->fd, &length, sizeof(length));
	if (!rc)
		rc = send_all(wired->fd, addr, len);
	if (!rc)
		rc = receive_all(wired->fd, &length, sizeof(length));
	wired->len = le32toh(length);
	if (!rc && wired->len > sizeof(wired->addr)) {
		message_error("%s: sends an address of %u bytes, at most %zu are possible",
			      boot->peer, wired->len, sizeof(wired->addr));
		return -EPROTO;
	}
	if (!rc)
		rc = receive_all(wired->fd, wired->addr, wired->len);
	if (rc)
		return refused(wired, "address", rc);
	wired->has_addr = true;
	return 0;
}

static int lookup(struct boot *boot, uint32_t node, const void **ret_addr, size_t *ret_len)
{
	struct wired *wired = (struct wired *)boot;

	if (node >= boot->nodes || node == boot->self)
		return -EHOSTUNREACH;
	if (!wired->has_addr)
		return -EAGAIN;
	*ret_addr = wired->addr;
	*ret_len = wired->len;
	return 0;
}

static int barrier(struct boot *boot)
{
	struct wired *wired = (struct wired *)boot;
	char byte = 'b';
	int rc;

	rc = send_all(wired->fd, &byte, 1);
	if (!rc)
		rc = receive_all(wired->fd, &byte, 1);
	return rc ? refused(wired, "end of the test", rc) : 0;
}

static bool is_gone(struct boot *boot, uint32_t node)
{
	struct wired *wired = (struct wired *)boot;
	char byte;
	ssize_t n = recv(wired->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void close_wired(struct boot *boot, bool is_clean)
{
	close(((struct wired *)boot)->fd);
	free(boot);
}

static const struct boot_ops ops = {publish, lookup, barrier, is_gone, close_wired};

static int check_hello(const struct wired *wired, const struct hello *hello)
{
	if (memcmp(hello->magic, MAGIC, sizeof(hello->magic)) != 0) {
		message_error("%s: is no PM tool (it does not greet like one)", wired->boot.peer);
		return -EPROTO;
	}
	if (le32toh(hello->version) != VERSION) {
		message_error("%s: speaks version %u, this is version %d: install the same release",
			      wired->boot.peer, le32toh(hello->version), VERSION);
		return -EPROTO;
	}
	return 0;
}

/* Greets over a new connection, which it owns from now on. */
static int shake_hands(int fd, uint32_t self, const char *peer, struct boot **ret_boot)
{
	struct wired *wired = calloc(1, sizeof(*wired));
	struct hello ours = {.magic = MAGIC, .version = htole32(VERSION)}, theirs;
	int rc;

	if (!wired) {
		close(fd);
		return -ENOMEM;
	}
	wired->boot = (struct boot){.ops = &ops, .self = self, .nodes = 2};
	wired->fd = fd;
	snprintf(wired->boot.peer, sizeof(wired->boot.peer), "%s", peer);
	rc = self == 0 ? boot_random(&wired->boot.key) : 0;
	ours.key = htole64(wired->boot.key);
	if (!rc)
		rc = send_all(fd, &ours, sizeof(ours));
	if (!rc) {
		rc = receive_all(fd, &theirs, sizeof(theirs));
		rc = rc ? refused(wired, "greeting", rc) : check_hello(wired, &theirs);
	}
	if (rc) {
		close_wired(&wired->boot, false);
		return rc;
	}
	if (self == 1)
		wired->boot.key = le64toh(theirs.key);
	*ret_boot = &wired->boot;
	return 0;
}

int boot_tcp_listen(uint16_t port, int *ret_listener)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd, on = 1, off = 0, rc;

	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	} else {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* a kernel without IPv6 */
		if (fd < 0)
			goto failed;
		memcpy(&any, &any4, sizeof(any4));
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&any,
		 any.sin6_family == AF_INET6 ? sizeof(any) : sizeof(any4)) < 0 ||
	    listen(fd, 4) < 0)
		goto failed;
	*ret_listener = fd;
	return 0;
failed:
	rc = -errno;
	message_error("port %u: %s: choose another with --listen PORT", port, strerror(-rc));
	if (fd >= 0)
		close(fd);
	return rc;
}

int boot_tcp_accept(int listener, struct boot **ret_boot)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char host[48];
	int fd;

	fd = accept4(listener, (struct sockaddr *)&from, &len, SOCK_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (getnameinfo((struct sockaddr *)&from, len, host, sizeof(host), NULL, 0, NI_NUMERICHOST))
		snprintf(host, sizeof(host), "client");
	/* IPv4 on a socket that takes both */
	return shake_hands(fd, 1, strncmp(host, "::ffff:", 7) ? host : host + 7, ret_boot);
}

/* A connection to one address within the time limit; the descriptor or -errno. */
static int connect_to(const struct addrinfo *to)
{
	socklen_t len = sizeof(int);
	int fd, err = 0, rc = 0;

	fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, to->ai_addr, to->ai_addrlen) < 0)
		rc = errno == EINPROGRESS ? wait_for(fd, POLLOUT, limit()) : -errno;
	if (!rc && getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0)
		rc = -err;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* "HOST", "HOST:PORT", "[v6]:PORT"; a bare IPv6 address has several colons and no port. */
static void split_where(const char *where, char *host, size_t room, char *port, size_t port_room)
{
	const char *colon = strrchr(where, ':');
	size_t len = strlen(where);

	snprintf(port, port_room, "%d", BOOT_PORT);
	if (where[0] == '[' && strchr(where, ']')) {
		len = (size_t)(strchr(where, ']') - where) - 1;
		if (where[len + 2] == ':')
			snprintf(port, port_room, "%s", where + len + 3);
		where++;
	} else if (colon && strchr(where, ':') == colon) {
		len = (size_t)(colon - where);
		snprintf(port, port_room, "%s", colon + 1);
	}
	snprintf(host, room, "%.*s", (int)len, where);
}

int boot_tcp_connect(const char *where, struct boot **ret_boot)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list, *to;
	char host[256], port[16];
	int rc;

	split_where(where, host, sizeof(host), port, sizeof(port));
	rc = getaddrinfo(host, port, &hints, &list);
	if (rc) {
		message_error("%s: %s", where, gai_strerror(rc));
		return -EINVAL;
	}
	rc = -EHOSTUNREACH;
	for (to = list; to && rc < 0 && rc != -EINTR; to = to->ai_next)
		rc = connect_to(to);
	freeaddrinfo(list);
	if (rc < 0) {
		message_error("%s port %s: %s: is \"%s --listen\" running there?", host, port,
			      strerror(-rc), program_invocation_short_name);
		return rc;
	}
	return shake_hands(rc, 0, host, ret_boot);
}
