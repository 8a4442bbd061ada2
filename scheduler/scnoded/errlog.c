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

static void hush(struct errlog *m)
{
	if (m->fd < 0)
		return;
	ev_io_stop(m->loop, &m->heard);
	close(m->fd);
	m->fd = -1;
}

static void say_lines(struct errlog *m)
{
	char *end;

	while ((end = strchr(m->text + m->said, '\n'))) {
		*end = 0;
		daemon_say("scout of user %u: %s", m->uid, m->text + m->said);
		m->said = (size_t)(end + 1 - m->text);
	}
}

/* Whether there may be more. */
static bool hear(struct errlog *m)
{
	ssize_t n = read(m->fd, m->text + m->n, ERRLOG_MAX - m->n);

	if (n < 0)
		return errno == EINTR;
	for (char *c = m->text + m->n; c < m->text + m->n + n; c++)
		if (!*c)
			*c = '?';
	m->n += (size_t)n;
	m->text[m->n] = 0;
	say_lines(m);
	if (!n || m->n == ERRLOG_MAX)
		hush(m);
	return m->fd >= 0;
}

static void on_heard(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	hear(watcher->data);
}

struct errlog *errlog_open(struct ev_loop *loop, uid_t uid, int *ret_end)
{
	struct errlog *m = calloc(1, sizeof(*m));
	int pipe_ends[2];

	if (!m || pipe2(pipe_ends, O_CLOEXEC)) {
		free(m);
		return NULL;
	}
	/* Ours alone: nobody who gets the other end expects it not to wait. */
	fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
	m->loop = loop;
	m->uid = uid;
	m->fd = pipe_ends[0];
	ev_io_init(&m->heard, on_heard, m->fd, EV_READ);
	m->heard.data = m;
	ev_io_start(loop, &m->heard);
	*ret_end = pipe_ends[1];
	return m;
}

void errlog_close(struct errlog *m)
{
	if (!m)
		return;
	while (m->fd >= 0 && hear(m))
		continue;
	hush(m);
	if (m->said < m->n)
		daemon_say("scout of user %u: %s", m->uid, m->text + m->said);
	free(m);
}
