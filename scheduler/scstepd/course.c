// SPDX-License-Identifier: BSD-3-Clause
/*
 * course - the state machine. Whatever ends the job goes through course_stop(); nothing is closed
 * before the loop has ended, so that no part is freed while it is being called.
 */
#include "scheduler/scstepd/course.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/messages_check.h"
#include "scheduler/proto/ops.h"
#include "scheduler/proto/signals.h"
#include "scheduler/scstepd/absence.h"
#include "scheduler/scstepd/bind.h"
#include "scheduler/scstepd/control.h"
#include "scheduler/scstepd/input.h"
#include "scheduler/scstepd/leader.h"
#include "scheduler/scstepd/memory_limit.h"
#include "scheduler/scstepd/output.h"
#include "scheduler/scstepd/pmi.h"
#include "scheduler/scstepd/pmix/nspace.h"
#include "scheduler/scstepd/pmix/server.h"
#include "scheduler/scstepd/pmix/shift.h"
#include "scheduler/scstepd/pmix/upcalls.h"
#include "scheduler/scstepd/ranks.h"
#include "scheduler/scstepd/standstill.h"
#include "scheduler/scstepd/transport.h"

static void is_over(struct step *step)
{
	if (step->state == STEP_OVER)
		return;
	step->state = STEP_OVER;
	ev_timer_stop(step->loop, &step->limit);
	if (step->leader)
		leader_over(step->leader);
	else
		control_ended(step->control, 0, "");
	ev_break(step->loop, EVBREAK_ALL);
}

/* Our own ranks are gone; those below us in the tree go on through us. */
static void check_over(struct step *step)
{
	if (step->state != STEP_KILLING || !step->is_killed || ranks_alive(step->ranks))
		return;
	if (step->is_cut ||
	    (!tree_children(step->tree) && !(step->leader && leader_is_awaited(step->leader))))
		is_over(step);
}

static void kill_all(struct step *step)
{
	step->state = STEP_KILLING;
	ev_timer_stop(step->loop, &step->limit);
	ev_timer_set(&step->limit, COURSE_KILL_S, 0);
	ev_timer_start(step->loop, &step->limit);
	ranks_signal(step->ranks, SIGKILL);
	if (control_kill(step->control))
		step->is_killed = true;
	check_over(step);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct step *step = watcher->data;

	if (step->state == STEP_STOPPING)
		kill_all(step);
	else
		is_over(step);
}

/* Before the loop waits: what has happened since it woke may have been the last thing. */
static void on_check(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct step *step = watcher->data;

	if (step->state == STEP_STOPPING && !ranks_alive(step->ranks))
		kill_all(step);
	else
		check_over(step);
}

void course_stop(struct step *step, int code, const char *text)
{
	if (step->leader)
		leader_end(step->leader, code, text);
	if (step->state >= STEP_STOPPING)
		return;
	if (step->state == STEP_BOOT) {
		control_failed(step->control, code, text);
		step->state = STEP_OVER;
		ev_break(step->loop, EVBREAK_ALL);
		return;
	}
	/* The cause of the end, if only this host knows it, must not be lost with the host. */
	if (!step->leader && !step->is_told)
		control_failed(step->control, code, text);
	if (step->tree)
		tree_release(step->tree);
	step->state = STEP_STOPPING;
	ev_timer_set(&step->limit, COURSE_TERM_S, 0);
	ev_timer_start(step->loop, &step->limit);
	ranks_signal(step->ranks, SIGTERM);
	ranks_signal(step->ranks, SIGCONT);
}

/* ---- worlds ---- */

static void begin_world(struct step *step, struct world *world)
{
	char why[1024];
	int64_t rank = -1;
	int code = 0;

	if (step->state >= STEP_STOPPING)
		return;
	if (nspace_register(step, world, why, sizeof(why)))
		code = STEP_CODE_START;
	if (!code && world->hosts[step->here].ranks) {
		standstill_expect(step->standstill, world);
		code = ranks_start(step->ranks, world, &rank, why, sizeof(why));
	}
	if (!code && !world->number)
		input_begin(step->input);
	if (code)
		step_failed(step, world->number, rank, code, why);
	else if (world->hosts[step->here].ranks)
		control_adopt(step->control, world);
}

/* Both are needed for a message to host 0; ranks are forked meanwhile. */
static void send_ready(struct step *step, const struct world *world)
{
	json_t *pids = json_array(), *paths = json_array(), *bindings = json_array();

	for (size_t i = 0; i < ranks_count(step->ranks); i++) {
		const struct rank *rank = ranks_at(step->ranks, i);
		char *text;

		if (rank->world != world)
			continue;
		text = bind_text(step->bind, rank->slot);
		json_array_append_new(pids, json_integer(rank_host_pid(rank)));
		json_array_append_new(paths, json_string(rank->path));
		json_array_append_new(bindings, json_string(text ? text : ""));
		free(text);
	}
	step_send(step, 0,
		  json_pack("{s:s, s:i, s:o, s:o, s:o}", "op", OP_READY, "world",
			    (int)world->number, "pids", pids, "paths", paths, "bindings", bindings),
		  NULL, 0);
}

void course_adopted(struct step *step, uint32_t number, const char *failure)
{
	const struct world *world = worlds_get(&step->worlds, number);

	if (failure)
		step_failed(step, number, -1, STEP_CODE_START, failure);
	else if (world)
		send_ready(step, world);
	if (!number && step->state == STEP_JOIN)
		step->state = STEP_READY;
}

static void begin(struct step *step)
{
	if (step->is_joined && step->is_served && step->state == STEP_JOIN)
		begin_world(step, worlds_get(&step->worlds, 0));
}

void course_served(struct step *step, const char *failure)
{
	if (failure) {
		step_failed(step, 0, -1, STEP_CODE_START, failure);
		return;
	}
	step->is_served = true;
	begin(step);
}

/* ---- the tree ---- */

static void on_joined(void *owner)
{
	struct step *step = owner;

	step->is_joined = true;
	begin(step);
}

static void on_go(struct step *step, const json_t *head)
{
	struct world *world = worlds_get(
		&step->worlds, (uint64_t)json_integer_value(json_object_get(head, "world")));

	if (!world || step->state >= STEP_STOPPING)
		return;
	ranks_go(step->ranks, world);
	if (!world->number) {
		step->state = STEP_RUN;
		control_started(step->control);
	}
}

static void on_signal(struct step *step, int signo)
{
	ranks_signal(step->ranks, signo);
	/* A stopped rank must be continued to receive the signal. */
	if (signo == SIGTERM || signo == SIGINT || signo == SIGHUP || signo == SIGQUIT)
		ranks_signal(step->ranks, SIGCONT);
}

static void on_world(struct step *step, const json_t *head)
{
	struct world *world = worlds_get(
		&step->worlds, (uint64_t)json_integer_value(json_object_get(head, "world")));
	char why[400];

	/* The root has added it when it planned it. */
	if (!step->here ? !world : world_add(&step->worlds, head, &world, why, sizeof(why)) != 0)
		course_stop(step, STEP_CODE_START, step->here ? why : "spawn: lost");
	else
		begin_world(step, world);
}

static void on_release(const struct step *step)
{
	if (step->state >= STEP_STOPPING)
		return;
	pmi_release();
	debug_release(step);
}

static void on_stop(struct step *step, const json_t *head)
{
	step->is_told = true;
	course_stop(step, (int)json_integer_value(json_object_get(head, "code")),
		    json_string_value(json_object_get(head, "text")));
}

static void on_fenced(const struct step *step, const json_t *head, const char *body, size_t size)
{
	if (step->leader)
		leader_met(step->leader);
	collective_told(step->collectives, head, body, size);
}

/* Whether a host's message is as the table says; else the job ends. */
static bool is_understood(struct step *step, size_t from, const json_t *head)
{
	char why[256], text[600];

	if (messages_check(MESSAGES_SCSTEPD_TO_SCSTEPD, head, why, sizeof(why)) != -EINVAL)
		return true;
	snprintf(text, sizeof(text), "host %s: host %s sent a message that makes no sense: %s",
		 step->host, step->order->hosts[from].name, why);
	course_stop(step, STEP_CODE_LOST, text);
	return false;
}

static void on_message(const char *op, size_t from, json_t *head, const char *body,
		       size_t body_size, void *owner)
{
	struct step *step = owner;

	if (!is_understood(step, from, head))
		return;
	if (step->leader && leader_told(step->leader, op, from, head, body, body_size))
		return;
	if (!strcmp(op, OP_OUT_ROOM))
		output_room(step->output, json_integer_value(json_object_get(head, "bytes")));
	else if (!strcmp(op, OP_IN))
		input_told(step->input, body, body_size);
	else if (!strcmp(op, OP_WINDOW))
		input_window(step->input, (int)json_integer_value(json_object_get(head, "columns")),
			     (int)json_integer_value(json_object_get(head, "rows")));
	else if (!strcmp(op, OP_FENCED))
		on_fenced(step, head, body, body_size);
	else if (!strcmp(op, OP_STANDSTILL))
		standstill_begin(step->standstill, head);
	else if (!strcmp(op, OP_GO))
		on_go(step, head);
	else if (!strcmp(op, OP_WORLD))
		on_world(step, head);
	else if (!strcmp(op, OP_SIGNAL) && step->leader && from)
		leader_signal(step->leader,
			      (int)json_integer_value(json_object_get(head, "signal")));
	else if (!strcmp(op, OP_SIGNAL))
		on_signal(step, (int)json_integer_value(json_object_get(head, "signal")));
	else if (!strcmp(op, OP_STOP))
		on_stop(step, head);
	else if (!strcmp(op, OP_ABSENT))
		absence_told(step, head);
	else if (!strcmp(op, OP_RELEASE))
		on_release(step);
	else if (!strcmp(op, OP_MODEX))
		modex_asked(step, from, head);
	else if (!strcmp(op, OP_MODEX_DATA))
		modex_answered(step, head, body, body_size);
	else if (!strcmp(op, OP_ANSWER))
		ask_answered(step, head, body, body_size);
	else if (!strcmp(op, OP_EVENT))
		event_told(step, head, body, body_size);
	else if (step->leader)
		publish_told(step, op, from, head, body, body_size);
}

static void on_combine(const char *op, size_t child, json_t *head, const char *body,
		       size_t body_size, void *owner)
{
	struct step *step = owner;
	char why[300];
	int rc;

	if (!is_understood(step, child, head))
		return;
	rc = collective_combine(step->collectives, op, child, head, body, body_size);
	if (!rc)
		return;
	snprintf(why, sizeof(why), "host %s: a %s of host %s fails: %s", step->host, op,
		 step->order->hosts[child].name, strerror(-rc));
	course_stop(step, STEP_CODE_LOST, why);
}

static void on_lost(size_t host, const char *reason, void *owner)
{
	struct step *step = owner;
	char why[600];

	/* At the end links go one after another, from the leaves to the root. */
	if (step->state >= STEP_STOPPING)
		return;
	if (step->is_joined)
		snprintf(why, sizeof(why), "host %s is lost: %s", step->order->hosts[host].name,
			 reason);
	else
		snprintf(why, sizeof(why), "host %s does not reach host %s: %s", step->host,
			 step->order->hosts[host].name, reason);
	course_stop(step, STEP_CODE_LOST, why);
}

static void on_drained(void *owner)
{
	struct step *step = owner;

	output_check(step->output);
}

static void on_parted(void *owner);

static const struct tree_events tree_events = {.joined = on_joined,
					       .message = on_message,
					       .combine = on_combine,
					       .lost = on_lost,
					       .drained = on_drained,
					       .parted = on_parted};

/* ---- the order ---- */

static void on_migrated(struct step *step, uint64_t serial, bool is_changed, const char *text,
			double stood_s)
{
	control_migrated(step->control, serial, is_changed, text, stood_s);
}

/* ---- all links go, and come again ---- */

static void hold(struct step *step)
{
	ev_timer_stop(step->loop, &step->part_limit);
	control_shut(step->control, true);
	tree_hold(step->tree);
	standstill_ready(step->standstill, NULL);
}

static void part(struct step *step)
{
	if (step->leader && leader_is_awaited(step->leader)) {
		standstill_ready(step->standstill, "scrun is not attached yet; try again");
		return;
	}
	if (!step->leader || leader_part(step->leader)) {
		hold(step);
		return;
	}
	ev_timer_set(&step->part_limit, COURSE_PART_S, 0);
	ev_timer_start(step->loop, &step->part_limit);
}

void course_front_parted(struct step *step)
{
	if (ev_is_active(&step->part_limit))
		hold(step);
}

static void on_part_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct step *step = watcher->data;

	standstill_ready(step->standstill,
			 "scrun does not take what the ranks have printed; is it stopped, or does "
			 "nobody read its output?");
}

static void go_away(struct step *step)
{
	tree_part(step->tree);
}

static void on_parted(void *owner)
{
	const struct step *step = owner;

	control_part(step->control);
}

/* scnoded says so, as no link is left by which it could. */
static void on_wake(struct ev_loop *loop, ev_signal *watcher, int events)
{
	const struct step *step = watcher->data;

	if (step->control)
		control_return(step->control);
}

static void stay(struct step *step)
{
	control_shut(step->control, false);
	if (tree_go_on(step->tree, step->order))
		course_stop(step, STEP_CODE_LOST, "out of memory");
}

void course_returned(struct step *step, const char *why)
{
	stay(step);
	standstill_ready(step->standstill, why);
}

static const struct standstill_events standstill_events = {.told = on_migrated,
							   .part = part,
							   .go_away = go_away,
							   .stay = stay};

static int make_parts(struct step *step, char *why, size_t why_size)
{
	snprintf(why, why_size, "host %s: out of memory", step->host);
	if (worlds_init(&step->worlds, step->order))
		return -ENOMEM;
	step->bind = bind_open(step->order, step->cpus, why, why_size);
	if (!step->bind)
		return -errno;
	step->output = output_open(step);
	step->input = input_open(step);
	step->ranks = ranks_open(step);
	step->standstill = standstill_open(step, &standstill_events);
	if (!step->standstill) {
		snprintf(why, why_size, "host %s: %s/" STANDSTILL_FILE " can't be made: %s",
			 step->host, step->tmpdir, strerror(errno));
		return -errno;
	}
	if (!step->output || !step->input || !step->ranks)
		return -ENOMEM;
	if (!step->here) {
		step->leader = leader_open(step);
		if (!step->leader)
			return -ENOMEM;
	}
	step->tree = tree_open(step->loop, step->auth, step->order, &tree_events, step);
	if (!step->tree)
		return -ENOMEM;
	step->collectives = collective_open(&step->worlds, step->here, step->tree);
	return step->collectives ? server_open(step) : -ENOMEM;
}

void course_order(struct step *step, json_t *head)
{
	const json_t *host = json_object_get(head, "host");
	const char *tmpdir = json_string_value(json_object_get(host, "tmpdir"));
	const char *cpus = json_string_value(json_object_get(host, "cpus"));
	char why[1024];

	if (step->order)
		return;
	if (!tmpdir || *tmpdir != '/' || strlen(tmpdir) > STEP_PATH_MAX) {
		control_failed(step->control, STEP_CODE_START, "scstepd: the order has no tmpdir");
		return;
	}
	if (order_decode(&step->order, json_object_get(head, "order"), why, sizeof(why))) {
		course_stop(step, STEP_CODE_START, why);
		return;
	}
	step->here = step->order->here;
	step->host = step->order->hosts[step->here].name;
	step->tmpdir = strdup(tmpdir);
	step->cpus = strdup(cpus ? cpus : "");
	memory_limit_take(step, json_object_get(head, "memory"));
	if (!step->tmpdir || !step->cpus || make_parts(step, why, sizeof(why))) {
		course_stop(step, STEP_CODE_START, why);
		return;
	}
	step->state = STEP_JOIN;
	ev_prepare_start(step->loop, &step->check);
	if (step->order->n_hosts == 1)
		on_joined(step);
}

void course_caller(struct step *step, struct link *link)
{
	bool is_ours = link_uid(link) == getuid() || link_uid(link) == 0;

	if (is_ours && !strcmp(link_role(link), "scstepd") && step->tree &&
	    link_uid(link) == getuid())
		tree_enter(step->tree, link);
	else if (is_ours && !strcmp(link_role(link), "scrun") && step->leader)
		leader_enter(step->leader, link);
	else
		link_close(link, 0);
}

int course_open(struct step *step, struct ev_loop *loop, int fd)
{
	*step = (struct step){.loop = loop, .host = "?", .stop = course_stop};
	ev_timer_init(&step->limit, on_limit, 0, 0);
	step->limit.data = step;
	ev_prepare_init(&step->check, on_check);
	step->check.data = step;
	ev_timer_init(&step->part_limit, on_part_limit, 0, 0);
	step->part_limit.data = step;
	ev_signal_init(&step->wake, on_wake, SIGNALS_WAKE);
	step->wake.data = step;
	ev_signal_start(loop, &step->wake);
	shift_open(loop);
	step->auth = auth_open(loop, getenv("SCORE_MUNGE_SOCKET"));
	if (!step->auth)
		return -ENOMEM;
	step->control = control_open(step, fd);
	return step->control ? 0 : -ENOMEM;
}

void course_close(struct step *step)
{
	ev_timer_stop(step->loop, &step->limit);
	ev_prepare_stop(step->loop, &step->check);
	ev_timer_stop(step->loop, &step->part_limit);
	ev_signal_stop(step->loop, &step->wake);
	output_close(step->output);
	input_close(step->input);
	leader_close(step->leader);
	control_close(step->control);
	tree_close(step->tree);
	publish_close();
	server_close();
	pmi_close();
	absence_close(step);
	transport_close();
	standstill_close(step->standstill);
	ranks_close(step->ranks);
	collective_close(step->collectives);
	bind_close(step->bind);
	worlds_fini(&step->worlds);
	auth_close(step->auth);
	free(step->memory_kills);
	free(step->memory_text);
	free(step->tmpdir);
	free(step->cpus);
}
