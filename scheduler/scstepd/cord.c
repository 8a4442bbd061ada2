// SPDX-License-Identifier: BSD-3-Clause
/*
 * cord - requests that are not answered yet are repeated to the scnoded that comes after.
 */
#include "scheduler/scstepd/cord.h"

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
#include "scheduler/scstepd/ranks.h"

#define VISITORS_MAX 1024 /* who have not said yet who they are */

struct cord {
	struct step *step;
	struct link *link;                        /* NULL: broken */
	const struct world *adopting[WORLDS_MAX]; /* not answered, in their order */
	size_t n_adopting;
	bool is_killing; /* not answered */
	bool is_lost;    /* for good */
	ev_timer retry;
	unsigned int tries_left; /* to reach scnoded anew */
	int fds[LINK_FDS_MAX];   /* came for the next message */
	int n_fds;
	struct visitor *visitors; /* youngest first */
};

/* Somebody at the host's door who wants this job, until he is known. */
struct visitor {
	struct visitor *next;
	struct cord *cord;
	struct link *link;
};

static void send_to_scnoded(struct cord *cord, json_t *head)
{
	/* A link that is ending says so itself. */
	if (cord->link)
		link_send(cord->link, head, NULL, 0);
	else
		json_decref(head);
}

static void forget_visitor(struct visitor *visitor)
{
	struct visitor **at = &visitor->cord->visitors;

	while (*at != visitor)
		at = &(*at)->next;
	*at = visitor->next;
	free(visitor);
}

static void on_visitor_ready(struct link *link, void *owner)
{
	struct visitor *visitor = owner;
	struct step *step = visitor->cord->step;

	forget_visitor(visitor);
	course_visitor(step, link);
}

static void on_visitor_closed(struct link *link, int error, const char *why, void *owner)
{
	forget_visitor(owner);
}

static const struct link_events visitor_events = {.ready = on_visitor_ready,
						  .closed = on_visitor_closed};

/* Whoever likes may knock: the oldest goes, or no descriptor would be left for the job. */
static void keep_few(struct cord *cord)
{
	struct visitor *oldest = NULL;
	size_t n = 0;

	for (struct visitor *each = cord->visitors; each; each = each->next, n++)
		oldest = each;
	if (!oldest || !files_full(n, VISITORS_MAX))
		return;
	link_close(oldest->link, 0);
	forget_visitor(oldest);
}

static void take_visitor(struct cord *cord)
{
	struct visitor *visitor = calloc(1, sizeof(*visitor));

	if (cord->n_fds != 1 || !visitor || !cord->step->order)
		goto refused;
	visitor->cord = cord;
	visitor->link = link_accept(cord->step->loop, cord->step->auth, cord->fds[0],
				    cord->step->order->id, &visitor_events, visitor);
	cord->n_fds = 0;
	if (!visitor->link)
		goto refused;
	keep_few(cord);
	visitor->next = cord->visitors;
	cord->visitors = visitor;
	return;
refused:
	while (cord->n_fds)
		close(cord->fds[--cord->n_fds]);
	free(visitor);
}

static void adopted(struct cord *cord, const char *failure)
{
	const struct world *world = cord->adopting[0];

	if (!cord->n_adopting)
		return;
	memmove(cord->adopting, cord->adopting + 1, --cord->n_adopting * sizeof(*cord->adopting));
	course_adopted(cord->step, world->number, failure);
}

static void on_start(struct cord *cord, json_t *head)
{
	course_order(cord->step, head);
}

static void on_rejoined(struct cord *cord, json_t *head)
{
}

static void on_adopted(struct cord *cord, json_t *head)
{
	adopted(cord, NULL);
}

static void on_failed(struct cord *cord, json_t *head)
{
	adopted(cord, head_text(head, "text"));
}

static void on_door(struct cord *cord, json_t *head)
{
	take_visitor(cord);
}

static void on_killed(struct cord *cord, json_t *head)
{
	if (!cord->is_killing)
		return;
	cord->is_killing = false;
	step_killed(cord->step);
}

static void on_signal(struct cord *cord, json_t *head)
{
	if (cord->step->leader)
		leader_signal(cord->step->leader, (int)head_number(head, "signal"));
}

static void on_note(struct cord *cord, json_t *head)
{
	struct step *step = cord->step;

	if (step->leader)
		leader_told(step->leader, OP_NOTE, step->here, head, NULL, 0);
}

static void on_stop(struct cord *cord, json_t *head)
{
	const json_t *code = json_object_get(head, "code");

	cord->step->is_cut = true;
	course_stop(cord->step, code ? (int)json_integer_value(code) : STEP_CODE_LOST,
		    head_text(head, "text"));
}

/* Of every message of MESSAGES_SCNODED_TO_SCSTEPD. */
static void (*const handlers[MESSAGES_OPS])(struct cord *cord, json_t *head) = {
	[ON_START] = on_start,   [ON_REJOINED] = on_rejoined, [ON_ADOPTED] = on_adopted,
	[ON_FAILED] = on_failed, [ON_DOOR] = on_door,         [ON_KILLED] = on_killed,
	[ON_SIGNAL] = on_signal, [ON_NOTE] = on_note,         [ON_STOP] = on_stop};

static void on_message(struct link *link, const char *op, json_t *head, const char *body,
		       size_t body_size, void *owner)
{
	struct cord *cord = owner;
	char why[256], text[600];
	int said = messages_check(MESSAGES_SCNODED_TO_SCSTEPD, head, why, sizeof(why));

	if (said >= 0) {
		handlers[said](cord, head);
	} else if (said == -EINVAL) {
		snprintf(text, sizeof(text), "host %s: scnoded is of another version: %s",
			 cord->step->host, why);
		cord->step->is_cut |= !strcmp(op, OP_STOP);
		course_stop(cord->step, STEP_CODE_LOST, text);
	}
}

static void on_fds(struct link *link, const int *fds, int n, void *owner)
{
	struct cord *cord = owner;

	while (cord->n_fds)
		close(cord->fds[--cord->n_fds]);
	for (int i = 0; i < n; i++)
		if (cord->n_fds < LINK_FDS_MAX)
			cord->fds[cord->n_fds++] = fds[i];
		else
			close(fds[i]);
}

static void on_closed(struct link *link, int error, const char *why, void *owner)
{
	struct cord *cord = owner;

	cord->link = NULL;
	if (cord->step->state == STEP_OVER)
		return;
	if (!cord->step->order) {
		/* Nobody knows of us yet. */
		ev_break(cord->step->loop, EVBREAK_ALL);
		return;
	}
	cord->tries_left = (unsigned int)(CORD_REJOIN_S / CORD_RETRY_S);
	ev_timer_again(cord->step->loop, &cord->retry);
}

static const struct link_events cord_events = {.message = on_message,
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

static void send_adopt(struct cord *cord, const struct world *world)
{
	send_to_scnoded(cord, json_pack("{s:s, s:I, s:o}", "op", OP_ADOPT, "id",
					(json_int_t)cord->step->order->id, "pids",
					pids_of(cord->step, world)));
}

static void send_kill(struct cord *cord)
{
	send_to_scnoded(cord, json_pack("{s:s, s:I}", "op", OP_KILL, "id",
					(json_int_t)cord->step->order->id));
}

static void on_retry(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct cord *cord = watcher->data;
	struct step *step = cord->step;
	char why[300];
	uid_t uid;
	int fd = connect_again(step, &uid);

	if (fd >= 0)
		cord->link = link_local(loop, fd, uid, &cord_events, cord);
	if (cord->link) {
		ev_timer_stop(loop, watcher);
		send_to_scnoded(cord, json_pack("{s:s, s:I}", "op", OP_REJOIN, "id",
						(json_int_t)step->order->id));
		for (size_t i = 0; i < cord->n_adopting; i++)
			send_adopt(cord, cord->adopting[i]);
		if (cord->is_killing)
			send_kill(cord);
		return;
	}
	/* Counted, not timed: a pause of ours is no absence of its. */
	if (cord->tries_left && --cord->tries_left)
		return;
	ev_timer_stop(loop, watcher);
	cord->is_lost = true;
	snprintf(why, sizeof(why), "scnoded on %s is gone", step->host);
	course_stop(step, STEP_CODE_LOST, why);
	if (cord->is_killing)
		step_killed(step);
}

struct cord *cord_open(struct step *step, int fd)
{
	struct cord *cord = calloc(1, sizeof(*cord));

	if (!cord)
		return NULL;
	cord->step = step;
	ev_timer_init(&cord->retry, on_retry, CORD_RETRY_S, CORD_RETRY_S);
	cord->retry.data = cord;
	cord->link = link_local(step->loop, fd, 0, &cord_events, cord);
	if (!cord->link) {
		free(cord);
		return NULL;
	}
	return cord;
}

void cord_adopt(struct cord *cord, const struct world *world)
{
	cord->adopting[cord->n_adopting++] = world;
	send_adopt(cord, world);
}

void cord_started(struct cord *cord)
{
	send_to_scnoded(cord, json_pack("{s:s, s:I}", "op", OP_STARTED, "id",
					(json_int_t)cord->step->order->id));
}

void cord_failed(struct cord *cord, int code, const char *text)
{
	send_to_scnoded(cord, json_pack("{s:s, s:I, s:s, s:s, s:i}", "op", OP_FAILED, "id",
					cord->step->order ? (json_int_t)cord->step->order->id : 0,
					"error", "ECANCELED", "text", text, "code", code));
}

void cord_ended(struct cord *cord, int code, const char *text)
{
	send_to_scnoded(cord,
			json_pack("{s:s, s:I, s:i, s:s}", "op", OP_ENDED, "id",
				  (json_int_t)cord->step->order->id, "code", code, "text", text));
}

int cord_kill(struct cord *cord)
{
	if (cord->is_lost)
		return -EPIPE;
	cord->is_killing = true;
	send_kill(cord);
	return 0;
}

void cord_close(struct cord *cord)
{
	if (!cord)
		return;
	while (cord->visitors) {
		link_close(cord->visitors->link, 0);
		forget_visitor(cord->visitors);
	}
	while (cord->n_fds)
		close(cord->fds[--cord->n_fds]);
	ev_timer_stop(cord->step->loop, &cord->retry);
	if (cord->link)
		link_close(cord->link, 1.0);
	free(cord);
}
