// SPDX-License-Identifier: BSD-3-Clause
/*
 * dmodex - what one rank of another host has put is fetched from that host's server. Tickets tell
 * the answers apart.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/pmix/server.h"
#include "scheduler/scstepd/pmix/shift.h"
#include "scheduler/scstepd/pmix/upcalls.h"

struct wanted { /* by a rank here */
	struct wanted *next;
	uint64_t ticket;
	pmix_proc_t proc;
	pmix_modex_cbfunc_t done;
	void *arg;
};

struct given { /* to another host */
	size_t to;
	uint64_t ticket;
	pmix_status_t status;
	char *data;
	size_t size;
};

static struct wanted *waiting;
static uint64_t next_ticket;

static void run(void *arg)
{
	struct wanted *wanted = arg;
	struct step *step = server_step();
	struct world *world;
	uint32_t rank;

	/* Data of a whole world is with every server already: what is not there is nowhere. */
	if (!server_find(&wanted->proc, &world, &rank) || rank == PMIX_RANK_WILDCARD ||
	    world_host_of(world, rank) == step->here) {
		wanted->done(PMIX_ERR_NOT_FOUND, NULL, 0, wanted->arg, NULL, NULL);
		free(wanted);
		return;
	}
	wanted->ticket = ++next_ticket;
	wanted->next = waiting;
	waiting = wanted;
	step_send(step, (int64_t)world_host_of(world, rank),
		  json_pack("{s:s, s:I, s:I, s:I}", "op", OP_MODEX, "world",
			    (json_int_t)world->number, "rank", (json_int_t)rank, "ticket",
			    (json_int_t)wanted->ticket),
		  NULL, 0);
}

pmix_status_t modex_upcall(const pmix_proc_t *proc, const pmix_info_t info[], size_t n_info,
			   pmix_modex_cbfunc_t done, void *arg)
{
	struct wanted *wanted = calloc(1, sizeof(*wanted));

	if (!wanted)
		return PMIX_ERR_NOMEM;
	*wanted = (struct wanted){.proc = *proc, .done = done, .arg = arg};
	if (shift_post(run, wanted)) {
		free(wanted);
		return PMIX_ERROR;
	}
	return PMIX_SUCCESS;
}

static void send_given(void *arg)
{
	struct given *given = arg;

	step_send(server_step(), (int64_t)given->to,
		  json_pack("{s:s, s:I, s:i}", "op", OP_MODEX_DATA, "ticket",
			    (json_int_t)given->ticket, "status", (int)given->status),
		  given->data, given->size);
	free(given->data);
	free(given);
}

/* In PMIx's thread. */
static void on_data(pmix_status_t status, char *data, size_t size, void *arg)
{
	struct given *given = arg;

	given->status = status;
	if (status == PMIX_SUCCESS && size) {
		given->data = malloc(size);
		if (given->data)
			memcpy(given->data, data, size);
		else
			given->status = PMIX_ERR_NOMEM;
		given->size = given->data ? size : 0;
	}
	if (shift_post(send_given, given)) {
		free(given->data);
		free(given);
	}
}

void modex_asked(struct step *step, size_t from, const json_t *head)
{
	const struct world *world = worlds_get(
		&step->worlds, (uint64_t)json_integer_value(json_object_get(head, "world")));
	json_int_t rank = json_integer_value(json_object_get(head, "rank"));
	struct given *given = calloc(1, sizeof(*given));
	pmix_proc_t proc;
	pmix_status_t status = PMIX_ERR_NOT_FOUND;

	if (!given) {
		step_failed(step, 0, -1, STEP_CODE_LOST, "out of memory");
		return;
	}
	given->to = from;
	given->ticket = (uint64_t)json_integer_value(json_object_get(head, "ticket"));
	if (world && rank >= 0 && rank < world->n_ranks &&
	    world_host_of(world, (uint32_t)rank) == step->here) {
		PMIX_LOAD_PROCID(&proc, world->nspace, (pmix_rank_t)rank);
		status = PMIx_server_dmodex_request(&proc, on_data, given);
	}
	if (status != PMIX_SUCCESS) {
		given->status = status;
		send_given(given);
	}
}

void modex_answered(struct step *step, const json_t *head, const char *body, size_t size)
{
	uint64_t ticket = (uint64_t)json_integer_value(json_object_get(head, "ticket"));
	pmix_status_t status = (pmix_status_t)json_integer_value(json_object_get(head, "status"));
	struct wanted **at = &waiting, *wanted;
	char *copy = NULL;

	while (*at && (*at)->ticket != ticket)
		at = &(*at)->next;
	wanted = *at;
	if (!wanted)
		return;
	*at = wanted->next;
	if (size) {
		copy = malloc(size);
		if (copy)
			memcpy(copy, body, size);
		else
			status = PMIX_ERR_NOMEM;
	}
	wanted->done(status, copy, copy ? size : 0, wanted->arg, free, copy);
	free(wanted);
}
