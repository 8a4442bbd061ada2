// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/restore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/turns.h"

static struct matrix_host *place_of(const struct sjob *job)
{
	struct matrix_host *place = calloc(job->n_hosts, sizeof(*place));

	for (size_t h = 0; place && h < job->n_hosts; h++) {
		const struct order_host *host = &job->order->hosts[h];
		uint32_t *cores = calloc(host->n_cores + 1, sizeof(*cores));

		if (!cores) {
			matrix_place_fini(place, h);
			free(place);
			return NULL;
		}
		memcpy(cores, host->cores, host->n_cores * sizeof(*cores));
		place[h] = (struct matrix_host){.host = job->hosts[h].node->number,
						.cores = cores,
						.n_cores = (uint32_t)host->n_cores};
	}
	return place;
}

int restore_place(struct scored *d, struct sjob *job)
{
	struct matrix_host *place;
	int err;

	for (size_t h = 0; h < job->n_hosts; h++)
		if (!job->hosts[h].node->host)
			return 0;
	place = place_of(job);
	if (!place)
		return -ENOMEM;
	err = matrix_restore(d->matrix, job->id, place, job->n_hosts,
			     job->job->class == JOB_EXCLUSIVE);
	if (err) {
		matrix_place_fini(place, job->n_hosts);
		free(place);
		return err;
	}
	job->place = place;
	turns_publish(d);
	return 0;
}

struct restoring {
	struct scored *scored;
	char why[256];
};

static struct sjob *restored(struct scored *d, struct order *order, const struct journal_job *entry)
{
	struct sjob *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	*job = (struct sjob){.id = order->id,
			     .uid = order->uid,
			     .gid = order->gid,
			     .state = SJOB_RUNNING,
			     .job = order->job,
			     .order = order,
			     .submitted = entry->submitted,
			     .started = entry->started};
	job->hosts = calloc(order->n_hosts, sizeof(*job->hosts));
	for (size_t h = 0; job->hosts && h < order->n_hosts; h++) {
		struct node *node = nodes_make(d, order->hosts[h].name);

		if (!node)
			return NULL;
		job->hosts[h] = (struct sjob_host){.node = node, .ranks = order->hosts[h].ranks};
	}
	job->n_hosts = order->n_hosts;
	return job->hosts ? job : NULL;
}

static void restore(const struct journal_job *entry, void *owner)
{
	struct restoring *r = owner;
	json_t *json = json_loads(entry->order, JSON_REJECT_DUPLICATES, NULL);
	struct order *order = NULL;
	struct sjob *job = NULL;

	if (order_decode(&order, json, r->why, sizeof(r->why)))
		daemon_say("job %llu of the journal is unreadable and given up: %s",
			   (unsigned long long)entry->id, r->why);
	else
		job = restored(r->scored, order, entry);
	if (job)
		jobs_enlist(r->scored, job);
	json_decref(json);
}

/* The newest of each job comes first. */
static void restore_image(const struct journal_checkpoint *checkpoint, void *owner)
{
	const struct restoring *r = owner;
	struct sjob *job = jobs_find(r->scored, checkpoint->job);

	if (job && !job->image.round)
		job->image = (struct sjob_image){.round = checkpoint->round,
						 .taken = checkpoint->taken,
						 .bytes = checkpoint->bytes};
}

int restore_jobs(struct scored *d, char *why, size_t why_size)
{
	struct restoring r = {.scored = d};
	int err = journal_running(d->journal, restore, &r, why, why_size);

	return err ? err : journal_checkpoints(d->journal, 0, restore_image, &r, why, why_size);
}
