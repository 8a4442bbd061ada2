// SPDX-License-Identifier: BSD-3-Clause
/* course: the states from the order to the end, as the parts that it calls see them. */
#include "scheduler/scstepd/course.h"

#include <errno.h>

#include "tests/unit/scheduler/scstepd/fake_course.h"

#define READY                                                                                      \
	"send 0 {\"bindings\":[\"core 0\"],\"op\":\"ready\",\"paths\":[\"/p\"],\"pids\":[77],"     \
	"\"world\":0}"
#define BEGUN "register 0 expect 0 start 0 input_begin adopt 0"

/* ---- the order ---- */

TAP_TEST(course_open__parts_that_are_missing)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);

	memset(&parts, 0, sizeof(parts));
	parts.missing = "auth";
	is_int(course_open(&step, loop, -1), -ENOMEM);
	parts.missing = "control";
	is_int(course_open(&step, loop, -1), -ENOMEM);
	parts_log[0] = '\0';
	ev_loop_destroy(loop);
}

TAP_TEST(course_order__leader)
{
	begin();
	comes(order_of(N_HOSTS, 0), HOST);
	logged("bind <0,2> output input ranks standstill leader tree collective server");
	is_int(step.state, STEP_JOIN);
	is_str(step.host, "n0");
	is_str(step.tmpdir, "/tmp/job");
	ok(!step.is_joined && !step.memory_kills);
	/* Only the first one counts. */
	comes(order_of(N_HOSTS, 1), HOST);
	is_str(step.host, "n0");
	finish();
}

TAP_TEST(course_order__another_host)
{
	begin();
	comes(order_of(N_HOSTS, 2), "{\"tmpdir\":\"/tmp/job\"}");
	logged("bind <> output input ranks standstill tree collective server");
	is_int(step.here, 2);
	is_str(step.host, "n2");
	ok(!step.leader);
	finish();
}

TAP_TEST(course_order__one_host_is_joined_at_once)
{
	begin();
	comes(order_of(1, 0), HOST);
	ok(step.is_joined);
	parts_log[0] = '\0';
	finish();
}

TAP_TEST(course_order__no_tmpdir)
{
	static const char *const hosts[] = {"{}", "{\"tmpdir\":7}", "{\"tmpdir\":\"\"}",
					    "{\"tmpdir\":\"tmp/job\"}"};
	char much[3100] = "{\"tmpdir\":\"/", *end = much + strlen(much);

	begin();
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		comes(order_of(1, 0), hosts[i]);
		logged("control_failed 125 'scstepd: the order has no tmpdir'");
	}
	memset(end, 'd', 3000);
	strcpy(end + 3000, "\"}");
	comes(order_of(1, 0), much);
	logged("control_failed 125 'scstepd: the order has no tmpdir'");
	is_int(step.state, STEP_BOOT);
	ok(!step.order);
	strcpy(end + 2999, "\"}");
	comes(order_of(1, 0), much);
	ok(step.order != NULL);
	parts_log[0] = '\0';
	finish();
}

TAP_TEST(course_order__that_makes_no_sense)
{
	begin();
	comes(json_pack("{s:i}", "id", 7), HOST);
	is_int(step.state, STEP_OVER);
	ok(strstr(parts_log, "control_failed 125 '") == parts_log);
	parts_log[0] = '\0';
	finish();
}

TAP_TEST(course_order__a_part_that_cannot_be_opened)
{
	static const char *const names[] = {"output", "input",      "ranks", "leader",
					    "tree",   "collective", "server"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *last;

		begin();
		parts.missing = names[i];
		comes(order_of(1, 0), HOST);
		last = strstr(parts_log, "control_failed");
		is_str(last, "control_failed 125 'host n0: out of memory'");
		is_int(step.state, STEP_OVER);
		parts_log[0] = '\0';
		finish();
	}
	begin();
	parts.missing = "standstill";
	comes(order_of(1, 0), HOST);
	ok(strstr(parts_log, "control_failed 125 'host n0: /tmp/job/suspend can't be made: No "
			     "space left on device'"));
	parts_log[0] = '\0';
	finish();
	begin();
	parts.missing = "bind";
	comes(order_of(N_HOSTS, 1), HOST);
	logged("bind <0,2> control_failed 125 'no cores'");
	finish();
}

static void comes_with_memory(const char *memory)
{
	json_t *head = json_pack("{s:o, s:o, s:o}", "order", order_of(1, 0), "host",
				 json_loads(HOST, 0, NULL), "memory", json_loads(memory, 0, NULL));

	begin();
	course_order(&step, head);
	json_decref(head);
	parts_log[0] = '\0';
}

TAP_TEST(course_order__limit_of_memory)
{
	static const char *const none[] = {"{}", "{\"kills\":\"/k\"}",
					   "{\"kills\":\"/k\",\"text\":\"\"}",
					   "{\"kills\":\"k\",\"text\":\"t\"}", "{\"text\":\"t\"}"};

	comes_with_memory("{\"kills\":\"/k\",\"text\":\"too much\"}");
	is_str(step.memory_kills, "/k");
	is_str(step.memory_text, "too much");
	finish();
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		comes_with_memory(none[i]);
		ok(!step.memory_kills);
		is_int(step.state, STEP_JOIN);
		finish();
	}
}

/* ---- to the run ---- */

TAP_TEST(course__begins_when_joined_and_served)
{
	join(N_HOSTS, 1);
	course_served(&step, NULL);
	logged("");
	parts.events->joined(&step);
	logged(BEGUN);
	finish();
	join(N_HOSTS, 1);
	parts.events->joined(&step);
	logged("");
	course_served(&step, NULL);
	logged(BEGUN);
	course_adopted(&step, 0, NULL);
	logged(READY);
	is_int(step.state, STEP_READY);
	tell(OP_GO, 0, "{\"world\":0}");
	logged("go 0 started");
	is_int(step.state, STEP_RUN);
	finish();
}

TAP_TEST(course__begins_once)
{
	run(N_HOSTS, 1);
	parts.events->joined(&step);
	course_served(&step, NULL);
	logged("");
	course_adopted(&step, 0, NULL);
	is_int(step.state, STEP_RUN);
	parts_log[0] = '\0';
	finish();
}

TAP_TEST(course__host_without_ranks_of_the_world)
{
	join(N_HOSTS, 1);
	worlds_get(&step.worlds, 0)->hosts[1].ranks = 0;
	parts.events->joined(&step);
	course_served(&step, NULL);
	logged("register 0 input_begin");
	finish();
}

TAP_TEST(course__beginnings_that_fail)
{
	join(1, 0);
	course_served(&step, "no PMIx");
	logged("step_failed 0:-1 125 'no PMIx'");
	ok(!step.is_served);
	finish();
	join(1, 0);
	parts.nspace_failure = "no space";
	course_served(&step, NULL);
	logged("register 0 step_failed 0:-1 125 'no space'");
	finish();
	join(1, 0);
	parts.start_code = 127;
	course_served(&step, NULL);
	logged("register 0 expect 0 start 0 step_failed 0:1 127 'no program'");
	finish();
	join(1, 0);
	course_served(&step, NULL);
	parts_log[0] = '\0';
	course_adopted(&step, 0, "cannot be frozen");
	logged("step_failed 0:-1 125 'cannot be frozen'");
	is_int(step.state, STEP_READY);
	course_adopted(&step, 9, NULL);
	finish();
}

TAP_TEST(course__go_of_a_world_that_there_is_not)
{
	join(1, 0);
	course_served(&step, NULL);
	course_adopted(&step, 0, NULL);
	parts_log[0] = '\0';
	tell(OP_GO, 0, "{\"world\":4}");
	logged("");
	is_int(step.state, STEP_READY);
	finish();
}

/* ---- to the end ---- */

TAP_TEST(course_stop__ranks_end_in_time)
{
	run(1, 0);
	course_stop(&step, 3, "why");
	logged("leader_end 3 'why' signal 15 signal 18");
	is_int(step.state, STEP_STOPPING);
	pass(COURSE_TERM_S - 0.01);
	logged("");
	parts.n_alive = 0;
	pass(0);
	logged("signal 9 control_kill");
	is_int(step.state, STEP_KILLING);
	step.is_killed = true;
	pass(0);
	logged("leader_over");
	is_int(step.state, STEP_OVER);
	pass(2 * COURSE_KILL_S);
	finish();
}

TAP_TEST(course_stop__ranks_that_do_not_end)
{
	run(1, 0);
	course_stop(&step, 3, "why");
	parts_log[0] = '\0';
	pass(COURSE_TERM_S + 0.01);
	logged("signal 9 control_kill");
	/* Killed they are, but not yet reaped. */
	step.is_killed = true;
	pass(COURSE_KILL_S - 0.01);
	logged("");
	is_int(step.state, STEP_KILLING);
	pass(0.02);
	logged("leader_over");
	finish();
}

TAP_TEST(course_stop__twice)
{
	run(1, 0);
	course_stop(&step, 3, "why");
	parts_log[0] = '\0';
	course_stop(&step, 4, "again");
	logged("leader_end 4 'again'");
	finish();
}

/* A cause that only this host knows must not be lost with it. */
TAP_TEST(course_stop__another_host_than_the_leaders)
{
	run(N_HOSTS, 1);
	course_stop(&step, 3, "why");
	logged("control_failed 3 'why' signal 15 signal 18");
	parts.n_alive = 0;
	step.is_killed = true;
	pass(0);
	logged("signal 9 control_kill control_ended 0 ''");
	finish();
	run(N_HOSTS, 1);
	tell(OP_STOP, 0, "{\"code\":3,\"text\":\"why\"}");
	logged("signal 15 signal 18");
	ok(step.is_told);
	finish();
}

TAP_TEST(course_stop__without_a_scnoded)
{
	run(1, 0);
	course_stop(&step, 3, "why");
	parts.n_alive = 0;
	parts.control_kill_rc = -EPIPE;
	parts_log[0] = '\0';
	pass(0);
	logged("signal 9 control_kill leader_over");
	finish();
}

/* Those below us in the tree go on through us, and scrun is to be told. */
TAP_TEST(course_stop__others_that_are_waited_for)
{
	run(N_HOSTS, 0);
	parts.n_alive = 0;
	parts.n_children = 1;
	parts.is_awaited = true;
	step.is_killed = true;
	course_stop(&step, 0, "");
	pass(0);
	parts_log[0] = '\0';
	pass(0);
	logged("");
	parts.n_children = 0;
	pass(0);
	logged("");
	parts.n_children = 1;
	parts.is_awaited = false;
	pass(0);
	logged("");
	parts.n_children = 0;
	pass(0);
	logged("leader_over");
	finish();
}

TAP_TEST(course_stop__nobody_is_waited_for_when_scnoded_said_so)
{
	run(N_HOSTS, 0);
	parts.n_alive = 0;
	parts.n_children = 1;
	step.is_killed = step.is_cut = true;
	course_stop(&step, 0, "");
	parts_log[0] = '\0';
	pass(0);
	logged("signal 9 control_kill leader_over");
	finish();
}

TAP_TEST(course_stop__nothing_begins_any_more)
{
	run(N_HOSTS, 0);
	course_stop(&step, 0, "");
	parts_log[0] = '\0';
	tell(OP_GO, 0, "{\"world\":0}");
	tell(OP_RELEASE, 0, "{}");
	parts.events->lost(2, "closed", &step);
	logged("");
	finish();
	join(N_HOSTS, 0);
	course_served(&step, NULL);
	course_stop(&step, 0, "");
	parts_log[0] = '\0';
	parts.events->joined(&step);
	logged("");
	finish();
}
