// SPDX-License-Identifier: BSD-3-Clause
/*
 * put: a file that comes: what its source is given room for, the slowest branch, and a source that
 * is lost.
 */
#include "scheduler/scremote/put.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/scheduler/scremote/fake_link.h"

#define TEXT_SHA256 "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"

static struct {
	char directory[64], path[96];
	struct link *source;
	struct message_child children[2];
	struct message message;
} t;

static char *text_of(const char *from)
{
	return (char *)(uintptr_t)from;
}

/* The file "hello\n" from a host above, for this host and @n_children below. */
static void begin(size_t n_children)
{
	fake_open();
	memset(&t, 0, sizeof(t));
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	snprintf(t.directory, sizeof(t.directory), "/tmp/put_test.XXXXXX");
	ok(mkdtemp(t.directory) != NULL);
	snprintf(t.path, sizeof(t.path), "%s/there", t.directory);
	t.source = link_connect(NULL, NULL, "above", 0, "remote", 0, NULL, NULL);
	for (size_t i = 0; i < n_children; i++)
		t.children[i] = (struct message_child){.address = text_of("below:1"),
						       .children = json_array(),
						       .hosts = json_pack("[s]", "n1")};
	t.message = (struct message){.kind = MESSAGE_PUT,
				     .id = 4,
				     .path = t.path,
				     .mode = 0600,
				     .size = 6,
				     .sha256 = text_of(TEXT_SHA256),
				     .mtime_ns = -1,
				     .children = t.children,
				     .n_children = n_children};
	fflush(NULL);
	put_start(&fake.agent, t.source, &t.message);
}

static struct put *the_put(void)
{
	return put_find(&fake.agent, t.source, 4);
}

static void finish(void)
{
	while (!TAILQ_EMPTY(&fake.agent.puts))
		put_free(TAILQ_FIRST(&fake.agent.puts));
	is_int(fake.agent.n_puts, 0);
	fake_close();
	for (size_t i = 0; i < t.message.n_children; i++) {
		json_decref(t.children[i].children);
		json_decref(t.children[i].hosts);
	}
	unlink(t.path);
	/* The writer takes what it has begun away when its pipe ends. */
	for (int i = 0; i < FAKE_TURNS && rmdir(t.directory); i++)
		ev_sleep(FAKE_TURN_S);
	ok(access(t.directory, F_OK) != 0);
}

static struct link *below(size_t i)
{
	return &fake.links[2 + i];
}

/* The host below acknowledges. */
static void give(size_t i, size_t bytes)
{
	fake_say(below(i), json_pack("{s:s, s:i, s:I}", "op", OP_IN_ROOM, "id", 4, "bytes",
				     (json_int_t)bytes));
}

TAP_TEST(put__a_whole_file)
{
	begin(0);
	must(the_put() != NULL);
	ok(!put_find(&fake.agent, fake.scout, 4) && !put_find(&fake.agent, t.source, 5));
	is_int(put_data(the_put(), "hello\n", 6), 0);
	fake_sent(t.source, "{\"bytes\":6,\"id\":4,\"op\":\"in_room\"}");
	is_int(put_data(the_put(), NULL, 0), 0);
	/* Scout hears of it, not the host above. */
	must(fake_wait(fake.scout));
	fake_sent(fake.scout, "{\"id\":4,\"op\":\"file_done\",\"sha256\":\"" TEXT_SHA256 "\"}");
	ok(!the_put());
	is_int(access(t.path, R_OK), 0);
	finish();
}

TAP_TEST(put__another_file_than_was_announced)
{
	begin(0);
	is_int(put_data(the_put(), "hallo\n", 6), 0);
	is_int(put_data(the_put(), NULL, 0), 0);
	must(fake_wait(fake.scout));
	is_str(json_string_value(fake_field(fake.scout, OP_FAILED, "error")), "EBADMSG");
	ok(!the_put());
	finish();
}

TAP_TEST(put_data__more_than_the_credit)
{
	static const char bytes[LINK_FULL + 1];

	begin(1);
	TAILQ_FIRST(&the_put()->branches)->room = 0;
	is_int(put_data(the_put(), bytes, LINK_FULL + 1), -ENOBUFS);
	is_int(put_data(the_put(), bytes, LINK_FULL), 0);
	for (int i = 0; i < FAKE_TURNS && the_put()->written < LINK_FULL; i++)
		ev_run(fake.agent.loop, EVRUN_ONCE);
	/* The writer has it all, the host below has nothing: no room was given. */
	is_int(the_put()->written, LINK_FULL);
	ok(!t.source->first);
	is_int(put_data(the_put(), bytes, 1), -ENOBUFS);
	finish();
}

TAP_TEST(put_data__behind_the_end)
{
	begin(1);
	is_int(put_data(the_put(), NULL, 0), 0);
	must(the_put() != NULL);
	is_int(put_data(the_put(), "x", 1), -ENOBUFS);
	is_int(put_data(the_put(), NULL, 0), -ENOBUFS);
	finish();
}

TAP_TEST(put__the_slowest_sets_the_pace)
{
	static const char bytes[LINK_FULL];
	struct link *slow;

	begin(2);
	slow = below(1);
	is_str(slow->address, "below:1");
	fake_drop(below(0));
	fake_drop(slow);
	/* The second takes five bytes only: as if so many of its credit were out. */
	TAILQ_LAST(&the_put()->branches, branch_list)->room = 5;
	is_int(put_data(the_put(), bytes, 4), 0);
	fake_sent(t.source, "{\"bytes\":4,\"id\":4,\"op\":\"in_room\"}");
	is_int(put_data(the_put(), bytes, 2), 0);
	ok(!t.source->first);
	is_int(below(0)->first->next->size, 2);
	fake_sent(slow, "{\"id\":4,\"op\":\"data\"}");
	ok(!slow->first);
	give(1, 4);
	fake_sent(t.source, "{\"bytes\":2,\"id\":4,\"op\":\"in_room\"}");
	finish();
}

TAP_TEST(put__a_branch_that_is_cut_holds_up_nobody)
{
	begin(1);
	TAILQ_FIRST(&the_put()->branches)->room = 0;
	is_int(put_data(the_put(), "hello\n", 6), 0);
	ok(!t.source->first);
	below(0)->events->closed(below(0), ECONNRESET, "lost", below(0)->owner);
	fake_sent(t.source, "{\"bytes\":6,\"id\":4,\"op\":\"in_room\"}");
	fake_sent(fake.scout, "{\"hosts\":[\"n1\"],\"id\":4,\"op\":\"cut\",\"text\":\"lost\"}");
	is_int(put_data(the_put(), NULL, 0), 0);
	must(fake_wait(fake.scout));
	ok(fake_field(fake.scout, OP_FILE_DONE, "sha256") != NULL);
	ok(!the_put());
	finish();
}

TAP_TEST(put__is_over_when_the_last_branch_is)
{
	begin(1);
	below(0)->events->ready(below(0), below(0)->owner);
	is_int(put_data(the_put(), "hello\n", 6), 0);
	is_int(put_data(the_put(), NULL, 0), 0);
	must(fake_wait(fake.scout));
	ok(fake_field(fake.scout, OP_FILE_DONE, "sha256") != NULL);
	ok(the_put() != NULL);
	give(0, 6);
	ok(!the_put());
	ok(below(0)->is_closed);
	finish();
}

TAP_TEST(put__failed_here_it_still_goes_to_others)
{
	begin(1);
	put_free(the_put());
	t.message.path = text_of("/no/such/directory/there");
	fflush(NULL);
	put_start(&fake.agent, t.source, &t.message);
	must(fake_wait(fake.scout));
	is_str(json_string_value(fake_field(fake.scout, OP_FAILED, "error")), "ENOENT");
	/* The host below it is the third link now: the first branch went with the first put. */
	ok(the_put() != NULL);
	fake_drop(below(1));
	is_int(put_data(the_put(), "hello\n", 6), 0);
	is_str(below(1)->first->body, "hello\n");
	fake_sent(t.source, "{\"bytes\":6,\"id\":4,\"op\":\"in_room\"}");
	finish();
}

TAP_TEST(put__failed_here_and_nobody_is_below)
{
	begin(0);
	put_free(the_put());
	t.message.path = text_of("/no/such/directory/there");
	fflush(NULL);
	put_start(&fake.agent, t.source, &t.message);
	must(fake_wait(fake.scout));
	is_str(json_string_value(fake_field(fake.scout, OP_FAILED, "error")), "ENOENT");
	/* The source may still send: agent.c takes its bytes and gives room for them. */
	ok(!the_put());
	finish();
}

TAP_TEST(put_lose__before_the_end)
{
	begin(0);
	is_int(put_data(the_put(), "hel", 3), 0);
	put_lose(&fake.agent, fake.scout);
	ok(the_put() != NULL);
	put_lose(&fake.agent, t.source);
	ok(!the_put());
	is_str(json_string_value(fake_field(fake.scout, OP_FAILED, "error")), "ECONNRESET");
	finish();
}

TAP_TEST(put_lose__all_has_come)
{
	begin(1);
	is_int(put_data(the_put(), "hello\n", 6), 0);
	is_int(put_data(the_put(), NULL, 0), 0);
	fake_drop(t.source);
	put_lose(&fake.agent, t.source);
	is_int(fake.agent.n_puts, 1);
	/* Nobody is told of room any more. */
	give(0, 6);
	must(fake_wait(fake.scout));
	ok(fake_field(fake.scout, OP_FILE_DONE, "sha256") != NULL);
	ok(!t.source->first);
	finish();
}

TAP_TEST(put_start__too_many_at_once)
{
	begin(1);
	fake.agent.n_puts += PUT_MAX - 1;
	t.message.id = 9;
	put_start(&fake.agent, t.source, &t.message);
	fake.agent.n_puts -= PUT_MAX - 1;
	is_int(fake.agent.n_puts, 1);
	is_str(json_string_value(fake_field(fake.scout, OP_FAILED, "error")), "EAGAIN");
	fake_drop(fake.scout);
	/* The hosts below it get nothing either. */
	is_int(json_array_size(fake_field(fake.scout, OP_CUT, "hosts")), 1);
	finish();
}
