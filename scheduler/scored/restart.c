// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/restart.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/account.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/locks.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/restore.h"

/* The checkpoint that is wanted. */
struct wanted {
	uint64_t round; /* 0: the newest */
	struct sjob_image image;
	uid_t uid;
	char *order; /* NULL: there is none */
};

static void find(const struct journal_checkpoint *checkpoint, void *owner)
{
	struct wanted *wanted = owner;

	if (wanted->order || (wanted->round && wanted->round != checkpoint->round))
		return;
	wanted->uid = checkpoint->uid;
	wanted->image = (struct sjob_image){
		.round = checkpoint->round, .taken = checkpoint->taken, .bytes = checkpoint->bytes};
	wanted->order = strdup(checkpoint->order);
}

/* 0 or -errno with a sentence. Free its order. */
static int look_up(struct scored *d, uint64_t id, uid_t uid, bool is_operator,
		   struct wanted *wanted, char *why, size_t why_size)
{
	int err = journal_checkpoints(d->journal, id, find, wanted, why, why_size);

	if (err)
		return err;
	/* Jobs of others are refused with the same words as those that do not exist. */
	if (wanted->order && (is_operator || wanted->uid == uid))
		return 0;
	if (wanted->round)
		snprintf(why, why_size,
			 "job %" PRIu64 " of yours has no checkpoint %" PRIu64 "; scrun -restart "
			 "%" PRIu64 " takes the last one, if there is any",
			 id, wanted->round, id);
	else
		snprintf(why, why_size,
			 "job %" PRIu64 " of yours has no checkpoint; scqueue shows those of jobs "
			 "that run, and images of a job that went well are removed",
			 id);
	return -ESRCH;
}

static int decode(struct order **ret, const char *text, char *why, size_t why_size)
{
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	int err = order_decode(ret, json, why, why_size);

	json_decref(json);
	return err;
}

/* They may have other addresses now. 0 or -errno with a sentence. */
static int find_hosts(struct scored *d, struct sjob *job, char *why, size_t why_size)
{
	job->n_hosts = job->order->n_hosts;
	job->hosts = calloc(job->n_hosts, sizeof(*job->hosts));
	for (size_t h = 0; job->hosts && h < job->n_hosts; h++) {
		struct order_host *host = &job->order->hosts[h];
		struct node *node = nodes_make(d, host->name);
		char *address = node && node->host ? strdup(node->host->address) : NULL;

		job->hosts[h] = (struct sjob_host){.node = node, .ranks = host->ranks};
		if (!node || !node->host || !node->link || node->state != NODE_UP) {
			free(address);
			snprintf(why, why_size,
				 "host %s, which has images of job %" PRIu64 ", is not up; try "
				 "again when scinfo shows it as up",
				 host->name, job->id);
			return -EHOSTDOWN;
		}
		if (address) {
			free(host->address);
			host->address = address;
		}
	}
	if (job->hosts)
		return 0;
	snprintf(why, why_size, "scored has no memory");
	return -ENOMEM;
}

/* 0 or -errno with a sentence. It is in the lists. */
static int take_cores(struct scored *d, struct sjob *job, char *why, size_t why_size)
{
	char lock[400];

	for (size_t h = 0; h < job->n_hosts; h++) {
		struct lock *locked = locks_keep_off(d, job->hosts[h].node, job->id);

		if (!locked)
			continue;
		locks_say(locked, lock, sizeof(lock));
		snprintf(why, why_size, "host %s, which has images of job %" PRIu64 ", is %s",
			 job->hosts[h].node->name, job->id, lock);
		return -EBUSY;
	}
	if (!restore_place(d, job))
		return 0;
	snprintf(why, why_size,
		 "the cores of job %" PRIu64 " on its hosts are taken by other jobs; try again "
		 "when they have ended (scqueue)",
		 job->id);
	return -EBUSY;
}

static void free_job(struct sjob *job)
{
	order_free(job->order);
	free(job->hosts);
	free(job);
}

struct sjob *restart_make(struct scored *d, uint64_t id, uint64_t round, uid_t uid,
			  bool is_operator, char *why, size_t why_size)
{
	struct wanted wanted = {.round = round};
	struct order *order = NULL;
	struct sjob *job = NULL;

	if (jobs_find(d, id)) {
		snprintf(why, why_size, "job %" PRIu64 " has not ended; scqueue shows it", id);
		return NULL;
	}
	if (!look_up(d, id, uid, is_operator, &wanted, why, why_size) &&
	    !decode(&order, wanted.order, why, why_size) && !(job = calloc(1, sizeof(*job)))) {
		snprintf(why, why_size, "scored has no memory");
		order_free(order);
	}
	free(wanted.order);
	if (!job)
		return NULL;
	*job = (struct sjob){.id = order->id,
			     .uid = order->uid,
			     .gid = order->gid,
			     .state = SJOB_STARTING,
			     .job = order->job,
			     .order = order,
			     .image = wanted.image,
			     .submitted = clock_realtime_s(),
			     .started = clock_realtime_s()};
	if (!job->order->n_hosts || order->id != id) {
		snprintf(why, why_size, "the journal's order of job %" PRIu64 " is damaged", id);
		free_job(job);
		return NULL;
	}
	if (find_hosts(d, job, why, why_size)) {
		free_job(job);
		return NULL;
	}
	jobs_enlist(d, job);
	account_charge(d, job);
	account_unqueue(job);
	if (take_cores(d, job, why, why_size)) {
		jobs_forget(d, job);
		return NULL;
	}
	return job;
}

/* 0 or -errno with a sentence. */
static int remove_images(struct scored *d, const struct order *order, uint64_t round, char *why,
			 size_t why_size)
{
	for (size_t h = 0; h < order->n_hosts; h++) {
		const struct node *node = nodes_find(d, order->hosts[h].name);

		if (node && node->link)
			continue;
		snprintf(why, why_size,
			 "host %s, which has images of job %" PRIu64 ", is not connected; try "
			 "again when scinfo shows it as up",
			 order->hosts[h].name, order->id);
		return -EHOSTDOWN;
	}
	for (size_t h = 0; h < order->n_hosts; h++)
		nodes_send(nodes_find(d, order->hosts[h].name),
			   json_pack("{s:s, s:I, s:I, s:s}", "op", OP_IMAGE, "id",
				     (json_int_t)order->id, "round", (json_int_t)round, "stage",
				     "remove"));
	return journal_checkpoints_forget(d->journal, order->id, why, why_size);
}

int restart_remove(struct scored *d, uint64_t id, uid_t uid, bool is_operator, char *why,
		   size_t why_size)
{
	struct wanted wanted = {.round = 0};
	struct order *order = NULL;
	int err;

	if (jobs_find(d, id)) {
		snprintf(why, why_size, "job %" PRIu64 " has not ended; scqueue shows it", id);
		return -EBUSY;
	}
	err = look_up(d, id, uid, is_operator, &wanted, why, why_size);
	if (!err)
		err = decode(&order, wanted.order, why, why_size);
	if (!err)
		err = remove_images(d, order, wanted.image.round, why, why_size);
	order_free(order);
	free(wanted.order);
	return err;
}
