// SPDX-License-Identifier: BSD-3-Clause
/*
 * job - see job.h. The JSON has the fields of struct job under their names. Limits are [resource,
 * soft, hard] with -1 = none, stdin is the rank, "timeout" seconds. The flags are oversubscribe,
 * scatter, report_bindings, statistics, debugged, pty.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "scheduler/proto/fields.h"
#include "scheduler/proto/host.h"
#include "scheduler/proto/job.h"
#include "scheduler/proto/order.h"

#define TEXTS_MAX 65536 /* arguments, or variables of the environment */

static const char *const class_names[] = {"shared", "exclusive", NULL};
static const char *const bind_names[] = {"core", "host", "none", NULL};

/*
 * --- decoding -----------------------------------------------------------------------------------
 */

static void decode_app(struct fields *fields, struct job_app *app, const json_t *from)
{
	struct fields inner = *fields;

	inner.from = from;
	inner.what = "job's program";
	app->argv = fields_texts(&inner, "argv", FIELDS_BYTES, TEXTS_MAX);
	app->env = fields_texts(&inner, "env", FIELDS_ENV, TEXTS_MAX);
	app->cwd = fields_text(&inner, "cwd", FIELDS_PATH, true);
	app->ranks = (uint32_t)fields_number(&inner, "ranks", 1, JOB_RANKS_MAX);
	if (!inner.err && (!app->argv[0] || !*app->argv[0]))
		fields_wrong(&inner, "argv must begin with the program");
	fields->err = inner.err;
}

static void decode_apps(struct fields *fields, struct job *job)
{
	const json_t *array = fields_array(fields, "apps", 1, JOB_APPS_MAX);
	uint64_t ranks = 0;
	size_t n = json_array_size(array);

	if (fields->err)
		return;
	job->apps = calloc(n, sizeof(*job->apps));
	if (!job->apps) {
		fields_no_memory(fields);
		return;
	}
	job->n_apps = n;
	for (size_t i = 0; i < n; i++) {
		decode_app(fields, &job->apps[i], json_array_get(array, i));
		ranks += job->apps[i].ranks;
	}
	if (ranks != job->ranks)
		fields_wrong(fields, "ranks is %u, but its programs have %llu", job->ranks,
			     (unsigned long long)ranks);
}

/* -1 = no limit. False: no number of the kind. */
static bool decode_bound(const json_t *from, uint64_t *ret)
{
	if (!json_is_integer(from) || json_integer_value(from) < -1)
		return false;
	*ret = json_integer_value(from) < 0 ? RLIM_INFINITY : (uint64_t)json_integer_value(from);
	return true;
}

static bool decode_limit(const json_t *from, struct job_limit *limit)
{
	const json_t *resource = json_array_get(from, 0);

	if (json_array_size(from) != 3 || !json_is_integer(resource) ||
	    json_integer_value(resource) < 0 || json_integer_value(resource) >= RLIM_NLIMITS)
		return false;
	limit->resource = (int)json_integer_value(resource);
	return decode_bound(json_array_get(from, 1), &limit->soft) &&
	       decode_bound(json_array_get(from, 2), &limit->hard) && limit->soft <= limit->hard;
}

static void decode_limits(struct fields *fields, struct job *job)
{
	const json_t *array = fields_array(fields, "limits", 0, RLIM_NLIMITS);
	size_t n = json_array_size(array);

	if (fields->err || !n)
		return;
	job->limits = calloc(n, sizeof(*job->limits));
	if (!job->limits) {
		fields_no_memory(fields);
		return;
	}
	job->n_limits = n;
	for (size_t i = 0; i < n; i++)
		if (!decode_limit(json_array_get(array, i), &job->limits[i]))
			fields_wrong(fields,
				     "limits must be lists of resource, soft and hard limit; "
				     "-1 = none");
}

static void check_shape(struct fields *fields, const struct job *job)
{
	if (job->nodes > job->ranks)
		fields_wrong(fields, "%u hosts for %u ranks: ask for no more hosts than ranks",
			     job->nodes, job->ranks);
	if (job->nodes && job->per_node && (uint64_t)job->nodes * job->per_node < job->ranks)
		fields_wrong(fields, "%u hosts with %u ranks each do not hold %u ranks", job->nodes,
			     job->per_node, job->ranks);
}

static void decode_cart(struct fields *fields, struct job *job)
{
	const json_t *array = json_object_get(fields->from, "cart"), *extent;
	uint64_t ranks = 1;
	size_t i;

	if (!array)
		return;
	array = fields_array(fields, "cart", 1, JOB_CART_DIMS);
	json_array_foreach(array, i, extent) {
		json_int_t n = json_integer_value(extent);

		job->cart[i] = n < 1 || n > JOB_RANKS_MAX ? 0 : (uint32_t)n;
		if (ranks <= JOB_RANKS_MAX)
			ranks *= job->cart[i];
	}
	job->n_cart = (uint32_t)i;
	if (!fields->err && ranks != job->ranks)
		fields_wrong(fields,
			     "cart must be numbers whose product is the number of ranks, %u",
			     job->ranks);
}

static void decode_place(struct fields *fields, struct job *job)
{
	job->ranks = (uint32_t)fields_number(fields, "ranks", 1, JOB_RANKS_MAX);
	job->nodes = (uint32_t)fields_number_or(fields, "nodes", 0, JOB_RANKS_MAX, 0);
	job->per_node = (uint32_t)fields_number_or(fields, "per_node", 0, ORDER_HOST_RANKS_MAX, 0);
	job->group = fields_text(fields, "group", FIELDS_LINE, true);
	job->network = fields_text(fields, "network", FIELDS_LINE, true);
	job->class = (enum job_class)fields_choice(fields, "class", class_names);
	job->bind = (enum job_bind)fields_choice(fields, "bind", bind_names);
	job->cores = (uint32_t)fields_number_or(fields, "cores", 1, HOST_CORES_MAX, 1);
	job->memory = (uint64_t)fields_number_or(fields, "memory", (int64_t)JOB_MEMORY_MIN,
						 (int64_t)JOB_MEMORY_MAX, 0);
	job->may_oversubscribe = fields_flag(fields, "oversubscribe");
	job->may_scatter = fields_flag(fields, "scatter");
	decode_cart(fields, job);
	job->does_report_bindings = fields_flag(fields, "report_bindings");
	if (!fields->err)
		check_shape(fields, job);
}

static void decode_rest(struct fields *fields, struct job *job)
{
	int64_t last = job->ranks ? (int64_t)job->ranks - 1 : 0;

	job->name = fields_text(fields, "name", FIELDS_LINE, false);
	job->priority = (int32_t)fields_number_or(fields, "priority", -JOB_PRIORITY_MAX,
						  JOB_PRIORITY_MAX, 0);
	job->timeout_s = fields_seconds(fields, "timeout");
	job->is_statistics = fields_flag(fields, "statistics");
	job->is_debugged = fields_flag(fields, "debugged");
	job->wants_checkpoint = fields_flag(fields, "checkpoint");
	job->checkpoint_s = fields_seconds(fields, "checkpoint_s");
	job->restarts = fields_flag(fields, "restarts");
	job->wants_pty = fields_flag(fields, "pty");
	job->pty_rank = fields_number_or(fields, "pty_rank", 0, last, 0);
	job->stdin_rank = fields_number_or(fields, "stdin", JOB_STDIN_NONE, last, 0);
	job->umask = (uint32_t)fields_number_or(fields, "umask", 0, 0777, 022);
	job->cwd = fields_text(fields, "cwd", FIELDS_PATH, false);
	job->env = fields_texts(fields, "env", FIELDS_ENV, TEXTS_MAX);
}

int job_decode(struct job **ret, const json_t *from, char *why, size_t why_size)
{
	struct fields fields = {.from = from, .what = "job", .why = why, .why_size = why_size};
	struct job *job = calloc(1, sizeof(*job));

	if (!job) {
		fields_no_memory(&fields);
		return fields.err;
	}
	if (!json_is_object(from))
		fields_wrong(&fields, "it must be an object");
	decode_place(&fields, job);
	decode_rest(&fields, job);
	decode_limits(&fields, job);
	decode_apps(&fields, job);
	if (fields.err) {
		job_free(job);
		return fields.err;
	}
	*ret = job;
	return 0;
}

/*
 * --- encoding -----------------------------------------------------------------------------------
 */

static json_int_t encode_bound(uint64_t bound)
{
	return bound > INT64_MAX ? -1 : (json_int_t)bound;
}

static json_t *encode_limits(const struct job *job)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < job->n_limits; i++) {
		const struct job_limit *limit = &job->limits[i];

		if (json_array_append_new(array, json_pack("[i, I, I]", limit->resource,
							   encode_bound(limit->soft),
							   encode_bound(limit->hard)))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *encode_app(const struct job_app *app)
{
	return json_pack("{s:o, s:o, s:o*, s:I}", "argv", fields_from_texts(app->argv), "env",
			 fields_from_texts(app->env), "cwd",
			 app->cwd ? fields_from_text(app->cwd) : NULL, "ranks",
			 (json_int_t)app->ranks);
}

static json_t *encode_apps(const struct job *job)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < job->n_apps; i++) {
		if (json_array_append_new(array, encode_app(&job->apps[i]))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* NULL: there is none, or no memory. */
static json_t *encode_cart(const struct job *job)
{
	json_t *array = job->n_cart ? json_array() : NULL;

	for (uint32_t i = 0; array && i < job->n_cart; i++)
		json_array_append_new(array, json_integer(job->cart[i]));
	return array;
}

static json_t *encode_place(const struct job *job)
{
	return json_pack("{s:o*, s:o*, s:b, s:I, s:I, s:I, s:s*, s:s*, s:s, s:s, s:I, s:b, s:b}",
			 "cart", encode_cart(job), "memory",
			 job->memory ? json_integer((json_int_t)job->memory) : NULL, "scatter",
			 job->may_scatter, "ranks", (json_int_t)job->ranks, "nodes",
			 (json_int_t)job->nodes, "per_node", (json_int_t)job->per_node, "group",
			 job->group, "network", job->network, "class", class_names[job->class],
			 "bind", bind_names[job->bind], "cores", (json_int_t)job->cores,
			 "oversubscribe", job->may_oversubscribe, "report_bindings",
			 job->does_report_bindings);
}

/* Most jobs have none of it. */
static void add_checkpoint(json_t *to, const struct job *job)
{
	if (!job->wants_checkpoint)
		return;
	json_object_set_new(to, "checkpoint", json_true());
	if (job->checkpoint_s > 0)
		json_object_set_new(to, "checkpoint_s", json_real(job->checkpoint_s));
	if (job->restarts)
		json_object_set_new(to, "restarts", json_true());
}

static json_t *encode_rest(const struct job *job)
{
	json_t *to = json_pack("{s:s, s:i, s:f, s:b, s:b, s:b, s:I, s:I, s:I, s:o, s:o, s:o, s:o}",
			       "name", job->name, "priority", (int)job->priority, "timeout",
			       job->timeout_s, "statistics", job->is_statistics, "debugged",
			       job->is_debugged, "pty", job->wants_pty, "pty_rank",
			       (json_int_t)job->pty_rank, "stdin", (json_int_t)job->stdin_rank,
			       "umask", (json_int_t)job->umask, "cwd", fields_from_text(job->cwd),
			       "env", fields_from_texts(job->env), "limits", encode_limits(job),
			       "apps", encode_apps(job));

	if (to)
		add_checkpoint(to, job);
	return to;
}

json_t *job_encode(const struct job *job)
{
	json_t *to = encode_place(job), *rest = encode_rest(job);

	if (!to || !rest || json_object_update(to, rest)) {
		json_decref(to);
		to = NULL;
	}
	json_decref(rest);
	return to;
}

void job_free(struct job *job)
{
	if (!job)
		return;
	for (size_t i = 0; i < job->n_apps; i++) {
		fields_texts_free(job->apps[i].argv);
		fields_texts_free(job->apps[i].env);
		free(job->apps[i].cwd);
	}
	free(job->apps);
	free(job->limits);
	fields_texts_free(job->env);
	free(job->cwd);
	free(job->network);
	free(job->group);
	free(job->name);
	free(job);
}
