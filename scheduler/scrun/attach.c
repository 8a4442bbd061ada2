// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/link.h"
#include "scheduler/proto/messages_check.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scrun/ending.h"
#include "scheduler/scrun/terminal.h"

#define LEAVE_S 15.0 /* for input that the leader has not read yet; it waits for 10 s */
#define RETRY_S 0.1
/*
 * A host that has the job, away or not, keeps a connection waiting. One that has not ends it within
 * five seconds. Without scored that is the only sign that the job has ended.
 */
#define KEPT_S 10.0
#define ALONE_S 30.0 /* of nothing but such ends */

struct attach {
	const struct attach_events *events;
	void *owner;
	struct ev_loop *loop;
	struct auth *auth;
	struct link *link; /* NULL = gone, or away */
	bool is_away;      /* the leader told us to leave, and is tried again and again */
	ev_timer retry;
	bool is_alone; /* scored can not tell that the job has ended */
	double tried;  /* clock_monotonic_s() of the last attempt, */
	double failed; /* and since when all fail; 0: they do not */
	const struct place *place;
	bool is_attached, was_attached;
	int64_t room;   /* bytes of input */
	uint64_t early; /* signals, bit N for N: for the leader when it is there again */
};

static void on_ready(struct link *link, void *owner)
{
	struct attach *a = owner;
	int columns, rows;

	terminal_size(&columns, &rows);
	link_send(link,
		  json_pack("{s:s, s:I, s:i, s:i}", "op", OP_ATTACH, "id", (json_int_t)a->place->id,
			    "columns", columns, "rows", rows),
		  NULL, 0);
}

/* Those that the user has sent while we were away. */
static void send_early(struct attach *a)
{
	uint64_t early = a->early;

	a->early = 0;
	for (int signal = 1; signal < 64; signal++)
		if (early & (UINT64_C(1) << signal))
			attach_signal(a, signal);
}

static void on_attached(struct attach *a, const json_t *head, const char *body, size_t size)
{
	if (a->is_attached)
		return;
	a->is_attached = true;
	a->is_away = false;
	a->failed = 0;
	if (!a->was_attached) {
		a->was_attached = true;
		a->room = LINK_FULL;
		a->events->attached(a->owner);
	}
	send_early(a);
	a->events->room(a->owner);
}

/* It says something that no leader says. */
static void refuse(struct attach *a, const char *what)
{
	char why[512];

	snprintf(why, sizeof(why), "%s: it sends %s; all hosts must be of one version of OpenSCore",
		 link_peer(a->link), what);
	link_close(a->link, 0);
	a->link = NULL;
	a->events->lost(EPROTO, why, a->owner);
}

static void on_room(struct attach *a, const json_t *head, const char *body, size_t size)
{
	json_int_t bytes = json_integer_value(json_object_get(head, "bytes"));

	/* More than was taken, and we would read our input faster than it goes. */
	if (!bytes || bytes > (json_int_t)LINK_FULL - a->room) {
		refuse(a, "room for input that it was not sent");
		return;
	}
	a->room += bytes;
	a->events->room(a->owner);
}

static void on_output(struct attach *a, const json_t *head, const char *body, size_t size)
{
	json_int_t stream = json_integer_value(json_object_get(head, "stream"));
	uint64_t world = (uint64_t)json_integer_value(json_object_get(head, "world"));
	uint64_t rank = (uint64_t)json_integer_value(json_object_get(head, "rank"));

	if ((stream == 1 || stream == 2) && place_has(a->place, world, rank))
		a->events->output(world, rank, (int)stream, body, size, a->owner);
	else
		refuse(a, "output of a rank that there is not");
}

/* All that it has sent is here. It reads what we have sent before it sees the end. */
static void on_leave(struct attach *a, const json_t *head, const char *body, size_t size)
{
	link_close(a->link, LEAVE_S);
	a->link = NULL;
	a->is_attached = false;
	a->is_away = true;
	ev_timer_again(a->loop, &a->retry);
}

static void on_ok(struct attach *a, const json_t *head, const char *body, size_t size)
{
	a->events->answered(a->owner);
}

static void on_rank_ended(struct attach *a, const json_t *head, const char *body, size_t size)
{
	a->events->rank_ended(head, a->owner);
}

static void on_note(struct attach *a, const json_t *head, const char *body, size_t size)
{
	a->events->note(head_text(head, "text"), a->owner);
}

static void on_processes(struct attach *a, const json_t *head, const char *body, size_t size)
{
	a->events->processes(json_object_get(head, "ranks"), a->owner);
}

static void on_ended(struct attach *a, const json_t *head, const char *body, size_t size)
{
	a->events->ended(ending_code(head), head_text(head, "text"), a->owner);
}

static void on_error(struct attach *a, const json_t *head, const char *body, size_t size)
{
	a->events->lost(EPROTO, head_text(head, "text"), a->owner);
}

/* Of every message of MESSAGES_LEADER_TO_SCRUN. */
static void (*const handlers[MESSAGES_OPS])(struct attach *a, const json_t *head, const char *body,
					    size_t size) = {[ON_OUT] = on_output,
							    [ON_IN_ROOM] = on_room,
							    [ON_ATTACHED] = on_attached,
							    [ON_LEAVE] = on_leave,
							    [ON_OK] = on_ok,
							    [ON_RANK_ENDED] = on_rank_ended,
							    [ON_NOTE] = on_note,
							    [ON_PROCESSES] = on_processes,
							    [ON_ENDED] = on_ended,
							    [ON_ERROR] = on_error};

static void on_message(struct link *link, const char *op, json_t *head, const char *body,
		       size_t body_size, void *owner)
{
	struct attach *a = owner;
	char why[256], what[300];
	int said = messages_check(MESSAGES_LEADER_TO_SCRUN, head, why, sizeof(why));

	a->events->heard(a->owner);
	if (said >= 0) {
		handlers[said](a, head, body, body_size);
	} else if (said == -EINVAL) {
		snprintf(what, sizeof(what), "a message that makes no sense (%s)", why);
		refuse(a, what);
	}
}

/* Whether the job is where it was, for all that can be known. */
static bool is_there(struct attach *a)
{
	double now = clock_monotonic_s();

	if (now - a->tried > KEPT_S)
		a->failed = 0;
	if (a->failed == 0)
		a->failed = now;
	return !a->is_alone || now - a->failed < ALONE_S;
}

static void on_closed(struct link *link, int error, const char *why, void *owner)
{
	struct attach *a = owner;

	a->link = NULL;
	if (a->is_away && is_there(a)) {
		ev_timer_again(a->loop, &a->retry);
		return;
	}
	a->is_away = false;
	a->events->lost(error, why, a->owner);
}

static const struct link_events link_events = {.ready = on_ready,
					       .message = on_message,
					       .closed = on_closed};

static void connect_to_leader(struct attach *a)
{
	a->tried = clock_monotonic_s();
	a->link = link_connect(a->loop, a->auth, a->place->leader, a->place->id, "scrun",
			       a->place->uid, &link_events, a);
}

/* As long as the job is there: scored tells when it is not, or is_there() has to guess. */
static void on_retry(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct attach *a = timer->data;

	connect_to_leader(a);
	if (a->link)
		ev_timer_stop(loop, timer);
}

struct attach *attach_open(struct ev_loop *loop, struct auth *auth, const struct place *place,
			   const struct attach_events *events, void *owner)
{
	struct attach *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	*a = (struct attach){
		.events = events, .owner = owner, .place = place, .loop = loop, .auth = auth};
	ev_timer_init(&a->retry, on_retry, 0, RETRY_S);
	a->retry.data = a;
	connect_to_leader(a);
	if (!a->link) {
		free(a);
		return NULL;
	}
	return a;
}

void attach_close(struct attach *a)
{
	if (!a)
		return;
	ev_timer_stop(a->loop, &a->retry);
	if (a->link)
		link_close(a->link, 0);
	free(a);
}

size_t attach_room(const struct attach *a)
{
	return a->link && a->is_attached && a->room > 0 ? (size_t)a->room : 0;
}

void attach_input(struct attach *a, const void *data, size_t size)
{
	if (!a->link)
		return;
	a->room -= (int64_t)size;
	link_send(a->link, json_pack("{s:s}", "op", OP_IN), data, size);
}

void attach_alone(struct attach *a)
{
	a->is_alone = true;
}

bool attach_is_away(const struct attach *a)
{
	return a->is_away;
}

bool attach_signal(struct attach *a, int signal)
{
	if (a->is_away && signal > 0 && signal < 64) {
		a->early |= UINT64_C(1) << signal;
		return true;
	}
	return a->link && a->is_attached &&
	       !link_send(a->link, json_pack("{s:s, s:i}", "op", OP_SIGNAL, "signal", signal), NULL,
			  0);
}

void attach_release(struct attach *a)
{
	if (a->link)
		link_send(a->link, json_pack("{s:s}", "op", OP_RELEASE), NULL, 0);
}

void attach_window(struct attach *a, int columns, int rows)
{
	if (a->link && a->is_attached)
		link_send(a->link,
			  json_pack("{s:s, s:i, s:i}", "op", OP_WINDOW, "columns", columns, "rows",
				    rows),
			  NULL, 0);
}

void attach_pause(struct attach *a, bool is_paused)
{
	if (a->link)
		link_pause(a->link, is_paused);
}
