// SPDX-License-Identifier: BSD-3-Clause
/* sink: slow readers, readers that leave, and descriptors that are shared with others. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/scrun/sink.h"
#include "tests/harness/tap.h"

#define BYTES (4u << 20)

struct end {
	int fd;
	uint64_t sum;
	size_t bytes;
	int error;
	unsigned int drained;
	ev_io io;
};

static uint64_t sum_of(uint64_t sum, const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + (unsigned char)data[i];
	return sum;
}

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
	struct end *end = io->data;
	char chunk[777];
	ssize_t n = read(end->fd, chunk, sizeof(chunk));

	if (n > 0) {
		end->sum = sum_of(end->sum, chunk, (size_t)n);
		end->bytes += (size_t)n;
	}
	if (n <= 0 || end->bytes == BYTES)
		ev_io_stop(loop, io);
}

static void drained(void *owner)
{
	((struct end *)owner)->drained++;
}

static void failed(const struct sink *sink, int error, void *owner)
{
	((struct end *)owner)->error = error;
}

static const struct sink_events events = {.drained = drained, .failed = failed};

static struct sink *open_on(int fd, struct end *end)
{
	struct descriptor descriptor;

	descriptor_open(&descriptor, fd, true);
	return sink_open(ev_default_loop(0), descriptor, "it", &events, end);
}

static void check_slow(const int fds[2])
{
	struct ev_loop *loop = ev_default_loop(0);
	struct end end = {.fd = fds[0]};
	struct sink *sink = open_on(fds[1], &end);
	char *data = malloc(BYTES);

	must(sink && data);
	for (size_t i = 0; i < BYTES; i++)
		data[i] = (char)(i * 7 + (i >> 9));
	sink_write(sink, data, BYTES / 2);
	sink_write(sink, data + BYTES / 2, BYTES / 2);
	ok(sink_is_full(sink));
	ok(!(fcntl(fds[1], F_GETFL) & O_NONBLOCK));
	ev_io_init(&end.io, on_readable, fds[0], EV_READ);
	end.io.data = &end;
	ev_io_start(loop, &end.io);
	ev_run(loop, 0);
	is_int(end.bytes, BYTES);
	ok(end.sum == sum_of(0, data, BYTES));
	ok(end.drained > 0 && sink_is_empty(sink));
	sink_close(sink);
	free(data);
	close(fds[0]);
	close(fds[1]);
}

TAP_TEST(sink_write__slow_pipe)
{
	int fds[2];

	must(!pipe(fds));
	check_slow(fds);
}

TAP_TEST(sink_write__slow_socket)
{
	int fds[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	check_slow(fds);
}

TAP_TEST(sink_write__reader_that_leaves)
{
	struct end end = {0};
	struct sink *sink;
	int fds[2];

	must(!pipe(fds));
	sink = open_on(fds[1], &end);
	close(fds[0]);
	signal(SIGPIPE, SIG_IGN);
	sink_write(sink, "x", 1);
	is_int(end.error, EPIPE);
	sink_write(sink, "x", 1);
	ok(sink_is_empty(sink));
	sink_close(sink);
	close(fds[1]);
}

TAP_TEST(sink_write__full_disk)
{
	struct end end = {0};
	int fd = open("/dev/full", O_WRONLY);
	struct sink *sink;

	must(fd >= 0);
	sink = open_on(fd, &end);
	sink_write(sink, "x", 1);
	is_int(end.error, ENOSPC);
	sink_close(sink);
	close(fd);
}
