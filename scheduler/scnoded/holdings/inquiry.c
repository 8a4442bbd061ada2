// SPDX-License-Identifier: BSD-3-Clause
/* The child sends the text and one zero byte, by which a text is known to be whole. */
#include "scheduler/scnoded/holdings/inquiry.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/proto/files.h"
#include "scheduler/proto/signals.h"
#include "scheduler/scnoded/holdings/look.h"

#define CHILD_NAME "scnoded-look" /* what ps shows */
#define CHILD_FD 3                /* where it writes to */
#define HANGING_MAX 8

/* Children that were killed and had not ended: by pidfd, for poll(). */
static struct pollfd hanging[HANGING_MAX];
static nfds_t n_hanging;

struct inquiry {
	struct ev_loop *loop;
	const struct inquiry_events *events;
	void *owner;
	uint64_t job;
	char *host;
	pid_t pid; /* of the child; 0: it could not be started */
	int fd;    /* read end of its pipe, or -1 */
	ev_io output;
	ev_child end;
	ev_timer limit;
	size_t n; /* bytes in text */
	char text[LOOK_TEXT_MAX];
};

/* ---- the child ---- */

/* scnoded's sockets, and the lock of its run directory. */
static int keep_only(int fd)
{
	if (fd != CHILD_FD && dup2(fd, CHILD_FD) < 0)
		return -errno;
	return close_range(CHILD_FD + 1, ~0u, 0) ? -errno : 0;
}

/* When memory is short its end harms nobody, and it may need as much as all lists together. */
static void be_killed_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1000", 4) < 0)
		errno = 0;
	close(fd);
}

static _Noreturn void run_child(const struct survey_order *order,
				const struct restorable_terms *terms, int fd, pid_t parent)
{
	char text[LOOK_TEXT_MAX];
	size_t size, sent = 0;
	ssize_t n = 0;

	signals_reset();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent || keep_only(fd))
		_exit(1);
	prctl(PR_SET_NAME, CHILD_NAME);
	be_killed_first();
	look_twice(order, terms, text);
	size = strlen(text) + 1;
	while (sent < size && (n = write(CHILD_FD, text + sent, size - sent)) > 0)
		sent += (size_t)n;
	_exit(n > 0 ? 0 : 1);
}

/* ---- its end ---- */

/* Nothing comes any more; libev reaps the child all the same. */
static void leave(struct inquiry *q)
{
	ev_timer_stop(q->loop, &q->limit);
	ev_io_stop(q->loop, &q->output);
	ev_child_stop(q->loop, &q->end);
	if (q->fd >= 0)
		close(q->fd);
}

static void forget(struct inquiry *q)
{
	free(q->host);
	free(q);
}

/*
 * It may wait where no signal reaches it, and ends when that wait does. One that libev has reaped
 * has no number any more.
 */
static void kill_child(struct inquiry *q)
{
	int fd;

	if (!q->pid || ev_is_pending(&q->end))
		return;
	fd = n_hanging < HANGING_MAX ? pidfd_open(q->pid, 0) : -1;
	if (fd >= 0)
		hanging[n_hanging++] = (struct pollfd){.fd = fd, .events = POLLIN};
	kill(q->pid, SIGKILL);
}

/* Of those that were killed: how many still hang. */
static nfds_t count_hanging(void)
{
	nfds_t n = 0;

	if (poll(hanging, n_hanging, 0) <= 0)
		return n_hanging;
	for (nfds_t i = 0; i < n_hanging; i++)
		if (hanging[i].revents)
			close(hanging[i].fd);
		else
			hanging[n++] = hanging[i];
	n_hanging = n;
	return n;
}

/* Writes why the look has failed over all text that has come. */
static void say_failure(struct inquiry *q, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void say_failure(struct inquiry *q, const char *fmt, ...)
{
	va_list args;
	int n = snprintf(q->text, sizeof(q->text),
			 "job %llu on %s can't be looked at before a checkpoint, as ",
			 (unsigned long long)q->job, q->host);

	va_start(args, fmt);
	if (n < (int)sizeof(q->text))
		vsnprintf(q->text + n, sizeof(q->text) - (size_t)n, fmt, args);
	va_end(args);
}

/* Gives the owner the text, and ends the inquiry. */
static void tell(struct inquiry *q)
{
	leave(q);
	q->events->done(*q->text ? q->text : NULL, q->owner);
	forget(q);
}

/* Whether there may be more. */
static bool collect(struct inquiry *q)
{
	ssize_t n = read(q->fd, q->text + q->n, sizeof(q->text) - q->n);

	if (n < 0)
		return errno == EINTR;
	q->n += (size_t)n;
	return n > 0;
}

static void heard(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)events;
	/* At the end of the pipe the end of the child is awaited, which comes at once. */
	if (!collect(watcher->data))
		ev_io_stop(loop, watcher);
}

static void say_death(struct inquiry *q, int status)
{
	static const char remedy[] =
		"see whether that host is short of memory (dmesg tells), then try again";

	if (WIFSIGNALED(status))
		say_failure(q, "the process " CHILD_NAME " was killed by signal %d (%s); %s",
			    WTERMSIG(status), strsignal(WTERMSIG(status)), remedy);
	else
		say_failure(q, "the process " CHILD_NAME " ended before it had looked; %s", remedy);
}

static void ended(struct ev_loop *loop, ev_child *watcher, int events)
{
	struct inquiry *q = watcher->data;

	(void)loop;
	(void)events;
	while (collect(q))
		continue;
	if (!q->n || q->text[q->n - 1])
		say_death(q, watcher->rstatus);
	tell(q);
}

static void too_late(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct inquiry *q = timer->data;

	(void)loop;
	(void)events;
	kill_child(q);
	say_failure(q,
		    "looking took longer than %d s, perhaps in a file system that hangs; find it "
		    "there (df hangs in it, too), mend it, then try again",
		    INQUIRY_LIMIT_S);
	tell(q);
}

static void not_started(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	tell(timer->data);
}

void inquiry_stop(struct inquiry *q)
{
	if (!q)
		return;
	kill_child(q);
	leave(q);
	forget(q);
}

/* ---- the beginning ---- */

/* 0, or -errno. */
static int start_child(struct inquiry *q, const struct survey_order *order,
		       const struct restorable_terms *terms)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	if (count_hanging() == HANGING_MAX) {
		say_failure(q,
			    "%d processes " CHILD_NAME " hang there already, perhaps in a file "
			    "system; find it (df hangs in it, too), mend it, then try again",
			    HANGING_MAX);
		return -EAGAIN;
	}
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	q->fd = ends[0];
	pid = signals_fork();
	if (!pid)
		run_child(order, terms, ends[1], parent);
	close(ends[1]);
	if (pid < 0)
		return pid;
	q->pid = pid;
	return 0;
}

static void watch(struct inquiry *q)
{
	fcntl(q->fd, F_SETFL, O_NONBLOCK);
	ev_io_set(&q->output, q->fd, EV_READ);
	ev_io_start(q->loop, &q->output);
	ev_child_set(&q->end, q->pid, 0);
	ev_child_start(q->loop, &q->end);
	ev_timer_set(&q->limit, INQUIRY_LIMIT_S, 0.0);
}

struct inquiry *inquiry_start(struct ev_loop *loop, const struct survey_order *order,
			      const struct restorable_terms *terms,
			      const struct inquiry_events *events, void *owner)
{
	struct inquiry *q = calloc(1, sizeof(*q));
	int err;

	if (!q || !(q->host = strdup(terms->host))) {
		free(q);
		return NULL;
	}
	q->loop = loop;
	q->events = events;
	q->owner = owner;
	q->job = terms->job;
	q->fd = -1;
	ev_init(&q->output, heard);
	ev_init(&q->end, ended);
	ev_init(&q->limit, too_late);
	q->output.data = q->end.data = q->limit.data = q;
	err = start_child(q, order, terms);
	if (err && !*q->text)
		say_failure(q, "scnoded can't start a process for that: %s; %s", strerror(-err),
			    files_remedy(-err, "end some there, or raise kernel.pid_max"));
	if (err) {
		ev_set_cb(&q->limit, not_started);
		ev_timer_set(&q->limit, 0.0, 0.0);
	} else {
		watch(q);
	}
	/* The loop's time may be that of a moment ago. */
	ev_now_update(loop);
	ev_timer_start(loop, &q->limit);
	return q;
}
