// SPDX-License-Identifier: BSD-3-Clause
/* Reports that users follow, and how many they may follow. The loop never runs: ticks are ours. */
#include "scheduler/scored/activity.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "scheduler/scored/account.h"
#include "scheduler/scored/jobs.h"
#include "scheduler/scored/report.h"
#include "scheduler/scored/users.h"
#include "scheduler/scored/users_connection.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scored/fake_cluster.h"

#define ANN 70001u /* no users of this machine */
#define BOB 70002u
#define ROOT 0u
#define JOBS 100        /* of ann's that wait, */
#define ARGUMENT 100000 /* with so many bytes of arguments each */
#define SUBSCRIPTIONS 400
#define REPORT_MAX 100000 /* bytes of a report about them */

struct world {
	struct fake_cluster f;
	int fds[SUBSCRIPTIONS + 2];
	int n_fds;
};

static struct world *new_world(void)
{
	struct world *w = calloc(1, sizeof(*w));
	struct scored *d = &w->f.d;

	fake_cluster_open(&w->f, 2, 2, 2);
	d->loop = ev_default_loop(EVFLAG_AUTO);
	d->options.user_links = 1024;
	d->options.user_jobs = 1000;
	d->options.user_memory = 64 << 20;
	d->journal = journal_open("none", w->f.why, sizeof(w->f.why));
	ok(d->journal && !jobs_open(d, w->f.why, sizeof(w->f.why)));
	activity_open(d);
	return w;
}

static void end_world(struct world *w)
{
	users_close(&w->f.d);
	jobs_close(&w->f.d);
	for (int i = 0; i < w->n_fds; i++)
		close(w->fds[i]);
	ev_run(w->f.d.loop, EVRUN_NOWAIT);
	journal_close(w->f.d.journal);
	fake_cluster_close(&w->f);
	free(w);
}

static struct user *connect_as(struct world *w, uid_t uid)
{
	int pair[2];

	if (!is_int(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0))
		return NULL;
	w->fds[w->n_fds++] = pair[1];
	users_enter(&w->f.d, link_local(w->f.d.loop, pair[0], uid, NULL, NULL));
	return LIST_FIRST(&w->f.d.users);
}

static char *filled(const char *pattern, size_t size)
{
	size_t length = strlen(pattern);
	char *text = malloc(size + 1);

	for (size_t i = 0; i < size; i++)
		text[i] = pattern[i % length];
	text[size] = 0;
	return text;
}

/* Takes the argument. */
static void submit(struct world *w, uid_t uid, char *argument)
{
	struct job *job = calloc(1, sizeof(*job));

	*job = (struct job){.name = strdup("prog"),
			    .cwd = strdup("/"),
			    .nodes = 1,
			    .per_node = 1,
			    .ranks = 1,
			    .cores = 1,
			    .stdin_rank = JOB_STDIN_NONE,
			    .env = calloc(1, sizeof(char *)),
			    .apps = calloc(1, sizeof(*job->apps)),
			    .n_apps = 1};
	job->apps[0].ranks = 1;
	job->apps[0].argv = calloc(3, sizeof(char *));
	job->apps[0].argv[0] = strdup("prog");
	job->apps[0].argv[1] = argument;
	job->apps[0].env = calloc(1, sizeof(char *));
	ok(jobs_submit(&w->f.d, NULL, uid, uid, job, w->f.why, sizeof(w->f.why)));
}

/* The messages that have come to one connection since the call before; bytes in @ret_bytes. */
static int hear(const struct world *w, int which, size_t *ret_bytes)
{
	static char data[1 << 20];
	ssize_t n = read(w->fds[which], data, sizeof(data));
	size_t at = 0, used;
	struct frame frame;
	int count = 0;

	while (n > 0 && frame_decode(&frame, data + at, (size_t)n - at, FRAME_MAX, &used) == 1) {
		json_decref(frame.head);
		at += used;
		count++;
	}
	*ret_bytes = n > 0 ? (size_t)n : 0;
	return count;
}

static const char *argument_of(const json_t *report, size_t job, size_t which)
{
	const json_t *entry = json_array_get(json_object_get(report, "jobs"), job);

	return json_string_value(json_array_get(json_object_get(entry, "argv"), which));
}

TAP_TEST(report_activity__arguments_are_cut)
{
	struct world *w = new_world();
	json_t *report;
	const char *said;

	submit(w, ANN, filled("x", ARGUMENT));
	submit(w, ANN, filled("\xc3\xa4", 1000));
	submit(w, ANN, strdup("short"));
	report = report_activity(&w->f.d, ANN);
	said = argument_of(report, 0, 1);
	ok(said && strlen(said) == 256 - strlen("prog") - 1 + 3 &&
	   !strcmp(said + strlen(said) - 4, "x..."));
	is_str(argument_of(report, 0, 0), "prog");
	/* Not in the middle of a character. */
	said = argument_of(report, 1, 1);
	ok(said && strlen(said) == 250 + 3 && !strcmp(said + strlen(said) - 5, "\xc3\xa4..."));
	is_str(argument_of(report, 2, 1), "short");
	json_decref(report);
	report = report_activity(&w->f.d, BOB);
	ok(!argument_of(report, 0, 0));
	json_decref(report);
	end_world(w);
}

TAP_TEST(report_of__entries_of_others_are_shared)
{
	struct world *w = new_world();
	json_t *common, *ann, *bob, *jobs;

	submit(w, ANN, strdup("a"));
	submit(w, BOB, strdup("b"));
	common = report_common(&w->f.d);
	jobs = json_object_get(common, "jobs");
	ann = report_of(&w->f.d, common, ANN);
	bob = report_of(&w->f.d, common, BOB);
	ok(json_array_get(json_object_get(ann, "jobs"), 1) == json_array_get(jobs, 1));
	ok(json_array_get(json_object_get(bob, "jobs"), 0) == json_array_get(jobs, 0));
	ok(json_object_get(ann, "hosts") == json_object_get(common, "hosts"));
	is_str(argument_of(ann, 0, 1), "a");
	is_str(argument_of(bob, 1, 1), "b");
	ok(!argument_of(common, 0, 1) && !argument_of(common, 1, 1));
	json_decref(ann);
	json_decref(bob);
	json_decref(common);
	end_world(w);
}

TAP_TEST(activity_follow__a_few_connections_of_a_user)
{
	struct world *w = new_world();
	struct user *user;
	unsigned int n = 0;

	for (int i = 0; i < SUBSCRIPTIONS; i++) {
		user = connect_as(w, ANN);
		must(user);
		n += activity_follow(user, 0.2, w->f.why, sizeof(w->f.why));
	}
	is_int(n, ACTIVITY_LINKS_MAX);
	is_str(w->f.why, "user 70001 is told the activity over 8 connections already; end one of "
			 "them, sctop for instance");
	user = connect_as(w, BOB);
	ok(activity_follow(user, 0.2, w->f.why, sizeof(w->f.why)));
	/* The same one again takes no place. */
	ok(activity_follow(user, 5, w->f.why, sizeof(w->f.why)));
	is_int(user->account->followers, 1);
	end_world(w);
}

TAP_TEST(activity_tick__small_reports_that_are_charged)
{
	struct world *w = new_world();
	struct scored *d = &w->f.d;
	struct user *user;
	struct account *ann;
	size_t bytes;

	for (int i = 0; i < JOBS; i++)
		submit(w, ANN, filled("x", ARGUMENT));
	for (unsigned int i = 0; i < ACTIVITY_LINKS_MAX; i++) {
		user = connect_as(w, ANN);
		ok(activity_follow(user, i ? 0.2 : 0.6, w->f.why, sizeof(w->f.why)));
	}
	ann = account_of(d, ANN);
	for (int tick = 1; tick <= 3; tick++) {
		ann->is_resting = false;
		ann->spent_ns = 0;
		activity_tick(d);
		ok(ann->spent_ns > 0);
		for (unsigned int i = 0; i < ACTIVITY_LINKS_MAX; i++) {
			is_int(hear(w, (int)i, &bytes), i || tick == 3);
			okf(bytes < REPORT_MAX, "%zu bytes", bytes);
		}
	}
	/* His requests wait, and so do his reports. */
	ann->is_resting = true;
	activity_tick(d);
	is_int(hear(w, 1, &bytes), 0);
	ann->is_resting = false;
	activity_tick(d);
	is_int(hear(w, 1, &bytes), 1);
	end_world(w);
}
