// SPDX-License-Identifier: BSD-3-Clause
/* intervals: jobs that are due, by a clock that is given; the checkpoint itself is a fake. */
#include "scheduler/scored/intervals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scored/checkpoint.h"
#include "scheduler/scored/nodes.h"
#include "tests/harness/tap.h"

#define TODAY 1000000

static struct {
	struct scored d;
	struct node node;
	struct sjob_host host;
	struct sjob job;
	struct job what; /* was started */
	unsigned int n_asked;
	const char *refusal;
	char told[600];
} t;

char *checkpoint_ask(struct scored *d, struct user *user, struct sjob *job, const char **ret_error)
{
	ok(d == &t.d && !user && job == &t.job);
	t.n_asked++;
	*ret_error = "EBUSY";
	return t.refusal ? strdup(t.refusal) : NULL;
}

void nodes_send(struct node *node, json_t *head)
{
	ok(node == &t.node);
	snprintf(t.told, sizeof(t.told), "%s", json_string_value(json_object_get(head, "text")));
	is_str(json_string_value(json_object_get(head, "op")), "note");
	json_decref(head);
}

/* A job that has started at that second. */
static void begin(double interval_s, int64_t started)
{
	memset(&t, 0, sizeof(t));
	TAILQ_INIT(&t.d.placed);
	TAILQ_INSERT_TAIL(&t.d.placed, &t.job, placed);
	t.what.checkpoint_s = interval_s;
	t.host.node = &t.node;
	t.job.id = 7;
	t.job.job = &t.what;
	t.job.hosts = &t.host;
	t.job.n_hosts = 1;
	t.job.state = SJOB_RUNNING;
	t.job.started = TODAY + started;
}

static void finish(void)
{
	free(t.job.image_failure);
	free(t.job.image_told);
}

/* At that second, of the clock and of the day; so many were begun until then. */
static void beat(double now_s, unsigned int want)
{
	intervals_beat(&t.d, now_s, TODAY + (int64_t)now_s);
	is_int(t.n_asked, want);
}

TAP_TEST(intervals_beat__one_after_another)
{
	begin(10, 100);
	beat(100, 0);
	beat(109, 0);
	beat(110, 1);
	beat(111, 1);
	beat(119, 1);
	beat(120, 2);
	/* It slept, and does not make up for it. */
	beat(200, 3);
	beat(201, 3);
	finish();
}

TAP_TEST(intervals_beat__jobs_that_are_not_due)
{
	begin(0, 0);
	beat(100, 0);
	beat(1e9, 0);
	begin(10, 121);
	t.job.state = SJOB_STARTING;
	beat(100, 0);
	beat(120, 0);
	t.job.state = SJOB_RUNNING;
	beat(121, 0);
	t.job.is_suspended = true;
	beat(200, 0);
	t.job.is_suspended = false;
	t.job.checkpoint = (struct checkpoint *)&t;
	beat(201, 0);
	t.job.checkpoint = NULL;
	t.job.mover = (struct user *)&t;
	beat(202, 0);
	t.job.mover = NULL;
	beat(203, 1);
	finish();
}

/* scored was started anew, or the job was. */
TAP_TEST(intervals_beat__the_last_one_was_taken_before)
{
	begin(100, 0);
	t.job.image = (struct sjob_image){.round = 3, .taken = TODAY + 50};
	beat(100, 0);
	beat(149, 0);
	beat(150, 1);
	finish();
	begin(100, -1000);
	t.job.image = (struct sjob_image){.round = 3, .taken = TODAY - 500};
	beat(1, 1);
	finish();
	/* It was restored from there. */
	begin(100, 20);
	t.job.image = (struct sjob_image){.round = 3, .taken = TODAY - 500};
	beat(100, 0);
	beat(119, 0);
	beat(120, 1);
	finish();
	/* The clock of the day was set back. */
	begin(100, 0);
	t.job.image = (struct sjob_image){.round = 3, .taken = TODAY + 5000};
	beat(100, 0);
	beat(199, 0);
	beat(200, 1);
	finish();
}

#define SAID(what, when) "job 7: no checkpoint was written: " what "; the next try is in " when " s"

TAP_TEST(intervals_beat__failures)
{
	begin(1000, 0);
	beat(0, 0);
	beat(1000, 1);
	t.job.image_failure = strdup("no room");
	beat(1001, 1);
	is_str(t.told, SAID("no room", "60"));
	beat(1060, 1);
	beat(1061, 2);
	/* The same again is not told. */
	*t.told = 0;
	t.job.image_failure = strdup("no room");
	beat(1062, 2);
	is_str(t.told, "");
	/* It is refused at once. */
	t.refusal = "not now";
	beat(1122, 3);
	beat(1123, 3);
	is_str(t.told, SAID("not now", "60"));
	t.refusal = NULL;
	beat(1183, 4);
	beat(2182, 4);
	beat(2183, 5);
	finish();
}

TAP_TEST(intervals_beat__failures_of_a_short_interval)
{
	begin(5, 0);
	beat(0, 0);
	beat(5, 1);
	t.job.image_failure = strdup("no room");
	beat(6, 1);
	is_str(t.told, SAID("no room", "5"));
	beat(11, 2);
	finish();
}
