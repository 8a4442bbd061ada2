// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/ops.h"
#include "scheduler/proto/program.h"
#include "scheduler/scremote/ends.h"
#include "scheduler/scremote/environment.h"

struct run *run_find(const struct agent *agent, uint64_t id)
{
	struct run *run;

	TAILQ_FOREACH(run, &agent->runs, all)
		if (run->id == id)
			return run;
	return NULL;
}

/* ---- the end ---- */

void run_refuse(struct agent *agent, uint64_t id, const struct keeper_report *report)
{
	json_t *head = json_pack("{s:s, s:I, s:i}", "op", OP_ENDED, "id", (json_int_t)id, "status",
				 report->status);
	const char *name = report->error ? strerrorname_np(report->error) : NULL;

	if (report->error) {
		json_object_set_new(head, "error", json_string(name ? name : "EIO"));
		json_object_set_new(head, "text", agent_text(report->text));
	}
	agent_send(agent, head, NULL, 0);
}

bool run_is_under_way(const struct run *run)
{
	return run->control >= 0;
}

void run_free(struct run *run)
{
	struct agent *agent = run->agent;

	TAILQ_REMOVE(&agent->runs, run, all);
	agent->n_runs--;
	if (run->control >= 0) {
		ev_io_stop(agent->loop, &run->heard);
		close(run->control);
	}
	input_close(&run->input);
	output_close(&run->output[0]);
	output_close(&run->output[1]);
	free(run);
}

/* The command has ended, and all that it wrote is told. */
static void check_end(struct run *run)
{
	if (run->control >= 0 || run->output[0].fd >= 0 || run->output[1].fd >= 0)
		return;
	run_refuse(run->agent, run->id, &run->report);
	run_free(run);
}

static void on_heard(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct run *run = watcher->data;
	ssize_t n = recv(run->control, &run->report, sizeof(run->report), MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(run->report)) {
		run->report = (struct keeper_report){.status = SIGKILL, .error = ECHILD};
		run->agent->is_cut = true;
		snprintf(run->report.text, sizeof(run->report.text),
			 "host %s: the process that watched over the command was killed",
			 run->agent->host);
	}
	ev_io_stop(loop, &run->heard);
	close(run->control);
	run->control = -1;
	input_close(&run->input);
	output_finish(&run->output[0]);
	output_finish(&run->output[1]);
	check_end(run);
}

/* ---- input and output ---- */

static void give_room(size_t bytes, void *owner)
{
	const struct run *run = owner;

	agent_send(run->agent,
		   json_pack("{s:s, s:I, s:I}", "op", OP_IN_ROOM, "id", (json_int_t)run->id,
			     "bytes", (json_int_t)bytes),
		   NULL, 0);
}

static size_t has_room(void *owner)
{
	const struct run *run = owner;

	return link_is_full(run->agent->link) ? 0 : run->room;
}

static void on_bytes(int stream, const char *bytes, size_t size, void *owner)
{
	struct run *run = owner;

	run->room -= size;
	agent_send(run->agent,
		   json_pack("{s:s, s:I, s:i}", "op", OP_OUT, "id", (json_int_t)run->id, "stream",
			     stream),
		   bytes, size);
}

static void on_end(void *owner)
{
	check_end(owner);
}

static const struct output_events output_events = {.room = has_room,
						   .bytes = on_bytes,
						   .end = on_end};

int run_input(struct run *run, const char *bytes, size_t size)
{
	return input_add(&run->input, bytes, size);
}

void run_resume(struct run *run)
{
	output_resume(&run->output[0]);
	output_resume(&run->output[1]);
}

void run_room(struct run *run, size_t bytes)
{
	run->room += bytes;
	/* More than was ever under way is no credit. */
	if (run->room > LINK_FULL)
		run->room = LINK_FULL;
	run_resume(run);
}

void run_signal(struct run *run, int signal)
{
	/* A command that has just ended hears none. */
	if (run->control >= 0)
		send(run->control, &signal, sizeof(signal), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- the beginning ---- */

static int open_ends(struct ends *e, const struct message *m)
{
	int err = ends_open_control(e);

	if (!err)
		err = ends_make_pipe(e->out, 0);
	if (!err && !m->merges_stderr)
		err = ends_make_pipe(e->err, 0);
	if (!err && m->has_stdin)
		err = ends_make_pipe(e->in, 1);
	if (!err && !m->has_stdin) {
		e->in[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		err = e->in[1] < 0 ? -errno : 0;
	}
	return err;
}

static int fork_keeper(const struct agent *agent, const struct message *m, const struct ends *e)
{
	struct keeper_plan plan = {.run = m,
				   .host = agent->host,
				   .home = environment_home(),
				   .control = e->control[1],
				   .stdio = {e->in[1], e->out[1],
					     m->merges_stderr ? e->out[1] : e->err[1]}};

	return keeper_fork(&plan);
}

static void begin(struct agent *agent, struct run *run, const struct message *m,
		  const struct ends *e)
{
	*run = (struct run){
		.agent = agent, .id = m->id, .control = e->control[0], .room = LINK_FULL};
	TAILQ_INSERT_TAIL(&agent->runs, run, all);
	agent->n_runs++;
	ev_io_init(&run->heard, on_heard, run->control, EV_READ);
	run->heard.data = run;
	ev_io_start(agent->loop, &run->heard);
	input_open(&run->input, agent->loop, e->in[0], give_room, run);
	output_open(&run->output[0], agent->loop, e->out[0], 1, &output_events, run);
	output_open(&run->output[1], agent->loop, e->err[0], 2, &output_events, run);
}

static int try_to_start(struct agent *agent, const struct message *m, struct ends *e)
{
	struct run *run;
	int err = agent->n_runs < RUN_MAX ? open_ends(e, m) : -EAGAIN;

	if (err)
		return err;
	run = malloc(sizeof(*run));
	if (!run)
		return -ENOMEM;
	err = fork_keeper(agent, m, e);
	if (err < 0) {
		free(run);
		return err;
	}
	ends_close(e, 1);
	begin(agent, run, m, e);
	return 0;
}

void run_start(struct agent *agent, const struct message *message)
{
	struct keeper_report report = {.status = PROGRAM_NOT_EXECUTABLE << 8};
	struct ends ends = ENDS_NONE;
	int err = try_to_start(agent, message, &ends);

	if (!err)
		return;
	ends_close(&ends, 0);
	ends_close(&ends, 1);
	report.error = -err;
	snprintf(report.text, sizeof(report.text), "host %s: a command could not be started: %s",
		 agent->host, strerror(-err));
	run_refuse(agent, message->id, &report);
}
