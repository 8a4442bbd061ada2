// SPDX-License-Identifier: BSD-3-Clause
/*
 * ask - the list of questions under way.
 */
#include "scheduler/scstepd/pmix/ask.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/scstepd/pmix/server.h"
#include "scheduler/scstepd/pmix/shift.h"
#include "scheduler/scstepd/pmix/upcalls.h"

static struct ask *asks;
static uint64_t next_ticket;

struct ask *ask_new(const pmix_proc_t *from, void *arg)
{
	struct ask *ask = calloc(1, sizeof(*ask));

	if (ask) {
		ask->from = *from;
		ask->arg = arg;
	}
	return ask;
}

static void ask_free(struct ask *ask)
{
	json_decref(ask->head);
	free(ask->body);
	free(ask);
}

static void run(void *arg)
{
	struct ask *ask = arg;

	ask->ticket = ++next_ticket;
	ask->next = asks;
	asks = ask;
	json_object_set_new(ask->head, "ticket", json_integer((json_int_t)ask->ticket));
	step_send(server_step(), 0, json_incref(ask->head), ask->body, ask->size);
}

pmix_status_t ask_post(struct ask *ask, json_t *head, const void *body, size_t size)
{
	ask->head = head;
	ask->size = size;
	ask->body = malloc(size ? size : 1);
	if (!head || !ask->body) {
		ask_free(ask);
		return PMIX_ERR_NOMEM;
	}
	if (size)
		memcpy(ask->body, body, size);
	if (shift_post(run, ask)) {
		ask_free(ask);
		return PMIX_ERROR;
	}
	return PMIX_SUCCESS;
}

void ask_answered(struct step *step, const json_t *head, const char *body, size_t size)
{
	uint64_t ticket = (uint64_t)json_integer_value(json_object_get(head, "ticket"));
	pmix_status_t status = (pmix_status_t)json_integer_value(json_object_get(head, "status"));
	struct ask **at = &asks, *ask;

	while (*at && (*at)->ticket != ticket)
		at = &(*at)->next;
	ask = *at;
	if (!ask)
		return;
	*at = ask->next;
	if (ask->answered)
		ask->answered(ask, status, body, size);
	else
		ask->op_done(status, ask->arg);
	ask_free(ask);
}
