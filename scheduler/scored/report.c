// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/report.h"

#include <stdlib.h>
#include <string.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/ops.h"
#include "scheduler/proto/seal.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/locks.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/operators.h"

#define REPORT_TEXT_MAX 256 /* bytes of a job's arguments, of its directory */
#define HISTORY_MAX 10000   /* jobs that ended, of one answer: nobody waits long for it */

static const char *state_name(const struct sjob *job)
{
	static const char *const names[] = {"queued", "starting", "running", "ending"};

	if (job->is_suspended && job->state == SJOB_RUNNING)
		return "suspended";
	if (job->is_parked)
		return "waiting";
	if (job->is_resting && job->state == SJOB_RUNNING)
		return "idle";
	return names[job->state];
}

struct viewer {
	uid_t uid;
	bool is_operator; /* asked once: the user's name is looked up for it */
};

static struct viewer viewer_of(const struct scored *d, uid_t uid)
{
	return (struct viewer){uid, operators_has(d->operators, uid, clock_monotonic_s())};
}

static bool may_see(const struct viewer *viewer, uid_t owner)
{
	return viewer->uid == owner || viewer->is_operator;
}

/*
 * Takes from *@room what it needs; a text that is longer is cut between two characters, and ends
 * with three dots.
 */
static json_t *cut(const char *text, size_t *room)
{
	size_t n = strnlen(text, *room + 1);
	char *part;
	json_t *json;

	if (n <= *room) {
		*room -= n;
		return json_string(text);
	}
	for (n = *room; n && (text[n] & 0xc0) == 0x80; n--)
		;
	*room = 0;
	part = daemon_text("%.*s...", (int)n, text);
	json = part ? json_string(part) : NULL;
	free(part);
	return json;
}

static json_t *short_text(const char *text)
{
	size_t room = REPORT_TEXT_MAX;

	return cut(text, &room);
}

static void add_program(json_t *entry, const struct job *job)
{
	json_t *argv = json_array();
	size_t room = REPORT_TEXT_MAX;

	/* Each word takes one more, as by its end. */
	for (char **word = job->apps[0].argv; *word && room; word++, room -= room > 0)
		json_array_append_new(argv, cut(*word, &room));
	json_object_set_new(entry, "name", short_text(job->name));
	json_object_set_new(entry, "argv", argv);
	json_object_set_new(entry, "cwd", short_text(job->cwd));
}

static json_t *hosts_of(const struct sjob *job, uint64_t *cpu_ns)
{
	json_t *hosts = json_array();

	for (size_t h = 0; h < job->n_hosts; h++) {
		const struct sjob_host *host = &job->hosts[h];

		*cpu_ns += host->cpu_ns;
		json_array_append_new(hosts, json_pack("{s:s, s:i, s:I}", "name", host->node->name,
						       "ranks", (int)host->ranks, "cpu_ns",
						       (json_int_t)host->cpu_ns));
	}
	return hosts;
}

/* The part of it that everybody may see. */
static json_t *job_entry(const struct scored *d, const struct sjob *job)
{
	uint64_t cpu_ns = 0;
	json_t *hosts = hosts_of(job, &cpu_ns);
	json_t *entry = json_pack("{s:I, s:I, s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:o}",
				  "id", (json_int_t)job->id, "uid", (json_int_t)job->uid, "state",
				  state_name(job), "class",
				  job->job->class == JOB_EXCLUSIVE ? "exclusive" : "shared",
				  "priority", (int)job->job->priority, "ranks",
				  (int)job->job->ranks, "cores", (int)job->job->cores, "submitted",
				  (json_int_t)job->submitted, "started", (json_int_t)job->started,
				  "cpu_ns", (json_int_t)cpu_ns, "rows",
				  (json_int_t)matrix_rows_of(d->matrix, job->id), "hosts", hosts);

	if (job->job->memory)
		json_object_set_new(entry, "memory", json_integer((json_int_t)job->job->memory));
	if (job->image.round)
		json_object_set_new(entry, "checkpoint",
				    json_pack("{s:I, s:I, s:I}", "round",
					      (json_int_t)job->image.round, "taken",
					      (json_int_t)job->image.taken, "bytes",
					      (json_int_t)job->image.bytes));
	if (job->state == SJOB_QUEUED) {
		json_object_set_new(entry, "position", json_integer(job->position));
		json_object_set_new(entry, "why", json_string(job->waits ? job->waits : ""));
	}
	return entry;
}

struct history {
	struct viewer viewer;
	json_t *jobs;
};

static void add_ended(const struct journal_job *job, void *owner)
{
	struct history *h = owner;
	json_t *entry = json_pack("{s:I, s:I, s:s, s:i, s:i, s:I, s:I, s:I}", "id",
				  (json_int_t)job->id, "uid", (json_int_t)job->uid, "state",
				  "ended", "ranks", (int)job->ranks, "n_hosts", (int)job->hosts,
				  "submitted", (json_int_t)job->submitted, "started",
				  (json_int_t)job->started, "ended", (json_int_t)job->ended);

	if (may_see(&h->viewer, job->uid)) {
		json_object_set_new(entry, "name", json_string(job->name));
		json_object_set_new(entry, "code", json_integer(job->code));
		json_object_set_new(entry, "text", json_string(job->text));
	}
	json_array_append_new(h->jobs, entry);
}

static json_t *all_jobs(struct scored *d)
{
	json_t *jobs = json_array();
	const struct sjob *job;

	for (size_t i = 0; i < d->queue.n; i++)
		jobs_find(d, d->queue.items[i].id)->position = (int64_t)i;
	TAILQ_FOREACH(job, &d->jobs, all)
		json_array_append_new(jobs, job_entry(d, job));
	return jobs;
}

/*
 * With the programs that he may see; the other entries are shared. @common: all_jobs() of this
 * moment.
 */
static json_t *jobs_of(const struct scored *d, const struct viewer *viewer, json_t *common)
{
	json_t *jobs = json_array();
	const struct sjob *job;
	size_t i = 0;

	TAILQ_FOREACH(job, &d->jobs, all) {
		json_t *entry = json_array_get(common, i++);

		if (!may_see(viewer, job->uid)) {
			json_array_append(jobs, entry);
			continue;
		}
		entry = json_copy(entry);
		add_program(entry, job->job);
		json_array_append_new(jobs, entry);
	}
	return jobs;
}

json_t *report_jobs(struct scored *d, uid_t viewer, json_int_t history)
{
	struct history h = {.viewer = viewer_of(d, viewer)};
	json_t *common = all_jobs(d);
	char why[512];

	h.jobs = jobs_of(d, &h.viewer, common);
	json_decref(common);
	history = history > HISTORY_MAX ? HISTORY_MAX : history;
	if (history > 0 &&
	    journal_history(d->journal, (size_t)history, add_ended, &h, why, sizeof(why))) {
		json_decref(h.jobs);
		return json_pack("{s:s, s:s, s:s}", "op", OP_ERROR, "error", "EIO", "text", why);
	}
	return json_pack("{s:s, s:o, s:I}", "op", OP_JOBS, "jobs", h.jobs, "now_ns",
			 (json_int_t)clock_realtime_ns());
}

/* ---- hosts ---- */

static uint32_t cores_used(const struct scored *d, const struct node *node)
{
	uint32_t used = 0, rows = matrix_rows(d->matrix);

	for (uint32_t core = 0; node->host && core < node->host->n_cores; core++)
		for (uint32_t row = 0; row < rows; row++)
			if (matrix_at(d->matrix, row, node->number, core)) {
				used++;
				break;
			}
	return used;
}

static json_t *rows_of(const struct scored *d, const struct node *node)
{
	json_t *rows = json_array();

	for (uint32_t row = 0; row < matrix_rows(d->matrix); row++) {
		json_t *cores = json_array();

		for (uint32_t core = 0; node->host && core < node->host->n_cores; core++)
			json_array_append_new(cores, json_integer((json_int_t)matrix_at(
							     d->matrix, row, node->number, core)));
		json_array_append_new(rows, cores);
	}
	return rows;
}

static json_t *node_entry(const struct scored *d, const struct node *node)
{
	json_t *entry = node->host ? host_encode(node->host) : json_object();
	const struct node_switches *s = &node->switches;
	json_t *lock = locks_of_node(d, node);

	json_object_set_new(entry, "name", json_string(node->name));
	json_object_set_new(entry, "state", json_string(nodes_state_name(node)));
	json_object_set_new(entry, "note", json_string(node->note ? node->note : ""));
	json_object_set_new(entry, "cores_used", json_integer(cores_used(d, node)));
	json_object_set_new(entry, "load", json_real(node->load));
	json_object_set_new(entry, "memory_free", json_integer((json_int_t)node->memory_free));
	json_object_set_new(entry, "skew_ns", json_integer(node->skew.ns));
	json_object_set_new(entry, "rows", rows_of(d, node));
	if (lock)
		json_object_set_new(entry, "lock", lock);
	json_object_set_new(entry, "switches",
			    json_pack("{s:I, s:I, s:I, s:I}", "done", (json_int_t)s->done, "late",
				      (json_int_t)s->late, "worst_ns", (json_int_t)s->worst_ns,
				      "lost_ns", (json_int_t)s->lost_ns));
	return entry;
}

/* A host that is not in cluster.json, not connected and without jobs is not reported. */
static bool is_of_interest(const struct node *node)
{
	return node->is_listed || node->link || node->n_jobs;
}

static json_t *all_nodes(const struct scored *d)
{
	json_t *hosts = json_array();

	for (size_t i = 0; i < d->n_nodes; i++)
		if (is_of_interest(d->nodes[i]))
			json_array_append_new(hosts, node_entry(d, d->nodes[i]));
	return hosts;
}

static json_t *cluster_of(struct scored *d, const char *op)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:i, s:I, s:o}", "op", op, "name",
			 d->cluster ? d->cluster->name : "openscore", "version", PM_VERSION,
			 "quantum_ns", (json_int_t)d->options.quantum_ns, "n_rows",
			 (int)matrix_rows(d->matrix), "altered", (json_int_t)seal_counts()->altered,
			 "hosts", all_nodes(d));
}

json_t *report_cluster(struct scored *d)
{
	return cluster_of(d, OP_CLUSTER);
}

json_t *report_common(struct scored *d)
{
	json_t *all = cluster_of(d, OP_ACTIVITY);

	json_object_set_new(all, "jobs", all_jobs(d));
	json_object_set_new(all, "now_ns", json_integer((json_int_t)clock_realtime_ns()));
	return all;
}

json_t *report_of(struct scored *d, json_t *common, uid_t viewer)
{
	struct viewer who = viewer_of(d, viewer);
	json_t *all = json_copy(common);

	json_object_set_new(all, "jobs", jobs_of(d, &who, json_object_get(common, "jobs")));
	return all;
}

json_t *report_activity(struct scored *d, uid_t viewer)
{
	json_t *common = report_common(d), *all = report_of(d, common, viewer);

	json_decref(common);
	return all;
}
