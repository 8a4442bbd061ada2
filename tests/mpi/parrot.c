// SPDX-License-Identifier: BSD-3-Clause
/*
 * Rank 0 tells all ranks each line of its standard input, and each prints it behind its number,
 * until the end of the input. With an argument each holds something that can't be written to disk:
 * udp (a socket with an address), ring (io_uring), nameless (a large file without a name).
 */
#include "tests/mpi/check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096
#define NAMELESS_BYTES (17 << 20)
#define PAUSE_US 500

enum { NOTHING = -1, OVER = 0 }; /* else bytes of a line */

static char input[1 << 16];
static size_t n_input;

static int hold(const char *what)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct io_uring_params params = {0};
	char path[] = "/var/tmp/parrot-XXXXXX";
	int fd = -1;

	if (!strcmp(what, "udp")) {
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		CHECK(!bind(fd, (struct sockaddr *)&any, sizeof(any)), "bind: %s", strerror(errno));
	} else if (!strcmp(what, "ring")) {
		fd = (int)syscall(SYS_io_uring_setup, 4, &params);
	} else {
		fd = mkstemp(path);
		CHECK(!unlink(path) && !posix_fallocate(fd, 0, NAMELESS_BYTES), "%s: %s", path,
		      strerror(errno));
	}
	CHECK(fd >= 0, "%s: %s", what, strerror(errno));
	return fd;
}

/* Length of the first whole line, 0: there is none. */
static size_t first_line(void)
{
	char *end = memchr(input, '\n', n_input);

	return end ? (size_t)(end - input) + 1 : 0;
}

/* As above; does not wait. */
static int listen_to_input(void)
{
	static bool is_over;
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	ssize_t n;

	if (!is_over && n_input < sizeof(input) && poll(&in, 1, 0) > 0) {
		n = read(STDIN_FILENO, input + n_input, sizeof(input) - n_input);
		is_over = !n;
		n_input += n > 0 ? (size_t)n : 0;
	}
	if (first_line())
		return (int)first_line();
	return is_over ? OVER : NOTHING;
}

static void say(const char *line, int size)
{
	printf("%d:%.*s", check_rank, size, line);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[LINE_MAX_BYTES];
	int size = NOTHING, fd = -1;

	check_start(&argc, &argv);
	if (argc > 1)
		fd = hold(argv[1]);
	do {
		if (!check_rank)
			size = listen_to_input();
		MPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
		if (size <= 0) {
			usleep(PAUSE_US);
			continue;
		}
		CHECK(size <= LINE_MAX_BYTES, "a line of %d bytes", size);
		if (!check_rank) {
			memcpy(line, input, (size_t)size);
			n_input -= (size_t)size;
			memmove(input, input + size, n_input);
		}
		MPI_Bcast(line, size, MPI_BYTE, 0, MPI_COMM_WORLD);
		say(line, size);
	} while (size != OVER);
	if (fd >= 0)
		close(fd);
	return check_end("parrot");
}
