// SPDX-License-Identifier: BSD-3-Clause
/*
 * tcp_pingpong NETNS_A NETNS_B ADDRESS_B BYTES ITERATIONS REPEATS - half round-trip time of the
 * fastest plain TCP. Two processes spin on non-blocking sockets with TCP_NODELAY, each on a core of
 * its own. Each is in a network namespace (a path, "" = ours). The clock is read once per batch;
 * the median over all batches, in microseconds, is printed as one JSON line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH 100
#define BYTES_MAX (1 << 20)

static void die(const char *what)
{
	fprintf(stderr, "tcp_pingpong: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* To the namespace and a core; on a machine with one core the two share it. */
static void settle(const char *netns, int core)
{
	cpu_set_t set;

	if (*netns) {
		int fd = open(netns, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || setns(fd, CLONE_NEWNET))
			die(netns);
		close(fd);
	}
	CPU_ZERO(&set);
	CPU_SET(core % (int)sysconf(_SC_NPROCESSORS_ONLN), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static int tune(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    fcntl(fd, F_SETFL, O_NONBLOCK))
		die("socket option");
	return fd;
}

static void push(int fd, const char *buf, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = send(fd, buf + done, bytes - done, MSG_NOSIGNAL);

		if (n > 0)
			done += (size_t)n;
		else if (errno != EAGAIN)
			die("send");
	}
}

/* False at the end of the connection. */
static bool pull(int fd, char *buf, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = recv(fd, buf + done, bytes - done, 0);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0)
			return false;
		else if (errno != EAGAIN)
			die("recv");
	}
	return true;
}

/* The other side: answers until the connection ends. @tell gets the port. */
static void answer(const char *netns, const char *address, size_t bytes, int tell)
{
	static char buf[BYTES_MAX];
	struct sockaddr_in sin = {.sin_family = AF_INET};
	socklen_t len = sizeof(sin);
	int fd, peer;

	settle(netns, 1);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (inet_pton(AF_INET, address, &sin.sin_addr) != 1 || fd < 0 ||
	    bind(fd, (struct sockaddr *)&sin, sizeof(sin)) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)&sin, &len) ||
	    write(tell, &sin, sizeof(sin)) != sizeof(sin))
		die(address);
	peer = accept(fd, NULL, NULL);
	if (peer < 0)
		die("accept");
	tune(peer);
	while (pull(peer, buf, bytes))
		push(peer, buf, bytes);
}

static double *play(int fd, size_t bytes, int batches)
{
	static char buf[BYTES_MAX];
	double *times = calloc((size_t)batches, sizeof(*times));

	if (!times)
		die("memory");
	for (int b = -batches / 10 - 1; b < batches; b++) {
		double start = now_us();

		for (int i = 0; i < BATCH; i++) {
			push(fd, buf, bytes);
			if (!pull(fd, buf, bytes))
				die("the other side ended");
		}
		if (b >= 0)
			times[b] = (now_us() - start) / BATCH / 2;
	}
	qsort(times, (size_t)batches, sizeof(*times), by_value);
	return times;
}

int main(int argc, char **argv)
{
	struct sockaddr_in sin;
	int told[2], fd, batches;
	size_t bytes;
	double *times;
	pid_t pid;

	if (argc != 7 || atoi(argv[4]) < 1 || atoi(argv[4]) > BYTES_MAX || atoi(argv[5]) < BATCH ||
	    atoi(argv[6]) < 1) {
		fprintf(stderr,
			"usage: tcp_pingpong NETNS_A NETNS_B ADDRESS_B BYTES ITERATIONS REPEATS\n");
		return 1;
	}
	bytes = (size_t)atoi(argv[4]);
	batches = atoi(argv[5]) / BATCH * atoi(argv[6]);
	if (pipe(told))
		die("pipe");
	pid = fork();
	if (pid == 0) {
		close(told[0]);
		answer(argv[2], argv[3], bytes, told[1]);
		return 0;
	}
	close(told[1]);
	settle(argv[1], 0);
	if (pid < 0 || read(told[0], &sin, sizeof(sin)) != sizeof(sin))
		die("no other side");
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sin, sizeof(sin)))
		die("connect");
	times = play(tune(fd), bytes, batches);
	printf("{\"bytes\": %zu, \"half_rtt_us\": %.4f}\n", bytes, times[batches / 2]);
	free(times);
	close(fd);
	return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}
