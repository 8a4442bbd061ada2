// SPDX-License-Identifier: BSD-3-Clause
/* errlog: the test writes as a scremote does, and reads what becomes of it in scnoded's log. */
#include "scheduler/scnoded/errlog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define USER 4294967290u
#define SAID "errlog_test: scout of user 4294967290: "

static struct world {
	struct ev_loop *loop;
	struct errlog *log;
	int end;      /* the scremote's; -1: closed */
	int first_fd; /* that is free before */
	char *text;   /* of the log; free() it */
} w;

static int free_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static void begin(void)
{
	w = (struct world){.loop = ev_loop_new(EVFLAG_AUTO), .end = -1};
	/* The loop opens its own descriptors when it runs. */
	ev_run(w.loop, EVRUN_NOWAIT);
	w.first_fd = free_fd();
	w.log = errlog_open(w.loop, USER, &w.end);
	ok(w.log && w.end >= 0);
}

static void they_write(const char *text, size_t size)
{
	is_int(write(w.end, text, size), size);
}

static void they_say(const char *text)
{
	they_write(text, strlen(text));
}

static void they_close(void)
{
	close(w.end);
	w.end = -1;
}

/* New lines of the log, after a turn of the loop or after the end. */
static const char *logged(bool is_end)
{
	FILE *usual = stderr;
	size_t size;

	free(w.text);
	stderr = open_memstream(&w.text, &size);
	if (is_end)
		errlog_close(w.log);
	else
		ev_run(w.loop, EVRUN_NOWAIT);
	fclose(stderr);
	stderr = usual;
	return w.text;
}

static void finish(void)
{
	if (w.end >= 0)
		close(w.end);
	is_int(free_fd(), w.first_fd);
	/* No watcher is left. */
	ok(!ev_run(w.loop, EVRUN_NOWAIT));
	ev_loop_destroy(w.loop);
	free(w.text);
}

/* Whether the other end still reads. */
static bool is_heard(void)
{
	struct pollfd end = {.fd = w.end, .events = POLLOUT};

	poll(&end, 1, 0);
	return !(end.revents & POLLERR);
}

TAP_TEST(errlog__lines_as_they_come)
{
	begin();
	is_str(logged(false), "");
	they_say("one\ntwo\nthr");
	is_str(logged(false), SAID "one\n" SAID "two\n");
	they_say("ee");
	is_str(logged(false), "");
	they_say("\n");
	is_str(logged(false), SAID "three\n");
	they_close();
	is_str(logged(true), "");
	finish();
}

TAP_TEST(errlog_close__says_what_is_there_still)
{
	begin();
	they_say("one\nhalf a ");
	is_str(logged(false), SAID "one\n");
	they_say("line\nlast words");
	they_close();
	is_str(logged(true), SAID "half a line\n" SAID "last words\n");
	finish();
}

/* A child of the scremote's may have it open for long. */
TAP_TEST(errlog_close__does_not_wait_for_the_other_end)
{
	begin();
	they_say("one");
	is_str(logged(true), SAID "one\n");
	ok(!is_heard());
	finish();
}

TAP_TEST(errlog__the_other_end_is_closed)
{
	begin();
	they_say("one\nrest");
	they_close();
	is_str(logged(false), SAID "one\n");
	is_str(logged(false), "");
	/* The descriptor does not wait for the scremote's end. */
	is_int(free_fd(), w.first_fd);
	ok(!ev_run(w.loop, EVRUN_NOWAIT));
	is_str(logged(true), SAID "rest\n");
	finish();
}

TAP_TEST(errlog__enough_of_one_scremote)
{
	char much[ERRLOG_MAX + 100], want[ERRLOG_MAX + 100];

	begin();
	memset(much, 'x', sizeof(much));
	they_say("one\n");
	they_write(much, ERRLOG_MAX - 5);
	is_str(logged(false), SAID "one\n");
	ok(is_heard());
	they_say("yz\n");
	is_str(logged(false), "");
	ok(!is_heard());
	snprintf(want, sizeof(want), SAID "%.*sy\n", ERRLOG_MAX - 5, much);
	is_str(logged(true), want);
	finish();
}

/* All of it, and not a byte more, also if it came at one go and nobody has looked yet. */
TAP_TEST(errlog_close__enough_of_one_scremote)
{
	char much[2 * ERRLOG_MAX], want[ERRLOG_MAX + 100];

	begin();
	memset(much, 'x', sizeof(much));
	much[ERRLOG_MAX] = 'y';
	they_write(much, sizeof(much));
	snprintf(want, sizeof(want), SAID "%.*s\n", ERRLOG_MAX, much);
	is_str(logged(true), want);
	finish();
	begin();
	much[ERRLOG_MAX - 1] = '\n';
	they_write(much, sizeof(much));
	snprintf(want, sizeof(want), SAID "%.*s", ERRLOG_MAX, much);
	is_str(logged(false), want);
	is_str(logged(true), "");
	finish();
}

/* No byte hides what follows, and none is for a terminal or makes a line without the user. */
TAP_TEST(errlog__bytes_that_are_no_text)
{
	static const char odd[] = "a\0b\0\r\033[31mc\xff\n\0\0";

	begin();
	they_write(odd, sizeof(odd) - 1);
	is_str(logged(false), SAID "a?b???[31mc?\n");
	is_str(logged(true), SAID "??\n");
	finish();
}

TAP_TEST(errlog_open__descriptors)
{
	begin();
	is_int(fcntl(w.end, F_GETFD), FD_CLOEXEC);
	/* The scremote, or a command of it, may not expect anything else. */
	ok(!(fcntl(w.end, F_GETFL) & O_NONBLOCK));
	for (int fd = w.first_fd; fd < w.end; fd++)
		is_int(fcntl(fd, F_GETFD), FD_CLOEXEC);
	is_str(logged(true), "");
	finish();
}

TAP_TEST(errlog_open__no_descriptor)
{
	struct rlimit usual, few;
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	int end = 77;

	ev_run(loop, EVRUN_NOWAIT);
	must(!getrlimit(RLIMIT_NOFILE, &usual));
	/* One is left, two are wanted. */
	few = (struct rlimit){(rlim_t)free_fd() + 1, usual.rlim_max};
	must(!setrlimit(RLIMIT_NOFILE, &few));
	errno = 0;
	ok(!errlog_open(loop, USER, &end));
	is_int(errno, EMFILE);
	is_int(end, 77);
	setrlimit(RLIMIT_NOFILE, &usual);
	ok(!ev_run(loop, EVRUN_NOWAIT));
	ev_loop_destroy(loop);
	errlog_close(NULL);
}
