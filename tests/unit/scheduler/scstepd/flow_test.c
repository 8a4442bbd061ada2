// SPDX-License-Identifier: BSD-3-Clause
/* flow: room for output and input of four hosts; scrun is played by the test. */
#include "scheduler/scstepd/flow.h"

#include <errno.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/output.h"
#include "tests/unit/scheduler/scstepd/fake_step.h"

#define N_HOSTS 4
#define FRONT -7 /* "to" of what scrun is sent */

static struct flow *flow;
static bool is_front_full;
static char much[LINK_FULL];

void front_send(struct front *front, json_t *head, const void *body, size_t size)
{
	ok(front == (struct front *)&fake);
	fake_keep(FRONT, head, body, size);
}

bool front_is_full(const struct front *front)
{
	return is_front_full;
}

static void begin(int64_t stdin_rank)
{
	fake_open(N_HOSTS, 2);
	fake.small.job.stdin_rank = stdin_rank;
	is_front_full = false;
	flow = flow_open(&fake.step, (struct front *)&fake);
	ok(flow != NULL);
}

static void finish(void)
{
	ok(!fake.first);
	flow_close(flow);
	fake_close();
}

static void host_prints(size_t host, size_t size)
{
	json_t *head = json_pack("{s:s, s:i}", "op", OP_OUT, "rank", (int)host);

	flow_out(flow, host, head, much, size);
	json_decref(head);
}

/* scrun got @size bytes, which are forgotten. */
static void scrun_got(size_t size)
{
	if (!ok(fake.first))
		return;
	is_int(fake.first->to, FRONT);
	is_int(fake.first->size, size);
	fake_drop();
}

static void is_room(int64_t to, const char *op, size_t bytes)
{
	char want[80];

	snprintf(want, sizeof(want), "{\"bytes\":%zu,\"op\":\"%s\"}", bytes, op);
	fake_sent(to, want, "");
}

/* ---- output ---- */

TAP_TEST(flow_out__room_is_saved_up)
{
	size_t quarter = (size_t)output_window(N_HOSTS) / 4;

	begin(JOB_STDIN_NONE);
	host_prints(2, quarter - 1);
	scrun_got(quarter - 1);
	ok(!fake.first);
	/* Each host has its own account. */
	host_prints(1, 10);
	scrun_got(10);
	ok(!fake.first);
	host_prints(2, 1);
	scrun_got(1);
	is_room(2, OP_OUT_ROOM, quarter);
	/* It is given once. */
	host_prints(2, 1);
	scrun_got(1);
	ok(!fake.first);
	finish();
}

TAP_TEST(flow_out__no_room_while_scrun_is_slow)
{
	begin(JOB_STDIN_NONE);
	is_front_full = true;
	host_prints(3, sizeof(much));
	scrun_got(sizeof(much));
	host_prints(0, 7);
	scrun_got(7);
	ok(!fake.first);
	is_front_full = false;
	flow_drained(flow);
	is_room(0, OP_OUT_ROOM, 7);
	is_room(3, OP_OUT_ROOM, sizeof(much));
	flow_drained(flow);
	finish();
}

/* The end of a stream is a message without bytes. */
TAP_TEST(flow_out__end_of_a_stream)
{
	begin(JOB_STDIN_NONE);
	host_prints(1, 0);
	scrun_got(0);
	flow_drained(flow);
	finish();
}

/* ---- input ---- */

TAP_TEST(flow_in__for_nobody)
{
	begin(JOB_STDIN_NONE);
	is_int(flow_in(flow, much, 1000), 0);
	is_room(FRONT, OP_IN_ROOM, 1000);
	is_int(flow_in(flow, "", 0), 0);
	/* As much again as before. */
	is_int(flow_in(flow, much, LINK_FULL), 0);
	is_room(FRONT, OP_IN_ROOM, LINK_FULL);
	finish();
}

TAP_TEST(flow_in__to_the_host_of_the_rank)
{
	begin(5);
	is_int(flow_in(flow, "abc", 3), 0);
	fake_sent(2, "{\"op\":\"in\"}", "abc");
	is_int(flow_in(flow, "", 0), 0);
	fake_sent(2, "{\"op\":\"in\"}", "");
	finish();
}

TAP_TEST(flow_in__to_all)
{
	begin(JOB_STDIN_ALL);
	is_int(flow_in(flow, "abc", 3), 0);
	fake_sent(TREE_ALL, "{\"op\":\"in\"}", "abc");
	finish();
}

TAP_TEST(flow_in__more_than_there_is_room_for)
{
	begin(0);
	is_int(flow_in(flow, much, LINK_FULL), 0);
	fake_drop();
	is_int(flow_in(flow, "", 0), 0);
	fake_drop();
	is_int(flow_in(flow, much, 1), -EPROTO);
	finish();
}

static void host_took(size_t host, json_int_t bytes)
{
	json_t *head = json_pack("{s:I}", "bytes", bytes);

	flow_in_room(flow, host, head);
	json_decref(head);
}

TAP_TEST(flow_in_room__one_host)
{
	begin(2);
	is_int(flow_in(flow, much, LINK_FULL), 0);
	fake_drop();
	host_took(1, 300);
	is_room(FRONT, OP_IN_ROOM, 300);
	host_took(1, 200);
	is_room(FRONT, OP_IN_ROOM, 200);
	is_int(flow_in(flow, much, 500), 0);
	fake_drop();
	is_int(flow_in(flow, much, 1), -EPROTO);
	finish();
}

TAP_TEST(flow_in_room__the_slowest_host_counts)
{
	begin(JOB_STDIN_ALL);
	for (size_t i = 0; i < N_HOSTS - 1; i++)
		host_took(i, 100 * (json_int_t)(i + 1));
	ok(!fake.first);
	host_took(3, 50);
	is_room(FRONT, OP_IN_ROOM, 50);
	host_took(3, 500);
	is_room(FRONT, OP_IN_ROOM, 50);
	host_took(0, 1000);
	is_room(FRONT, OP_IN_ROOM, 100);
	finish();
}

TAP_TEST(flow_in_room__numbers_that_make_no_sense)
{
	begin(2);
	host_took(1, 0);
	host_took(1, -5);
	host_took(1, (json_int_t)LINK_FULL + 1);
	host_took(1, INT64_MAX);
	ok(!fake.first);
	host_took(1, LINK_FULL);
	is_room(FRONT, OP_IN_ROOM, LINK_FULL);
	finish();
}
