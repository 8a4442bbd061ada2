// SPDX-License-Identifier: BSD-3-Clause
/* Connections of users when there are descriptors for a few only. */
#include "scheduler/scored/users.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/account.h"
#include "scheduler/scored/activity.h"
#include "scheduler/scored/jobs.h"
#include "scheduler/scored/users_connection.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scored/fake_cluster.h"

#define ANN 70001u /* no users of this machine */
#define BOB 70002u
#define CAROL 70003u
#define ROOT 0u
#define PLACES 4 /* of all users */
#define MOST 16  /* connections of a test */

struct world {
	struct fake_cluster f;
	int fds[MOST];
	int n;
	char said[1024]; /* what a connection was told last: the op, and why */
};

static struct world *new_world(void)
{
	struct world *w = calloc(1, sizeof(*w));
	struct scored *d = &w->f.d;

	fake_cluster_open(&w->f, 2, 2, 2);
	d->loop = ev_default_loop(EVFLAG_AUTO);
	d->options.user_links = 1024;
	d->options.all_links = PLACES;
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
	for (int i = 0; i < w->n; i++)
		close(w->fds[i]);
	ev_run(w->f.d.loop, EVRUN_NOWAIT);
	journal_close(w->f.d.journal);
	fake_cluster_close(&w->f);
	free(w);
}

/* The number of the connection. */
static int connect_as(struct world *w, uid_t uid)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		abort();
	w->fds[w->n] = pair[1];
	users_enter(&w->f.d, link_local(w->f.d.loop, pair[0], uid, NULL, NULL));
	return w->n++;
}

/* The last words to connection @which; "" = none, so it has its place. */
static const char *told(struct world *w, int which)
{
	static char data[1 << 16];
	ssize_t n = read(w->fds[which], data, sizeof(data));
	size_t at = 0, used;
	struct frame frame;

	w->said[0] = 0;
	while (n > 0 && frame_decode(&frame, data + at, (size_t)n - at, FRAME_MAX, &used) == 1) {
		const char *op = json_string_value(json_object_get(frame.head, "op"));
		const char *text = json_string_value(json_object_get(frame.head, "text"));

		snprintf(w->said, sizeof(w->said), "%s: %s", op, text ? text : "");
		json_decref(frame.head);
		at += used;
	}
	return w->said;
}

static size_t links_of(const struct world *w, uid_t uid)
{
	const struct account *account;

	LIST_FOREACH(account, &w->f.d.accounts, all)
		if (account->uid == uid)
			return account->links;
	return 0;
}

/* A job of the connection that was made last. */
static struct sjob *submit(struct world *w, uid_t uid)
{
	struct user *user = LIST_FIRST(&w->f.d.users);
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
	job->apps[0].argv = calloc(2, sizeof(char *));
	job->apps[0].argv[0] = strdup("prog");
	job->apps[0].env = calloc(1, sizeof(char *));
	user->job = jobs_submit(&w->f.d, user, uid, uid, job, w->f.why, sizeof(w->f.why));
	return user->job;
}

TAP_TEST(users_enter__who_has_most_yields)
{
	struct world *w = new_world();
	int ann[PLACES], bob;

	for (int i = 0; i < PLACES; i++)
		ann[i] = connect_as(w, ANN);
	bob = connect_as(w, BOB);
	is_str(told(w, bob), "");
	okf(strstr(told(w, ann[3]), "error: user 70001 has 4 connections") &&
		    strstr(w->said, "LimitNOFILE="),
	    "%s", w->said);
	is_str(told(w, connect_as(w, BOB)), "");
	okf(strstr(told(w, ann[2]), "error: user 70001 has 3 connections") != NULL, "%s", w->said);
	is_str(told(w, ann[0]), "");
	is_str(told(w, ann[1]), "");
	/* Now both have as many. */
	okf(strstr(told(w, connect_as(w, BOB)), "error: users have 4 connections") != NULL, "%s",
	    w->said);
	okf(strstr(told(w, connect_as(w, ANN)), "error: users have 4 connections") != NULL, "%s",
	    w->said);
	is_str(told(w, connect_as(w, CAROL)), "");
	is_int(links_of(w, ANN) + links_of(w, BOB), 3);
	is_str(told(w, connect_as(w, ROOT)), "");
	is_int(links_of(w, ANN) + links_of(w, BOB), 3);
	end_world(w);
}

TAP_TEST(users_enter__running_jobs_stay)
{
	struct world *w = new_world();
	struct sjob *jobs[PLACES];

	for (int i = 0; i < PLACES; i++) {
		connect_as(w, ANN);
		jobs[i] = submit(w, ANN);
		must(jobs[i]);
		jobs[i]->state = SJOB_RUNNING;
	}
	okf(strstr(told(w, connect_as(w, BOB)), "error: users have 4 connections") != NULL, "%s",
	    w->said);
	is_int(links_of(w, ANN), PLACES);
	/* The eldest waits: it goes, as it is the only one that may. */
	jobs[0]->state = SJOB_QUEUED;
	is_str(told(w, connect_as(w, BOB)), "");
	okf(strstr(told(w, 0), "ended: user 70001 has 4 connections") != NULL, "%s", w->said);
	is_int(links_of(w, ANN), PLACES - 1);
	for (int i = 1; i < PLACES; i++)
		jobs[i]->state = SJOB_QUEUED;
	end_world(w);
}

TAP_TEST(users_enter__rather_one_without_a_job)
{
	struct world *w = new_world();
	int idle = connect_as(w, ANN);

	for (int i = 1; i < PLACES; i++) {
		connect_as(w, ANN);
		must(submit(w, ANN));
	}
	is_str(told(w, connect_as(w, BOB)), "");
	okf(strstr(told(w, idle), "error: user 70001 has 4 connections") != NULL, "%s", w->said);
	end_world(w);
}

TAP_TEST(users_enter__jobs_that_wait_stay_beside_idle_connections_of_others)
{
	struct world *w = new_world();
	int bob;

	w->f.d.options.all_links = PLACES + 1;
	for (int i = 0; i < PLACES - 1; i++) {
		connect_as(w, ANN);
		must(submit(w, ANN));
	}
	connect_as(w, BOB);
	bob = connect_as(w, BOB);
	is_str(told(w, connect_as(w, CAROL)), "");
	okf(strstr(told(w, bob), "error: user 70002 has 2 connections") != NULL, "%s", w->said);
	is_int(links_of(w, ANN), PLACES - 1);
	end_world(w);
}

/* No job starts: the hosts are none that can be told of one. */
static void run_once(struct world *w, int flags)
{
	ev_run(w->f.d.loop, flags);
	ev_prepare_stop(w->f.d.loop, &w->f.d.plan);
}

static bool is_anyone_resting(const struct world *w)
{
	const struct account *account;

	LIST_FOREACH(account, &w->f.d.accounts, all)
		if (account->is_resting)
			return true;
	return false;
}

/* Reads what was said. On a busy machine a user may have had her share of the time meanwhile. */
static void turn(struct world *w)
{
	run_once(w, EVRUN_NOWAIT);
	run_once(w, EVRUN_NOWAIT);
	while (is_anyone_resting(w))
		run_once(w, EVRUN_ONCE);
	run_once(w, EVRUN_NOWAIT);
}

/* The answer to a job that a connection of its own asks for. */
static const char *submit_as(struct world *w, uid_t uid, int *ret_which)
{
	json_t *head = json_pack("{s:s, s:{s:s, s:i, s:i, s:i, s:s, s:[], s:[{s:[s], s:[], s:i}]}}",
				 "op", OP_SUBMIT, "job", "name", "prog", "ranks", 1, "nodes", 1,
				 "per_node", 1, "cwd", "/", "env", "apps", "argv", "prog", "env",
				 "ranks", 1);
	size_t size = 0;
	char *bytes = head ? frame_encode(head, 0, &size) : NULL;

	*ret_which = connect_as(w, uid);
	is_int(write(w->fds[*ret_which], bytes, size), size);
	json_decref(head);
	free(bytes);
	turn(w);
	return told(w, *ret_which);
}

static void run_all(struct world *w, enum sjob_state state)
{
	struct sjob *job;

	TAILQ_FOREACH(job, &w->f.d.jobs, all)
		job->state = state;
}

TAP_TEST(submit__jobs_leave_places_to_others)
{
	struct world *w = new_world();
	int first, which;

	is_str(submit_as(w, ANN, &first), "queued: ");
	is_str(submit_as(w, ANN, &which), "queued: ");
	run_all(w, SJOB_RUNNING);
	/* As many as she would leave. */
	okf(strstr(submit_as(w, ANN, &which), "error: jobs hold 2 of the 4 connections") &&
		    strstr(w->said, "2 of them jobs of user 70001") &&
		    strstr(w->said, "LimitNOFILE="),
	    "%s", w->said);
	is_str(submit_as(w, BOB, &which), "queued: ");
	run_all(w, SJOB_RUNNING);
	/* Carol has the last place, but not for as long as a job likes. */
	okf(strstr(submit_as(w, CAROL, &which), "error: jobs hold 3 of the 4 connections") != NULL,
	    "%s", w->said);
	is_int(links_of(w, CAROL), 1);
	is_int(links_of(w, ANN), 2);
	is_str(submit_as(w, ROOT, &which), "queued: ");
	/* One ends. */
	close(w->fds[first]);
	w->fds[first] = -1;
	turn(w);
	is_int(links_of(w, ANN), 1);
	is_str(submit_as(w, CAROL, &which), "queued: ");
	run_all(w, SJOB_QUEUED);
	end_world(w);
}

static void hang_up(struct world *w, int which)
{
	close(w->fds[which]);
	w->fds[which] = -1;
	turn(w);
}

TAP_TEST(submit__jobs_that_wait_yield)
{
	struct world *w = new_world();
	struct sjob *first;
	int idle = connect_as(w, BOB), ann[6], which;

	w->f.d.options.all_links = 12;
	for (int i = 0; i < 6; i++)
		is_str(submit_as(w, ANN, &ann[i]), "queued: ");
	first = TAILQ_FIRST(&w->f.d.jobs);
	for (int i = 0; i < 3; i++)
		is_str(submit_as(w, BOB, &which), "queued: ");
	is_str(submit_as(w, CAROL, &which), "queued: ");
	/* One more of hers needs two places, and only one job waits: it stays. */
	run_all(w, SJOB_RUNNING);
	first->state = SJOB_QUEUED;
	okf(strstr(submit_as(w, CAROL, &which), "error: jobs hold 10 of the 12 connections") !=
		    NULL,
	    "%s", w->said);
	is_int(links_of(w, ANN), 6);
	hang_up(w, which);
	/* All wait: the newest two of the user with the most yield. */
	run_all(w, SJOB_QUEUED);
	is_str(submit_as(w, CAROL, &which), "queued: ");
	for (int i = 0; i < 4; i++)
		is_str(told(w, ann[i]), "");
	for (int i = 4; i < 6; i++)
		okf(strstr(told(w, ann[i]), "ended: user 70001 has") != NULL, "%s", w->said);
	is_int(links_of(w, ANN), 4);
	is_str(told(w, idle), "");
	is_int(links_of(w, BOB), 4);
	/* Ann has no more than Carol would have then. */
	okf(strstr(submit_as(w, CAROL, &which), "error: jobs hold 9 of the 12 connections") != NULL,
	    "%s", w->said);
	is_int(links_of(w, ANN), 4);
	end_world(w);
}

TAP_TEST(submit__no_job_yields_in_vain)
{
	struct world *w = new_world();
	int which;

	w->f.d.options.all_links = 8;
	for (int i = 0; i < 4; i++)
		is_str(submit_as(w, ANN, &which), "queued: ");
	for (int i = 0; i < 2; i++)
		is_str(submit_as(w, BOB, &which), "queued: ");
	is_str(submit_as(w, CAROL, &which), "queued: ");
	/* Two would have to go; with one Ann has three, and Carol has two. */
	okf(strstr(submit_as(w, CAROL, &which), "error: jobs hold 7 of the 8 connections") != NULL,
	    "%s", w->said);
	is_int(links_of(w, ANN), 4);
	is_int(links_of(w, BOB), 2);
	end_world(w);
}

TAP_TEST(submit__no_job_yields_to_one_that_is_refused)
{
	struct world *w = new_world();
	int which;

	w->f.d.options.all_links = 12;
	for (int i = 0; i < 6; i++)
		is_str(submit_as(w, ANN, &which), "queued: ");
	for (int i = 0; i < 3; i++)
		is_str(submit_as(w, BOB, &which), "queued: ");
	is_str(submit_as(w, CAROL, &which), "queued: ");
	w->f.d.options.user_jobs = 1;
	okf(strstr(submit_as(w, CAROL, &which), "--user-jobs") != NULL, "%s", w->said);
	is_int(links_of(w, ANN), 6);
	is_int(links_of(w, BOB), 3);
	hang_up(w, which);
	w->f.d.options.user_jobs = MOST;
	is_str(submit_as(w, CAROL, &which), "queued: ");
	is_int(links_of(w, ANN), 4);
	end_world(w);
}

TAP_TEST(submit__places_are_plenty)
{
	struct world *w = new_world();
	int which;

	w->f.d.options.all_links = 2 * MOST;
	for (int i = 1; i < MOST; i++)
		is_str(submit_as(w, ANN, &which), "queued: ");
	/* There is no limit. */
	w->f.d.options.all_links = 0;
	is_str(submit_as(w, ANN, &which), "queued: ");
	end_world(w);
}

/* ---- a job that is tried ---- */

static void asks(struct world *w, int which, const char *op, uint64_t id)
{
	json_t *head = json_pack("{s:s, s:I}", "op", op, "id", (json_int_t)id);
	size_t size;
	char *data = frame_encode(head, 0, &size);

	is_int(write(w->fds[which], data, size), size);
	free(data);
	json_decref(head);
	run_once(w, EVRUN_NOWAIT);
	run_once(w, EVRUN_NOWAIT);
}

TAP_TEST(checkpoint__jobs_that_are_not_its_own_or_do_not_run)
{
	struct world *w = new_world();
	struct sjob *job;
	int ann, bob;

	connect_as(w, ANN);
	job = submit(w, ANN);
	must(job);
	ev_prepare_stop(w->f.d.loop, &w->f.d.plan);
	ann = connect_as(w, ANN);
	bob = connect_as(w, BOB);
	asks(w, ann, OP_CHECKPOINT, job->id + 1);
	okf(strstr(told(w, ann), "error: ") == w->said, "%s", w->said);
	ok(!strstr(w->said, "does not run"));
	asks(w, ann, OP_CHECKPOINT, job->id);
	okf(strstr(told(w, ann), "does not run") != NULL, "%s", w->said);
	asks(w, bob, OP_CHECKPOINT, job->id);
	okf(strstr(told(w, bob), "error: ") == w->said, "%s", w->said);
	ok(!strstr(w->said, "does not run"));
	ok(!job->mover);
	end_world(w);
}
