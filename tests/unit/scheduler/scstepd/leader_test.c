// SPDX-License-Identifier: BSD-3-Clause
/*
 * leader: a job of two hosts with two ranks each, told by messages; scrun and scnoded are played by
 * the test.
 */
#include "scheduler/scstepd/leader.h"

#include <signal.h>

#include "scheduler/proto/frame.h"
#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/absence.h"
#include "scheduler/scstepd/control.h"
#include "scheduler/scstepd/course.h"
#include "scheduler/scstepd/front.h"
#include "scheduler/scstepd/output.h"
#include "scheduler/scstepd/transport.h"
#include "tests/unit/scheduler/scstepd/fake_step.h"

#define FRONT -7   /* "to" of what scrun is sent */
#define CONTROL -8 /* of what scnoded is told */
#define READY0 "{\"world\":0,\"pids\":[11,12],\"paths\":[\"/p\",\"/p\"],\"bindings\":[\"\",\"\"]}"
#define READY1 "{\"world\":0,\"pids\":[21,22],\"paths\":[\"/p\",\"/q\"],\"bindings\":[\"\",\"\"]}"
#define GO "{\"op\":\"go\",\"world\":0}"
#define PROCESSES                                                                                  \
	"{\"op\":\"processes\",\"ranks\":["                                                        \
	"{\"executable\":\"/p\",\"host\":0,\"pid\":11,\"rank\":0},"                                \
	"{\"executable\":\"/p\",\"host\":0,\"pid\":12,\"rank\":1},"                                \
	"{\"executable\":\"/p\",\"host\":1,\"pid\":21,\"rank\":2},"                                \
	"{\"executable\":\"/q\",\"host\":1,\"pid\":22,\"rank\":3}]}"

static const struct front_events *events;
static void *owner;
static struct leader *leader;
static bool has_scrun; /* that can be told to leave */
static unsigned int n_parted;

struct front *front_open(uint64_t job, const struct front_events *its_events, void *its_owner)
{
	is_int(job, 70000);
	events = its_events;
	owner = its_owner;
	return (struct front *)&fake;
}

void front_enter(struct front *front, struct link *link)
{
}

void front_send(struct front *front, json_t *head, const void *body, size_t size)
{
	fake_keep(FRONT, head, body, size);
}

bool front_part(struct front *front)
{
	return !has_scrun;
}

bool front_is_full(const struct front *front)
{
	return false;
}

bool front_is_awaited(const struct front *front)
{
	return false;
}

void front_close(struct front *front)
{
}

void course_front_parted(struct step *step)
{
	ok(step == &fake.step);
	n_parted++;
}

void control_ended(struct control *control, int code, const char *text)
{
	fake_keep(CONTROL, json_pack("{s:i, s:s}", "code", code, "text", text), NULL, 0);
}

void absence_begin(struct step *step, uint32_t world, uint32_t rank)
{
	fake.n_over++;
}

static void begin(void)
{
	fake_open(2, 2);
	leader = leader_open(&fake.step);
	ok(leader != NULL);
}

static void finish(void)
{
	ok(!fake.first);
	leader_close(leader);
	fake_close();
}

static void hosts_tell(const char *op, size_t from, const char *text)
{
	json_t *head = json_loads(text, 0, NULL);

	ok(head && leader_told(leader, op, from, head, "", 0));
	json_decref(head);
}

static void scrun_says(const char *op, const char *text)
{
	json_t *head = json_loads(text, 0, NULL);

	events->message(op, head, "", 0, owner);
	json_decref(head);
}

static void let_go(void)
{
	hosts_tell(OP_READY, 0, READY0);
	ok(!fake.first);
	hosts_tell(OP_READY, 1, READY1);
	fake_sent(TREE_ALL, GO, "");
	fake_sent(FRONT, PROCESSES, "");
}

static void ends_with(int code, const char *text)
{
	char *stop = NULL;

	ok(asprintf(&stop, "{\"code\":%d,\"op\":\"stop\",\"text\":\"%s\"}", code, text) > 0);
	fake_sent(TREE_ALL, stop, "");
	free(stop);
}

static void is_over(int code, const char *text)
{
	char *ended = NULL, *told = NULL;

	ok(asprintf(&ended, "{\"code\":%d,\"op\":\"ended\",\"text\":\"%s\"}", code, text) > 0);
	ok(asprintf(&told, "{\"code\":%d,\"text\":\"%s\"}", code, text) > 0);
	leader_over(leader);
	fake_sent(FRONT, ended, "");
	fake_sent(CONTROL, told, "");
	free(ended);
	free(told);
}

/* ---- the beginning ---- */

TAP_TEST(leader__all_hosts_are_ready)
{
	begin();
	hosts_tell(OP_READY, 0, READY0);
	/* Saying it twice does not make two hosts. */
	hosts_tell(OP_READY, 0, READY0);
	ok(!fake.first);
	hosts_tell(OP_READY, 1, READY1);
	fake_sent(TREE_ALL, GO, "");
	fake_sent(FRONT, PROCESSES, "");
	finish();
}

TAP_TEST(leader__hosts_without_pm_are_named_once)
{
	const char *text;

	begin();
	let_go();
	leader_met(leader);
	ok(!fake.first);
	hosts_tell(OP_WITHOUT_PM, 1, "{}");
	ok(!fake.first);
	leader_met(leader);
	text = fake.first ? json_string_value(json_object_get(fake.first->head, "text")) : NULL;
	if (ok(text && strstr(text, "host host: Open MPI has no mtl/pm"))) {
		is_int(fake.first->to, FRONT);
		fake_drop();
	}
	leader_met(leader);
	transport_close();
	finish();
}

TAP_TEST(leader__a_host_that_is_not_ready)
{
	begin();
	hosts_tell(OP_READY, 0, READY0);
	hosts_tell(OP_READY, 1,
		   "{\"world\":0,\"error\":\"ENOENT\",\"code\":127,\"text\":\"gone\"}");
	ends_with(127, "gone");
	hosts_tell(OP_READY, 1, READY1);
	is_over(127, "gone");
	finish();
}

TAP_TEST(leader__report_of_bindings)
{
	begin();
	fake.small.job.does_report_bindings = true;
	let_go();
	for (int i = 0; i < 4; i++) {
		ok(fake.first &&
		   !strcmp(json_string_value(json_object_get(fake.first->head, "op")), OP_NOTE));
		fake_drop();
	}
	finish();
}

TAP_TEST(leader__a_job_that_is_debugged)
{
	begin();
	fake.small.job.is_debugged = true;
	hosts_tell(OP_READY, 0, READY0);
	hosts_tell(OP_READY, 1, READY1);
	fake_sent(TREE_ALL, GO, "");
	hosts_tell(OP_RUNNING, 1, "{}");
	ok(!fake.first);
	hosts_tell(OP_RUNNING, 0, "{}");
	fake_sent(FRONT, PROCESSES, "");
	hosts_tell(OP_RUNNING, 0, "{}");
	ok(!fake.first);
	scrun_says(OP_RELEASE, "{}");
	fake_sent(TREE_ALL, "{\"op\":\"release\"}", "");
	finish();
}

/* ---- scrun ---- */

TAP_TEST(leader__signals_are_answered_at_once)
{
	begin();
	scrun_says(OP_SIGNAL, "{\"signal\":15}");
	fake_sent(FRONT, "{\"op\":\"ok\"}", "");
	fake_sent(TREE_ALL, "{\"op\":\"signal\",\"signal\":15}", "");
	scrun_says(OP_SIGNAL, "{\"signal\":4711}");
	fake_sent(FRONT, "{\"op\":\"ok\"}", "");
	finish();
}

TAP_TEST(leader__a_window_before_the_ranks)
{
	json_t *head = json_loads("{\"columns\":99,\"rows\":33}", 0, NULL);

	begin();
	fake.small.job.wants_pty = true;
	events->attached(head, owner);
	fake_sent(FRONT, "{\"hosts\":[\"host\",\"host\"],\"op\":\"attached\"}", "");
	fake_sent(TREE_ALL, "{\"columns\":99,\"op\":\"window\",\"rows\":33}", "");
	hosts_tell(OP_READY, 0, READY0);
	hosts_tell(OP_READY, 1, READY1);
	/* A host that joined later has it before its ranks begin. */
	fake_sent(TREE_ALL, "{\"columns\":99,\"op\":\"window\",\"rows\":33}", "");
	fake_sent(TREE_ALL, GO, "");
	fake_sent(FRONT, PROCESSES, "");
	scrun_says(OP_WINDOW, "{\"columns\":0,\"rows\":33}");
	scrun_says(OP_WINDOW, "{\"columns\":80,\"rows\":70000}");
	scrun_says(OP_WINDOW, "{\"columns\":80,\"rows\":24}");
	fake_sent(TREE_ALL, "{\"columns\":80,\"op\":\"window\",\"rows\":24}", "");
	json_decref(head);
	finish();
}

TAP_TEST(leader__a_window_without_terminal)
{
	begin();
	scrun_says(OP_WINDOW, "{\"columns\":80,\"rows\":24}");
	ok(!fake.first);
	let_go();
	finish();
}

TAP_TEST(leader_part__scrun_comes_again)
{
	begin();
	has_scrun = false;
	n_parted = 0;
	ok(leader_part(leader));
	has_scrun = true;
	ok(!leader_part(leader));
	is_int(n_parted, 0);
	events->parted(owner);
	is_int(n_parted, 1);
	finish();
}

TAP_TEST(leader__scrun_is_gone)
{
	begin();
	let_go();
	events->gone(owner);
	ends_with(STEP_CODE_LOST, "scrun is gone");
	is_over(STEP_CODE_LOST, "scrun is gone");
	finish();
}

/* ---- the end ---- */

TAP_TEST(leader__all_ranks_end_well)
{
	begin();
	let_go();
	for (int rank = 0; rank < 4; rank++) {
		char *text = NULL;

		ok(asprintf(&text, "{\"has_come\":true,\"rank\":%d,\"status\":0,\"world\":0}",
			    rank) > 0);
		hosts_tell(OP_RANK_ENDED, (size_t)rank / 2, text);
		fake_sent(FRONT, text, "");
		free(text);
	}
	ends_with(0, "");
	/* scrun need not wait for our cleaning up. */
	fake_sent(FRONT, "{\"code\":0,\"op\":\"ended\",\"text\":\"\"}", "");
	leader_over(leader);
	fake_sent(CONTROL, "{\"code\":0,\"text\":\"\"}", "");
	finish();
}

TAP_TEST(leader__a_rank_that_never_came_to_mpi)
{
	begin();
	let_go();
	hosts_tell(OP_RANK_ENDED, 0, "{\"rank\":1,\"status\":0,\"world\":0}");
	fake_sent(FRONT, "{\"rank\":1,\"status\":0,\"world\":0}", "");
	is_int(fake.n_over, 1);
	finish();
}

TAP_TEST(leader__the_first_rank_that_fails)
{
	const char *why = "rank 2 on host was killed by signal 9 (Killed)";

	begin();
	let_go();
	hosts_tell(OP_RANK_ENDED, 1, "{\"rank\":2,\"status\":9,\"world\":0}");
	fake_sent(FRONT, "{\"rank\":2,\"status\":9,\"world\":0}", "");
	ends_with(137, why);
	hosts_tell(OP_RANK_ENDED, 0, "{\"rank\":0,\"status\":15,\"world\":0}");
	fake_sent(FRONT, "{\"rank\":0,\"status\":15,\"world\":0}", "");
	leader_end(leader, 1, "later");
	is_over(137, why);
	finish();
}

TAP_TEST(leader__abort)
{
	begin();
	let_go();
	hosts_tell(OP_ABORT, 1, "{\"rank\":3,\"world\":0,\"code\":5,\"text\":\"\"}");
	ends_with(5, "rank 3 on host called MPI_Abort with code 5");
	hosts_tell(OP_ABORT, 1, "{\"rank\":2,\"world\":0,\"code\":6,\"text\":\"\"}");
	is_over(5, "rank 3 on host called MPI_Abort with code 5");
	finish();
}

TAP_TEST(leader_told__what_is_not_its)
{
	json_t *head = json_object();

	begin();
	ok(!leader_told(leader, OP_FENCED, 0, head, "", 0));
	ok(!leader_told(leader, OP_SIGNAL, 1, head, "", 0));
	/* A world that nobody has asked for. */
	hosts_tell(OP_READY, 1, "{\"world\":5}");
	json_decref(head);
	finish();
}

/* ---- input and output ---- */

TAP_TEST(leader__output_and_its_room)
{
	static char much[OUTPUT_HOST_MAX / 4];
	json_t *head = json_loads("{\"rank\":2,\"stream\":1,\"world\":0}", 0, NULL);

	begin();
	ok(leader_told(leader, OP_OUT, 1, head, "text", 4));
	fake_sent(FRONT, "{\"rank\":2,\"stream\":1,\"world\":0}", "text");
	ok(leader_told(leader, OP_OUT, 1, head, much, sizeof(much)));
	fake_sent(FRONT, "{\"rank\":2,\"stream\":1,\"world\":0}", "");
	ok(fake.first && json_integer_value(json_object_get(fake.first->head, "bytes")) ==
				 4 + (json_int_t)sizeof(much));
	ok(fake.first && fake.first->to == 1);
	fake_drop();
	ok(leader_told(leader, OP_OUT, 0, head, "text", 4));
	fake_sent(FRONT, "{\"rank\":2,\"stream\":1,\"world\":0}", "text");
	events->drained(owner);
	fake_sent(0, "{\"bytes\":4,\"op\":\"out_room\"}", "");
	json_decref(head);
	finish();
}

TAP_TEST(leader__input_of_a_rank)
{
	begin();
	fake.small.job.stdin_rank = 3;
	events->message(OP_IN, NULL, "word", 4, owner);
	fake_sent(1, "{\"op\":\"in\"}", "word");
	hosts_tell(OP_IN_ROOM, 1, "{\"bytes\":4}");
	fake_sent(FRONT, "{\"bytes\":4,\"op\":\"in_room\"}", "");
	hosts_tell(OP_IN_ROOM, 1, "{\"bytes\":-4}");
	finish();
}

TAP_TEST(leader__input_of_all)
{
	begin();
	fake.small.job.stdin_rank = JOB_STDIN_ALL;
	events->message(OP_IN, NULL, "word", 4, owner);
	fake_sent(TREE_ALL, "{\"op\":\"in\"}", "word");
	hosts_tell(OP_IN_ROOM, 1, "{\"bytes\":4}");
	ok(!fake.first);
	hosts_tell(OP_IN_ROOM, 0, "{\"bytes\":3}");
	fake_sent(FRONT, "{\"bytes\":3,\"op\":\"in_room\"}", "");
	hosts_tell(OP_IN_ROOM, 0, "{\"bytes\":1}");
	fake_sent(FRONT, "{\"bytes\":1,\"op\":\"in_room\"}", "");
	finish();
}

TAP_TEST(leader__input_of_nobody)
{
	begin();
	fake.small.job.stdin_rank = JOB_STDIN_NONE;
	events->message(OP_IN, NULL, "word", 4, owner);
	fake_sent(FRONT, "{\"bytes\":4,\"op\":\"in_room\"}", "");
	finish();
}

TAP_TEST(leader__more_input_than_there_is_room)
{
	static char much[FRAME_CHUNK];

	begin();
	fake.small.job.stdin_rank = 0;
	for (size_t sent = 0; sent < LINK_FULL; sent += sizeof(much)) {
		events->message(OP_IN, NULL, much, sizeof(much), owner);
		fake_drop();
	}
	events->message(OP_IN, NULL, much, sizeof(much), owner);
	ends_with(STEP_CODE_LOST, "scrun sent more standard input than it may");
	is_over(STEP_CODE_LOST, "scrun sent more standard input than it may");
	finish();
}
