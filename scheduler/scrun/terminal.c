// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios before; /* valid if raw_fd >= 0 */
static volatile sig_atomic_t raw_fd = -1;

void terminal_size(int *columns, int *rows)
{
	struct winsize size;

	*columns = *rows = 0;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (ioctl(fd, TIOCGWINSZ, &size) == 0) {
			*columns = size.ws_col;
			*rows = size.ws_row;
			return;
		}
}

bool terminal_is_ours(int fd)
{
	pid_t group = tcgetpgrp(fd);

	return group < 0 || group == getpgrp();
}

void terminal_restore(void)
{
	int fd = raw_fd;

	if (fd < 0)
		return;
	raw_fd = -1;
	tcsetattr(fd, TCSADRAIN, &before);
}

bool terminal_is_raw(void)
{
	return raw_fd >= 0;
}

static void on_fatal(int signal)
{
	int fd = raw_fd;

	if (fd >= 0)
		tcsetattr(fd, TCSANOW, &before);
	/* SA_RESETHAND: the default action is back. */
	raise(signal);
}

/* Once: what ends the process by accident. */
static void guard(void)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
	static bool is_guarded;
	struct sigaction action = {.sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND};

	if (is_guarded)
		return;
	is_guarded = true;
	atexit(terminal_restore);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		sigaction(fatal[i], &action, NULL);
}

int terminal_make_raw(int fd)
{
	struct termios raw;

	if (raw_fd >= 0)
		return 0;
	if (tcgetattr(fd, &raw))
		return -errno;
	if (!terminal_is_ours(fd))
		return -EAGAIN;
	guard();
	before = raw;
	cfmakeraw(&raw);
	raw_fd = fd;
	if (tcsetattr(fd, TCSADRAIN, &raw)) {
		raw_fd = -1;
		return -errno;
	}
	return 0;
}
