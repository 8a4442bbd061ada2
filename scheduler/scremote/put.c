// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/put.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/ops.h"
#include "scheduler/proto/shared.h"
#include "scheduler/scremote/ends.h"
#include "scheduler/scremote/environment.h"

struct put *put_find(const struct agent *agent, const struct link *source, uint64_t id)
{
	struct put *put;

	TAILQ_FOREACH(put, &agent->puts, all)
		if (put->id == id && put->source == source)
			return put;
	return NULL;
}

/* ---- the end ---- */

static void stop_hearing(struct put *put)
{
	if (put->control < 0)
		return;
	ev_io_stop(put->agent->loop, &put->heard);
	close(put->control);
	put->control = -1;
}

void put_free(struct put *put)
{
	struct branch *branch;

	TAILQ_REMOVE(&put->agent->puts, put, all);
	put->agent->n_puts--;
	stop_hearing(put);
	input_close(&put->input);
	while ((branch = TAILQ_FIRST(&put->branches))) {
		TAILQ_REMOVE(&put->branches, branch, all);
		branch_close(branch);
	}
	free(put);
}

static bool is_done(const struct put *put)
{
	const struct branch *branch;

	if (put->control >= 0 || (!put->is_at_end && !put->has_failed))
		return false;
	TAILQ_FOREACH(branch, &put->branches, all)
		if (!branch_is_done(branch))
			return false;
	return true;
}

/* ---- what has gone on ---- */

/* The source gets room for what everybody has; may be the end. */
static void check(struct put *put)
{
	const struct branch *branch;
	uint64_t passed = put->written;

	TAILQ_FOREACH(branch, &put->branches, all)
		if (branch->passed < passed)
			passed = branch->passed;
	if (put->source && passed > put->given) {
		link_send(put->source,
			  json_pack("{s:s, s:I, s:I}", "op", OP_IN_ROOM, "id", (json_int_t)put->id,
				    "bytes", (json_int_t)(passed - put->given)),
			  NULL, 0);
		put->given = passed;
	}
	if (is_done(put))
		put_free(put);
}

static void moved(void *owner)
{
	check(owner);
}

/*
 * Bytes were written, or thrown away as the writer is gone. During is_busy the caller of input_*()
 * checks.
 */
static void wrote(size_t bytes, void *owner)
{
	struct put *put = owner;

	put->written += bytes;
	if (!put->is_busy)
		check(put);
}

static void on_heard(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct put *put = watcher->data;
	struct file_report report;

	(void)loop;
	(void)events;
	if (!file_hear(&report, put->control, put->agent->host))
		return;
	stop_hearing(put);
	put->has_failed = report.error != 0;
	if (report.error)
		agent_send_failed(put->agent, put->id, report.error, report.text);
	else
		agent_send(put->agent,
			   json_pack("{s:s, s:I, s:s}", "op", OP_FILE_DONE, "id",
				     (json_int_t)put->id, "sha256", report.sha256),
			   NULL, 0);
	put->is_busy = true;
	input_discard(&put->input);
	put->is_busy = false;
	check(put);
}

/* ---- what comes ---- */

static int add_to_branches(struct put *put, const char *bytes, size_t size)
{
	struct shared *shared = NULL;
	struct branch *branch;
	char *copy;

	if (size) {
		copy = malloc(size);
		if (copy)
			memcpy(copy, bytes, size);
		shared = shared_new(copy, size);
		if (!shared)
			return -ENOMEM;
	}
	TAILQ_FOREACH(branch, &put->branches, all)
		branch_add(branch, shared);
	shared_release(shared);
	return 0;
}

int put_data(struct put *put, const char *bytes, size_t size)
{
	int err = 0;

	if (put->is_at_end || size > LINK_FULL - (put->come - put->given))
		return -ENOBUFS;
	put->come += size;
	put->is_at_end = !size;
	if (!TAILQ_EMPTY(&put->branches))
		err = add_to_branches(put, bytes, size);
	put->is_busy = true;
	if (!err)
		err = input_add(&put->input, bytes, size);
	put->is_busy = false;
	if (!err)
		check(put);
	return err;
}

void put_lose(struct agent *agent, const struct link *source)
{
	struct put *put, *next;

	for (put = TAILQ_FIRST(&agent->puts); put; put = next) {
		next = TAILQ_NEXT(put, all);
		if (put->source != source)
			continue;
		/* A file that has come completely does not need its source any more. */
		if (put->is_at_end) {
			put->source = NULL;
			continue;
		}
		if (put->control >= 0)
			agent_send_failed(agent, put->id, ECONNRESET,
					  "the host that passes the file on to this one is lost");
		put_free(put);
	}
}

/* ---- the beginning ---- */

static int fork_writer(struct agent *agent, const struct message *m, struct ends *e)
{
	struct file_plan plan = {.message = m, .host = agent->host, .home = environment_home()};
	int err = ends_open_control(e);

	if (!err)
		err = ends_make_pipe(e->in, 1);
	if (err)
		return err;
	plan.control = e->control[1];
	plan.bytes = e->in[1];
	return file_write(&plan);
}

static void open_branches(struct put *put, const struct message *m)
{
	for (size_t i = 0; i < m->n_children; i++) {
		struct branch *branch = branch_open(put->agent, m, &m->children[i], moved, put);

		if (branch)
			TAILQ_INSERT_TAIL(&put->branches, branch, all);
		else
			agent_send_cut(put->agent, m->id, m->children[i].hosts, "no memory");
	}
}

static void begin(struct put *put, struct agent *agent, struct link *source,
		  const struct message *m, const struct ends *e)
{
	*put = (struct put){
		.agent = agent, .source = source, .id = m->id, .control = e->control[0]};
	TAILQ_INIT(&put->branches);
	TAILQ_INSERT_TAIL(&agent->puts, put, all);
	agent->n_puts++;
	ev_io_init(&put->heard, on_heard, put->control, EV_READ);
	put->heard.data = put;
	ev_io_start(agent->loop, &put->heard);
	input_open(&put->input, agent->loop, e->in[0], wrote, put);
	open_branches(put, m);
}

void put_start(struct agent *agent, struct link *source, const struct message *message)
{
	struct ends ends = ENDS_NONE;
	struct put *put = malloc(sizeof(*put));
	int err = agent->n_puts >= PUT_MAX ? -EAGAIN : !put ? -ENOMEM : 0;

	if (!err)
		err = fork_writer(agent, message, &ends);
	if (err >= 0) {
		ends_close(&ends, 1);
		begin(put, agent, source, message, &ends);
		return;
	}
	ends_close(&ends, 0);
	ends_close(&ends, 1);
	free(put);
	agent_send_failed(agent, message->id, -err, strerror(-err));
	for (size_t i = 0; i < message->n_children; i++)
		agent_send_cut(agent, message->id, message->children[i].hosts,
			       "the host above cannot pass it on");
}
