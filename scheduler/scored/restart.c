// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/restart.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "pmcore/util/clock.h"
#include "scheduler/scored/account.h"
#include "scheduler/scored/images.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/locks.h"
#include "scheduler/scored/network.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/plan.h"

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

/* Whether a host of then is in the way. 0 or -errno with a sentence. */
static int check_hosts(struct scored *d, const struct order *order, char *why, size_t why_size)
{
	for (size_t h = 0; h < order->n_hosts; h++) {
		const char *name = order->hosts[h].name;
		const struct node *node = nodes_find(d, name);
		struct lock *locked;
		char lock[400];

		if (!node || !nodes_is_usable(node)) {
			snprintf(why, why_size,
				 "host %s, which has images of job %" PRIu64 ", is not up; try "
				 "again when scinfo shows it as up; other hosts can take its place "
				 "if they share its directory of checkpoints",
				 name, order->id);
			return -EHOSTDOWN;
		}
		locked = locks_keep_off(d, node, order->id);
		if (locked) {
			locks_say(locked, lock, sizeof(lock));
			snprintf(why, why_size,
				 "host %s, which has images of job %" PRIu64 ", is %s", name,
				 order->id, lock);
			return -EBUSY;
		}
	}
	return 0;
}

static void say_no_place(uint64_t id, const char *hosts, int err, const char *what, char *why,
			 size_t why_size)
{
	if (err == -EINVAL)
		snprintf(why, why_size, "job %" PRIu64 " can't be restored on %s: %s", id,
			 hosts ? hosts : "its hosts", what);
	else if (hosts)
		snprintf(why, why_size,
			 "job %" PRIu64 " has no place on %s now: %s; try again when other jobs "
			 "have ended (scqueue)",
			 id, hosts, what);
	else
		snprintf(why, why_size,
			 "the cores of job %" PRIu64 " on its hosts are taken by other jobs; try "
			 "again when they have ended (scqueue)",
			 id);
}

/* 0 or -errno with a sentence. */
static int find_place(struct scored *d, struct sjob *job, const char *hosts, char *why,
		      size_t why_size)
{
	struct plan plan;
	char what[400] = "no memory";
	int err = plan_again(d, job->order, hosts, &plan, what, sizeof(what));

	if (err && !hosts && check_hosts(d, job->order, why, why_size))
		return err;
	if (err) {
		say_no_place(job->id, hosts, err, what, why, why_size);
		return err;
	}
	job->n_hosts = plan.n;
	job->hosts = plan_hosts(d, &plan);
	err = job->hosts ? plan_readdress(d, job->order, &plan) : -ENOMEM;
	job->place = plan.place;
	plan.place = NULL;
	if (err)
		snprintf(why, why_size, "scored has no memory");
	plan_fini(&plan);
	return err;
}

static void free_job(struct scored *d, struct sjob *job)
{
	if (job->place) {
		matrix_remove(d->matrix, job->id);
		matrix_place_fini(job->place, job->n_hosts);
	}
	free(job->place);
	order_free(job->order);
	free(job->hosts);
	free(job->devices);
	free(job);
}

/* 0 or -errno with a sentence. */
static int find_devices(const struct scored *d, struct sjob *job, const char *network, char *why,
			size_t why_size)
{
	job->devices = network ? network_devices(d->cluster, network, why, why_size) : NULL;
	return network && !job->devices ? -EINVAL : 0;
}

/* The first one is 1. Nobody counts them: a job may start twice from the same checkpoint. */
static int draw_incarnation(struct order *order, char *why, size_t why_size)
{
	uint32_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
		snprintf(why, why_size, "scored has no random number: %s", strerror(errno));
		return -errno;
	}
	order->incarnation = number > 1 ? number : 2;
	return 0;
}

/* Of the journal's order, in no list yet. NULL with a sentence. */
static struct sjob *read_job(struct scored *d, const struct restart_wish *wish, char *why,
			     size_t why_size)
{
	struct wanted wanted = {.round = wish->round};
	struct order *order = NULL;
	struct sjob *job = NULL;

	if (!look_up(d, wish->id, wish->uid, wish->is_operator, &wanted, why, why_size) &&
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
	if (!order->n_hosts || order->id != wish->id)
		snprintf(why, why_size, "the journal's order of job %" PRIu64 " is damaged",
			 wish->id);
	else if (!draw_incarnation(order, why, why_size))
		return job;
	free_job(d, job);
	return NULL;
}

/* Takes @job, which is not in a list yet. */
static struct sjob *let_wait(struct scored *d, struct sjob *job, const char *hosts, char *why,
			     size_t why_size)
{
	job->only = hosts ? strdup(hosts) : NULL;
	if (hosts && !job->only) {
		snprintf(why, why_size, "scored has no memory");
		free_job(d, job);
		return NULL;
	}
	job->state = SJOB_QUEUED;
	job->started = 0;
	job->again = job->order;
	job->order = NULL;
	jobs_enlist(d, job);
	account_charge(d, job);
	return job;
}

struct sjob *restart_make(struct scored *d, const struct restart_wish *wish, char *why,
			  size_t why_size)
{
	struct sjob *job;

	if (jobs_find(d, wish->id)) {
		snprintf(why, why_size, "job %" PRIu64 " has not ended; scqueue shows it",
			 wish->id);
		return NULL;
	}
	job = read_job(d, wish, why, why_size);
	if (!job)
		return NULL;
	if (find_devices(d, job, wish->network, why, why_size)) {
		free_job(d, job);
		return NULL;
	}
	if (wish->waits)
		return let_wait(d, job, wish->hosts, why, why_size);
	if (find_place(d, job, wish->hosts, why, why_size)) {
		free_job(d, job);
		return NULL;
	}
	jobs_enlist(d, job);
	account_charge(d, job);
	account_unqueue(job);
	return job;
}

int restart_remove(struct scored *d, uint64_t id, uid_t uid, bool is_operator, char *why,
		   size_t why_size)
{
	struct wanted wanted = {.round = 0};
	struct images_removal removal;
	struct order *order = NULL;
	int err;

	if (jobs_find(d, id)) {
		snprintf(why, why_size, "job %" PRIu64 " has not ended; scqueue shows it", id);
		return -EBUSY;
	}
	err = look_up(d, id, uid, is_operator, &wanted, why, why_size);
	if (!err)
		err = decode(&order, wanted.order, why, why_size);
	if (!err) {
		removal = (struct images_removal){
			.order = order, .round = wanted.image.round, .is_whole = true};
		err = images_remove(d, &removal, why, why_size);
	}
	order_free(order);
	free(wanted.order);
	return err;
}
