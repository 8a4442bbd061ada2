// SPDX-License-Identifier: BSD-3-Clause
/*
 * The child sends texts: one byte for the kind, the text, and a zero byte by which it is known to
 * be whole.
 */
#include "scheduler/scnoded/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/proto/files.h"
#include "scheduler/proto/signals.h"

#define TEXT_SAID '+' /* more will come */
#define TEXT_LAST '.'
#define CHILD_FD 3 /* where it writes to */
#define HANGING_MAX 8

/* Children that were killed and had not ended: by pidfd, for poll(). */
static struct pollfd hanging[HANGING_MAX];
static nfds_t n_hanging;

struct errand {
	struct ev_loop *loop;
	const struct errand_kind *kind;
	errand_done *done;
	void *owner;
	uint64_t job;
	char *host;
	pid_t pid; /* of the child; 0: it could not be started */
	int fd;    /* read end of its pipe, or -1 */
	ev_io output;
	ev_child end;
	ev_timer limit;
	size_t n; /* bytes that have come and are not told */
	char come[ERRAND_TEXT_MAX + 1];
	char text[ERRAND_TEXT_MAX]; /* to be told at the end */
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

static bool is_mortal(const struct errand_kind *kind)
{
	return kind->limit_s;
}

static bool send_all(const char *bytes, size_t size)
{
	ssize_t n = 1;

	for (; size && (n = write(CHILD_FD, bytes, size)) > 0; bytes += n)
		size -= (size_t)n;
	return n > 0;
}

static bool send_text(char kind, const char *text)
{
	return send_all(&kind, 1) && send_all(text, strlen(text) + 1);
}

bool errand_say(const char *text)
{
	return send_text(TEXT_SAID, text);
}

static _Noreturn void run_child(const struct errand_kind *kind, const void *input, int fd,
				pid_t parent)
{
	char text[ERRAND_TEXT_MAX] = "";

	signals_reset();
	if (is_mortal(kind) && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
		_exit(1);
	if (keep_only(fd))
		_exit(1);
	prctl(PR_SET_NAME, kind->name);
	if (is_mortal(kind))
		be_killed_first();
	/* Without scnoded it goes on, if it may. */
	signal(SIGPIPE, SIG_IGN);
	kind->work(input, text);
	_exit(send_text(TEXT_LAST, text) ? 0 : 1);
}

/* ---- its end ---- */

/* Nothing comes any more; libev reaps the child all the same. */
static void leave(struct errand *errand)
{
	ev_timer_stop(errand->loop, &errand->limit);
	ev_io_stop(errand->loop, &errand->output);
	ev_child_stop(errand->loop, &errand->end);
	if (errand->fd >= 0)
		close(errand->fd);
}

static void forget(struct errand *errand)
{
	free(errand->host);
	free(errand);
}

/*
 * It may wait where no signal reaches it, and ends when that wait does. One that libev has reaped
 * has no number any more.
 */
static void kill_child(struct errand *errand)
{
	int fd;

	if (!errand->pid || !is_mortal(errand->kind) || ev_is_pending(&errand->end))
		return;
	fd = n_hanging < HANGING_MAX ? pidfd_open(errand->pid, 0) : -1;
	if (fd >= 0)
		hanging[n_hanging++] = (struct pollfd){.fd = fd, .events = POLLIN};
	kill(errand->pid, SIGKILL);
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

/* Writes why it has failed over all text that has come. */
static void say_failure(struct errand *errand, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void say_failure(struct errand *errand, const char *fmt, ...)
{
	va_list args;
	int n = snprintf(errand->text, sizeof(errand->text), "job %llu on %s %s, as ",
			 (unsigned long long)errand->job, errand->host, errand->kind->cannot);

	va_start(args, fmt);
	if (n < (int)sizeof(errand->text))
		vsnprintf(errand->text + n, sizeof(errand->text) - (size_t)n, fmt, args);
	va_end(args);
}

/* Gives the owner the text, and ends the errand. */
static void tell(struct errand *errand)
{
	leave(errand);
	errand->done(*errand->text ? errand->text : NULL, errand->owner);
	forget(errand);
}

/* Whether there may be more. */
static bool collect(struct errand *errand)
{
	ssize_t n = read(errand->fd, errand->come + errand->n, sizeof(errand->come) - errand->n);

	if (n < 0)
		return errno == EINTR;
	errand->n += (size_t)n;
	return n > 0;
}

/* Tells what was said, if it is whole. Whether it was. */
static bool tell_said(struct errand *errand)
{
	const char *end = memchr(errand->come, 0, errand->n);

	if (!end || *errand->come != TEXT_SAID)
		return false;
	if (errand->kind->said)
		errand->kind->said(errand->come + 1, errand->owner);
	errand->n -= (size_t)(end + 1 - errand->come);
	memmove(errand->come, end + 1, errand->n);
	return true;
}

static void heard(struct ev_loop *loop, ev_io *watcher, int events)
{
	bool is_more = collect(watcher->data);

	(void)events;
	while (tell_said(watcher->data))
		continue;
	/* At the end of the pipe the end of the child is awaited, which comes at once. */
	if (!is_more)
		ev_io_stop(loop, watcher);
}

static void say_death(struct errand *errand, int status)
{
	static const char remedy[] =
		"see whether that host is short of memory (dmesg tells), then try again";

	if (WIFSIGNALED(status))
		say_failure(errand, "the process %s was killed by signal %d (%s); %s",
			    errand->kind->name, WTERMSIG(status), strsignal(WTERMSIG(status)),
			    remedy);
	else
		say_failure(errand, "the process %s ended before it had %s; %s", errand->kind->name,
			    errand->kind->has, remedy);
}

static void ended(struct ev_loop *loop, ev_child *watcher, int events)
{
	struct errand *errand = watcher->data;

	(void)loop;
	(void)events;
	while (collect(errand) || tell_said(errand))
		continue;
	if (errand->n && *errand->come == TEXT_LAST && !errand->come[errand->n - 1])
		memcpy(errand->text, errand->come + 1, errand->n - 1);
	else
		say_death(errand, watcher->rstatus);
	tell(errand);
}

static void too_late(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct errand *errand = timer->data;

	(void)loop;
	(void)events;
	kill_child(errand);
	say_failure(errand,
		    "%s took longer than %u s, perhaps in a file system that hangs; find it "
		    "there (df hangs in it, too), mend it, then try again",
		    errand->kind->doing, errand->kind->limit_s);
	tell(errand);
}

static void not_started(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	tell(timer->data);
}

void errand_stop(struct errand *errand)
{
	if (!errand)
		return;
	kill_child(errand);
	leave(errand);
	forget(errand);
}

/* ---- the beginning ---- */

/* 0, or -errno. */
static int start_child(struct errand *errand, const void *input)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	if (is_mortal(errand->kind) && count_hanging() == HANGING_MAX) {
		say_failure(
			errand,
			"%d processes %s hang there already, perhaps in a file system; find it (df "
			"hangs in it, too), mend it, then try again",
			HANGING_MAX, errand->kind->name);
		return -EAGAIN;
	}
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	errand->fd = ends[0];
	pid = signals_fork();
	if (!pid)
		run_child(errand->kind, input, ends[1], parent);
	close(ends[1]);
	if (pid < 0)
		return pid;
	errand->pid = pid;
	return 0;
}

static void watch(struct errand *errand)
{
	fcntl(errand->fd, F_SETFL, O_NONBLOCK);
	ev_io_set(&errand->output, errand->fd, EV_READ);
	ev_io_start(errand->loop, &errand->output);
	ev_child_set(&errand->end, errand->pid, 0);
	ev_child_start(errand->loop, &errand->end);
	ev_timer_set(&errand->limit, errand->kind->limit_s, 0.0);
}

struct errand *errand_start(struct ev_loop *loop, const struct errand_kind *kind, uint64_t job,
			    const char *host, const void *input, errand_done *done, void *owner)
{
	struct errand *errand = calloc(1, sizeof(*errand));
	int err;

	if (!errand || !(errand->host = strdup(host))) {
		free(errand);
		return NULL;
	}
	errand->loop = loop;
	errand->kind = kind;
	errand->done = done;
	errand->owner = owner;
	errand->job = job;
	errand->fd = -1;
	ev_init(&errand->output, heard);
	ev_init(&errand->end, ended);
	ev_init(&errand->limit, too_late);
	errand->output.data = errand->end.data = errand->limit.data = errand;
	err = start_child(errand, input);
	if (err && !*errand->text)
		say_failure(errand, "scnoded can't start a process for that: %s; %s",
			    strerror(-err),
			    files_remedy(-err, "end some there, or raise kernel.pid_max"));
	if (err) {
		ev_set_cb(&errand->limit, not_started);
		ev_timer_set(&errand->limit, 0.0, 0.0);
	} else {
		watch(errand);
	}
	/* The loop's time may be that of a moment ago. */
	ev_now_update(loop);
	if (err || is_mortal(kind))
		ev_timer_start(loop, &errand->limit);
	return errand;
}
