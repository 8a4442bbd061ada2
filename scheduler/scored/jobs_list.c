// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/jobs_list.h"

#include <stdlib.h>

#include "scheduler/scored/account.h"

void jobs_enlist_placed(struct scored *d, struct sjob *job)
{
	TAILQ_INSERT_TAIL(&d->placed, job, placed);
	for (size_t h = 0; h < job->n_hosts; h++)
		job->hosts[h].node->n_jobs++;
}

void jobs_leave(struct sjob_host *host)
{
	host->node->n_jobs -= !host->is_gone;
	host->is_gone = true;
}

struct sjob *jobs_find(const struct scored *d, uint64_t id)
{
	struct sjob *job;

	LIST_FOREACH(job, &d->by_id[id % JOB_BUCKETS], same)
		if (job->id == id)
			return job;
	return NULL;
}

void jobs_enlist(struct scored *d, struct sjob *job)
{
	TAILQ_INSERT_TAIL(&d->jobs, job, all);
	LIST_INSERT_HEAD(&d->by_id[job->id % JOB_BUCKETS], job, same);
	if (job->n_hosts)
		jobs_enlist_placed(d, job);
}

struct sjob_host *jobs_part_on(const struct sjob *job, const struct node *node)
{
	for (size_t h = 0; h < job->n_hosts; h++)
		if (job->hosts[h].node == node)
			return &job->hosts[h];
	return NULL;
}

struct sjob_host *jobs_host(const struct scored *d, const struct node *node, uint64_t id,
			    struct sjob **job)
{
	*job = jobs_find(d, id);
	return *job ? jobs_part_on(*job, node) : NULL;
}

bool jobs_uses(const struct scored *d, const struct node *node)
{
	const struct sjob *job;

	TAILQ_FOREACH(job, &d->placed, placed)
		if (job->place && jobs_part_on(job, node))
			return true;
	return false;
}

void jobs_forget(struct scored *d, struct sjob *job)
{
	TAILQ_REMOVE(&d->jobs, job, all);
	LIST_REMOVE(job, same);
	if (job->n_hosts)
		TAILQ_REMOVE(&d->placed, job, placed);
	for (size_t h = 0; h < job->n_hosts; h++)
		jobs_leave(&job->hosts[h]);
	account_discharge(job);
	/* An order has the job in it. */
	if (job->order || job->again)
		order_free(job->order ? job->order : job->again);
	else
		job_free(job->job);
	if (job->place)
		matrix_place_fini(job->place, job->n_hosts);
	free(job->place);
	free(job->hosts);
	free(job->text);
	free(job->waits);
	free(job->devices);
	free(job->image_failure);
	free(job->image_told);
	free(job->only);
	free(job);
}

void jobs_plan_soon(struct scored *d)
{
	ev_prepare_start(d->loop, &d->plan);
}

void jobs_plan(struct scored *d)
{
	d->plan_epoch++;
	jobs_plan_soon(d);
}
