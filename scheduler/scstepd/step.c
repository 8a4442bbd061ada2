// SPDX-License-Identifier: BSD-3-Clause
/*
 * step - messages about this host. Starts and ends nothing itself: a message that cannot be sent
 * goes to step->stop().
 */
#include "scheduler/scstepd/step.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/memory.h"
#include "scheduler/scstepd/ranks.h"

void step_send(struct step *step, int64_t to, json_t *head, const void *body, size_t size)
{
	int rc = tree_send(step->tree, to, head, body, size);
	char why[300];

	/* -EPIPE: the link is ending, and says so itself. */
	if (!rc || rc == -EPIPE)
		return;
	snprintf(why, sizeof(why), "host %s: a message to host %d cannot be sent: %s", step->host,
		 (int)to, strerror(-rc));
	step->stop(step, STEP_CODE_LOST, why);
}

void step_failed(struct step *step, uint32_t world, int64_t rank, int code, const char *text)
{
	if (step->here && !step->is_joined) {
		step->stop(step, code, text);
		return;
	}
	step_send(step, 0,
		  json_pack("{s:s, s:i, s:s, s:i, s:s, s:I}", "op", OP_READY, "world", (int)world,
			    "error", "ECANCELED", "code", code, "text", text, "rank",
			    (json_int_t)rank),
		  NULL, 0);
}

void step_running(struct step *step)
{
	if (step->order->job->is_debugged)
		step_send(step, 0, json_pack("{s:s}", "op", OP_RUNNING), NULL, 0);
}

void step_abort(struct step *step, uint32_t world, uint32_t rank, int code, const char *text)
{
	step_send(step, 0,
		  json_pack("{s:s, s:I, s:I, s:i, s:s}", "op", OP_ABORT, "world", (json_int_t)world,
			    "rank", (json_int_t)rank, "code", code, "text", text),
		  NULL, 0);
}

static void add_memory(json_t *head, const struct rank *rank)
{
	int64_t peak = memory_peak(MEMORY_MOUNTS, MEMORY_GROUP);

	json_object_set_new(head, "max_rss", json_integer((json_int_t)rank->max_rss));
	if (peak > 0)
		json_object_set_new(head, "group_peak", json_integer(peak));
}

void step_rank_ended(struct step *step, struct rank *rank)
{
	json_t *head = json_pack("{s:s, s:I, s:I, s:s, s:i, s:b, s:b}", "op", OP_RANK_ENDED,
				 "world", (json_int_t)rank->world->number, "rank",
				 (json_int_t)rank->number, "host", step->host, "status",
				 rank->status, "in_mpi", rank->is_in_mpi, "has_come",
				 rank->has_come);

	if (head && step->order->job->is_statistics)
		add_memory(head, rank);
	if (head && rank->code) {
		json_object_set_new(head, "code", json_integer(rank->code));
		json_object_set_new(head, "text", json_string(rank->why ? rank->why : ""));
	}
	step_send(step, 0, head, NULL, 0);
}

void step_killed(struct step *step)
{
	step->is_killed = true;
}
