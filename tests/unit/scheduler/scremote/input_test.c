// SPDX-License-Identifier: BSD-3-Clause
/*
 * input: the credit of each byte comes back once, whether a reader takes it, has gone, or never
 * was.
 */
#include "scheduler/scremote/input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/link.h"
#include "scheduler/scremote/ends.h"
#include "tests/harness/tap.h"

static struct {
	struct ev_loop *loop;
	struct input input;
	int reader;
	size_t room; /* bytes that were given back */
	int n_told;
} t;

static void on_room(size_t bytes, void *owner)
{
	ok(owner == &t);
	ok(bytes > 0);
	t.room += bytes;
	t.n_told++;
}

static void begin(void)
{
	int fds[2];

	signal(SIGPIPE, SIG_IGN);
	t.room = 0;
	t.n_told = 0;
	t.loop = ev_loop_new(EVFLAG_AUTO);
	is_int(ends_make_pipe(fds, 1), 0);
	t.reader = fds[1];
	fcntl(t.reader, F_SETFL, O_NONBLOCK);
	input_open(&t.input, t.loop, fds[0], on_room, &t);
}

static void finish(void)
{
	input_close(&t.input);
	if (t.reader >= 0)
		close(t.reader);
	ev_loop_destroy(t.loop);
}

static void turn(void)
{
	for (int i = 0; i < 4; i++)
		ev_run(t.loop, EVRUN_NOWAIT);
}

/* All that the reader finds now; at its end *@is_over. */
static size_t drain(bool *is_over)
{
	static char bytes[65536];
	size_t size = 0;
	ssize_t n;

	while ((n = read(t.reader, bytes, sizeof(bytes))) > 0)
		size += (size_t)n;
	*is_over = !n;
	return size;
}

TAP_TEST(input_add__goes_to_the_reader_at_once)
{
	char got[8] = "";

	begin();
	is_int(input_add(&t.input, "abc", 3), 0);
	is_int(t.room, 3);
	is_int(read(t.reader, got, sizeof(got)), 3);
	is_str(got, "abc");
	is_int(input_add(&t.input, "", 0), 0);
	is_int(read(t.reader, got, sizeof(got)), 0);
	/* Bytes behind the end are ignored. */
	is_int(input_add(&t.input, "x", 1), 0);
	is_int(t.room, 3);
	finish();
}

TAP_TEST(input_add__more_than_the_pipe_holds)
{
	static char bytes[LINK_FULL];
	size_t come = 0;
	bool is_over = false;

	begin();
	is_int(input_add(&t.input, bytes, sizeof(bytes)), 0);
	ok(t.room > 0 && t.room < sizeof(bytes));
	is_int(t.input.bytes, sizeof(bytes) - t.room);
	is_int(input_add(&t.input, "", 0), 0);
	ok(t.input.fd >= 0);
	for (int i = 0; !is_over && i < 10000; i++) {
		come += drain(&is_over);
		turn();
	}
	is_int(come, sizeof(bytes));
	is_int(t.room, sizeof(bytes));
	is_int(t.input.fd, -1);
	finish();
}

TAP_TEST(input_add__beyond_the_credit)
{
	static char bytes[LINK_FULL + 1];
	size_t waiting;

	begin();
	is_int(input_add(&t.input, bytes, sizeof(bytes)), -ENOBUFS);
	is_int(t.room, 0);
	is_int(input_add(&t.input, bytes, LINK_FULL), 0);
	waiting = t.input.bytes;
	is_int(input_add(&t.input, bytes, LINK_FULL - waiting + 1), -ENOBUFS);
	is_int(t.input.bytes, waiting);
	is_int(input_add(&t.input, bytes, LINK_FULL - waiting), 0);
	is_int(t.input.bytes, LINK_FULL);
	finish();
}

TAP_TEST(input__the_reader_has_gone)
{
	begin();
	close(t.reader);
	t.reader = -1;
	is_int(input_add(&t.input, "abc", 3), 0);
	is_int(t.room, 3);
	is_int(t.input.fd, -1);
	is_int(input_add(&t.input, "de", 2), 0);
	is_int(t.room, 5);
	finish();
}

TAP_TEST(input_discard__gives_back_what_waits)
{
	static char bytes[LINK_FULL];

	begin();
	is_int(input_add(&t.input, bytes, sizeof(bytes)), 0);
	ok(t.room < sizeof(bytes));
	input_discard(&t.input);
	is_int(t.room, sizeof(bytes));
	is_int(t.input.fd, -1);
	input_discard(&t.input);
	is_int(t.room, sizeof(bytes));
	finish();
}

TAP_TEST(input_close__says_nothing)
{
	static char bytes[LINK_FULL];
	int n_told;

	begin();
	is_int(input_add(&t.input, bytes, sizeof(bytes)), 0);
	n_told = t.n_told;
	input_close(&t.input);
	turn();
	is_int(t.n_told, n_told);
	is_int(t.input.bytes, 0);
	finish();
}

TAP_TEST(input_open__there_is_none)
{
	begin();
	input_close(&t.input);
	input_open(&t.input, t.loop, -1, on_room, &t);
	is_int(input_add(&t.input, "abcd", 4), 0);
	is_int(t.room, 4);
	is_int(input_add(&t.input, "", 0), 0);
	finish();
}
