// SPDX-License-Identifier: BSD-3-Clause
/*
 * lend - gives a connection pages of the program's memory to send, in place of a copy of them
 * (vmsplice(2), splice(2)). The pages go through a pipe, which holds what the connection does not
 * take yet. The kernel keeps them until the reader's host has them, so a region must stay as it is
 * for as long as its readers read it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "pm-udp/stream/private.h"
#include "pmcore/util/forked.h"

/* More at a time than a segmented packet, and less than fills a cache until it is sent. */
#define PIPE_BYTES (256 << 10)
/*
 * Pipes and their room are shared by all programs of a user. A connection has one only while it
 * holds something.
 */
#define PIPES 8u

void pmt_lend_close(struct pmt_link *s, struct pmt_loan *loan)
{
	if (!loan->is_open)
		return;
	for (int i = 0; i < 2; i++) {
		forked_keep(loan->pipe[i]);
		close(loan->pipe[i]);
	}
	loan->is_open = false;
	loan->held = 0;
	s->n_pipes--;
}

/* A user with many pipes gets smaller ones, down to two pages, which are dearer than copies. */
static bool open_pipe(struct pmt_link *s, struct pmt_loan *loan)
{
	if (pipe2(loan->pipe, O_NONBLOCK | O_CLOEXEC))
		return false;
	loan->is_open = true;
	s->n_pipes++;
	if (fcntl(loan->pipe[0], F_SETPIPE_SZ, PIPE_BYTES) >= PIPE_BYTES &&
	    !forked_close(loan->pipe[0]) && !forked_close(loan->pipe[1]))
		return true;
	pmt_lend_close(s, loan);
	return false;
}

static bool take_pipe(struct pmt_link *s, struct pmt_loan *loan)
{
	if (s->lends_not)
		return false;
	if (s->spare.is_open) {
		*loan = s->spare;
		s->spare.is_open = false;
		return true;
	}
	if (s->n_pipes == PIPES)
		return false;
	s->lends_not = !open_pipe(s, loan);
	return !s->lends_not;
}

static void give_pipe_back(struct pmt_link *s, struct pmt_loan *loan)
{
	if (s->spare.is_open) {
		pmt_lend_close(s, loan);
		return;
	}
	s->spare = *loan;
	loan->is_open = false;
}

/*
 * splice has no MSG_NOSIGNAL: a connection that broke raises SIGPIPE, which is not the program's,
 * also if a part was sent before.
 */
static ssize_t push(struct pmt_loan *loan, int fd)
{
	static const struct timespec at_once;
	sigset_t sigpipe, pending, before;
	ssize_t n;

	sigemptyset(&sigpipe);
	sigaddset(&sigpipe, SIGPIPE);
	sigemptyset(&pending);
	pthread_sigmask(SIG_BLOCK, &sigpipe, &before);
	if (sigismember(&before, SIGPIPE))
		sigpending(&pending);
	n = splice(loan->pipe[0], NULL, fd, NULL, loan->held, SPLICE_F_NONBLOCK);
	if (n < 0)
		n = -errno;
	if (n < (ssize_t)loan->held && !sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&sigpipe, NULL, &at_once) < 0 && errno == EINTR)
			continue;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return n;
}

/* The kernel does not want it: from here on copies are sent, also of what is in the pipe. */
static ssize_t refuse(struct pmt_link *s, struct pmt_loan *loan)
{
	pmt_lend_close(s, loan);
	s->lends_not = true;
	return -ENOTSUP;
}

ssize_t pmt_lend(struct pmt_link *s, struct pmt_loan *loan, int fd, void *at, size_t len)
{
	struct iovec iov = {at, len};
	ssize_t n;

	if (!loan->is_open && !take_pipe(s, loan))
		return -ENOTSUP;
	if (!loan->held) {
		n = vmsplice(loan->pipe[1], &iov, 1, SPLICE_F_NONBLOCK);
		if (n <= 0)
			return refuse(s, loan);
		loan->held = (size_t)n;
	}
	n = push(loan, fd);
	if (n == -EINVAL || n == -EPERM || n == -EOPNOTSUPP || n == -ENOSYS)
		return refuse(s, loan);
	if (n > 0)
		loan->held -= (size_t)n;
	if (!loan->held)
		give_pipe_back(s, loan);
	return n;
}
