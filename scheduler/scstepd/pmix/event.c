// SPDX-License-Identifier: BSD-3-Clause
/*
 * event - what happens to ranks: they come, finish, abort, and tell each other events. Events go to
 * the root, who tells all hosts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/absence.h"
#include "scheduler/scstepd/pmix/server.h"
#include "scheduler/scstepd/pmix/shift.h"
#include "scheduler/scstepd/pmix/upcalls.h"
#include "scheduler/scstepd/ranks.h"

struct life {
	pmix_proc_t proc;
	enum { CONNECTED, FINALIZED, ABORTED } what;
	int status;
	char *text;
	pmix_op_cbfunc_t done;
	void *arg;
};

static void live(void *arg)
{
	struct life *life = arg;
	struct step *step = server_step();
	struct world *world;
	uint32_t number;
	struct rank *rank = NULL;

	if (server_find(&life->proc, &world, &number) && number != PMIX_RANK_WILDCARD)
		rank = ranks_get(step->ranks, world, number);
	if (rank && life->what == CONNECTED) {
		rank->is_in_mpi = rank->has_come = true;
		absence_check(step, world);
	}
	if (rank && life->what == FINALIZED)
		rank->is_in_mpi = false;
	if (rank && life->what == ABORTED)
		step_abort(step, world->number, number, life->status, life->text ? life->text : "");
	if (life->done)
		life->done(PMIX_SUCCESS, life->arg);
	free(life->text);
	free(life);
}

static pmix_status_t post(const pmix_proc_t *proc, struct life from)
{
	struct life *life = malloc(sizeof(*life));

	if (!life) {
		free(from.text);
		return PMIX_ERR_NOMEM;
	}
	*life = from;
	life->proc = *proc;
	if (shift_post(live, life)) {
		free(life->text);
		free(life);
		return PMIX_ERROR;
	}
	return PMIX_SUCCESS;
}

pmix_status_t connected_upcall(const pmix_proc_t *proc, void *object, pmix_info_t info[],
			       size_t n_info, pmix_op_cbfunc_t done, void *arg)
{
	/* Some versions wait for a callback they do not give: the answer is this one. */
	pmix_status_t status = post(proc, (struct life){.what = CONNECTED});

	return status == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : status;
}

pmix_status_t finalized_upcall(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
			       void *arg)
{
	return post(proc, (struct life){.what = FINALIZED, .done = done, .arg = arg});
}

pmix_status_t abort_upcall(const pmix_proc_t *proc, void *object, int status, const char text[],
			   pmix_proc_t procs[], size_t n, pmix_op_cbfunc_t done, void *arg)
{
	return post(proc, (struct life){.what = ABORTED,
					.status = status,
					.text = text ? strndup(text, 1000) : NULL,
					.done = done,
					.arg = arg});
}

/* All events of the job come to us anyway. */
pmix_status_t register_events_upcall(pmix_status_t *codes, size_t n_codes, const pmix_info_t info[],
				     size_t n_info, pmix_op_cbfunc_t done, void *arg)
{
	return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t deregister_events_upcall(pmix_status_t *codes, size_t n_codes, pmix_op_cbfunc_t done,
				       void *arg)
{
	return PMIX_OPERATION_SUCCEEDED;
}

struct event {
	json_t *head;
	char *body;
	size_t size;
};

static void event_free(struct event *event)
{
	json_decref(event->head);
	free(event->body);
	free(event);
}

static void send_event(void *arg)
{
	struct event *event = arg;
	struct step *step = server_step();

	json_object_set_new(event->head, "host", json_integer((json_int_t)step->here));
	step_send(step, 0, json_incref(event->head), event->body, event->size);
	event_free(event);
}

pmix_status_t notify_upcall(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range,
			    pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t done, void *arg)
{
	struct event *event;
	pmix_data_buffer_t buffer;
	pmix_status_t status = PMIX_SUCCESS;

	if (code == PMIX_READY_FOR_DEBUG) /* debug.c hears it, and nobody else shall */
		return PMIX_OPERATION_SUCCEEDED;
	event = calloc(1, sizeof(*event));
	if (!event)
		return PMIX_ERR_NOMEM;
	PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
	if (n_info)
		status = PMIx_Data_pack(NULL, &buffer, info, (int32_t)n_info, PMIX_INFO);
	event->head = json_pack("{s:s, s:i, s:s, s:I, s:i, s:I}", "op", OP_EVENT, "code", (int)code,
				"nspace", source ? source->nspace : "", "rank",
				source ? (json_int_t)source->rank : (json_int_t)PMIX_RANK_UNDEF,
				"range", (int)range, "count", (json_int_t)n_info);
	event->size = buffer.bytes_used;
	event->body = malloc(event->size + 1);
	if (status == PMIX_SUCCESS && (!event->head || !event->body))
		status = PMIX_ERR_NOMEM;
	if (status == PMIX_SUCCESS && event->size)
		memcpy(event->body, buffer.base_ptr, event->size);
	PMIX_DATA_BUFFER_DESTRUCT(&buffer);
	if (status == PMIX_SUCCESS && shift_post(send_event, event))
		status = PMIX_ERROR;
	if (status != PMIX_SUCCESS)
		event_free(event);
	/* The callback belongs to PMIx's thread: calling it from ours breaks the heap of 4.2.2. */
	return status == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : status;
}

struct notice { /* lives until PMIx is done with it */
	pmix_info_t *infos;
	size_t n;
};

static void noticed(pmix_status_t status, void *arg)
{
	struct notice *notice = arg;

	if (notice->infos)
		PMIX_INFO_FREE(notice->infos, notice->n);
	free(notice);
}

static pmix_status_t notify(const json_t *head, const char *body, size_t size,
			    struct notice *notice)
{
	const char *nspace = json_string_value(json_object_get(head, "nspace"));
	json_int_t count = json_integer_value(json_object_get(head, "count"));
	int32_t n = (int32_t)count;
	pmix_data_buffer_t buffer;
	pmix_byte_object_t bytes = {.size = size};
	pmix_status_t status = PMIX_SUCCESS;
	pmix_proc_t source;

	if (!nspace || strlen(nspace) > PMIX_MAX_NSLEN || count < 0 || count > 4096 ||
	    (count && !size))
		return PMIX_ERR_BAD_PARAM;
	PMIX_LOAD_PROCID(&source, nspace,
			 (pmix_rank_t)json_integer_value(json_object_get(head, "rank")));
	if (count) {
		PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
		notice->n = (size_t)count;
		PMIX_INFO_CREATE(notice->infos, notice->n);
		bytes.bytes = malloc(size);
		if (!notice->infos || !bytes.bytes) {
			free(bytes.bytes);
			return PMIX_ERR_NOMEM;
		}
		memcpy(bytes.bytes, body, size);
		status = PMIx_Data_load(&buffer, &bytes);
		if (status == PMIX_SUCCESS)
			status = PMIx_Data_unpack(NULL, &buffer, notice->infos, &n, PMIX_INFO);
		PMIX_DATA_BUFFER_DESTRUCT(&buffer);
	}
	if (status == PMIX_SUCCESS)
		status = PMIx_Notify_event(
			(pmix_status_t)json_integer_value(json_object_get(head, "code")), &source,
			(pmix_data_range_t)json_integer_value(json_object_get(head, "range")),
			notice->infos, notice->n, noticed, notice);
	return status;
}

void event_told(struct step *step, const json_t *head, const char *body, size_t size)
{
	struct notice *notice;
	pmix_status_t status;

	/* The server of the host it comes from has told its own ranks. */
	if (json_integer_value(json_object_get(head, "host")) == (json_int_t)step->here)
		return;
	notice = calloc(1, sizeof(*notice));
	if (!notice)
		return;
	status = notify(head, body, size, notice);
	if (status != PMIX_SUCCESS)
		noticed(status, notice);
}
