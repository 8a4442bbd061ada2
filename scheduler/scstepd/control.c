// SPDX-License-Identifier: BSD-3-Clause
/*
 * control - requests that are not answered yet are repeated to the scnoded that comes after.
 */
#include "scheduler/scstepd/control.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "scheduler/proto/files.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/link.h"
#include "scheduler/proto/messages_check.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/course.h"

#include "scheduler/scstepd/leader.h"
#include "scheduler/scstepd/moved.h"
#include "scheduler/scstepd/ranks.h"
#include "scheduler/scstepd/standstill.h"

#define PART_S 1.0
/* Without a word of scnoded we come back by then: it looks at us for 8 s at most, or was killed. */
#define RETURN_S 15.0
#define TRIES ((unsigned int)(CONTROL_REJOIN_S / CONTROL_RETRY_S))
#define PENDING_MAX 1024 /* who have not said yet who they are */

struct control {
	struct step *step;
	struct link *link;                        /* NULL: broken */
	const struct world *adopting[WORLDS_MAX]; /* not answered, in their order */
	size_t n_adopting;
	bool is_killing; /* not answered */
	bool is_lost;    /* for good */
	bool is_parted;  /* closed by us; the order to return is waited for */
	bool is_shut;    /* nobody is let in */
	ev_timer retry;
	unsigned int tries_left; /* to reach scnoded anew */
	int fds[LINK_FDS_MAX];   /* came for the next message */
	int n_fds;
	struct pending *pending; /* youngest first */
};

/* A connection to the host's port for this job, until its other side is known. */
struct pending {
	struct pending *next;
	struct control *control;
	struct link *link;
};

static void send_to_scnoded(struct control *control, json_t *head)
{
	/* A link that is ending says so itself. */
	if (control->link)
		link_send(control->link, head, NULL, 0);
	else
		json_decref(head);
}

static void forget_pending(struct pending *pending)
{
	struct pending **at = &pending->control->pending;

	while (*at != pending)
		at = &(*at)->next;
	*at = pending->next;
	free(pending);
}

static void on_pending_ready(struct link *link, void *owner)
{
	struct pending *pending = owner;
	struct step *step = pending->control->step;

	forget_pending(pending);
	course_caller(step, link);
}

static void on_pending_closed(struct link *link, int error, const char *why, void *owner)
{
	forget_pending(owner);
}

static const struct link_events pending_events = {.ready = on_pending_ready,
						  .closed = on_pending_closed};

/* Any process may connect: the oldest goes, or no descriptor would be left for the job. */
static void keep_few(struct control *control)
{
	struct pending *oldest = NULL;
	size_t n = 0;

	for (struct pending *each = control->pending; each; each = each->next, n++)
		oldest = each;
	if (!oldest || !files_full(n, PENDING_MAX))
		return;
	link_close(oldest->link, 0);
	forget_pending(oldest);
}

static void take_pending(struct control *control)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (control->n_fds != 1 || !pending || !control->step->order || control->is_shut)
		goto refused;
	pending->control = control;
	pending->link = link_accept(control->step->loop, control->step->auth, control->fds[0],
				    control->step->order->id, &pending_events, pending);
	control->n_fds = 0;
	if (!pending->link)
		goto refused;
	keep_few(control);
	pending->next = control->pending;
	control->pending = pending;
	return;
refused:
	while (control->n_fds)
		close(control->fds[--control->n_fds]);
	free(pending);
}

static void adopted(struct control *control, const char *failure)
{
	const struct world *world = control->adopting[0];

	if (!control->n_adopting)
		return;
	memmove(control->adopting, control->adopting + 1,
		--control->n_adopting * sizeof(*control->adopting));
	course_adopted(control->step, world->number, failure);
}

static void on_start(struct control *control, json_t *head)
{
	course_order(control->step, head);
}

static void on_rejoined(struct control *control, json_t *head)
{
	const char *why = NULL;

	if (!control->is_parted)
		return;
	control->is_parted = false;
	if (!json_is_true(json_object_get(head, "is_restorable")))
		why = head_text(head, "text");
	/* it does not know that we had parted */
	if (why && !*why)
		why = "its scnoded was started anew meanwhile; try again";
	if (json_object_get(head, "order"))
		why = moved_take(control->step, head);
	course_returned(control->step, why);
}

/* In a pid namespace: the number by which others know one of our ranks. */
static void take_host_pid(struct ranks *ranks, json_int_t pid, json_int_t host_pid)
{
	for (size_t i = 0; i < ranks_count(ranks); i++) {
		struct rank *rank = ranks_at(ranks, i);

		if (rank->pid == pid && !rank->has_ended)
			rank->host_pid = (pid_t)host_pid;
	}
}

static void on_adopted(struct control *control, json_t *head)
{
	const json_t *pair;
	size_t i;

	json_array_foreach(json_object_get(head, "pids"), i, pair)
		take_host_pid(control->step->ranks, json_integer_value(json_array_get(pair, 0)),
			      json_integer_value(json_array_get(pair, 1)));
	adopted(control, NULL);
}

static void on_failed(struct control *control, json_t *head)
{
	adopted(control, head_text(head, "text"));
}

static void on_door(struct control *control, json_t *head)
{
	take_pending(control);
}

static void on_killed(struct control *control, json_t *head)
{
	if (!control->is_killing)
		return;
	control->is_killing = false;
	step_killed(control->step);
}

static void on_signal(struct control *control, json_t *head)
{
	if (control->step->leader)
		leader_signal(control->step->leader, (int)head_number(head, "signal"));
}

static void on_note(struct control *control, json_t *head)
{
	struct step *step = control->step;

	if (step->leader)
		leader_told(step->leader, OP_NOTE, step->here, head, NULL, 0);
}

static void on_migrate(struct control *control, json_t *head)
{
	if (control->step->leader)
		standstill_ask(control->step->standstill, head);
}

static void on_stop(struct control *control, json_t *head)
{
	const json_t *code = json_object_get(head, "code");

	control->step->is_cut = true;
	course_stop(control->step, code ? (int)json_integer_value(code) : STEP_CODE_LOST,
		    head_text(head, "text"));
}

/* Of every message of MESSAGES_SCNODED_TO_SCSTEPD. */
static void (*const handlers[MESSAGES_OPS])(struct control *control, json_t *head) = {
	[ON_START] = on_start,     [ON_REJOINED] = on_rejoined, [ON_ADOPTED] = on_adopted,
	[ON_FAILED] = on_failed,   [ON_DOOR] = on_door,         [ON_KILLED] = on_killed,
	[ON_SIGNAL] = on_signal,   [ON_NOTE] = on_note,         [ON_STOP] = on_stop,
	[ON_MIGRATE] = on_migrate, [ON_CHECKPOINT] = on_migrate};

static void on_message(struct link *link, const char *op, json_t *head, const char *body,
		       size_t body_size, void *owner)
{
	struct control *control = owner;
	char why[256], text[600];
	int said = messages_check(MESSAGES_SCNODED_TO_SCSTEPD, head, why, sizeof(why));

	if (said >= 0) {
		handlers[said](control, head);
	} else if (said == -EINVAL) {
		snprintf(text, sizeof(text), "host %s: scnoded is of another version: %s",
			 control->step->host, why);
		control->step->is_cut |= !strcmp(op, OP_STOP);
		course_stop(control->step, STEP_CODE_LOST, text);
	}
}

static void on_fds(struct link *link, const int *fds, int n, void *owner)
{
	struct control *control = owner;

	while (control->n_fds)
		close(control->fds[--control->n_fds]);
	for (int i = 0; i < n; i++)
		if (control->n_fds < LINK_FDS_MAX)
			control->fds[control->n_fds++] = fds[i];
		else
			close(fds[i]);
}

static void on_closed(struct link *link, int error, const char *why, void *owner)
{
	struct control *control = owner;

	control->link = NULL;
	if (control->step->state == STEP_OVER)
		return;
	if (!control->step->order) {
		/* Nobody knows of us yet. */
		ev_break(control->step->loop, EVBREAK_ALL);
		return;
	}
	control->tries_left = TRIES;
	ev_timer_again(control->step->loop, &control->retry);
}

static const struct link_events control_events = {.message = on_message,
						  .fds = on_fds,
						  .closed = on_closed};

/* RUNDIR/jobs/ID/tmp is the job's directory, RUNDIR/scnoded.sock is what we want. */
static int connect_again(const struct step *step, uid_t *ret_uid)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t size = sizeof(peer);
	size_t length = strlen(step->tmpdir);
	int fd;

	for (int i = 0; i < 3; i++)
		while (length && step->tmpdir[--length] != '/')
			;
	if (snprintf(address.sun_path, sizeof(address.sun_path), "%.*s/scnoded.sock", (int)length,
		     step->tmpdir) >= (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid != 0 && peer.uid != getuid())) {
		close(fd);
		return -ECONNREFUSED;
	}
	*ret_uid = peer.uid;
	return fd;
}

static json_t *pids_of(const struct step *step, const struct world *world)
{
	json_t *pids = json_array();

	for (size_t i = 0; i < ranks_count(step->ranks); i++) {
		const struct rank *rank = ranks_at(step->ranks, i);

		if (!rank->has_ended && rank->world == world)
			json_array_append_new(pids, json_integer(rank->pid));
	}
	return pids;
}

static void send_adopt(struct control *control, const struct world *world)
{
	send_to_scnoded(control, json_pack("{s:s, s:I, s:o}", "op", OP_ADOPT, "id",
					   (json_int_t)control->step->order->id, "pids",
					   pids_of(control->step, world)));
}

static void send_kill(struct control *control)
{
	send_to_scnoded(control, json_pack("{s:s, s:I}", "op", OP_KILL, "id",
					   (json_int_t)control->step->order->id));
}

static void on_retry(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct control *control = watcher->data;
	struct step *step = control->step;
	char why[300];
	uid_t uid;
	int fd = connect_again(step, &uid);

	if (fd >= 0)
		control->link = link_local(loop, fd, uid, &control_events, control);
	if (control->link) {
		ev_timer_stop(loop, watcher);
		send_to_scnoded(control, json_pack("{s:s, s:I}", "op", OP_REJOIN, "id",
						   (json_int_t)step->order->id));
		for (size_t i = 0; i < control->n_adopting; i++)
			send_adopt(control, control->adopting[i]);
		if (control->is_killing)
			send_kill(control);
		return;
	}
	/* Counted, not timed: a pause of ours is no absence of its. */
	if (control->tries_left && --control->tries_left)
		return;
	ev_timer_stop(loop, watcher);
	control->is_lost = true;
	snprintf(why, sizeof(why), "scnoded on %s is gone", step->host);
	course_stop(step, STEP_CODE_LOST, why);
	if (control->is_killing)
		step_killed(step);
}

struct control *control_open(struct step *step, int fd)
{
	struct control *control = calloc(1, sizeof(*control));

	if (!control)
		return NULL;
	control->step = step;
	ev_timer_init(&control->retry, on_retry, CONTROL_RETRY_S, CONTROL_RETRY_S);
	control->retry.data = control;
	control->link = link_local(step->loop, fd, 0, &control_events, control);
	if (!control->link) {
		free(control);
		return NULL;
	}
	return control;
}

void control_adopt(struct control *control, const struct world *world)
{
	control->adopting[control->n_adopting++] = world;
	send_adopt(control, world);
}

void control_started(struct control *control)
{
	send_to_scnoded(control, json_pack("{s:s, s:I}", "op", OP_STARTED, "id",
					   (json_int_t)control->step->order->id));
}

void control_failed(struct control *control, int code, const char *text)
{
	send_to_scnoded(control,
			json_pack("{s:s, s:I, s:s, s:s, s:i}", "op", OP_FAILED, "id",
				  control->step->order ? (json_int_t)control->step->order->id : 0,
				  "error", "ECANCELED", "text", text, "code", code));
}

void control_ended(struct control *control, int code, const char *text)
{
	send_to_scnoded(control, json_pack("{s:s, s:I, s:i, s:s}", "op", OP_ENDED, "id",
					   (json_int_t)control->step->order->id, "code", code,
					   "text", text));
}

void control_migrated(struct control *control, uint64_t serial, bool is_changed, const char *text,
		      double stood_s)
{
	send_to_scnoded(control, json_pack("{s:s, s:I, s:I, s:b, s:s, s:f}", "op", OP_MIGRATED,
					   "id", (json_int_t)control->step->order->id, "serial",
					   (json_int_t)serial, "is_changed", is_changed, "text",
					   text, "stood_s", stood_s));
}

/* Pairs of process and rank; of a world that was spawned others would be meant. */
static json_t *numbers_of(const struct step *step)
{
	json_t *all = json_array();

	for (size_t i = 0; i < ranks_count(step->ranks); i++) {
		const struct rank *rank = ranks_at(step->ranks, i);

		if (!rank->has_ended && !rank->world->number)
			json_array_append_new(all, json_pack("[I, I]", (json_int_t)rank->pid,
							     (json_int_t)rank->number));
	}
	return all;
}

/* They try again. */
static void forget_callers(struct control *control)
{
	while (control->pending) {
		link_close(control->pending->link, 0);
		forget_pending(control->pending);
	}
	while (control->n_fds)
		close(control->fds[--control->n_fds]);
}

void control_shut(struct control *control, bool is_shut)
{
	control->is_shut = is_shut;
	if (is_shut)
		forget_callers(control);
}

void control_part(struct control *control)
{
	control->is_parted = true;
	send_to_scnoded(control, json_pack("{s:s, s:I, s:o}", "op", OP_PARTED, "id",
					   (json_int_t)control->step->order->id, "ranks",
					   numbers_of(control->step)));
	/* It is tried already, and does not know of us. */
	if (!control->link)
		return;
	link_close(control->link, PART_S);
	control->link = NULL;
	control->tries_left = TRIES;
	ev_timer_stop(control->step->loop, &control->retry);
	ev_timer_set(&control->retry, RETURN_S, CONTROL_RETRY_S);
	ev_timer_start(control->step->loop, &control->retry);
}

void control_return(struct control *control)
{
	if (!control->is_parted || control->link)
		return;
	control->tries_left = TRIES;
	ev_timer_again(control->step->loop, &control->retry);
	ev_feed_event(control->step->loop, &control->retry, EV_TIMER);
}

int control_kill(struct control *control)
{
	if (control->is_lost)
		return -EPIPE;
	control->is_killing = true;
	send_kill(control);
	return 0;
}

void control_close(struct control *control)
{
	if (!control)
		return;
	forget_callers(control);
	ev_timer_stop(control->step->loop, &control->retry);
	if (control->link)
		link_close(control->link, 1.0);
	free(control);
}
