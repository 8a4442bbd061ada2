// SPDX-License-Identifier: BSD-3-Clause
/* terminal: both sides are one terminal, and neither of them becomes ours or outlives an exec. */
#include "scheduler/scstepd/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

#include "tests/harness/tap.h"

TAP_TEST(terminal_open__both_sides)
{
	struct winsize size = {.ws_row = 20, .ws_col = 90}, seen = {0};
	int ours = -1, rank = -1;
	char text[16] = "";

	must(is_int(terminal_open(&ours, &rank), 0));
	ok(isatty(rank));
	ok(fcntl(ours, F_GETFD) & FD_CLOEXEC);
	ok(fcntl(rank, F_GETFD) & FD_CLOEXEC);
	/* Output of the rank comes with the line ends of a terminal. */
	is_int(write(rank, "hello\n", 6), 6);
	is_int(read(ours, text, sizeof(text) - 1), 7);
	is_str(text, "hello\r\n");
	ok(!ioctl(ours, TIOCSWINSZ, &size) && !ioctl(rank, TIOCGWINSZ, &seen));
	is_int(seen.ws_col, 90);
	close(rank);
	is_int(read(ours, text, sizeof(text)), -1);
	is_int(errno, EIO);
	close(ours);
}

TAP_TEST(terminal_open__two_are_two)
{
	int ours[2], ranks[2];
	char names[2][64];

	for (int i = 0; i < 2; i++) {
		must(is_int(terminal_open(&ours[i], &ranks[i]), 0));
		ok(!ttyname_r(ranks[i], names[i], sizeof(names[i])));
	}
	ok(strcmp(names[0], names[1]) != 0);
	for (int i = 0; i < 2; i++) {
		close(ours[i]);
		close(ranks[i]);
	}
}

/* How many descriptors may be open beside those that are. */
static int open_with(rlim_t more)
{
	struct rlimit usual, few;
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC), ours = -1, rank = -1, rc, probe;

	close(next);
	ok(!getrlimit(RLIMIT_NOFILE, &usual));
	few = (struct rlimit){(rlim_t)next + more, usual.rlim_max};
	ok(!setrlimit(RLIMIT_NOFILE, &few));
	rc = terminal_open(&ours, &rank);
	setrlimit(RLIMIT_NOFILE, &usual);
	is_int(ours, -1);
	is_int(rank, -1);
	/* Nothing is left open. */
	probe = open("/dev/null", O_RDONLY | O_CLOEXEC);
	is_int(probe, next);
	close(probe);
	return rc;
}

TAP_TEST(terminal_open__descriptors_are_short)
{
	is_int(open_with(0), -EMFILE);
	is_int(open_with(1), -EMFILE);
}
