// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/get.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scremote/ends.h"
#include "scheduler/scremote/environment.h"

struct get *get_find(const struct agent *agent, uint64_t id)
{
	struct get *get;

	TAILQ_FOREACH(get, &agent->gets, all)
		if (get->id == id)
			return get;
	return NULL;
}

static void stop_hearing(struct get *get)
{
	if (get->control < 0)
		return;
	ev_io_stop(get->agent->loop, &get->heard);
	close(get->control);
	get->control = -1;
}

void get_free(struct get *get)
{
	TAILQ_REMOVE(&get->agent->gets, get, all);
	get->agent->n_gets--;
	stop_hearing(get);
	output_close(&get->output);
	free(get);
}

/* ---- what the reader says ---- */

static json_t *head_of(const struct get *get, const char *op)
{
	return json_pack("{s:s, s:I}", "op", op, "id", (json_int_t)get->id);
}

static void tell_file(struct get *get)
{
	json_t *head = head_of(get, OP_FILE);

	json_object_set_new(head, "size", json_integer((json_int_t)get->report.size));
	json_object_set_new(head, "mode", json_integer(get->report.mode));
	json_object_set_new(head, "mtime_ns", json_integer(get->report.mtime_ns));
	agent_send(get->agent, head, NULL, 0);
	get->is_told = true;
	output_resume(&get->output);
}

static void fail(struct get *get)
{
	agent_send_failed(get->agent, get->id, get->report.error, get->report.text);
	get_free(get);
}

void get_cancel(struct get *get)
{
	get->report.error = ECANCELED;
	snprintf(get->report.text, sizeof(get->report.text), "cancelled");
	fail(get);
}

/* The reader has ended well, and all it read is sent. */
static void check_end(struct get *get)
{
	json_t *head;

	if (get->control >= 0 || get->output.fd >= 0)
		return;
	agent_send(get->agent, head_of(get, OP_DATA), NULL, 0);
	head = head_of(get, OP_FILE_DONE);
	json_object_set_new(head, "sha256", json_string(get->report.sha256));
	agent_send(get->agent, head, NULL, 0);
	get_free(get);
}

static void on_heard(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct get *get = watcher->data;

	(void)loop;
	(void)events;
	if (!file_hear(&get->report, get->control, get->agent->host))
		return;
	if (get->report.error) {
		fail(get);
	} else if (!get->is_told) {
		tell_file(get);
	} else {
		stop_hearing(get);
		check_end(get);
	}
}

/* ---- bytes ---- */

static size_t has_room(void *owner)
{
	const struct get *get = owner;

	return get->is_told && !link_is_full(get->agent->link) ? get->room : 0;
}

static void on_bytes(int stream, const char *bytes, size_t size, void *owner)
{
	struct get *get = owner;

	(void)stream;
	get->room -= size;
	agent_send(get->agent, head_of(get, OP_DATA), bytes, size);
}

static void on_end(void *owner)
{
	check_end(owner);
}

static const struct output_events output_events = {.room = has_room,
						   .bytes = on_bytes,
						   .end = on_end};

void get_resume(struct get *get)
{
	output_resume(&get->output);
}

void get_room(struct get *get, size_t bytes)
{
	get->room += bytes;
	if (get->room > LINK_FULL)
		get->room = LINK_FULL;
	get_resume(get);
}

/* ---- the beginning ---- */

static int fork_reader(const struct agent *agent, const struct message *m, struct ends *e)
{
	struct file_plan plan = {.message = m, .host = agent->host, .home = environment_home()};
	int err = ends_open_control(e);

	if (!err)
		err = ends_make_pipe(e->out, 0);
	if (err)
		return err;
	plan.control = e->control[1];
	plan.bytes = e->out[1];
	return file_read(&plan);
}

static void begin(struct get *get, struct agent *agent, uint64_t id, const struct ends *e)
{
	*get = (struct get){.agent = agent, .id = id, .control = e->control[0], .room = LINK_FULL};
	TAILQ_INSERT_TAIL(&agent->gets, get, all);
	agent->n_gets++;
	ev_io_init(&get->heard, on_heard, get->control, EV_READ);
	get->heard.data = get;
	ev_io_start(agent->loop, &get->heard);
	output_open(&get->output, agent->loop, e->out[0], 0, &output_events, get);
}

void get_start(struct agent *agent, const struct message *message)
{
	struct ends ends = ENDS_NONE;
	struct get *get = malloc(sizeof(*get));
	int err = agent->n_gets >= GET_MAX ? -EAGAIN : !get ? -ENOMEM : 0;

	if (!err)
		err = fork_reader(agent, message, &ends);
	if (err >= 0) {
		ends_close(&ends, 1);
		begin(get, agent, message->id, &ends);
		return;
	}
	ends_close(&ends, 0);
	ends_close(&ends, 1);
	free(get);
	agent_send_failed(agent, message->id, -err, strerror(-err));
}
