// SPDX-License-Identifier: BSD-3-Clause
/*
 * branch: a file on its way to one host below: its credit, its end, and each way in which it is cut
 * off.
 */
#include "scheduler/scremote/branch.h"

#include "tests/unit/scheduler/scremote/fake_link.h"

#define DATA "{\"id\":5,\"op\":\"data\"}"

static struct {
	struct message put;
	struct message_child child;
	struct branch *branch;
	struct link *down;
	int n_moved;
} t;

static void moved(void *owner)
{
	ok(owner == &t);
	t.n_moved++;
}

static void begin(void)
{
	fake_open();
	memset(&t, 0, sizeof(t));
	t.put = (struct message){.kind = MESSAGE_PUT,
				 .id = 5,
				 .path = (char *)(uintptr_t) "a",
				 .mode = 0600,
				 .size = 9,
				 .sha256 = (char *)(uintptr_t) "00",
				 .mtime_ns = -1};
	t.child = (struct message_child){.address = (char *)(uintptr_t) "n1:7",
					 .children = json_array(),
					 .hosts = json_pack("[s, s]", "n1", "n2")};
	t.branch = branch_open(&fake.agent, &t.put, &t.child, moved, &t);
	t.down = &fake.links[1];
}

static void finish(void)
{
	branch_close(t.branch);
	while (fake.scout->first)
		fake_drop(fake.scout);
	is_int(t.child.hosts->refcount, 1);
	json_decref(t.child.hosts);
	json_decref(t.child.children);
	fake_close();
}

static void add(size_t size)
{
	struct shared *bytes = shared_new(calloc(1, size), size);

	branch_add(t.branch, bytes);
	shared_release(bytes);
}

static void give(size_t bytes)
{
	fake_say(t.down, json_pack("{s:s, s:i, s:I}", "op", OP_IN_ROOM, "id", 5, "bytes",
				   (json_int_t)bytes));
}

static void skip_put(void)
{
	ok(t.down->first != NULL);
	fake_drop(t.down);
}

/* The branch is over; scout knows the hosts that get nothing. */
static void is_cut(const char *part)
{
	const char *text;

	ok(branch_is_done(t.branch));
	is_int(t.branch->passed, UINT64_MAX);
	is_int(json_array_size(fake_field(fake.scout, OP_CUT, "hosts")), 2);
	text = json_string_value(fake_field(fake.scout, OP_CUT, "text"));
	okf(text && strstr(text, part), "\"%s\" is not in: %s", part, text ? text : "");
}

TAP_TEST(branch_open__says_the_put_to_its_host)
{
	begin();
	is_str(t.down->address, "n1:7");
	fake_sent(t.down, "{\"children\":[],\"id\":5,\"mode\":384,\"op\":\"put\",\"path\":\"a\","
			  "\"sha256\":\"00\",\"size\":9}");
	finish();
}

TAP_TEST(branch_open__with_a_time_and_odd_bytes)
{
	begin();
	branch_close(t.branch);
	t.put.mtime_ns = 0;
	t.put.path = (char *)(uintptr_t) "\xff";
	t.branch = branch_open(&fake.agent, &t.put, &t.child, moved, &t);
	t.down = &fake.links[2];
	is_int(json_integer_value(fake_field(t.down, OP_PUT, "mtime_ns")), 0);
	ok(json_is_integer(fake_field(t.down, OP_PUT, "mtime_ns")));
	is_str(json_string_value(json_object_get(fake_field(t.down, OP_PUT, "path"), "hex")), "ff");
	finish();
}

TAP_TEST(branch_open__no_memory)
{
	begin();
	branch_close(t.branch);
	fake.has_no_memory = true;
	t.branch = branch_open(&fake.agent, &t.put, &t.child, moved, &t);
	must(t.branch != NULL);
	is_cut("no memory");
	finish();
}

TAP_TEST(branch_add__as_far_as_there_is_room)
{
	begin();
	skip_put();
	add(LINK_FULL - 1);
	is_int(t.down->first->size, LINK_FULL - 1);
	fake_sent(t.down, DATA);
	is_int(t.branch->passed, LINK_FULL - 1);
	/* One byte of room is none for two. */
	add(2);
	ok(!t.down->first);
	is_int(t.branch->passed, LINK_FULL - 1);
	give(1);
	is_int(t.n_moved, 1);
	is_int(t.down->first->size, 2);
	is_int(t.branch->passed, LINK_FULL + 1);
	is_int(t.branch->room, 0);
	finish();
}

TAP_TEST(branch__ends_when_all_is_acknowledged_and_the_host_is_known)
{
	begin();
	skip_put();
	add(9);
	branch_add(t.branch, NULL);
	fake_sent(t.down, DATA);
	is_int(t.down->first->size, 0);
	fake_sent(t.down, DATA);
	ok(!branch_is_done(t.branch));
	give(9);
	ok(!branch_is_done(t.branch));
	t.down->events->ready(t.down, t.down->owner);
	ok(branch_is_done(t.branch));
	ok(t.down->is_closed);
	/* The last words go out first. */
	ok(t.down->linger > 0);
	ok(!fake.scout->first);
	finish();
}

TAP_TEST(branch__the_end_waits_behind_the_bytes)
{
	begin();
	skip_put();
	t.down->events->ready(t.down, t.down->owner);
	add(LINK_FULL);
	add(1);
	branch_add(t.branch, NULL);
	fake_sent(t.down, DATA);
	ok(!t.down->first);
	give(LINK_FULL);
	is_int(t.down->first->size, 1);
	fake_sent(t.down, DATA);
	is_int(t.down->first->size, 0);
	fake_sent(t.down, DATA);
	ok(!branch_is_done(t.branch));
	give(1);
	ok(branch_is_done(t.branch));
	finish();
}

static void is_no_answer(json_t *head)
{
	begin();
	skip_put();
	add(10);
	fake_say(t.down, head);
	is_cut("no answer to a file");
	is_int(t.n_moved, 1);
	ok(t.down->is_closed);
	finish();
}

TAP_TEST(branch__says_what_no_host_says)
{
	is_no_answer(json_pack("{s:s, s:i, s:i}", "op", OP_IN_ROOM, "id", 5, "bytes", 11));
	is_no_answer(json_pack("{s:s, s:i, s:i}", "op", OP_IN_ROOM, "id", 5, "bytes", 0));
	is_no_answer(json_pack("{s:s, s:i}", "op", OP_IN_ROOM, "id", 5));
	is_no_answer(json_pack("{s:s, s:i}", "op", OP_PING, "id", 5));
	is_no_answer(json_pack("{s:s}", "op", "dance"));
}

TAP_TEST(branch__the_link_is_lost)
{
	begin();
	t.down->events->closed(t.down, 111, "n1 refuses", t.down->owner);
	is_cut("n1 refuses");
	is_int(t.n_moved, 1);
	/* More of the file goes nowhere. */
	add(5);
	branch_add(t.branch, NULL);
	finish();
}

static bool has_limit(void)
{
	return ev_is_active(&t.branch->stall);
}

TAP_TEST(branch__a_host_that_owes_an_answer_has_a_time_limit)
{
	begin();
	skip_put();
	ok(!has_limit());
	add(4);
	ok(has_limit());
	give(4);
	ok(!has_limit());
	add(4);
	/* Time is the loop's: the limit is over now. */
	ev_invoke(fake.agent.loop, &t.branch->stall, EV_TIMER);
	is_cut("is it stopped");
	is_int(t.n_moved, 2);
	ok(!has_limit());
	finish();
}
