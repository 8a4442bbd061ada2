// SPDX-License-Identifier: BSD-3-Clause
/*
 * get: a file that is sent: what it is comes first, then as many bytes as there is room for, then
 * its sum.
 */
#include "scheduler/scremote/get.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/scheduler/scremote/fake_link.h"

#define TEXT "hello\n"
#define TEXT_SHA256 "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
#define DATA "{\"id\":4,\"op\":\"data\"}"

static struct {
	char path[64];
	struct message message;
} t;

static void begin(void)
{
	int fd;

	fake_open();
	memset(&t, 0, sizeof(t));
	signal(SIGCHLD, SIG_IGN);
	snprintf(t.path, sizeof(t.path), "/tmp/get_test.XXXXXX");
	fd = mkstemp(t.path);
	ok(fd >= 0 && write(fd, TEXT, strlen(TEXT)) == (ssize_t)strlen(TEXT));
	close(fd);
	t.message = (struct message){.kind = MESSAGE_GET, .id = 4, .path = t.path};
}

static void start(void)
{
	fflush(NULL);
	get_start(&fake.agent, &t.message);
}

static struct get *the_get(void)
{
	return get_find(&fake.agent, 4);
}

static void finish(void)
{
	while (!TAILQ_EMPTY(&fake.agent.gets))
		get_free(TAILQ_FIRST(&fake.agent.gets));
	is_int(fake.agent.n_gets, 0);
	fake_close();
	unlink(t.path);
}

static void is_failed(const char *error)
{
	must(fake_wait(fake.scout));
	is_str(json_string_value(fake_field(fake.scout, OP_FAILED, "error")), error);
	ok(!the_get());
}

TAP_TEST(get__a_whole_file)
{
	begin();
	start();
	ok(the_get() && !get_find(&fake.agent, 5));
	must(fake_wait(fake.scout));
	is_int(json_integer_value(fake_field(fake.scout, OP_FILE, "size")), strlen(TEXT));
	is_int(json_integer_value(fake_field(fake.scout, OP_FILE, "mode")), 0600);
	fake_drop(fake.scout);
	must(fake_wait(fake.scout));
	is_str(fake.scout->first->body, TEXT);
	fake_sent(fake.scout, DATA);
	must(fake_wait(fake.scout));
	is_int(fake.scout->first->size, 0);
	fake_sent(fake.scout, DATA);
	fake_sent(fake.scout, "{\"id\":4,\"op\":\"file_done\",\"sha256\":\"" TEXT_SHA256 "\"}");
	ok(!the_get());
	finish();
}

TAP_TEST(get__no_more_than_there_is_room_for)
{
	begin();
	start();
	the_get()->room = 2;
	must(fake_wait(fake.scout));
	fake_drop(fake.scout);
	must(fake_wait(fake.scout));
	is_str(fake.scout->first->body, "he");
	fake_sent(fake.scout, DATA);
	fake_turn();
	ok(!fake.scout->first);
	get_room(the_get(), 1);
	must(fake_wait(fake.scout));
	is_str(fake.scout->first->body, "l");
	fake_sent(fake.scout, DATA);
	/* More than was ever out is no credit. */
	get_room(the_get(), LINK_FULL + 5);
	is_int(the_get()->room, LINK_FULL);
	finish();
}

TAP_TEST(get__a_full_link)
{
	begin();
	start();
	must(fake_wait(fake.scout));
	fake_drop(fake.scout);
	fake.scout->is_full = true;
	fake_turn();
	ok(!fake.scout->first);
	fake.scout->is_full = false;
	get_resume(the_get());
	must(fake_wait(fake.scout));
	is_str(fake.scout->first->body, TEXT);
	finish();
}

TAP_TEST(get__what_is_no_file)
{
	begin();
	t.message.path = (char *)(uintptr_t) "/no/such/file";
	start();
	is_failed("ENOENT");
	fake_drop(fake.scout);
	t.message.path = (char *)(uintptr_t) "/";
	start();
	is_failed("EISDIR");
	fake_drop(fake.scout);
	t.message.path = (char *)(uintptr_t) "/dev/zero";
	start();
	is_failed("EINVAL");
	finish();
}

TAP_TEST(get_cancel__scout_wants_no_more)
{
	begin();
	start();
	get_cancel(the_get());
	is_failed("ECANCELED");
	finish();
}

TAP_TEST(get_start__too_many_at_once)
{
	begin();
	fake.agent.n_gets = GET_MAX;
	start();
	fake.agent.n_gets = 0;
	is_failed("EAGAIN");
	finish();
}
