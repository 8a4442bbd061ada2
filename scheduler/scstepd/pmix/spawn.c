// SPDX-License-Identifier: BSD-3-Clause
/*
 * spawn - a rank's call for more processes, as a question to the root. The programs are listed as
 * world_plan() of world.h wants them.
 */
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/pmix/ask.h"
#include "scheduler/scstepd/pmix/infos.h"
#include "scheduler/scstepd/pmix/server.h"
#include "scheduler/scstepd/pmix/upcalls.h"

static json_t *words(char *const *from)
{
	json_t *array = json_array();

	for (size_t i = 0; from && from[i]; i++)
		json_array_append_new(array, json_string(from[i]));
	return array;
}

static const char *text_of(const pmix_info_t *info, size_t n, const char *key)
{
	const pmix_value_t *value = infos_find(info, n, key);

	return value && value->type == PMIX_STRING ? value->data.string : NULL;
}

static json_t *app_of(const pmix_app_t *app, const char *job_cwd)
{
	const char *cwd = text_of(app->info, app->ninfo, PMIX_WDIR);
	json_t *argv = words(app->argv), *told;

	if (!cwd)
		cwd = app->cwd ? app->cwd : job_cwd;
	if (app->cmd && !json_array_size(argv))
		json_array_append_new(argv, json_string(app->cmd));
	else if (app->cmd)
		json_array_set_new(argv, 0, json_string(app->cmd));
	told = json_pack("{s:o, s:o, s:i}", "argv", argv, "env", words(app->env), "ranks",
			 app->maxprocs);
	if (told && cwd)
		json_object_set_new(told, "cwd", json_string(cwd));
	return told;
}

static void give_world(struct ask *ask, pmix_status_t status, const char *body, size_t size)
{
	char nspace[PMIX_MAX_NSLEN + 1] = "";

	if (size && size < sizeof(nspace))
		memcpy(nspace, body, size);
	ask->spawn_done(status, nspace, ask->arg);
}

pmix_status_t spawn_upcall(const pmix_proc_t *proc, const pmix_info_t job[], size_t n_job,
			   const pmix_app_t apps[], size_t n_apps, pmix_spawn_cbfunc_t done,
			   void *arg)
{
	struct ask *ask = ask_new(proc, arg);
	json_t *told = json_array();

	if (!ask || !told) {
		free(ask);
		json_decref(told);
		return PMIX_ERR_NOMEM;
	}
	ask->spawn_done = done;
	ask->answered = give_world;
	for (size_t i = 0; i < n_apps; i++)
		json_array_append_new(told, app_of(&apps[i], text_of(job, n_job, PMIX_WDIR)));
	return ask_post(ask,
			json_pack("{s:s, s:s, s:I, s:o}", "op", OP_SPAWN, "nspace", proc->nspace,
				  "rank", (json_int_t)proc->rank, "apps", told),
			NULL, 0);
}
