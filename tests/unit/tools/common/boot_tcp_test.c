// SPDX-License-Identifier: BSD-3-Clause
/* boot_tcp - the handshake with a good partner, with strangers and with one that goes away. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmcore/tools/common/boot.h"
#include "tests/harness/tap.h"

/* The listening side and a thread that plays the client. */
struct stage {
	int listener;
	uint16_t port;
	int saved_stderr; /* what the functions say is not for the test's output */
};

static bool raise_stage(struct stage *stage)
{
	struct sockaddr_in6 addr;
	socklen_t len = sizeof(addr);
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stderr);
	stage->saved_stderr = dup(STDERR_FILENO);
	dup2(null, STDERR_FILENO);
	close(null);
	if (!is_int(boot_tcp_listen(0, &stage->listener), 0))
		return false;
	/* The port stands at the same place in both kinds of address. */
	if (!is_int(getsockname(stage->listener, (struct sockaddr *)&addr, &len), 0))
		return false;
	stage->port = ntohs(addr.sin6_port);
	return true;
}

static void strike_stage(struct stage *stage)
{
	close(stage->listener);
	fflush(stderr);
	dup2(stage->saved_stderr, STDERR_FILENO);
	close(stage->saved_stderr);
}

static int dial(const struct stage *stage)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(stage->port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A stranger sends these bytes; the listener must return @want and open no connection. */
static void stranger(const void *bytes, size_t len, int want)
{
	struct stage stage;
	struct boot *boot = NULL;
	int fd;

	if (raise_stage(&stage)) {
		fd = dial(&stage);
		ok(fd >= 0);
		is_int(write(fd, bytes, len), len);
		shutdown(fd, SHUT_WR);
		is_int(boot_tcp_accept(stage.listener, &boot), want);
		ok(boot == NULL);
		close(fd);
	}
	strike_stage(&stage);
}

TAP_TEST(boot_tcp_accept__browser)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: example\r\n\r\n";

	stranger(text, sizeof(text), -EPROTO);
}

TAP_TEST(boot_tcp_accept__other_version)
{
	char hello[24] = "OPMTOOL\1\2";

	stranger(hello, sizeof(hello), -EPROTO);
}

TAP_TEST(boot_tcp_accept__cut_short)
{
	char hello[24] = "OPMTOOL\1\1";

	for (size_t len = 0; len < sizeof(hello); len++)
		stranger(hello, len, -ECONNRESET);
}

/* The client's side of a whole life, in a thread. */
static void *good_client(void *arg)
{
	const struct stage *stage = arg;
	struct boot *boot;
	const void *addr;
	char where[32];
	size_t len = 0;

	snprintf(where, sizeof(where), "127.0.0.1:%u", stage->port);
	if (!is_int(boot_tcp_connect(where, &boot), 0))
		return NULL;
	is_int(boot->self, 0);
	is_int(boot->ops->lookup(boot, 1, &addr, &len), -EAGAIN);
	is_int(boot->ops->publish(boot, "client", 6), 0);
	is_int(boot->ops->lookup(boot, 1, &addr, &len), 0);
	is_int(len, 8);
	is_mem(addr, "listener", 8);
	is_int(boot->ops->lookup(boot, 2, &addr, &len), -EHOSTUNREACH);
	is_int(boot->ops->barrier(boot), 0);
	boot->ops->close(boot, true);
	return NULL;
}

TAP_TEST(boot_tcp__whole_life)
{
	struct stage stage;
	struct boot *boot = NULL;
	const void *addr;
	pthread_t thread;
	size_t len;

	if (!raise_stage(&stage))
		return;
	must(pthread_create(&thread, NULL, good_client, &stage) == 0);
	if (is_int(boot_tcp_accept(stage.listener, &boot), 0)) {
		is_int(boot->self, 1);
		is_int(boot->nodes, 2);
		is_str(boot->peer, "127.0.0.1");
		ok(!boot->ops->is_gone(boot, 0));
		is_int(boot->ops->publish(boot, "listener", 8), 0);
		is_int(boot->ops->lookup(boot, 0, &addr, &len), 0);
		is_mem(addr, "client", len);
		is_int(boot->ops->barrier(boot), 0);
		pthread_join(thread, NULL);
		ok(boot->ops->is_gone(boot, 0));
		boot->ops->close(boot, true);
	}
	strike_stage(&stage);
}

/* Greets well, then claims an address that is too long. */
TAP_TEST(boot_tcp__address_too_long)
{
	char hello[24] = "OPMTOOL\1\1", length[4] = {1, 4, 0, 0};
	struct stage stage;
	struct boot *boot = NULL;
	int fd;

	if (raise_stage(&stage)) {
		fd = dial(&stage);
		is_int(write(fd, hello, sizeof(hello)), sizeof(hello));
		is_int(write(fd, length, sizeof(length)), sizeof(length));
		if (is_int(boot_tcp_accept(stage.listener, &boot), 0)) {
			is_int(boot->ops->publish(boot, "x", 1), -EPROTO);
			boot->ops->close(boot, false);
		}
		close(fd);
	}
	strike_stage(&stage);
}

TAP_TEST(boot_tcp_connect__nobody_listens)
{
	struct stage stage;
	struct boot *boot;
	char where[32];

	if (!raise_stage(&stage))
		return;
	snprintf(where, sizeof(where), "127.0.0.1:%u", stage.port);
	close(stage.listener);
	is_int(boot_tcp_connect(where, &boot), -ECONNREFUSED);
	is_int(boot_tcp_connect("no such host", &boot), -EINVAL);
	stage.listener = open("/dev/null", O_RDONLY | O_CLOEXEC);
	strike_stage(&stage);
}
