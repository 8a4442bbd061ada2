// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/request.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scrun/algorithms.h"
#include "scheduler/scrun/environment.h"
#include "scheduler/scrun/envfile.h"

static bool keep_text(char **ret, const char *text)
{
	*ret = text ? strdup(text) : NULL;
	return *ret || !text;
}

static char **keep_list(char *const *from)
{
	size_t n = 0;
	char **list;

	while (from[n])
		n++;
	list = calloc(n + 1, sizeof(*list));
	for (size_t i = 0; list && i < n; i++)
		if (!(list[i] = strdup(from[i]))) {
			while (i)
				free(list[--i]);
			free(list);
			return NULL;
		}
	return list;
}

/* The last component; what a terminal would not show becomes "?". */
static char *name_of(const struct options *options)
{
	const char *path = options->name ? options->name : options->apps[0].argv[0];
	const char *slash = options->name ? NULL : strrchr(path, '/');
	char *name = strdup(slash && slash[1] ? slash + 1 : path);

	for (char *c = name; c && *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	return name;
}

static int take_limits(struct job *job)
{
	job->limits = calloc(RLIM_NLIMITS, sizeof(*job->limits));
	if (!job->limits)
		return -ENOMEM;
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)i, &limit) == 0)
			job->limits[job->n_limits++] =
				(struct job_limit){i, limit.rlim_cur, limit.rlim_max};
	}
	return 0;
}

/* A relative directory begins here. */
static int make_cwd(char **ret, const char *here, const char *cwd)
{
	if (!cwd)
		return 0;
	if (*cwd == '/')
		*ret = strdup(cwd);
	else if (asprintf(ret, "%s/%s", here, cwd) < 0)
		*ret = NULL;
	return *ret ? 0 : -ENOMEM;
}

static int take_app(struct job_app *app, const struct options_app *from, const char *here,
		    char *const *environment, char *why, size_t why_size)
{
	const char *missing;

	app->ranks = from->ranks ? from->ranks : 1;
	app->argv = keep_list(from->argv);
	app->env = environment_of_app(environment, &from->env, &missing);
	if (!app->argv || !app->env || make_cwd(&app->cwd, here, from->cwd)) {
		snprintf(why, why_size, "no memory for the request");
		return -ENOMEM;
	}
	if (missing) {
		snprintf(why, why_size,
			 "--env %s: there is no such variable here; write --env %s=VALUE", missing,
			 missing);
		return -EINVAL;
	}
	return envfile_put_before(&app->env, &from->env_files, why, why_size);
}

/* Number of ranks that the grid of --map holds, but at most JOB_RANKS_MAX + 1. */
static uint32_t cart_ranks(const struct options *o)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < o->n_cart && n <= JOB_RANKS_MAX; i++)
		n *= o->cart[i];
	return n > JOB_RANKS_MAX ? JOB_RANKS_MAX + 1 : (uint32_t)n;
}

static void take_place(struct job *job, const struct options *o)
{
	job->nodes = o->nodes;
	job->per_node = o->per_node;
	/* Nothing but a grid or a shape is said: it is filled. */
	if (o->n_apps == 1 && !o->apps[0].ranks && o->n_cart)
		job->apps[0].ranks = cart_ranks(o);
	else if (o->n_apps == 1 && !o->apps[0].ranks && o->nodes)
		job->apps[0].ranks = o->nodes * (o->per_node ? o->per_node : 1);
	else if (o->n_apps == 1 && !o->apps[0].ranks && o->per_node)
		job->apps[0].ranks = o->per_node;
	for (size_t i = 0; i < job->n_apps; i++)
		job->ranks += job->apps[i].ranks;
	memcpy(job->cart, o->cart, sizeof(job->cart));
	job->n_cart = o->n_cart;
	job->may_scatter = o->may_scatter;
	job->class = o->class;
	job->bind = o->bind;
	job->cores = o->cores;
	job->memory = o->memory;
	job->priority = o->priority;
	job->timeout_s = o->timeout_s;
	job->may_oversubscribe = o->may_oversubscribe;
	job->does_report_bindings = o->does_report_bindings;
	job->is_statistics = o->is_statistics;
	job->wants_checkpoint = o->wants_checkpoint;
	job->checkpoint_s = o->checkpoint_s;
	job->restarts = o->restarts;
	job->wants_pty = o->pty_rank >= 0;
	job->pty_rank = job->wants_pty ? o->pty_rank : 0;
	job->stdin_rank = job->wants_pty ? o->pty_rank : o->stdin_rank;
}

static int check(const struct job *job, const struct options *o, char *why, size_t why_size)
{
	if (job->n_cart && cart_ranks(o) != job->ranks)
		snprintf(why, why_size,
			 "--map: its grid holds %u ranks, but the job has %u; make them equal",
			 cart_ranks(o), job->ranks);
	else if (job->stdin_rank >= (int64_t)job->ranks)
		snprintf(why, why_size, "%s %lld: the job has ranks 0 to %u",
			 job->wants_pty ? "--pty" : "--stdin", (long long)job->stdin_rank,
			 job->ranks - 1);
	else
		return 0;
	return -EINVAL;
}

static char **job_environment(const struct options *o, char *const *environment)
{
	char **list = environment_of_job(environment, &o->no_env);

	if (o->has_default_collectives || algorithms_are_chosen(environment))
		list = environment_with(list, COLLECTIVES_DEFAULT);
	return list;
}

static int take_self(struct job *job, const struct options *o, char *const *environment, char *why,
		     size_t why_size)
{
	job->cwd = getcwd(NULL, 0);
	if (!job->cwd) {
		snprintf(why, why_size, "the directory we are in: %s; change to one that is there",
			 strerror(errno));
		return -errno;
	}
	job->umask = umask(077);
	umask((mode_t)job->umask);
	job->env = job_environment(o, environment);
	job->name = name_of(o);
	job->apps = calloc(o->n_apps, sizeof(*job->apps));
	if (!job->env || !job->name || !job->apps || take_limits(job) ||
	    !keep_text(&job->group, o->group ? o->group : o->hosts) ||
	    !keep_text(&job->network, o->network)) {
		snprintf(why, why_size, "no memory for the request");
		return -ENOMEM;
	}
	return 0;
}

int request_build(struct job **ret, const struct options *o, char *const *environment, char *why,
		  size_t why_size)
{
	struct job *job = calloc(1, sizeof(*job));
	int err;

	if (!job) {
		snprintf(why, why_size, "no memory for the request");
		return -ENOMEM;
	}
	if (o->restart_id) {
		/* scored has all else. */
		job->stdin_rank = o->stdin_rank;
		job->restarts = true; /* if it was started so */
		*ret = job;
		return 0;
	}
	err = take_self(job, o, environment, why, why_size);
	for (size_t i = 0; !err && i < o->n_apps; i++) {
		err = take_app(&job->apps[i], &o->apps[i], job->cwd, environment, why, why_size);
		job->n_apps = i + 1;
	}
	if (!err) {
		take_place(job, o);
		err = check(job, o, why, why_size);
	}
	if (err) {
		job_free(job);
		return err;
	}
	*ret = job;
	return 0;
}

json_t *request_message(const struct options *o, const struct job *job)
{
	json_t *head;

	if (!o->restart_id)
		return json_pack("{s:s, s:o, s:b}", "op", OP_SUBMIT, "job", job_encode(job),
				 "dry_run", o->is_dry_run);
	head = json_pack("{s:s, s:I, s:s*, s:s*}", "op", OP_RESTART, "id",
			 (json_int_t)o->restart_id, "hosts", o->group ? o->group : o->hosts,
			 "network", o->network);
	if (head && o->restart_round)
		json_object_set_new(head, "round", json_integer((json_int_t)o->restart_round));
	if (head && o->waits)
		json_object_set_new(head, "waits", json_true());
	return head;
}
