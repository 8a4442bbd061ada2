// SPDX-License-Identifier: BSD-3-Clause
/*
 * leader - one launch per world: who is ready, what scrun is told of its processes, who is
 * answered.
 */
#include "scheduler/scstepd/leader.h"

#include <errno.h>
#include <inttypes.h>
#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/frame.h"
#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/absence.h"
#include "scheduler/scstepd/control.h"
#include "scheduler/scstepd/course.h"
#include "scheduler/scstepd/flow.h"
#include "scheduler/scstepd/front.h"
#include "scheduler/scstepd/transport.h"
#include "scheduler/scstepd/verdict.h"

struct launch { /* of a world */
	struct launch *next;
	const struct world *world;
	bool *is_ready;    /* [host] */
	size_t missing;    /* hosts */
	json_t *processes; /* for scrun */
	json_t *bindings;  /* [rank] */
	bool is_asked;     /* by a rank: the answer goes to */
	size_t host;
	uint64_t ticket;
};

struct leader {
	struct step *step;
	struct front *front;
	struct flow *flow;
	struct verdict verdict;
	bool is_told;     /* scrun knows the end */
	uint64_t n_ranks; /* of all worlds that were let go */
	uint64_t n_ended;
	struct launch *launches;
	json_t *processes; /* [world] of those that were let go, else null */
	size_t starting;   /* hosts whose ranks of world 0 do not run yet, if the job is debugged */
	json_int_t columns, rows; /* of scrun's terminal; 0 = not told */
	ev_timer ready_limit, time_limit;
};

static void tell_end(struct leader *leader)
{
	if (leader->is_told)
		return;
	leader->is_told = true;
	front_send(leader->front,
		   json_pack("{s:s, s:i, s:s}", "op", OP_ENDED, "code", leader->verdict.code,
			     "text", leader->verdict.text),
		   NULL, 0);
}

void leader_end(struct leader *leader, int code, const char *text)
{
	if (leader->verdict.is_given)
		return;
	verdict_give(&leader->verdict, code, text);
	ev_timer_stop(leader->step->loop, &leader->ready_limit);
	ev_timer_stop(leader->step->loop, &leader->time_limit);
	step_send(leader->step, TREE_ALL,
		  json_pack("{s:s, s:i, s:s}", "op", OP_STOP, "code", code, "text",
			    leader->verdict.text),
		  NULL, 0);
}

/* The verdict was given by somebody else's facts. */
static void end_by_verdict(struct leader *leader)
{
	struct verdict verdict = leader->verdict;

	leader->verdict.is_given = false;
	leader_end(leader, verdict.code, verdict.text);
}

bool leader_is_awaited(const struct leader *leader)
{
	return front_is_awaited(leader->front);
}

void leader_met(struct leader *leader)
{
	char *line = transport_line(leader->step);

	if (line)
		front_send(leader->front, json_pack("{s:s, s:s}", "op", OP_NOTE, "text", line),
			   NULL, 0);
	free(line);
}

void leader_over(struct leader *leader)
{
	tell_end(leader);
	control_ended(leader->step->control, leader->verdict.code, leader->verdict.text);
}

/* ---- worlds ---- */

static struct launch *launch_new(struct leader *leader, const struct world *world)
{
	struct launch *launch = calloc(1, sizeof(*launch));

	if (!launch)
		return NULL;
	launch->world = world;
	launch->is_ready = calloc(world->n_hosts, sizeof(*launch->is_ready));
	launch->processes = json_array();
	launch->bindings = json_array();
	for (size_t i = 0; i < world->n_hosts; i++)
		launch->missing += world->hosts[i].ranks > 0;
	for (uint32_t i = 0; i < world->n_ranks; i++) {
		json_array_append_new(launch->processes, json_null());
		json_array_append_new(launch->bindings, json_string(""));
	}
	launch->next = leader->launches;
	leader->launches = launch;
	if (launch->is_ready && launch->processes && launch->bindings)
		return launch;
	return NULL;
}

static void launch_free(struct leader *leader, struct launch *launch)
{
	struct launch **at = &leader->launches;

	while (*at != launch)
		at = &(*at)->next;
	*at = launch->next;
	json_decref(launch->processes);
	json_decref(launch->bindings);
	free(launch->is_ready);
	free(launch);
}

static struct launch *find_launch(const struct leader *leader, const json_t *head)
{
	json_int_t number = json_integer_value(json_object_get(head, "world"));
	struct launch *launch = leader->launches;

	while (launch && launch->world->number != number)
		launch = launch->next;
	return launch;
}

static void answer(struct leader *leader, const struct launch *launch, pmix_status_t status)
{
	const char *nspace = launch->world->nspace;

	if (launch->is_asked)
		step_send(leader->step, (int64_t)launch->host,
			  json_pack("{s:s, s:I, s:i}", "op", OP_ANSWER, "ticket",
				    (json_int_t)launch->ticket, "status", (int)status),
			  nspace, status == PMIX_SUCCESS ? strlen(nspace) : 0);
}

static void tell_processes(const struct leader *leader)
{
	front_send(leader->front,
		   json_pack("{s:s, s:O}", "op", OP_PROCESSES, "ranks",
			     json_array_get(leader->processes, 0)),
		   NULL, 0);
}

static void on_running(struct leader *leader)
{
	if (leader->starting && --leader->starting == 0)
		tell_processes(leader);
}

static void send_window(struct leader *leader)
{
	if (leader->columns)
		step_send(leader->step, TREE_ALL,
			  json_pack("{s:s, s:I, s:I}", "op", OP_WINDOW, "columns", leader->columns,
				    "rows", leader->rows),
			  NULL, 0);
}

static void let_go(struct leader *leader, struct launch *launch)
{
	struct step *step = leader->step;
	double limit = step->order->job->timeout_s;

	leader->n_ranks += launch->world->n_ranks;
	while (json_array_size(leader->processes) <= launch->world->number)
		if (json_array_append_new(leader->processes, json_null()))
			break;
	/* Out of memory: a query finds nothing. */
	json_array_set(leader->processes, launch->world->number, launch->processes);
	/* All hosts are there now: they get the window's size again. */
	if (!launch->world->number)
		send_window(leader);
	step_send(step, TREE_ALL,
		  json_pack("{s:s, s:i}", "op", OP_GO, "world", (int)launch->world->number), NULL,
		  0);
	if (!launch->world->number) {
		ev_timer_stop(step->loop, &leader->ready_limit);
		if (!step->order->job->is_debugged)
			tell_processes(leader);
		if (step->order->job->does_report_bindings)
			for (uint32_t i = 0; i < launch->world->n_ranks; i++) {
				char line[600];

				snprintf(line, sizeof(line), "rank %u on %s: %s", i,
					 step->order->hosts[world_host_of(launch->world, i)].name,
					 json_string_value(json_array_get(launch->bindings, i)));
				front_send(leader->front,
					   json_pack("{s:s, s:s}", "op", OP_NOTE, "text", line),
					   NULL, 0);
			}
		if (limit > 0) {
			ev_timer_set(&leader->time_limit, limit, 0);
			ev_timer_start(step->loop, &leader->time_limit);
		}
	}
	answer(leader, launch, PMIX_SUCCESS);
	launch_free(leader, launch);
}

/* Processes and bindings of one host. */
static void note_ranks(struct launch *launch, size_t host, const json_t *head)
{
	const struct world_host *ranks = &launch->world->hosts[host];
	const json_t *pids = json_object_get(head, "pids");
	const json_t *paths = json_object_get(head, "paths");
	const json_t *bindings = json_object_get(head, "bindings");

	for (uint32_t i = 0; i < ranks->ranks; i++) {
		json_t *bound = json_array_get(bindings, i);
		const char *path = json_string_value(json_array_get(paths, i));

		json_array_set_new(launch->processes, ranks->first + i,
				   json_pack("{s:I, s:I, s:I, s:s}", "rank",
					     (json_int_t)(ranks->first + i), "host",
					     (json_int_t)host, "pid",
					     json_integer_value(json_array_get(pids, i)),
					     "executable", path ? path : ""));
		if (json_is_string(bound))
			json_array_set(launch->bindings, ranks->first + i, bound);
	}
}

static void on_ready(struct leader *leader, size_t from, const json_t *head)
{
	const char *text = json_string_value(json_object_get(head, "text"));
	json_int_t code = json_integer_value(json_object_get(head, "code"));
	struct launch *launch = find_launch(leader, head);

	if (json_object_get(head, "error")) {
		if (launch)
			answer(leader, launch, PMIX_ERR_PROC_ENTRY_NOT_FOUND);
		leader_end(leader, code > 0 && code < 256 ? (int)code : STEP_CODE_START,
			   text ? text : "");
		return;
	}
	if (!launch || launch->is_ready[from] || !launch->world->hosts[from].ranks)
		return;
	launch->is_ready[from] = true;
	note_ranks(launch, from, head);
	if (--launch->missing == 0 && !leader->verdict.is_given)
		let_go(leader, launch);
}

static void on_ready_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct leader *leader = watcher->data;
	struct launch *launch = leader->launches;
	char why[400];

	for (size_t i = 0; launch && i < launch->world->n_hosts; i++) {
		if (launch->is_ready[i] || !launch->world->hosts[i].ranks)
			continue;
		snprintf(why, sizeof(why), "host %s did not start its ranks within %.0f s",
			 leader->step->order->hosts[i].name, LEADER_READY_S);
		leader_end(leader, STEP_CODE_LOST, why);
		return;
	}
}

static void on_time_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct leader *leader = watcher->data;
	char why[100];

	snprintf(why, sizeof(why), "the job ran longer than its time limit of %g s",
		 leader->step->order->job->timeout_s);
	leader_end(leader, STEP_CODE_TIMEOUT, why);
}

/*
 * A rank that spawns and is refused leaves the others of its world waiting for ever: the job ends
 * instead.
 */
static void on_spawn(struct leader *leader, size_t from, const json_t *head)
{
	struct step *step = leader->step;
	const char *nspace = json_string_value(json_object_get(head, "nspace"));
	const struct world *parent = nspace ? worlds_find(&step->worlds, nspace) : NULL;
	json_int_t rank = json_integer_value(json_object_get(head, "rank"));
	struct launch *launch;
	struct world *world;
	json_t *told = NULL;
	char why[400] = "spawn: the request makes no sense";
	int rc = -EINVAL;

	if (parent && rank >= 0 && rank < parent->n_ranks)
		rc = world_plan(&step->worlds, json_object_get(head, "apps"), parent->number,
				(uint32_t)rank, &told, why, sizeof(why));
	if (!rc)
		rc = world_add(&step->worlds, told, &world, why, sizeof(why));
	if (rc) {
		json_decref(told);
		leader_end(leader, STEP_CODE_START, why);
		return;
	}
	launch = launch_new(leader, world);
	if (!launch) {
		json_decref(told);
		leader_end(leader, STEP_CODE_START, "spawn: out of memory");
		return;
	}
	launch->is_asked = true;
	launch->host = from;
	launch->ticket = (uint64_t)json_integer_value(json_object_get(head, "ticket"));
	step_send(step, TREE_ALL, told, NULL, 0);
}

static void on_query(struct leader *leader, size_t from, const json_t *head)
{
	const char *nspace = json_string_value(json_object_get(head, "nspace"));
	const struct world *world = nspace ? worlds_find(&leader->step->worlds, nspace) : NULL;
	json_t *table = world ? json_array_get(leader->processes, world->number) : NULL;
	char *text = json_is_array(table) ? json_dumps(table, JSON_COMPACT) : NULL;

	step_send(leader->step, (int64_t)from,
		  json_pack("{s:s, s:I, s:i}", "op", OP_ANSWER, "ticket",
			    json_integer_value(json_object_get(head, "ticket")), "status",
			    text ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND),
		  text, text ? strlen(text) : 0);
	free(text);
}

/* ---- ends ---- */

static void on_rank_ended(struct leader *leader, size_t from, json_t *head)
{
	struct step *step = leader->step;
	struct verdict_rank rank = {
		.world = (uint32_t)json_integer_value(json_object_get(head, "world")),
		.rank = (uint32_t)json_integer_value(json_object_get(head, "rank")),
		.host = step->order->hosts[from].name,
		.status = (int)json_integer_value(json_object_get(head, "status")),
		.is_in_mpi = json_is_true(json_object_get(head, "in_mpi")),
		.code = (int)json_integer_value(json_object_get(head, "code")),
		.why = json_string_value(json_object_get(head, "text")),
	};

	front_send(leader->front, json_incref(head), NULL, 0);
	leader->n_ended++;
	if (leader->verdict.is_given)
		return;
	if (verdict_rank_ended(&leader->verdict, &rank)) {
		end_by_verdict(leader);
	} else if (leader->n_ended == leader->n_ranks && !leader->launches) {
		leader_end(leader, 0, "");
		/* All output is on its way before this: scrun need not wait for our cleaning up. */
		tell_end(leader);
	} else if (!json_is_true(json_object_get(head, "has_come"))) {
		absence_begin(step, rank.world, rank.rank);
	}
}

static void on_abort(struct leader *leader, size_t from, const json_t *head)
{
	const char *text = json_string_value(json_object_get(head, "text"));

	if (leader->verdict.is_given)
		return;
	verdict_aborted(&leader->verdict,
			(uint32_t)json_integer_value(json_object_get(head, "world")),
			(uint32_t)json_integer_value(json_object_get(head, "rank")),
			leader->step->order->hosts[from].name,
			(int)json_integer_value(json_object_get(head, "code")), text ? text : "");
	end_by_verdict(leader);
}

void leader_signal(struct leader *leader, int signo)
{
	if (signo > 0 && signo < NSIG)
		step_send(leader->step, TREE_ALL,
			  json_pack("{s:s, s:i}", "op", OP_SIGNAL, "signal", signo), NULL, 0);
}

/* ---- scrun ---- */

static void on_window(struct leader *leader, const json_t *head)
{
	json_int_t columns = json_integer_value(json_object_get(head, "columns"));
	json_int_t rows = json_integer_value(json_object_get(head, "rows"));

	if (!leader->step->order->job->wants_pty || columns <= 0 || columns >= 65536 || rows <= 0 ||
	    rows >= 65536)
		return;
	leader->columns = columns;
	leader->rows = rows;
	send_window(leader);
}

/* A process that asks is answered at once, whatever the ranks make of it. */
static void on_signal(struct leader *leader, const json_t *head)
{
	front_send(leader->front, json_pack("{s:s}", "op", OP_OK), NULL, 0);
	leader_signal(leader, (int)json_integer_value(json_object_get(head, "signal")));
}

static void on_attached(const json_t *head, void *owner)
{
	struct leader *leader = owner;
	json_t *hosts = json_array();

	for (size_t i = 0; i < leader->step->order->n_hosts; i++)
		json_array_append_new(hosts, json_string(leader->step->order->hosts[i].name));
	front_send(leader->front, json_pack("{s:s, s:o}", "op", OP_ATTACHED, "hosts", hosts), NULL,
		   0);
	on_window(leader, head);
}

static void on_front_message(const char *op, const json_t *head, const char *body, size_t size,
			     void *owner)
{
	struct leader *leader = owner;

	if (!strcmp(op, OP_IN) && size <= FRAME_CHUNK && flow_in(leader->flow, body, size))
		leader_end(leader, STEP_CODE_LOST, "scrun sent more standard input than it may");
	else if (!strcmp(op, OP_SIGNAL))
		on_signal(leader, head);
	else if (!strcmp(op, OP_WINDOW))
		on_window(leader, head);
	else if (!strcmp(op, OP_RELEASE))
		step_send(leader->step, TREE_ALL, json_pack("{s:s}", "op", OP_RELEASE), NULL, 0);
}

static void on_front_drained(void *owner)
{
	const struct leader *leader = owner;

	flow_drained(leader->flow);
}

static void on_front_gone(void *owner)
{
	struct leader *leader = owner;

	flow_drained(leader->flow);
	/* A job lives as long as its scrun. */
	leader_end(leader, STEP_CODE_LOST, "scrun is gone");
}

static void on_front_parted(void *owner)
{
	const struct leader *leader = owner;

	course_front_parted(leader->step);
}

bool leader_part(struct leader *leader)
{
	return front_part(leader->front);
}

static const struct front_events front_events = {.attached = on_attached,
						 .message = on_front_message,
						 .drained = on_front_drained,
						 .gone = on_front_gone,
						 .parted = on_front_parted};

void leader_enter(struct leader *leader, struct link *link)
{
	front_enter(leader->front, link);
}

bool leader_told(struct leader *leader, const char *op, size_t from, const json_t *head,
		 const char *body, size_t size)
{
	json_t *owned = (json_t *)(uintptr_t)head; /* for another reference */

	if (!strcmp(op, OP_OUT))
		flow_out(leader->flow, from, owned, body, size);
	else if (!strcmp(op, OP_RANK_ENDED))
		on_rank_ended(leader, from, owned);
	else if (!strcmp(op, OP_IN_ROOM))
		flow_in_room(leader->flow, from, head);
	else if (!strcmp(op, OP_READY))
		on_ready(leader, from, head);
	else if (!strcmp(op, OP_RUNNING))
		on_running(leader);
	else if (!strcmp(op, OP_ABORT))
		on_abort(leader, from, head);
	else if (!strcmp(op, OP_SPAWN))
		on_spawn(leader, from, head);
	else if (!strcmp(op, OP_QUERY))
		on_query(leader, from, head);
	else if (!strcmp(op, OP_NOTE))
		front_send(leader->front, json_incref(owned), NULL, 0);
	else if (!strcmp(op, OP_WITHOUT_PM))
		transport_told(leader->step, from);
	else
		return false;
	return true;
}

struct leader *leader_open(struct step *step)
{
	struct leader *leader = calloc(1, sizeof(*leader));
	size_t n = step->order->n_hosts;

	if (!leader)
		return NULL;
	leader->step = step;
	leader->starting = n;
	leader->front = front_open(step->order->id, &front_events, leader);
	leader->processes = json_array();
	leader->flow = leader->front ? flow_open(step, leader->front) : NULL;
	ev_timer_init(&leader->ready_limit, on_ready_limit, LEADER_READY_S, 0);
	leader->ready_limit.data = leader;
	ev_timer_init(&leader->time_limit, on_time_limit, 0, 0);
	leader->time_limit.data = leader;
	if (!leader->flow || !leader->processes ||
	    !launch_new(leader, worlds_get(&step->worlds, 0))) {
		leader_close(leader);
		return NULL;
	}
	ev_timer_start(step->loop, &leader->ready_limit);
	return leader;
}

void leader_close(struct leader *leader)
{
	if (!leader)
		return;
	ev_timer_stop(leader->step->loop, &leader->ready_limit);
	ev_timer_stop(leader->step->loop, &leader->time_limit);
	while (leader->launches)
		launch_free(leader, leader->launches);
	flow_close(leader->flow);
	front_close(leader->front);
	json_decref(leader->processes);
	free(leader);
}
