// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/movers.h"

#include <stdint.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/users_connection.h"

char *movers_check(const struct user *user, const struct sjob *job, const char **ret_error)
{
	*ret_error = "EBUSY";
	if (user && user->moves)
		return daemon_text("this connection waits for job %llu already",
				   (unsigned long long)user->moves->id);
	if (job->mover || job->checkpoint)
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

char *movers_check_images(const struct user *user, const struct sjob *job, const char **ret_error)
{
	char *text = movers_check(user, job, ret_error);

	if (text || job->job->wants_checkpoint)
		return text;
	*ret_error = "EINVAL";
	return daemon_text("job %llu was started without -checkpoint, so its processes have no "
			   "numbers of their own by which they could be restored; start it by "
			   "scrun -checkpoint",
			   (unsigned long long)job->id);
}

void movers_ask(struct sjob *job, json_t *head)
{
	/* also after a restart of ours no answer to an older request has it */
	job->change = clock_realtime_ns() & INT64_MAX;
	json_object_set_new(head, "id", json_integer((json_int_t)job->id));
	json_object_set_new(head, "serial", json_integer((json_int_t)job->change));
	nodes_send(job->hosts[0].node, head);
}

void movers_tie(struct user *user, struct sjob *job)
{
	job->mover = user;
	if (user)
		user->moves = job;
}

bool movers_is_answer(const struct sjob *job, const struct node *node, uint64_t serial)
{
	return job->hosts[0].node == node && job->change == serial;
}

void movers_answer(struct sjob *job, json_t *head)
{
	struct user *user = job->mover;

	job->mover = NULL;
	if (user) {
		user->moves = NULL;
		users_say(user, head);
	} else {
		json_decref(head);
	}
}

void movers_refuse(struct sjob *job, const char *error, const char *text)
{
	movers_answer(job,
		      json_pack("{s:s, s:s, s:s}", "op", OP_ERROR, "error", error, "text", text));
}

void movers_forget_user(struct user *user)
{
	if (user->moves)
		user->moves->mover = NULL;
	user->moves = NULL;
}
