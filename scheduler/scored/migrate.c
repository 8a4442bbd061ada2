// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/migrate.h"

#include <stdlib.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/movers.h"
#include "scheduler/scored/network.h"
#include "scheduler/scored/users_connection.h"

char *migrate_ask(struct user *user, struct sjob *job, const char *network, const char **ret_error)
{
	char why[512], *devices, *text = movers_check(user, job, ret_error);

	if (text)
		return text;
	devices = network_devices(user->scored->cluster, network, why, sizeof(why));
	if (!devices)
		return daemon_text("%s", why);
	job->is_tried = false;
	movers_ask(job, json_pack("{s:s, s:s}", "op", OP_MIGRATE, "devices", devices));
	movers_tie(user, job);
	free(devices);
	return NULL;
}

char *migrate_try(struct user *user, struct sjob *job, const char **ret_error)
{
	char *text = movers_check_images(user, job, ret_error);

	if (text)
		return text;
	job->is_tried = true;
	movers_ask(job, json_pack("{s:s}", "op", OP_CHECKPOINT));
	movers_tie(user, job);
	return NULL;
}

void migrate_over(struct scored *d, struct node *node, uint64_t id, uint64_t serial,
		  bool is_changed, const char *text, double stood_s)
{
	struct sjob *job = jobs_find(d, id);

	if (!job || !job->mover || !movers_is_answer(job, node, serial))
		return;
	if (is_changed) {
		daemon_say("job %llu %s, and stood still for %.3f s", (unsigned long long)id,
			   job->is_tried ? "can be written to disk" : "has changed its devices",
			   stood_s);
		movers_answer(job, json_pack("{s:s, s:f}", "op", OP_OK, "stood_s", stood_s));
	} else {
		daemon_say("job %llu %s: %s", (unsigned long long)id,
			   job->is_tried ? "can't be written to disk"
					 : "has not changed its devices",
			   text);
		movers_refuse(job, "ECANCELED", text);
	}
}

void migrate_forget_job(struct sjob *job)
{
	movers_refuse(job, "ESRCH", "the job has ended");
}

void migrate_forget_node(struct scored *d, const struct node *node)
{
	struct sjob *job;

	TAILQ_FOREACH(job, &d->placed, placed)
		if (job->n_hosts && job->hosts[0].node == node)
			movers_refuse(
				job, "ECONNRESET",
				job->is_tried
					? "the control link to the job's first host was lost; try "
					  "again when scinfo shows the host as up"
					: "the control link to the job's first host was lost, so "
					  "it is not known whether the job has changed its "
					  "devices; try again when scinfo shows the host as up");
}
