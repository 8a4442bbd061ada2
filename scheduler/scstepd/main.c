// SPDX-License-Identifier: BSD-3-Clause
/*
 * scstepd - the daemon of one job on one host: started by scnoded under the user's name, its order
 * comes over descriptor 3. Lives as long as the job, and longer than its scnoded.
 */
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/scstepd/course.h"

enum { ORDER_FD = 3 };

static bool is_socket(int fd)
{
	int type;
	socklen_t size = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

/* 0 to 2 stay taken, so that no pipe of a rank gets one of these numbers. */
static int hold_stdio(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
	return fd < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
	struct step step;
	struct ev_loop *loop;
	int rc;

	if (argc > 1 || !is_socket(ORDER_FD)) {
		fprintf(stderr, "scstepd: started by hand: only scnoded can start it; "
				"use scrun to start programs\n");
		return 2;
	}
	rc = hold_stdio();
	/* Other descriptors that were left open must not reach the ranks. */
	close_range(ORDER_FD + 1, ~0u, 0);
	/* Keys of the job are in our memory: no debugger of the user, no core dump. */
	prctl(PR_SET_DUMPABLE, 0);
	/* Processes that ranks leave behind become our children, to be found and ended. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGPIPE, SIG_IGN);
	/* The keyboard or the end of a session sends these to all processes of the group. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	fcntl(ORDER_FD, F_SETFD, FD_CLOEXEC);
	/*
	 * libev's default loop reaps children by itself, and tells nothing of the memory they had.
	 */
	loop = ev_loop_new(EVFLAG_AUTO);
	if (!rc)
		rc = loop ? course_open(&step, loop, ORDER_FD) : -ENOMEM;
	if (rc) {
		fprintf(stderr, "scstepd: %s\n", strerror(-rc));
		return 1;
	}
	ev_run(loop, 0);
	course_close(&step);
	/* Until the last words are out. */
	ev_run(loop, 0);
	order_free(step.order);
	ev_loop_destroy(loop);
	return 0;
}
