// SPDX-License-Identifier: BSD-3-Clause
/*
 * query - questions about the job that are answered here, and the two requests that need no answer
 * of others: job control and log.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/pmix/ask.h"
#include "scheduler/scstepd/pmix/infos.h"
#include "scheduler/scstepd/pmix/server.h"
#include "scheduler/scstepd/pmix/shift.h"
#include "scheduler/scstepd/pmix/upcalls.h"
#include "scheduler/scstepd/ranks.h"

enum question { NAMESPACES, LOCAL_TABLE, TABLE };

struct query {
	enum question *questions;
	size_t n;
	pmix_info_cbfunc_t done;
	void *arg;
	char nspace[PMIX_MAX_NSLEN + 1]; /* whose processes are wanted */
	bool wants_table;                /* of all hosts: the root is asked first */
	struct infos answer;
};

static void query_free(void *arg)
{
	struct query *query = arg;

	infos_fini(&query->answer);
	free(query->questions);
	free(query);
}

static void add_namespaces(struct step *step, struct infos *answer)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; out && i < step->worlds.n; i++)
		if (step->worlds.all[i])
			fprintf(out, "%s%s", i ? "," : "", step->worlds.all[i]->nspace);
	if (!out || fclose(out)) {
		answer->is_broken = true;
		free(text);
		return;
	}
	infos_text(answer, PMIX_QUERY_NAMESPACES, text);
	free(text);
}

static void add_table(struct step *step, struct infos *answer)
{
	size_t n = ranks_count(step->ranks);
	pmix_data_array_t array = {.type = PMIX_PROC_INFO, .size = n};
	pmix_proc_info_t *table = calloc(n ? n : 1, sizeof(*table));
	char host[256];

	if (!table) {
		answer->is_broken = true;
		return;
	}
	snprintf(host, sizeof(host), "%s", step->host);
	for (size_t i = 0; i < n; i++) {
		const struct rank *rank = ranks_at(step->ranks, i);

		PMIX_LOAD_PROCID(&table[i].proc, rank->world->nspace, rank->number);
		table[i].hostname = host;
		table[i].executable_name = rank->path;
		table[i].pid = rank_host_pid(rank);
		table[i].state = rank->has_ended ? PMIX_PROC_STATE_TERMINATED
						 : PMIX_PROC_STATE_RUNNING;
	}
	array.array = table;
	infos_add(answer, PMIX_QUERY_LOCAL_PROC_TABLE, &array, PMIX_DATA_ARRAY); /* copies */
	free(table);
}

/* From what the root said. */
static void add_all_processes(struct step *step, const json_t *told, const char *nspace,
			      struct infos *answer)
{
	size_t n = json_array_size(told), i;
	pmix_data_array_t array = {.type = PMIX_PROC_INFO, .size = n};
	pmix_proc_info_t *table = calloc(n ? n : 1, sizeof(*table));
	json_t *process;

	if (!table) {
		answer->is_broken = true;
		return;
	}
	json_array_foreach(told, i, process) {
		size_t host = (size_t)json_integer_value(json_object_get(process, "host"));
		const char *path = json_string_value(json_object_get(process, "executable"));

		PMIX_LOAD_PROCID(&table[i].proc, nspace,
				 (pmix_rank_t)json_integer_value(json_object_get(process, "rank")));
		table[i].hostname = host < step->order->n_hosts ? step->order->hosts[host].name
								: NULL;
		table[i].executable_name = (char *)(uintptr_t)path;
		table[i].pid = (pid_t)json_integer_value(json_object_get(process, "pid"));
		table[i].state = PMIX_PROC_STATE_RUNNING;
	}
	array.array = table;
	infos_add(answer, PMIX_QUERY_PROC_TABLE, &array, PMIX_DATA_ARRAY); /* copies */
	free(table);
}

static void finish_query(struct query *query, const json_t *told)
{
	for (size_t i = 0; i < query->n; i++)
		if (query->questions[i] == NAMESPACES)
			add_namespaces(server_step(), &query->answer);
		else if (query->questions[i] == LOCAL_TABLE)
			add_table(server_step(), &query->answer);
		else
			add_all_processes(server_step(), told, query->nspace, &query->answer);
	query->done(query->answer.is_broken ? PMIX_ERR_NOMEM : PMIX_SUCCESS, query->answer.v,
		    query->answer.n, query->arg, query_free, query);
}

static void run_query(void *arg)
{
	finish_query(arg, NULL);
}

static void on_told(struct ask *ask, pmix_status_t status, const char *body, size_t size)
{
	struct query *query = ask->arg;
	json_t *told = size ? json_loadb(body, size, 0, NULL) : NULL;

	if (status == PMIX_SUCCESS && told) {
		finish_query(query, told);
	} else {
		query->done(PMIX_ERR_NOT_FOUND, NULL, 0, query->arg, NULL, NULL);
		query_free(query);
	}
	json_decref(told);
}

/* Returns the status for the upcall; the query goes on in the loop. */
static pmix_status_t ask_root(const pmix_proc_t *proc, struct query *query)
{
	struct ask *ask = ask_new(proc, query);
	pmix_status_t status = PMIX_ERR_NOMEM;

	if (ask) {
		ask->answered = on_told;
		status = ask_post(ask,
				  json_pack("{s:s, s:s}", "op", OP_QUERY, "nspace", query->nspace),
				  NULL, 0);
	}
	if (status != PMIX_SUCCESS)
		query_free(query);
	return status;
}

static bool find_question(const char *key, enum question *ret)
{
	if (!strcmp(key, PMIX_QUERY_NAMESPACES))
		*ret = NAMESPACES;
	else if (!strcmp(key, PMIX_QUERY_LOCAL_PROC_TABLE))
		*ret = LOCAL_TABLE;
	else if (!strcmp(key, PMIX_QUERY_PROC_TABLE))
		*ret = TABLE;
	else
		return false;
	return true;
}

static void take_questions(struct query *query, const pmix_query_t *from)
{
	const pmix_value_t *nspace = infos_find(from->qualifiers, from->nqual, PMIX_NSPACE);

	for (size_t k = 0; from->keys && from->keys[k]; k++)
		if (find_question(from->keys[k], &query->questions[query->n]))
			query->wants_table |= query->questions[query->n++] == TABLE;
	if (nspace && nspace->type == PMIX_STRING && nspace->data.string)
		snprintf(query->nspace, sizeof(query->nspace), "%s", nspace->data.string);
}

pmix_status_t query_upcall(pmix_proc_t *proc, pmix_query_t *queries, size_t n,
			   pmix_info_cbfunc_t done, void *arg)
{
	struct query *query = calloc(1, sizeof(*query));
	size_t keys = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; queries[i].keys && queries[i].keys[k]; k++)
			keys++;
	if (query)
		query->questions = calloc(keys + 1, sizeof(*query->questions));
	if (!query || !query->questions) {
		free(query);
		return PMIX_ERR_NOMEM;
	}
	query->done = done;
	query->arg = arg;
	/* 4.2.2 asks in the server's name, which is that of world 0 and more (server.c). */
	snprintf(query->nspace, sizeof(query->nspace), "%.*s", (int)strcspn(proc->nspace, ":"),
		 proc->nspace);
	for (size_t i = 0; i < n; i++)
		take_questions(query, &queries[i]);
	if (query->n && query->wants_table)
		return ask_root(proc, query);
	if (!query->n || shift_post(run_query, query)) {
		query_free(query);
		return PMIX_ERR_NOT_SUPPORTED;
	}
	return PMIX_SUCCESS;
}

struct control {
	int signal; /* 0: end the job */
	pmix_proc_t from;
	pmix_info_cbfunc_t done;
	void *arg;
};

static void run_control(void *arg)
{
	struct control *control = arg;
	struct step *step = server_step();

	if (control->signal)
		step_send(step, 0,
			  json_pack("{s:s, s:i}", "op", OP_SIGNAL, "signal", control->signal), NULL,
			  0);
	else
		step_abort(step, 0, control->from.rank, 1, "PMIx job control");
	control->done(PMIX_SUCCESS, NULL, 0, control->arg, NULL, NULL);
	free(control);
}

pmix_status_t job_control_upcall(const pmix_proc_t *from, const pmix_proc_t targets[],
				 size_t n_targets, const pmix_info_t info[], size_t n_info,
				 pmix_info_cbfunc_t done, void *arg)
{
	const pmix_value_t *kill = infos_find(info, n_info, PMIX_JOB_CTRL_KILL);
	const pmix_value_t *term = infos_find(info, n_info, PMIX_JOB_CTRL_TERMINATE);
	const pmix_value_t *signal = infos_find(info, n_info, PMIX_JOB_CTRL_SIGNAL);
	struct control *control;

	/* Clean-up lists are kept by PMIx itself; it tells us for our information. */
	if (!kill && !term && !signal)
		return infos_find(info, n_info, PMIX_REGISTER_CLEANUP) ||
				       infos_find(info, n_info, PMIX_REGISTER_CLEANUP_DIR)
			       ? PMIX_OPERATION_SUCCEEDED
			       : PMIX_ERR_NOT_SUPPORTED;
	if (signal &&
	    (signal->type != PMIX_INT || signal->data.integer < 1 || signal->data.integer >= NSIG))
		return PMIX_ERR_BAD_PARAM;
	control = calloc(1, sizeof(*control));
	if (!control)
		return PMIX_ERR_NOMEM;
	*control = (struct control){.signal = signal ? signal->data.integer : 0,
				    .from = *from,
				    .done = done,
				    .arg = arg};
	if (shift_post(run_control, control)) {
		free(control);
		return PMIX_ERROR;
	}
	return PMIX_SUCCESS;
}

struct line {
	char *text;
	pmix_op_cbfunc_t done;
	void *arg;
};

static void run_log(void *arg)
{
	struct line *line = arg;

	if (line->text)
		step_send(server_step(), 0,
			  json_pack("{s:s, s:s}", "op", OP_NOTE, "text", line->text), NULL, 0);
	line->done(line->text ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED, line->arg);
	free(line->text);
	free(line);
}

void log_upcall(const pmix_proc_t *client, const pmix_info_t data[], size_t n_data,
		const pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t done, void *arg)
{
	const pmix_value_t *text = infos_find(data, n_data, PMIX_LOG_STDERR);
	struct line *line = calloc(1, sizeof(*line));

	if (!text)
		text = infos_find(data, n_data, PMIX_LOG_STDOUT);
	if (!line)
		return;
	line->done = done;
	line->arg = arg;
	if (text && text->type == PMIX_STRING && text->data.string)
		line->text = strndup(text->data.string, 65536);
	if (shift_post(run_log, line)) {
		free(line->text);
		free(line);
	}
}
