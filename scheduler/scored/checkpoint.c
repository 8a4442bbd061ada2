// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/images.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/movers.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/round.h"

struct checkpoint {
	struct scored *scored;
	struct sjob *job;
	struct round round;
	int64_t taken; /* seconds since the epoch; 0: the ranks have not stood still yet */
	bool is_own;   /* nobody has asked for it */
};

/* ---- what hosts are told ---- */

static json_t *image_head(const struct checkpoint *c, const char *stage)
{
	return json_pack("{s:s, s:I, s:I, s:s}", "op", OP_IMAGE, "id", (json_int_t)c->job->id,
			 "round", (json_int_t)c->round.number, "stage", stage);
}

/* Takes @head. */
static void tell_all(const struct checkpoint *c, json_t *head)
{
	for (size_t h = 0; h < c->job->n_hosts; h++)
		nodes_send(c->job->hosts[h].node, json_deep_copy(head));
	json_decref(head);
}

static void tell_commit(const struct checkpoint *c)
{
	uint64_t before = c->job->image.round;
	json_t *head = image_head(c, "commit");

	/* The one before stays until a later one is complete on all hosts. */
	json_object_set_new(head, "keep",
			    json_integer((json_int_t)(before ? before : c->round.number)));
	tell_all(c, head);
}

/* ---- its end ---- */

static void forget(struct checkpoint *c)
{
	c->job->checkpoint = NULL;
	round_fini(&c->round);
	free(c);
}

/* Of one that nobody has asked for. */
static void keep_failure(const struct checkpoint *c, const char *why)
{
	if (!c->is_own)
		return;
	free(c->job->image_failure);
	c->job->image_failure = strdup(why);
}

static void fail(struct checkpoint *c)
{
	daemon_say("job %llu: checkpoint %llu was not written: %s", (unsigned long long)c->job->id,
		   (unsigned long long)c->round.number, c->round.text);
	tell_all(c, image_head(c, "abandon"));
	movers_refuse(c->job, "ECANCELED", c->round.text);
	keep_failure(c, c->round.text);
	forget(c);
}

/* On disk of all hosts; 0 or -errno with a sentence. */
static int record(const struct checkpoint *c, char *why, size_t why_size)
{
	json_t *order = order_encode(c->job->order, 0);
	char *text = order ? json_dumps(order, JSON_COMPACT) : NULL;
	struct journal_checkpoint entry = {.job = c->job->id,
					   .round = c->round.number,
					   .uid = c->job->uid,
					   .taken = c->taken,
					   .bytes = round_bytes(&c->round),
					   .order = text ? text : ""};
	int err = journal_checkpoint_done(c->scored->journal, &entry, why, why_size);

	free(text);
	json_decref(order);
	return err;
}

static void succeed(struct checkpoint *c)
{
	struct sjob *job = c->job;
	char why[512];

	if (record(c, why, sizeof(why))) {
		round_fail(&c->round, why);
		movers_refuse(job, "EIO", why);
		keep_failure(c, why);
		forget(c);
		return;
	}
	job->image = (struct sjob_image){
		.round = c->round.number, .taken = c->taken, .bytes = round_bytes(&c->round)};
	daemon_say("job %llu: checkpoint %llu is written, %llu bytes; the ranks stood still for "
		   "%.3f s",
		   (unsigned long long)job->id, (unsigned long long)c->round.number,
		   (unsigned long long)job->image.bytes, c->round.stood_s);
	movers_answer(job,
		      json_pack("{s:s, s:f, s:I, s:I, s:i}", "op", OP_OK, "stood_s",
				c->round.stood_s, "round", (json_int_t)c->round.number, "bytes",
				(json_int_t)job->image.bytes, "hosts", (int)job->n_hosts));
	forget(c);
}

static void go_on(struct checkpoint *c, enum round_next next)
{
	switch (next) {
	case ROUND_WAIT:
		break;
	case ROUND_STAND:
		movers_ask(c->job, json_pack("{s:s}", "op", OP_CHECKPOINT));
		break;
	case ROUND_COMMIT:
		tell_commit(c);
		break;
	case ROUND_DONE:
		succeed(c);
		break;
	case ROUND_FAILED:
		fail(c);
	}
}

/* ---- what happens to it ---- */

/* All hosts must hear of it: one that did not would look at its processes, and not dump. */
static char *check_hosts(const struct sjob *job, const char **ret_error)
{
	*ret_error = "EINVAL";
	for (size_t h = 0; h < job->n_hosts; h++)
		if (!job->hosts[h].node->link)
			return daemon_text("host %s of job %llu is not connected now; try again "
					   "when scinfo shows it as up",
					   job->hosts[h].node->name, (unsigned long long)job->id);
	return NULL;
}

char *checkpoint_ask(struct scored *d, struct user *user, struct sjob *job, const char **ret_error)
{
	char *text = movers_check_images(user, job, ret_error), why[512];
	struct checkpoint *c;
	uint64_t number;

	if (!text)
		text = check_hosts(job, ret_error);
	if (text)
		return text;
	*ret_error = "EIO";
	number = journal_checkpoint_number(d->journal, job->id, why, sizeof(why));
	if (!number)
		return daemon_text("%s", why);
	*ret_error = "ENOMEM";
	c = calloc(1, sizeof(*c));
	if (!c || round_init(&c->round, number, job->n_hosts)) {
		free(c);
		return daemon_text("scored has no memory");
	}
	c->scored = d;
	c->job = job;
	c->is_own = !user;
	job->checkpoint = c;
	movers_tie(user, job);
	tell_all(c, image_head(c, "prepare"));
	return NULL;
}

static enum round_stage stage_of(const json_t *head)
{
	const char *stage = head_text(head, "stage");

	if (!strcmp(stage, "prepare"))
		return ROUND_PREPARED;
	return !strcmp(stage, "dump") ? ROUND_DUMPED : ROUND_COMMITTED;
}

void checkpoint_told(struct scored *d, struct node *node, const json_t *head)
{
	struct sjob *job = jobs_find(d, head_number(head, "id"));
	struct checkpoint *c = job ? job->checkpoint : NULL;
	struct sjob_host *host = c ? jobs_part_on(job, node) : NULL;

	if (host && head_number(head, "round") == c->round.number)
		go_on(c, round_told(&c->round, (size_t)(host - job->hosts), stage_of(head),
				    head_number(head, "bytes"), head_text(head, "text")));
}

bool checkpoint_stood(struct scored *d, struct node *node, const json_t *head)
{
	struct sjob *job = jobs_find(d, head_number(head, "id"));
	struct checkpoint *c = job ? job->checkpoint : NULL;
	bool is_well = json_is_true(json_object_get(head, "is_changed"));

	if (!c)
		return false;
	if (movers_is_answer(job, node, head_number(head, "serial"))) {
		c->taken = clock_realtime_s();
		go_on(c, round_stood(&c->round, json_number_value(json_object_get(head, "stood_s")),
				     is_well ? "" : head_text(head, "text")));
	}
	return true;
}

/* Nobody restarts it. */
static void remove_images(struct scored *d, const struct sjob *job)
{
	/* Also those that only some hosts have committed. */
	struct images_removal removal = {.order = job->order,
					 .round = job->image.round ? job->image.round : 1};
	char why[512];

	if (images_remove(d, &removal, why, sizeof(why)))
		daemon_say("checkpoints of job %llu: %s", (unsigned long long)job->id, why);
}

void checkpoint_forget_job(struct scored *d, struct sjob *job)
{
	struct checkpoint *c = job->checkpoint;

	if (c) {
		/* Nobody answers any more. */
		c->round.is_asked = false;
		go_on(c, round_fail(&c->round, "the job has ended"));
	}
	if (job->job->wants_checkpoint && job->n_hosts && !job->code)
		remove_images(d, job);
}

void checkpoint_forget_node(struct scored *d, const struct node *node)
{
	struct sjob *job;
	char text[512];

	snprintf(text, sizeof(text),
		 "the control link to host %s was lost; try again when scinfo shows it as up",
		 node->name);
	TAILQ_FOREACH(job, &d->placed, placed) {
		struct checkpoint *c = job->checkpoint;

		if (!c || !jobs_part_on(job, node))
			continue;
		if (job->hosts[0].node == node)
			c->round.is_asked = false;
		go_on(c, round_fail(&c->round, text));
	}
}
