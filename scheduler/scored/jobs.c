/* SPDX-License-Identifier: BSD-3-Clause */
#include "scheduler/scored/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/plan.h"
#include "scheduler/scored/restore.h"
#include "scheduler/scored/turns.h"
#include "scheduler/scored/users.h"

#define STUCK_BEATS 3 /* beats without a message on any host: others get its turns */
#define PARKED_S 4.0  /* for so long, then it may show whether something has come from outside */
#define STUCK_TOLD_S 30.0 /* told as a presumed deadlock */

struct sjob *jobs_find(const struct scored *d, uint64_t id)
{
	struct sjob *job;

	TAILQ_FOREACH(job, &d->jobs, all)
	if (job->id == id)
		return job;
	return NULL;
}

static struct sjob_host *host_of(const struct sjob *job, const struct node *node)
{
	for (size_t h = 0; h < job->n_hosts; h++)
		if (job->hosts[h].node == node)
			return &job->hosts[h];
	return NULL;
}

/* Its entry on that host, if both are known. */
static struct sjob_host *find_host(const struct scored *d, const struct node *node, uint64_t id,
				   struct sjob **job)
{
	*job = jobs_find(d, id);
	return *job ? host_of(*job, node) : NULL;
}

static void send_all(const struct sjob *job, json_t *head)
{
	for (size_t h = 0; h < job->n_hosts; h++)
		if (!job->hosts[h].is_gone)
			nodes_send(job->hosts[h].node, json_incref(head));
	json_decref(head);
}

static void forget(struct scored *d, struct sjob *job)
{
	TAILQ_REMOVE(&d->jobs, job, all);
	/* The order has the job in it. */
	if (job->order)
		order_free(job->order);
	else
		job_free(job->job);
	if (job->place)
		matrix_place_fini(job->place, job->n_hosts);
	free(job->place);
	free(job->hosts);
	free(job->text);
	free(job->waits);
	free(job);
}

/* ---- the journal ---- */

static struct journal_job entry_of(const struct sjob *job)
{
	return (struct journal_job){.id = job->id,
				    .uid = job->uid,
				    .name = job->job->name,
				    .submitted = job->submitted,
				    .started = job->started,
				    .ranks = job->job->ranks,
				    .hosts = (uint32_t)job->n_hosts,
				    .code = job->code,
				    .text = job->text};
}

static int write_started(struct scored *d, const struct sjob *job, char *why, size_t why_size)
{
	struct journal_job entry = entry_of(job);
	json_t *order = order_encode(job->order, 0);
	char *text = order ? json_dumps(order, JSON_COMPACT) : NULL;
	int err = -ENOMEM;

	entry.order = text;
	if (text)
		err = journal_started(d->journal, &entry, why, why_size);
	else
		snprintf(why, why_size, "scored has no memory");
	free(text);
	json_decref(order);
	return err;
}

static void write_ended(struct scored *d, const struct sjob *job)
{
	struct journal_job entry = entry_of(job);
	char why[512];

	entry.ended = time(NULL);
	if (journal_ended(d->journal, &entry, why, sizeof(why)))
		daemon_say("job %llu ended, which is not recorded: %s", (unsigned long long)job->id,
			   why);
}

/* ---- the end ---- */

/* What its hosts used is known when it is gone from all of them. */
static bool waits_for_figures(const struct sjob *job)
{
	return job->job->is_statistics && job->order;
}

/* Nothing of it is left anywhere. */
static void finish(struct scored *d, struct sjob *job)
{
	bool was_placed = job->place != NULL;

	daemon_say("job %llu of user %u: code %d%s%s", (unsigned long long)job->id, job->uid,
		   job->code, job->text && *job->text ? ", " : "", job->text ? job->text : "");
	if (job->user && waits_for_figures(job))
		users_tell_ended(job->user, job);
	if (job->user)
		users_forget_job(job->user);
	if (was_placed)
		matrix_remove(d->matrix, job->id);
	forget(d, job);
	if (was_placed)
		turns_publish(d);
	jobs_plan(d);
}

static void finish_if_gone(struct scored *d, struct sjob *job)
{
	for (size_t h = 0; h < job->n_hosts; h++)
		if (!job->hosts[h].is_gone)
			return;
	if (!job->is_ended)
		jobs_end(d, job, JOBS_EXIT_LOST, "its processes are gone, and nobody said why");
	else
		finish(d, job);
}

void jobs_end(struct scored *d, struct sjob *job, int code, const char *text)
{
	bool was_queued = job->state == SJOB_QUEUED;

	if (!job->is_ended) {
		job->is_ended = true;
		job->code = code;
		free(job->text);
		job->text = daemon_text("%s", text);
		if (job->user && !waits_for_figures(job))
			users_tell_ended(job->user, job);
		/* Before it is gone from its hosts: whoever comes after us has to know how it ended. */
		if (job->order)
			write_ended(d, job);
	}
	if (was_queued)
		queue_remove(&d->queue, job->id);
	else if (job->state != SJOB_ENDING)
		send_all(job, json_pack("{s:s, s:I, s:s}", "op", OP_STOP, "id", (json_int_t)job->id,
					"text", text));
	job->state = SJOB_ENDING;
	finish_if_gone(d, job);
}

void jobs_user_gone(struct scored *d, struct sjob *job)
{
	job->user = NULL;
	jobs_end(d, job, JOBS_EXIT_LOST, "its scrun is gone");
}

/* ---- the beginning ---- */

void jobs_plan(struct scored *d)
{
	ev_prepare_start(d->loop, &d->plan);
}

static int64_t is_limited(const struct scored *d, uid_t uid, const struct job *job)
{
	return job->priority > 0 && !users_is_operator(d, uid);
}

struct sjob *jobs_submit(struct scored *d, struct user *user, uid_t uid, gid_t gid, struct job *job,
			 char *why, size_t why_size)
{
	struct sjob *new = calloc(1, sizeof(*new));

	if (!new) {
		snprintf(why, why_size, "scored has no memory");
		return NULL;
	}
	if (is_limited(d, uid, job)) {
		snprintf(why, why_size,
			 "priority %d: above 0 is for operators (root, and --operators of scored)",
			 job->priority);
		free(new);
		return NULL;
	}
	*new = (struct sjob){
		.user = user, .uid = uid, .gid = gid, .job = job, .submitted = time(NULL)};
	new->id = plan_check(d, job, why, why_size) ? 0 : journal_number(d->journal, why, why_size);
	if (!new->id || queue_push(&d->queue, new->id, job->priority)) {
		free(new);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&d->jobs, new, all);
	jobs_plan(d);
	return new;
}

static bool take_place(struct scored *d, struct sjob *job, struct plan *plan)
{
	job->hosts = calloc(plan->n, sizeof(*job->hosts));
	job->order = job->hosts ? plan_order(d, job->id, job->uid, job->gid, job->job, plan) : NULL;
	if (!job->order) {
		free(job->hosts);
		job->hosts = NULL;
		return false;
	}
	job->n_hosts = plan->n;
	for (size_t h = 0; h < plan->n; h++)
		job->hosts[h] = (struct sjob_host){.node = d->nodes[plan->place[h].host],
						   .ranks = plan->ranks[h]};
	job->place = plan->place;
	plan->place = NULL;
	return true;
}

static void send_order(const struct sjob *job)
{
	for (size_t h = 0; h < job->n_hosts; h++)
		nodes_send(job->hosts[h].node,
			   json_pack("{s:s, s:I, s:o}", "op", OP_START, "id", (json_int_t)job->id,
				     "order", order_encode(job->order, h)));
}

/* It has a place in the matrix. */
static void start(struct scored *d, struct sjob *job, struct plan *plan)
{
	char why[512];

	queue_start(&d->queue, job->id);
	if (!take_place(d, job, plan)) {
		matrix_remove(d->matrix, job->id);
		job->state = SJOB_ENDING;
		jobs_end(d, job, JOBS_EXIT_START, "scored has no memory");
		return;
	}
	job->state = SJOB_STARTING;
	job->started = time(NULL);
	if (write_started(d, job, why, sizeof(why))) {
		for (size_t h = 0; h < job->n_hosts; h++)
			job->hosts[h].is_gone = true;
		jobs_end(d, job, JOBS_EXIT_START, why);
		return;
	}
	/* Nobody runs before its host knows whose turn it is. */
	turns_publish(d);
	send_order(job);
	if (job->user)
		users_tell_placed(job->user, job);
}

/* Returns whether the queue has changed. */
static bool try(struct scored *d, struct sjob *job)
{
	struct plan plan;
	char why[256];
	int err = plan_place(d, job->id, job->job, &plan, why, sizeof(why));

	if (!err) {
		start(d, job, &plan);
		plan_fini(&plan);
		return true;
	}
	if (err != -EBUSY) {
		jobs_end(d, job, JOBS_EXIT_START, why);
		return true;
	}
	if (!job->waits || strcmp(job->waits, why) != 0) {
		free(job->waits);
		job->waits = daemon_text("%s", why);
		if (job->user)
			users_tell_queued(d, job->user, job);
	}
	return false;
}

/* Jobs of the journal whose cores nobody has taken back yet. */
static bool is_restoring(const struct scored *d)
{
	const struct sjob *job;

	TAILQ_FOREACH(job, &d->jobs, all)
	if (job->order && !job->place && !job->is_ended)
		return true;
	return false;
}

static void plan_now(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct scored *d = watcher->data;

	(void)events;
	ev_prepare_stop(loop, watcher);
	if (is_restoring(d))
		return;
	for (size_t i = 0; i < queue_open(&d->queue);)
		i = try(d, jobs_find(d, d->queue.items[i].id)) ? 0 : i + 1;
}

/* ---- what scnodeds tell ---- */

void jobs_started(struct scored *d, struct node *node, uint64_t id)
{
	struct sjob *job;
	struct sjob_host *host = find_host(d, node, id, &job);

	if (!host)
		return;
	host->is_started = true;
	for (size_t h = 0; h < job->n_hosts; h++)
		if (!job->hosts[h].is_started)
			return;
	if (job->state == SJOB_STARTING)
		job->state = SJOB_RUNNING;
}

void jobs_failed(struct scored *d, struct node *node, uint64_t id, int code, const char *text)
{
	struct sjob *job;

	if (find_host(d, node, id, &job))
		jobs_end(d, job, code ? code : JOBS_EXIT_START, text);
}

void jobs_ended(struct scored *d, struct node *node, uint64_t id, int code, const char *text)
{
	struct sjob *job;

	if (find_host(d, node, id, &job))
		jobs_end(d, job, code, text);
}

void jobs_gone(struct scored *d, struct node *node, uint64_t id, uint64_t cpu_ns,
	       uint64_t memory_peak)
{
	struct sjob *job;
	struct sjob_host *host = find_host(d, node, id, &job);

	if (!host || host->is_gone)
		return;
	host->is_gone = true;
	host->cpu_ns = cpu_ns > host->cpu_ns ? cpu_ns : host->cpu_ns;
	host->memory_peak = memory_peak;
	finish_if_gone(d, job);
}

static bool all_hosts(const struct sjob *job, bool (*holds)(const struct sjob_host *host))
{
	for (size_t h = 0; h < job->n_hosts; h++)
		if (!job->hosts[h].is_gone && !holds(&job->hosts[h]))
			return false;
	return true;
}

static bool is_idle(const struct sjob_host *host)
{
	return host->is_idle;
}

static bool is_stuck(const struct sjob_host *host)
{
	return host->is_stuck;
}

static void tell_stuck(struct sjob *job)
{
	char text[256];

	job->is_told_stuck = true;
	snprintf(text, sizeof(text),
		 "presumed deadlock: all ranks have waited for messages for %.0f s, and none came "
		 "or went; ^C ends the job",
		 STUCK_TOLD_S);
	daemon_say("job %llu: %s", (unsigned long long)job->id, text);
	nodes_send(job->hosts[0].node, json_pack("{s:s, s:I, s:s}", "op", OP_NOTE, "id",
						 (json_int_t)job->id, "text", text));
}

/* A new table if it rests now and did not, or the other way round. */
static void rest(struct scored *d, struct sjob *job)
{
	bool rests = job->is_suspended || job->is_parked || all_hosts(job, is_idle);

	if (rests == job->is_resting)
		return;
	job->is_resting = rests;
	matrix_rest(d->matrix, job->id, rests);
	turns_publish(d);
}

static void judge_stuck(struct scored *d, struct sjob *job)
{
	if (!all_hosts(job, is_stuck)) {
		job->stuck_since = 0;
		job->stuck_beats = 0;
		job->is_told_stuck = false;
		return;
	}
	if (!job->stuck_since)
		job->stuck_since = ev_now(d->loop);
	if (!job->is_told_stuck && ev_now(d->loop) - job->stuck_since >= STUCK_TOLD_S)
		tell_stuck(job);
	/* Each host beats once per period. With nobody to take its turns it may as well go on. */
	if (++job->stuck_beats < STUCK_BEATS * job->n_hosts || matrix_rows(d->matrix) == 1)
		return;
	job->is_parked = true;
	job->parked_until = ev_now(d->loop) + PARKED_S;
}

void jobs_beat(struct scored *d, struct node *node, uint64_t id, uint64_t cpu_ns, bool idle,
	       bool stuck)
{
	struct sjob *job;
	struct sjob_host *host = find_host(d, node, id, &job);

	if (!host || job->state != SJOB_RUNNING)
		return;
	host->cpu_ns = cpu_ns;
	/* Frozen it tells nothing of itself. */
	if (job->is_suspended || job->is_parked)
		return;
	host->is_idle = idle;
	host->is_stuck = stuck;
	judge_stuck(d, job);
	rest(d, job);
}

void jobs_tick(struct scored *d)
{
	struct sjob *job;

	TAILQ_FOREACH(job, &d->jobs, all)
	if (job->is_parked && ev_now(d->loop) >= job->parked_until) {
		job->is_parked = false;
		job->stuck_beats = 0;
		rest(d, job);
	}
}

/* ---- hosts that come and go ---- */

bool jobs_uses(const struct scored *d, const struct node *node)
{
	const struct sjob *job;

	TAILQ_FOREACH(job, &d->jobs, all)
	if (job->place && host_of(job, node))
		return true;
	return false;
}

static bool runs_there(const json_t *running, uint64_t id)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(running, i,
			   entry) if (json_integer_value(json_object_get(entry, "id")) ==
				      (json_int_t)id) return true;
	return false;
}

json_t *jobs_node_back(struct scored *d, struct node *node, const json_t *running)
{
	json_t *keep = json_array();
	struct sjob *job, *next;

	for (job = TAILQ_FIRST(&d->jobs); job; job = next) {
		struct sjob_host *host = host_of(job, node);

		next = TAILQ_NEXT(job, all);
		if (!host || host->is_gone)
			continue;
		if (!runs_there(running, job->id)) {
			host->is_gone = true;
			jobs_end(d, job, JOBS_EXIT_LOST, "a host has started anew");
			continue;
		}
		if (job->is_ended)
			continue;
		host->is_started = true;
		json_array_append_new(keep, json_integer((json_int_t)job->id));
		if (!job->place && restore_place(d, job) < 0)
			jobs_end(d, job, JOBS_EXIT_LOST, "its cores are no longer there");
	}
	return keep;
}

void jobs_node_lost(struct scored *d, struct node *node, const char *why)
{
	struct sjob *job, *next;
	char text[512];

	/* After a start of ours a host that has not come yet is given more time. */
	if (!node->host && ev_now(d->loop) < d->rejoin_until)
		return;
	snprintf(text, sizeof(text), "host %s is lost: %s", node->name, why);
	for (job = TAILQ_FIRST(&d->jobs); job; job = next) {
		struct sjob_host *host = host_of(job, node);

		next = TAILQ_NEXT(job, all);
		if (!host || host->is_gone)
			continue;
		host->is_gone = true;
		jobs_end(d, job, JOBS_EXIT_LOST, text);
	}
}

/* ---- users' wishes ---- */

void jobs_suspend(struct scored *d, struct sjob *job, bool is_suspended)
{
	if (job->state == SJOB_QUEUED || job->is_ended)
		return;
	job->is_suspended = is_suspended;
	job->is_resting = is_suspended;
	job->is_parked = false;
	matrix_rest(d->matrix, job->id, is_suspended);
	turns_publish(d);
}

void jobs_signal(struct scored *d, struct sjob *job, int signal)
{
	(void)d;
	if (job->n_hosts)
		nodes_send(job->hosts[0].node, json_pack("{s:s, s:I, s:i}", "op", OP_SIGNAL, "id",
							 (json_int_t)job->id, "signal", signal));
}

/* ---- up and down ---- */

int jobs_open(struct scored *d, char *why, size_t why_size)
{
	int err;

	TAILQ_INIT(&d->jobs);
	ev_prepare_init(&d->plan, plan_now);
	d->plan.data = d;
	err = restore_jobs(d, why, why_size);
	if (!err && !TAILQ_EMPTY(&d->jobs))
		d->rejoin_until = ev_now(d->loop) + REJOIN_S;
	return err;
}

void jobs_close(struct scored *d)
{
	struct sjob *job;

	ev_prepare_stop(d->loop, &d->plan);
	while ((job = TAILQ_FIRST(&d->jobs)))
		forget(d, job);
	queue_fini(&d->queue);
}
