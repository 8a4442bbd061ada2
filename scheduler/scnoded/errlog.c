// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/errlog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/daemon.h"

struct errlog {
	struct ev_loop *loop;
	uid_t uid;
	int fd; /* -1: has been heard to its end, or enough */
	ev_io heard;
	char text[ERRLOG_MAX + 1];
	size_t n;    /* bytes in it */
	size_t said; /* of them */
};

static void hush(struct errlog *log)
{
	if (log->fd < 0)
		return;
	ev_io_stop(log->loop, &log->heard);
	close(log->fd);
	log->fd = -1;
}

static void say_lines(struct errlog *log)
{
	char *end;

	while ((end = strchr(log->text + log->said, '\n'))) {
		*end = 0;
		daemon_say("scout of user %u: %s", log->uid, log->text + log->said);
		log->said = (size_t)(end + 1 - log->text);
	}
}

/* Whether there may be more. */
static bool hear(struct errlog *log)
{
	ssize_t n = read(log->fd, log->text + log->n, ERRLOG_MAX - log->n);

	if (n < 0)
		return errno == EINTR;
	for (char *c = log->text + log->n; c < log->text + log->n + n; c++)
		if (!*c)
			*c = '?';
	log->n += (size_t)n;
	log->text[log->n] = 0;
	say_lines(log);
	if (!n || log->n == ERRLOG_MAX)
		hush(log);
	return log->fd >= 0;
}

static void on_heard(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	hear(watcher->data);
}

struct errlog *errlog_open(struct ev_loop *loop, uid_t uid, int *ret_end)
{
	struct errlog *log = calloc(1, sizeof(*log));
	int pipe_ends[2];

	if (!log || pipe2(pipe_ends, O_CLOEXEC)) {
		free(log);
		return NULL;
	}
	/* Ours alone: nobody who gets the other end expects it not to wait. */
	fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
	log->loop = loop;
	log->uid = uid;
	log->fd = pipe_ends[0];
	ev_io_init(&log->heard, on_heard, log->fd, EV_READ);
	log->heard.data = log;
	ev_io_start(loop, &log->heard);
	*ret_end = pipe_ends[1];
	return log;
}

void errlog_close(struct errlog *log)
{
	if (!log)
		return;
	while (log->fd >= 0 && hear(log))
		continue;
	hush(log);
	if (log->said < log->n)
		daemon_say("scout of user %u: %s", log->uid, log->text + log->said);
	free(log);
}
