// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/intervals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scored/checkpoint.h"
#include "scheduler/scored/nodes.h"

/* A job that was there before scored keeps its step; one that was restored begins anew. */
static double first_due(const struct sjob *job, double now_s, int64_t today)
{
	int64_t last = job->image.taken > job->started ? job->image.taken : job->started;
	double since = (double)(today - last);
	double left = job->job->checkpoint_s - (since > 0 ? since : 0);

	return now_s + (left > 0 ? left : 0);
}

static void tell_failure(struct sjob *job, double retry_s)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "job %" PRIu64 ": no checkpoint was written: %s; the next try is in %.0f s",
		 job->id, job->image_failure, retry_s);
	nodes_send(job->hosts[0].node, json_pack("{s:s, s:I, s:s}", "op", OP_NOTE, "id",
						 (json_int_t)job->id, "text", text));
}

/* The last one has failed. */
static void put_off(struct sjob *job, double now_s)
{
	double retry_s = job->job->checkpoint_s < INTERVALS_RETRY_S ? job->job->checkpoint_s
								    : INTERVALS_RETRY_S;

	if (!job->image_told || strcmp(job->image_told, job->image_failure) != 0)
		tell_failure(job, retry_s);
	free(job->image_told);
	job->image_told = job->image_failure;
	job->image_failure = NULL;
	job->image_due = now_s + retry_s;
}

static void look(struct scored *d, struct sjob *job, double now_s, int64_t today)
{
	const char *error;

	if (job->image_failure)
		put_off(job, now_s);
	if (!job->image_due)
		job->image_due = first_due(job, now_s, today);
	if (now_s < job->image_due)
		return;
	job->image_due = now_s + job->job->checkpoint_s;
	job->image_failure = checkpoint_ask(d, NULL, job, &error);
}

/* One that is suspended, or whose ranks stand still already, is looked at when it goes on. */
static bool is_in_turn(const struct sjob *job)
{
	return job->job->checkpoint_s > 0 && job->state == SJOB_RUNNING && !job->is_suspended &&
	       !job->checkpoint && !job->mover;
}

void intervals_beat(struct scored *d, double now_s, int64_t today)
{
	struct sjob *job;

	TAILQ_FOREACH(job, &d->placed, placed)
		if (is_in_turn(job))
			look(d, job, now_s, today);
}
