// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/users_connection.h"

#include "scheduler/proto/ops.h"
#include "scheduler/scored/account.h"

void users_say(const struct user *user, json_t *head)
{
	link_send(user->link, head, NULL, 0);
}

void users_watch(const struct user *user)
{
	link_pause(user->link, user->is_behind || user->account->is_resting);
}

void users_rest(const struct account *account)
{
	const struct user *user;

	LIST_FOREACH(user, &account->scored->users, all)
		if (user->account == account)
			users_watch(user);
}

/* ---- what becomes of a job ---- */

void users_tell_queued(struct scored *d, struct user *user, const struct sjob *job)
{
	json_t *head = json_pack("{s:s, s:I, s:I}", "op", OP_QUEUED, "id", (json_int_t)job->id,
				 "position", (json_int_t)queue_position(&d->queue, job->id));

	if (job->waits)
		json_object_set_new(head, "why", json_string(job->waits));
	users_say(user, head);
}

void users_tell_placed(struct user *user, const struct sjob *job)
{
	json_t *hosts = json_array(), *ranks = json_array(), *cores = json_array();

	for (size_t h = 0; h < job->n_hosts; h++) {
		const struct order_host *host = &job->order->hosts[h];
		json_t *list = json_array();

		for (size_t c = 0; c < host->n_cores; c++)
			json_array_append_new(list, json_integer(host->cores[c]));
		json_array_append_new(hosts, json_string(host->name));
		json_array_append_new(ranks, json_integer(host->ranks));
		json_array_append_new(cores, list);
	}
	users_say(user,
		  json_pack("{s:s, s:I, s:s, s:I, s:o, s:o, s:o}", "op", OP_PLACED, "id",
			    (json_int_t)job->id, "leader", job->order->hosts[0].address, "uid",
			    (json_int_t)job->uid, "hosts", hosts, "ranks", ranks, "cores", cores));
}

/* For scrun -statistics, which prints each as it stands. */
static json_t *statistics_of(const struct sjob *job)
{
	json_t *hosts = json_object();
	double cpu_s = 0;

	for (size_t h = 0; h < job->n_hosts; h++) {
		double each_s = (double)job->hosts[h].cpu_ns / 1e9;

		cpu_s += each_s;
		json_object_set_new(hosts, job->hosts[h].node->name, json_real(each_s));
	}
	return json_pack("{s:f, s:o}", "processor time, s", cpu_s, "processor time by host, s",
			 hosts);
}

void users_tell_ended(struct user *user, const struct sjob *job)
{
	json_t *head = json_pack("{s:s, s:I, s:i, s:s}", "op", OP_ENDED, "id", (json_int_t)job->id,
				 "code", job->code, "text", job->text);

	if (job->job->is_statistics && job->order)
		json_object_set_new(head, "statistics", statistics_of(job));
	if (job->wants_restart)
		json_object_set_new(head, "checkpoint", json_integer((json_int_t)job->image.round));
	users_say(user, head);
}

void users_forget_job(struct user *user)
{
	user->job = NULL;
}
