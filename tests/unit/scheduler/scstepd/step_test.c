// SPDX-License-Identifier: BSD-3-Clause
/* step: what is told of this host, and what becomes of a message that cannot be sent. */
#include "scheduler/scstepd/step.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scstepd/memory.h"
#include "scheduler/scstepd/ranks.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scstepd/small_order.h"

static struct {
	struct step step;
	struct small_order small;
	struct world world;
	struct rank rank;
	int rc;       /* of tree_send() */
	int64_t peak; /* of memory_peak() */
	int64_t to;
	size_t size;
	unsigned int n_sent, n_stops;
	char head[400], text[400];
	int code;
} t;

int tree_send(struct tree *tree, int64_t to, json_t *head, const void *body, size_t body_size)
{
	char *text = json_dumps(head, JSON_COMPACT | JSON_SORT_KEYS);

	t.n_sent++;
	t.to = to;
	t.size = body_size;
	snprintf(t.head, sizeof(t.head), "%s", text ? text : "none");
	free(text);
	json_decref(head);
	return t.rc;
}

int64_t memory_peak(const char *mounts, const char *group)
{
	is_str(mounts, MEMORY_MOUNTS);
	is_str(group, MEMORY_GROUP);
	return t.peak;
}

static void stop(struct step *step, int code, const char *text)
{
	t.n_stops++;
	t.code = code;
	snprintf(t.text, sizeof(t.text), "%s", text);
}

static void begin(void)
{
	memset(&t, 0, sizeof(t));
	small_order_init(&t.small, 2, 2);
	t.step = (struct step){.order = &t.small.order, .host = "n1", .here = 1, .stop = stop};
	t.world.number = 3;
	t.rank = (struct rank){.step = &t.step,
			       .world = &t.world,
			       .number = 2,
			       .status = 256,
			       .has_come = true,
			       .max_rss = 4096};
}

static void finish(void)
{
	small_order_fini(&t.small);
}

TAP_TEST(step_send__what_cannot_be_sent_ends_the_job)
{
	begin();
	step_send(&t.step, 1, json_pack("{s:s}", "op", "x"), "abc", 3);
	is_int(t.to, 1);
	is_int(t.size, 3);
	is_str(t.head, "{\"op\":\"x\"}");
	is_int(t.n_stops, 0);
	/* The link is ending, and tells its end itself. */
	t.rc = -EPIPE;
	step_send(&t.step, 1, json_pack("{s:s}", "op", "x"), NULL, 0);
	is_int(t.n_stops, 0);
	t.rc = -EMSGSIZE;
	step_send(&t.step, 1, json_pack("{s:s}", "op", "x"), NULL, 0);
	is_int(t.n_stops, 1);
	is_int(t.code, STEP_CODE_LOST);
	is_str(t.text, "host n1: a message to host 1 cannot be sent: Message too long");
	finish();
}

TAP_TEST(step_failed__the_leader_decides)
{
	begin();
	t.step.is_joined = true;
	step_failed(&t.step, 3, -1, 127, "no such program");
	is_int(t.n_stops, 0);
	is_int(t.to, 0);
	is_str(t.head, "{\"code\":127,\"error\":\"ECANCELED\",\"op\":\"ready\",\"rank\":-1,"
		       "\"text\":\"no such program\",\"world\":3}");
	finish();
}

/* Without a tree nobody can be told: this host ends by itself. */
TAP_TEST(step_failed__before_the_tree_is_there)
{
	begin();
	step_failed(&t.step, 0, 1, 125, "no PMIx");
	is_int(t.n_sent, 0);
	is_int(t.n_stops, 1);
	is_int(t.code, 125);
	is_str(t.text, "no PMIx");
	/* Host 0 needs none to tell itself. */
	t.step.here = 0;
	step_failed(&t.step, 0, 1, 125, "no PMIx");
	is_int(t.n_sent, 1);
	is_int(t.n_stops, 1);
	finish();
}

TAP_TEST(step_running__for_debuggers_only)
{
	begin();
	step_running(&t.step);
	is_int(t.n_sent, 0);
	t.small.job.is_debugged = true;
	step_running(&t.step);
	is_int(t.n_sent, 1);
	is_int(t.to, 0);
	is_str(t.head, "{\"op\":\"running\"}");
	finish();
}

TAP_TEST(step_abort__to_the_leader)
{
	begin();
	step_abort(&t.step, 3, 2, -9, "why");
	is_int(t.to, 0);
	is_str(t.head, "{\"code\":-9,\"op\":\"abort\",\"rank\":2,\"text\":\"why\",\"world\":3}");
	finish();
}

#define ENDED(more) "{" more "\"has_come\":true,\"host\":\"n1\",\"in_mpi\":false,"

TAP_TEST(step_rank_ended__plain)
{
	begin();
	t.peak = 1 << 20;
	step_rank_ended(&t.step, &t.rank);
	is_int(t.to, 0);
	is_str(t.head, ENDED("") "\"op\":\"rank_ended\",\"rank\":2,\"status\":256,\"world\":3}");
	finish();
}

TAP_TEST(step_rank_ended__with_statistics)
{
	begin();
	t.small.job.is_statistics = true;
	t.peak = 1 << 20;
	step_rank_ended(&t.step, &t.rank);
	is_str(t.head, ENDED("\"group_peak\":1048576,") "\"max_rss\":4096,\"op\":\"rank_ended\","
							"\"rank\":2,\"status\":256,\"world\":3}");
	t.peak = -ENOENT;
	step_rank_ended(&t.step, &t.rank);
	is_str(t.head, ENDED("") "\"max_rss\":4096,\"op\":\"rank_ended\",\"rank\":2,"
				 "\"status\":256,\"world\":3}");
	finish();
}

TAP_TEST(step_rank_ended__that_could_not_begin)
{
	static char why[] = "no such file";

	begin();
	t.rank.code = 127;
	step_rank_ended(&t.step, &t.rank);
	is_str(t.head, ENDED("\"code\":127,") "\"op\":\"rank_ended\",\"rank\":2,\"status\":256,"
					      "\"text\":\"\",\"world\":3}");
	t.rank.why = why;
	step_rank_ended(&t.step, &t.rank);
	is_str(t.head, ENDED("\"code\":127,") "\"op\":\"rank_ended\",\"rank\":2,\"status\":256,"
					      "\"text\":\"no such file\",\"world\":3}");
	finish();
}

TAP_TEST(step_killed__is_remembered)
{
	begin();
	step_killed(&t.step);
	ok(t.step.is_killed);
	is_int(t.n_sent, 0);
	finish();
}
