// SPDX-License-Identifier: BSD-3-Clause
/* output: a pipe is read as far as there is room, and to the byte at which its command ended. */
#include "scheduler/scremote/output.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "scheduler/scremote/ends.h"
#include "tests/harness/tap.h"

static struct {
	struct ev_loop *loop;
	struct output output;
	int writer;
	size_t room;
	char got[3 * FRAME_CHUNK];
	size_t n;
	size_t longest; /* of one call */
	int n_ends;
} t;

static size_t room(void *owner)
{
	ok(owner == &t);
	return t.room;
}

static void bytes(int stream, const char *from, size_t size, void *owner)
{
	is_int(stream, 2);
	if (!ok(size <= t.room && t.n + size <= sizeof(t.got)))
		return;
	memcpy(t.got + t.n, from, size);
	t.n += size;
	t.room -= size;
	t.longest = size > t.longest ? size : t.longest;
}

static void end(void *owner)
{
	t.n_ends++;
}

static const struct output_events events = {.room = room, .bytes = bytes, .end = end};

static void begin(size_t has_room)
{
	int fds[2];

	memset(&t, 0, sizeof(t));
	t.room = has_room;
	t.loop = ev_loop_new(EVFLAG_AUTO);
	is_int(ends_make_pipe(fds, 0), 0);
	t.writer = fds[1];
	output_open(&t.output, t.loop, fds[0], 2, &events, &t);
}

static void turn(void)
{
	for (int i = 0; i < 8; i++)
		ev_run(t.loop, EVRUN_NOWAIT);
}

static void say(const char *text)
{
	is_int(write(t.writer, text, strlen(text)), strlen(text));
	turn();
}

static void close_writer(void)
{
	close(t.writer);
	t.writer = -1;
	turn();
}

static void finish(void)
{
	output_close(&t.output);
	if (t.writer >= 0)
		close(t.writer);
	ev_loop_destroy(t.loop);
}

TAP_TEST(output__bytes_and_the_end)
{
	begin(100);
	say("abc");
	is_mem(t.got, "abc", 3);
	is_int(t.n, 3);
	is_int(t.n_ends, 0);
	close_writer();
	is_int(t.n_ends, 1);
	is_int(t.output.fd, -1);
	finish();
}

TAP_TEST(output__no_more_than_there_is_room_for)
{
	begin(2);
	say("abcd");
	is_int(t.n, 2);
	turn();
	is_int(t.n, 2);
	output_resume(&t.output); /* no room is no reason */
	turn();
	is_int(t.n, 2);
	t.room = 1;
	output_resume(&t.output);
	turn();
	is_int(t.n, 3);
	t.room = 100;
	output_resume(&t.output);
	turn();
	is_mem(t.got, "abcd", 4);
	is_int(t.n, 4);
	close_writer();
	is_int(t.n_ends, 1);
	finish();
}

TAP_TEST(output__one_frame_at_a_time)
{
	static const char many[FRAME_CHUNK + 100];

	begin(sizeof(t.got));
	fcntl(t.writer, F_SETPIPE_SZ, 2 * FRAME_CHUNK);
	fcntl(t.writer, F_SETFL, O_NONBLOCK);
	must(write(t.writer, many, sizeof(many)) == sizeof(many));
	turn();
	is_int(t.n, sizeof(many));
	is_int(t.longest, FRAME_CHUNK);
	finish();
}

TAP_TEST(output_finish__what_a_survivor_writes_later_is_not_read)
{
	begin(0);
	say("before");
	output_finish(&t.output);
	is_int(write(t.writer, "later", 5), 5);
	t.room = 100;
	output_resume(&t.output);
	turn();
	is_int(t.n, 6);
	is_mem(t.got, "before", 6);
	is_int(t.n_ends, 1);
	finish();
}

TAP_TEST(output_finish__waits_for_room)
{
	begin(0);
	say("abc");
	output_finish(&t.output);
	turn();
	is_int(t.n_ends, 0);
	t.room = 2;
	output_resume(&t.output);
	turn();
	is_int(t.n, 2);
	is_int(t.n_ends, 0);
	t.room = 5;
	output_resume(&t.output);
	turn();
	is_int(t.n, 3);
	is_int(t.n_ends, 1);
	finish();
}

TAP_TEST(output_finish__an_empty_pipe_ends_at_once)
{
	begin(0); /* although nobody has room */
	output_finish(&t.output);
	turn();
	is_int(t.n_ends, 1);
	output_finish(&t.output);
	turn();
	is_int(t.n_ends, 1);
	finish();
}

TAP_TEST(output_open__there_is_none)
{
	begin(100);
	output_close(&t.output);
	output_open(&t.output, t.loop, -1, 2, &events, &t);
	output_resume(&t.output);
	output_finish(&t.output);
	turn();
	is_int(t.n_ends, 0);
	finish();
}
