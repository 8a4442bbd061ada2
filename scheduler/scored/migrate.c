// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/migrate.h"

#include <stdint.h>
#include <stdlib.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/network.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/users_connection.h"

/* Why the job can't be asked now, to be freed; NULL: it can. */
static char *check(const struct user *user, const struct sjob *job, const char **ret_error)
{
	*ret_error = "EBUSY";
	if (user->moves)
		return daemon_text("this connection waits for job %llu already",
				   (unsigned long long)user->moves->id);
	if (job->mover)
		return daemon_text("the ranks of job %llu stand still already, for another "
				   "request; try again in a moment",
				   (unsigned long long)job->id);
	*ret_error = "EINVAL";
	if (job->state != SJOB_RUNNING)
		return daemon_text("job %llu does not run", (unsigned long long)job->id);
	if (job->is_suspended)
		return daemon_text("job %llu is suspended, so its ranks can't do anything; resume "
				   "it first, by SIGCONT to its scrun",
				   (unsigned long long)job->id);
	if (!job->hosts[0].node->link)
		return daemon_text("host %s, the first one of job %llu, is not connected now; try "
				   "again when scinfo shows it as up",
				   job->hosts[0].node->name, (unsigned long long)job->id);
	return NULL;
}

/* @head: without the job and the number of the request. */
static void ask(struct user *user, struct sjob *job, json_t *head)
{
	/* also after a restart of ours no answer to an older request has it */
	job->change = clock_realtime_ns() & INT64_MAX;
	json_object_set_new(head, "id", json_integer((json_int_t)job->id));
	json_object_set_new(head, "serial", json_integer((json_int_t)job->change));
	nodes_send(job->hosts[0].node, head);
	job->mover = user;
	user->moves = job;
}

char *migrate_ask(struct user *user, struct sjob *job, const char *network, const char **ret_error)
{
	char why[512], *devices, *text = check(user, job, ret_error);

	if (text)
		return text;
	devices = network_devices(user->scored->cluster, network, why, sizeof(why));
	if (!devices)
		return daemon_text("%s", why);
	job->is_tried = false;
	ask(user, job, json_pack("{s:s, s:s}", "op", OP_MIGRATE, "devices", devices));
	free(devices);
	return NULL;
}

char *migrate_try(struct user *user, struct sjob *job, const char **ret_error)
{
	char *text = check(user, job, ret_error);

	if (text)
		return text;
	*ret_error = "EINVAL";
	if (!job->job->wants_checkpoint)
		return daemon_text(
			"job %llu was started without -checkpoint, so its processes have "
			"no numbers of their own by which they could be restored; start "
			"it by scrun -checkpoint",
			(unsigned long long)job->id);
	job->is_tried = true;
	ask(user, job, json_pack("{s:s}", "op", OP_CHECKPOINT));
	return NULL;
}

static struct user *part(struct sjob *job)
{
	struct user *user = job->mover;

	if (user)
		user->moves = NULL;
	job->mover = NULL;
	return user;
}

static void disappoint(struct sjob *job, const char *error, const char *text)
{
	struct user *user = part(job);

	if (user)
		users_say(user, json_pack("{s:s, s:s, s:s}", "op", OP_ERROR, "error", error, "text",
					  text));
}

void migrate_over(struct scored *d, struct node *node, uint64_t id, uint64_t serial,
		  bool is_changed, const char *text, double stood_s)
{
	struct sjob *job = jobs_find(d, id);

	if (!job || !job->mover || job->hosts[0].node != node || job->change != serial)
		return;
	if (is_changed) {
		daemon_say("job %llu %s, and stood still for %.3f s", (unsigned long long)id,
			   job->is_tried ? "can be written to disk" : "has changed its devices",
			   stood_s);
		users_say(part(job), json_pack("{s:s, s:f}", "op", OP_OK, "stood_s", stood_s));
	} else {
		daemon_say("job %llu %s: %s", (unsigned long long)id,
			   job->is_tried ? "can't be written to disk"
					 : "has not changed its devices",
			   text);
		disappoint(job, "ECANCELED", text);
	}
}

void migrate_forget_user(struct user *user)
{
	if (user->moves)
		user->moves->mover = NULL;
	user->moves = NULL;
}

void migrate_forget_job(struct sjob *job)
{
	disappoint(job, "ESRCH", "the job has ended");
}

void migrate_forget_node(struct scored *d, const struct node *node)
{
	struct sjob *job;

	TAILQ_FOREACH(job, &d->placed, placed)
		if (job->n_hosts && job->hosts[0].node == node)
			disappoint(
				job, "ECONNRESET",
				job->is_tried
					? "the control link to the job's first host was lost; try "
					  "again when scinfo shows the host as up"
					: "the control link to the job's first host was lost, so "
					  "it is not known whether the job has changed its "
					  "devices; try again when scinfo shows the host as up");
}
