// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/idle.h"

#include <stdio.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/turns.h"

#define STUCK_BEATS 3 /* beats without a message on any host: others get its turns */
#define PARKED_S 4.0  /* for so long, then it may show whether something has come from outside */
#define STUCK_TOLD_S 30.0 /* told as a presumed deadlock */

static bool all_hosts(const struct sjob *job, bool (*holds)(const struct sjob_host *host))
{
	for (size_t h = 0; h < job->n_hosts; h++)
		if (!job->hosts[h].is_gone && !holds(&job->hosts[h]))
			return false;
	return true;
}

static bool is_idle(const struct sjob_host *host)
{
	return host->is_idle;
}

static bool is_stuck(const struct sjob_host *host)
{
	return host->is_stuck;
}

static void tell_stuck(struct sjob *job)
{
	char text[256];

	job->is_told_stuck = true;
	snprintf(text, sizeof(text),
		 "presumed deadlock: all ranks have waited for messages for %.0f s, and none came "
		 "or went; ^C ends the job",
		 STUCK_TOLD_S);
	daemon_say("job %llu: %s", (unsigned long long)job->id, text);
	nodes_send(job->hosts[0].node, json_pack("{s:s, s:I, s:s}", "op", OP_NOTE, "id",
						 (json_int_t)job->id, "text", text));
}

/* A new table if it rests now and did not, or the other way round. */
static void rest(struct scored *d, struct sjob *job)
{
	bool rests = job->is_suspended || job->is_parked || all_hosts(job, is_idle);

	if (rests == job->is_resting)
		return;
	job->is_resting = rests;
	matrix_rest(d->matrix, job->id, rests);
	turns_publish(d);
	jobs_plan(d);
}

static void judge_stuck(struct scored *d, struct sjob *job)
{
	if (!all_hosts(job, is_stuck)) {
		job->stuck_since = 0;
		job->stuck_beats = 0;
		job->is_told_stuck = false;
		return;
	}
	if (!job->stuck_since)
		job->stuck_since = clock_monotonic_s();
	if (!job->is_told_stuck && clock_monotonic_s() - job->stuck_since >= STUCK_TOLD_S)
		tell_stuck(job);
	/* Each host beats once per period. With nobody to take its turns it may as well go on. */
	if (++job->stuck_beats < STUCK_BEATS * job->n_hosts || matrix_rows(d->matrix) == 1)
		return;
	job->is_parked = true;
	job->parked_until = clock_monotonic_s() + PARKED_S;
}

void idle_beat(struct scored *d, struct node *node, uint64_t id, uint64_t cpu_ns, bool idle,
	       bool stuck)
{
	struct sjob *job;
	struct sjob_host *host = jobs_host(d, node, id, &job);

	if (!host || job->state != SJOB_RUNNING)
		return;
	host->cpu_ns = cpu_ns;
	/* Frozen it tells nothing of itself. */
	if (job->is_suspended || job->is_parked)
		return;
	host->is_idle = idle;
	host->is_stuck = stuck;
	judge_stuck(d, job);
	rest(d, job);
}

void idle_tick(struct scored *d)
{
	struct sjob *job;

	TAILQ_FOREACH(job, &d->placed, placed)
		if (job->is_parked && clock_monotonic_s() >= job->parked_until) {
			job->is_parked = false;
			job->stuck_beats = 0;
			rest(d, job);
		}
}
