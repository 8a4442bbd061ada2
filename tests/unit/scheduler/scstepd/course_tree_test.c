// SPDX-License-Identifier: BSD-3-Clause
/* course: messages of the tree, worlds that are spawned, and callers at the host's port. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "scheduler/proto/signals.h"
#include "tests/unit/scheduler/scstepd/fake_course.h"

/* ---- the tree ---- */

TAP_TEST(course__messages_and_whose_they_are)
{
	static const struct {
		const char *op, *text, *want;
	} all[] = {
		{OP_OUT_ROOM, "{\"bytes\":9}", "room 9"},
		{OP_IN, "{}", "input 3"},
		{OP_WINDOW, "{\"columns\":80,\"rows\":25}", "window 80x25"},
		{OP_FENCED, "{\"kind\":\"fence\",\"set\":\"0\",\"serial\":0,\"error\":0}",
		 "meet_told 3"},
		{OP_SIGNAL, "{\"signal\":10}", "signal 10"},
		{OP_SIGNAL, "{\"signal\":2}", "signal 2 signal 18"},
		{OP_SIGNAL, "{\"signal\":15}", "signal 15 signal 18"},
		{OP_SIGNAL, "{\"signal\":1}", "signal 1 signal 18"},
		{OP_SIGNAL, "{\"signal\":3}", "signal 3 signal 18"},
		{OP_ABSENT, "{\"world\":0,\"rank\":1}", "absent"},
		{OP_STANDSTILL, "{\"set\":\"0\",\"devices\":\"udp\",\"parts\":false}",
		 "standstill udp"},
		{OP_RELEASE, "{}", "pmi_release debug_release"},
		{OP_MODEX, "{\"world\":0,\"rank\":1,\"ticket\":1}", "modex_asked 2"},
		{OP_MODEX_DATA, "{\"ticket\":1,\"status\":0}", "modex_answered 3"},
		{OP_ANSWER, "{\"ticket\":1,\"status\":0}", "ask_answered 3"},
		{OP_EVENT,
		 "{\"code\":1,\"nspace\":\"1\",\"rank\":0,\"range\":1,\"count\":0,\"host\":0}",
		 "event 3"},
		/* The leader's, who is elsewhere. */
		{OP_LOOKUP, "{\"nspace\":\"1\",\"rank\":0,\"keys\":[],\"ticket\":1}", ""},
		{"something_new", "{}", ""},
	};

	run(N_HOSTS, 1);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		tell(all[i].op, 2, all[i].text);
		logged(all[i].want);
	}
	parts.events->drained(&step);
	logged("output_check");
	finish();
}

TAP_TEST(course__messages_to_the_leader)
{
	run(N_HOSTS, 0);
	parts.told_op = OP_RUNNING;
	tell(OP_RUNNING, 1, "{}");
	logged("leader_told");
	tell(OP_FENCED, 0, "{\"kind\":\"fence\",\"set\":\"0\",\"serial\":0,\"error\":0}");
	logged("leader_met meet_told 3");
	tell(OP_LOOKUP, 2, "{\"nspace\":\"1\",\"rank\":0,\"keys\":[],\"ticket\":1}");
	logged("publish_told lookup 2");
	/* The request of another host for all; its own word is for its own ranks. */
	tell(OP_SIGNAL, 1, "{\"signal\":10}");
	logged("leader_signal 10");
	tell(OP_SIGNAL, 0, "{\"signal\":10}");
	logged("signal 10");
	finish();
}

TAP_TEST(course__messages_that_make_no_sense)
{
	run(N_HOSTS, 1);
	tell(OP_SIGNAL, 2, "{\"signal\":65}");
	ok(strstr(parts_log,
		  "control_failed 123 'host n1: host n2 sent a message that makes no sense: ") ==
	   parts_log);
	ok(!strstr(parts_log, "signal 65"));
	is_int(step.state, STEP_STOPPING);
	parts_log[0] = '\0';
	finish();
}

static void combine(const char *text)
{
	json_t *head = json_loads(text, 0, NULL);

	parts.events->combine(OP_FENCE, 2, head, "", 0, &step);
	json_decref(head);
}

TAP_TEST(course__what_is_combined)
{
	static const char fence[] =
		"{\"op\":\"fence\",\"kind\":\"fence\",\"set\":\"0\",\"serial\":0,\"error\":0}";

	run(N_HOSTS, 0);
	combine(fence);
	logged("combine 2");
	parts.combined = -EPROTO;
	combine(fence);
	logged("combine 2 leader_end 123 'host n0: a fence of host n2 fails: Protocol error' "
	       "signal 15 signal 18");
	finish();
	run(N_HOSTS, 0);
	combine("{\"op\":\"fence\"}");
	ok(!strstr(parts_log, "combine"));
	is_int(step.state, STEP_STOPPING);
	parts_log[0] = '\0';
	finish();
}

TAP_TEST(course__a_host_is_lost)
{
	run(N_HOSTS, 0);
	parts.events->lost(2, "closed", &step);
	logged("leader_end 123 'host n2 is lost: closed' signal 15 signal 18");
	finish();
	join(N_HOSTS, 0);
	parts.events->lost(2, "refused", &step);
	logged("leader_end 123 'host n0 does not reach host n2: refused' signal 15 signal 18");
	finish();
}

/* ---- worlds that are spawned ---- */

/* The message by which the root tells of three ranks more. */
static json_t *plan(void)
{
	json_t *apps = json_loads("[{\"argv\":[\"p\"],\"env\":[],\"cwd\":\"/\",\"ranks\":3}]", 0,
				  NULL),
	       *told = NULL;
	char why[200];

	is_int(world_plan(&step.worlds, apps, 0, 0, &told, why, sizeof(why)), 0);
	json_decref(apps);
	json_object_set_new(told, "op", json_string(OP_WORLD));
	return told;
}

static void tell_world(json_t *told)
{
	parts.events->message(OP_WORLD, 0, told, "", 0, &step);
	json_decref(told);
}

TAP_TEST(course__a_world_more)
{
	run(N_HOSTS, 1);
	tell_world(plan());
	logged("register 1 expect 1 start 1 adopt 1");
	course_adopted(&step, 1, NULL);
	logged("send 0 {\"bindings\":[],\"op\":\"ready\",\"paths\":[],\"pids\":[],\"world\":1}");
	tell(OP_GO, 0, "{\"world\":1}");
	logged("go 1");
	finish();
}

TAP_TEST(course__a_world_that_makes_no_sense)
{
	json_t *told;

	run(N_HOSTS, 1);
	told = plan();
	json_object_set_new(told, "hosts", json_array());
	tell_world(told);
	ok(strstr(parts_log, "control_failed 125 '") == parts_log);
	parts_log[0] = '\0';
	finish();
	/* The root has planned it itself. */
	run(N_HOSTS, 0);
	tell_world(plan());
	logged("leader_end 125 'spawn: lost' signal 15 signal 18");
	finish();
}

/* ---- callers ---- */

static void visit(const char *role, uid_t uid)
{
	parts.role = role;
	parts.uid = uid;
	course_caller(&step, NULL);
}

TAP_TEST(course_caller__who_may_enter)
{
	join(N_HOSTS, 0);
	visit("scstepd", getuid());
	logged("tree_enter");
	visit("scrun", getuid());
	logged("leader_enter");
	visit("scrun", 0);
	logged("leader_enter");
	visit("tool", getuid());
	logged("link_close");
	visit("scrun", 65534);
	logged("link_close");
	visit("scstepd", 65534);
	logged("link_close");
	finish();
	join(N_HOSTS, 1);
	visit("scrun", getuid());
	logged("link_close");
	finish();
	begin();
	visit("scstepd", getuid());
	logged("link_close");
	finish();
}

/* ---- all links go, and come again ---- */

static void wake(void)
{
	raise(SIGNALS_WAKE);
	pass(0);
}

TAP_TEST(course__parts_and_returns)
{
	run(N_HOSTS, 1);
	parts.standstill->part(&step);
	logged("shut tree_hold stands ''");
	parts.standstill->go_away(&step);
	logged("tree_part");
	parts.events->parted(&step);
	logged("control_part");
	wake();
	logged("control_return");
	course_returned(&step, NULL);
	logged("open tree_go_on stands ''");
	/* It is not those of the tree that the ranks wait for. */
	parts.events->joined(&step);
	logged("");
	finish();
}

TAP_TEST(course__returns_with_what_was_found)
{
	run(N_HOSTS, 2);
	parts.standstill->part(&step);
	parts.standstill->go_away(&step);
	parts.events->parted(&step);
	parts_log[0] = '\0';
	course_returned(&step, "rank 2 holds a socket");
	logged("open tree_go_on stands 'rank 2 holds a socket'");
	finish();
}

TAP_TEST(course__scrun_parts_first)
{
	run(N_HOSTS, 0);
	parts.has_scrun = true;
	parts.standstill->part(&step);
	logged("leader_part");
	pass(COURSE_PART_S - 0.01);
	logged("");
	course_front_parted(&step);
	logged("shut tree_hold stands ''");
	/* Its limit counts no more. */
	pass(2 * COURSE_PART_S);
	logged("");
	course_front_parted(&step);
	logged("");
	finish();
	/* Without one there is nobody to wait for. */
	run(N_HOSTS, 0);
	parts.standstill->part(&step);
	logged("leader_part shut tree_hold stands ''");
	finish();
}

TAP_TEST(course__scrun_does_not_part)
{
	run(N_HOSTS, 0);
	parts.has_scrun = true;
	parts.standstill->part(&step);
	parts_log[0] = '\0';
	pass(COURSE_PART_S + 0.01);
	logged("stands 'scrun does not take what the ranks have printed; is it stopped, or does "
	       "nobody read its output?'");
	parts.standstill->stay(&step);
	logged("open tree_go_on");
	/* Too late for this time. */
	course_front_parted(&step);
	logged("");
	finish();
}

TAP_TEST(course__no_memory_for_the_links)
{
	run(N_HOSTS, 1);
	parts.go_on_rc = -ENOMEM;
	parts.standstill->stay(&step);
	logged("open tree_go_on control_failed 123 'out of memory' signal 15 signal 18");
	finish();
}

/* From outside anybody of that user may do it. */
TAP_TEST(course__woken_at_any_time)
{
	begin();
	wake();
	logged("control_return");
	/* The parts that are closed hear nothing. */
	course_close(&step);
	raise(SIGNALS_WAKE);
	logged("");
	ev_loop_destroy(step.loop);
}
