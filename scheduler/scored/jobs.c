// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/account.h"
#include "scheduler/scored/checkpoint.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/locks.h"
#include "scheduler/scored/migrate.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/operators.h"
#include "scheduler/scored/plan.h"
#include "scheduler/scored/restore.h"
#include "scheduler/scored/turns.h"
#include "scheduler/scored/users_connection.h"

#define PLAN_NS 5000000ull /* of a round of the loop */

static void send_all(const struct sjob *job, json_t *head)
{
	for (size_t h = 0; h < job->n_hosts; h++)
		if (!job->hosts[h].is_gone)
			nodes_send(job->hosts[h].node, json_incref(head));
	json_decref(head);
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

static int write_started(struct scored *d, const struct sjob *job, const char *order, char *why,
			 size_t why_size)
{
	struct journal_job entry = entry_of(job);

	if (!order) {
		snprintf(why, why_size, "scored has no memory");
		return -ENOMEM;
	}
	entry.order = order;
	return journal_started(d->journal, &entry, why, why_size);
}

static void write_ended(struct scored *d, const struct sjob *job)
{
	struct journal_job entry = entry_of(job);
	char why[512];

	entry.ended = clock_realtime_s();
	if (journal_ended(d->journal, &entry, why, sizeof(why)))
		daemon_say("job %llu ended, which is not recorded: %s", (unsigned long long)job->id,
			   why);
}

/* ---- the end ---- */

/* The resources that it used are known then, and it can be restored under its number. */
static bool is_told_when_gone(const struct sjob *job)
{
	return (job->job->is_statistics && job->order) || job->wants_restart;
}

/* Nothing of it is left anywhere. */
static void finish(struct scored *d, struct sjob *job)
{
	bool was_placed = job->place != NULL;

	daemon_say("job %llu of user %u: code %d%s%s", (unsigned long long)job->id, job->uid,
		   job->code, job->text && *job->text ? ", " : "", job->text ? job->text : "");
	if (job->user && is_told_when_gone(job))
		users_tell_ended(job->user, job);
	if (job->user)
		users_forget_job(job->user);
	checkpoint_forget_job(d, job);
	migrate_forget_job(job);
	if (was_placed)
		matrix_remove(d->matrix, job->id);
	jobs_forget(d, job);
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
		job->wants_restart = code == JOBS_EXIT_LOST && job->job->restarts &&
				     job->image.round && job->user;
		if (job->user && !is_told_when_gone(job))
			users_tell_ended(job->user, job);
		/*
		 * Before it is gone from its hosts: whoever comes after us has to know how it
		 * ended.
		 */
		if (job->order)
			write_ended(d, job);
	}
	if (was_queued) {
		queue_remove(&d->queue, job->id);
		account_unqueue(job);
	} else if (job->state != SJOB_ENDING) {
		send_all(job, json_pack("{s:s, s:I, s:s}", "op", OP_STOP, "id", (json_int_t)job->id,
					"text", text));
	}
	job->state = SJOB_ENDING;
	finish_if_gone(d, job);
}

void jobs_user_gone(struct scored *d, struct sjob *job)
{
	job->user = NULL;
	jobs_end(d, job, JOBS_EXIT_LOST, "its scrun is gone");
}

/* ---- the beginning ---- */

static bool is_limited(const struct scored *d, uid_t uid, const struct job *job)
{
	return job->priority > 0 && !operators_has(d->operators, uid, clock_monotonic_s());
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
	if (account_refuses(d, uid, job, why, why_size)) {
		free(new);
		return NULL;
	}
	*new = (struct sjob){
		.user = user, .uid = uid, .gid = gid, .job = job, .submitted = clock_realtime_s()};
	new->id = plan_check(d, job, why, why_size) ? 0 : journal_number(d->journal, why, why_size);
	if (!new->id || queue_push(&d->queue, new->id, job->priority)) {
		free(new);
		return NULL;
	}
	jobs_enlist(d, new);
	account_charge(d, new);
	jobs_plan_soon(d);
	return new;
}

/* NULL: no memory. */
static struct order *order_for(struct scored *d, struct sjob *job, const struct plan *plan)
{
	struct order *order = job->again;

	if (!order)
		return plan_order(d, job->id, job->uid, job->gid, job->job, plan);
	if (plan_readdress(d, order, plan))
		return NULL;
	job->again = NULL;
	return order;
}

static bool take_place(struct scored *d, struct sjob *job, struct plan *plan)
{
	job->hosts = plan_hosts(d, plan);
	job->order = job->hosts ? order_for(d, job, plan) : NULL;
	if (!job->order) {
		free(job->hosts);
		job->hosts = NULL;
		return false;
	}
	job->n_hosts = plan->n;
	job->place = plan->place;
	plan->place = NULL;
	jobs_enlist_placed(d, job);
	return true;
}

/* A new job has no checkpoint yet; one that starts again is restored from its own. */
static void send_order(const struct sjob *job, struct shared *order)
{
	for (size_t h = 0; h < job->n_hosts; h++) {
		json_t *head = json_pack("{s:s, s:I, s:I}", "op", OP_START, "id",
					 (json_int_t)job->id, "here", (json_int_t)h);

		if (job->image.round)
			json_object_set_new(head, "round",
					    json_integer((json_int_t)job->image.round));
		if (job->devices)
			json_object_set_new(head, "devices", json_string(job->devices));
		nodes_send_shared(job->hosts[h].node, head, order);
	}
}

/*
 * The journal has it, and the hosts; the order is encoded once for all of them. False with a
 * sentence.
 */
static bool send_out(struct scored *d, const struct sjob *job, char *why, size_t why_size)
{
	struct shared *order = order_encode_text(job->order);
	bool is_written = !write_started(d, job, order ? order->bytes : NULL, why, why_size);

	if (is_written) {
		/* Nobody runs before its host knows whose turn it is. */
		turns_publish(d);
		send_order(job, order);
	}
	shared_release(order);
	return is_written;
}

/* It has a place in the matrix. */
static void start(struct scored *d, struct sjob *job, struct plan *plan)
{
	char why[512];

	queue_start(&d->queue, job->id);
	account_unqueue(job);
	if (!take_place(d, job, plan)) {
		matrix_remove(d->matrix, job->id);
		job->state = SJOB_ENDING;
		jobs_end(d, job, JOBS_EXIT_START, "scored has no memory");
		return;
	}
	job->state = SJOB_STARTING;
	job->started = clock_realtime_s();
	if (!send_out(d, job, why, sizeof(why))) {
		for (size_t h = 0; h < job->n_hosts; h++)
			jobs_leave(&job->hosts[h]);
		jobs_end(d, job, JOBS_EXIT_START, why);
		return;
	}
	if (job->user)
		users_tell_placed(job->user, job);
}

struct sjob *jobs_restart(struct scored *d, struct user *user, const struct restart_wish *wish,
			  char *why, size_t why_size)
{
	struct sjob *job = restart_make(d, wish, why, why_size);

	if (!job)
		return NULL;
	if (wish->waits) {
		if (queue_push(&d->queue, job->id, job->job->priority)) {
			snprintf(why, why_size, "scored has no memory");
			jobs_forget(d, job);
			return NULL;
		}
		job->user = user;
		jobs_plan_soon(d);
		return job;
	}
	if (!send_out(d, job, why, why_size)) {
		matrix_remove(d->matrix, job->id);
		jobs_forget(d, job);
		turns_publish(d);
		return NULL;
	}
	job->user = user;
	users_tell_placed(user, job);
	return job;
}

/* Returns whether the queue has changed. */
static bool try(struct scored *d, struct sjob *job)
{
	struct plan plan;
	char why[512];
	int err = job->again ? plan_again(d, job->again, job->only, &plan, why, sizeof(why))
			     : plan_place(d, job->id, job->job, &plan, why, sizeof(why));

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

	TAILQ_FOREACH(job, &d->placed, placed)
		if (job->order && !job->place && !job->is_ended)
			return true;
	return false;
}

/* Goes on in the next round of the loop. */
static void plan_later(struct ev_loop *loop, ev_idle *watcher, int events)
{
	(void)events;
	ev_idle_stop(loop, watcher);
	jobs_plan_soon(watcher->data);
}

static bool plan_waits(struct scored *d, uint64_t since_ns)
{
	if (clock_monotonic_ns() - since_ns < PLAN_NS)
		return false;
	ev_idle_start(d->loop, &d->plan_more);
	return true;
}

/*
 * A job that found no place is not tried again until one may have become free. A job that starts
 * only takes room: those before it are not tried again. If one of them may not be overtaken any
 * more, the pass begins anew.
 */
static void plan_now(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct scored *d = watcher->data;
	uint64_t begun_ns = clock_monotonic_ns();

	(void)events;
	ev_prepare_stop(loop, watcher);
	locks_look(d);
	if (is_restoring(d))
		return;
	for (size_t i = 0; i < queue_open(&d->queue);) {
		struct sjob *job = jobs_find(d, d->queue.items[i].id);

		if (job->tried == d->plan_epoch) {
			i++;
			continue;
		}
		job->tried = d->plan_epoch;
		if (!try(d, job))
			i++;
		else if (queue_open(&d->queue) == 1)
			i = 0;
		if (plan_waits(d, begun_ns))
			return;
	}
}

/* ---- what scnodeds tell ---- */

void jobs_started(struct scored *d, struct node *node, uint64_t id)
{
	struct sjob *job;
	struct sjob_host *host = jobs_host(d, node, id, &job);

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

	if (jobs_host(d, node, id, &job))
		jobs_end(d, job, code ? code : JOBS_EXIT_START, text);
}

void jobs_ended(struct scored *d, struct node *node, uint64_t id, int code, const char *text)
{
	struct sjob *job;

	if (jobs_host(d, node, id, &job))
		jobs_end(d, job, code, text);
}

void jobs_gone(struct scored *d, struct node *node, uint64_t id, uint64_t cpu_ns)
{
	struct sjob *job;
	struct sjob_host *host = jobs_host(d, node, id, &job);

	if (!host || host->is_gone)
		return;
	jobs_leave(host);
	host->cpu_ns = cpu_ns > host->cpu_ns ? cpu_ns : host->cpu_ns;
	finish_if_gone(d, job);
}

/* ---- hosts that come and go ---- */

static bool runs_there(const json_t *running, uint64_t id)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(running, i, entry)
		if (json_integer_value(json_object_get(entry, "id")) == (json_int_t)id)
			return true;
	return false;
}

json_t *jobs_node_back(struct scored *d, struct node *node, const json_t *running)
{
	json_t *keep = json_array();
	struct sjob *job, *next;
	char text[512];

	for (job = TAILQ_FIRST(&d->placed); job; job = next) {
		struct sjob_host *host = jobs_part_on(job, node);

		next = TAILQ_NEXT(job, placed);
		if (!host || host->is_gone)
			continue;
		if (!runs_there(running, job->id)) {
			jobs_leave(host);
			snprintf(text, sizeof(text),
				 "host %s: its scnoded has started anew and has not got the job "
				 "any more",
				 node->name);
			jobs_end(d, job, JOBS_EXIT_LOST, text);
			continue;
		}
		if (job->is_ended)
			continue;
		host->is_started = true;
		json_array_append_new(keep, json_integer((json_int_t)job->id));
		if (!job->place && restore_place(d, job) < 0) {
			snprintf(text, sizeof(text), "host %s: the job's cores are no longer there",
				 node->name);
			jobs_end(d, job, JOBS_EXIT_LOST, text);
		}
	}
	return keep;
}

void jobs_node_lost(struct scored *d, struct node *node, const char *why)
{
	struct sjob *job, *next;
	char text[512];

	/* After a start of ours a host that has not come yet is given more time. */
	if (!node->host && awake_now(&d->awake, clock_monotonic_ns()) < d->rejoin_until)
		return;
	snprintf(text, sizeof(text), "host %s is lost: %s", node->name, why);
	for (job = TAILQ_FIRST(&d->placed); job; job = next) {
		struct sjob_host *host = jobs_part_on(job, node);

		next = TAILQ_NEXT(job, placed);
		if (!host || host->is_gone)
			continue;
		jobs_leave(host);
		jobs_end(d, job, JOBS_EXIT_LOST, text);
	}
}

/* ---- users' requests ---- */

void jobs_suspend(struct scored *d, struct sjob *job, bool is_suspended)
{
	if (job->state == SJOB_QUEUED || job->is_ended)
		return;
	job->is_suspended = is_suspended;
	job->is_resting = is_suspended;
	job->is_parked = false;
	matrix_rest(d->matrix, job->id, is_suspended);
	turns_publish(d);
	jobs_plan(d);
}

void jobs_signal(struct sjob *job, int signal)
{
	if (job->n_hosts)
		nodes_send(job->hosts[0].node, json_pack("{s:s, s:I, s:i}", "op", OP_SIGNAL, "id",
							 (json_int_t)job->id, "signal", signal));
}

/* ---- up and down ---- */

int jobs_open(struct scored *d, char *why, size_t why_size)
{
	int err;

	TAILQ_INIT(&d->jobs);
	TAILQ_INIT(&d->placed);
	ev_prepare_init(&d->plan, plan_now);
	ev_idle_init(&d->plan_more, plan_later);
	d->plan.data = d->plan_more.data = d;
	d->plan_epoch = 1;
	err = restore_jobs(d, why, why_size);
	if (!err && !TAILQ_EMPTY(&d->jobs))
		d->rejoin_until = awake_now(&d->awake, clock_monotonic_ns()) + REJOIN_S;
	return err;
}

void jobs_close(struct scored *d)
{
	struct sjob *job;

	ev_prepare_stop(d->loop, &d->plan);
	ev_idle_stop(d->loop, &d->plan_more);
	while ((job = TAILQ_FIRST(&d->jobs)))
		jobs_forget(d, job);
	queue_fini(&d->queue);
}
