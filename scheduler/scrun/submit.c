// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/submit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/head.h"
#include "scheduler/proto/link.h"
#include "scheduler/proto/messages_check.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scrun/ending.h"

#define NOBODY ((uid_t)-1)

struct submit {
	struct ev_loop *loop;
	struct auth *auth;
	char *address;
	json_t *request;
	bool is_dry_run;
	const struct submit_events *events;
	void *owner;
	struct link *link; /* NULL = scored is not there */
	ev_timer again;
	uint64_t id; /* of the job, once it is queued; 0 = it was never */
	bool is_placed;
	unsigned int suspensions; /* that are not answered yet */
};

static void on_ready(struct link *link, void *owner)
{
	struct submit *s = owner;

	link_send(link, json_incref(s->request), NULL, 0);
}

static void on_queued(struct submit *s, const json_t *head)
{
	if (s->is_placed)
		return;
	s->id = (uint64_t)json_integer_value(json_object_get(head, "id"));
	s->events->queued(s->id, (uint64_t)json_integer_value(json_object_get(head, "position")),
			  json_string_value(json_object_get(head, "why")), s->owner);
}

static void on_placed(struct submit *s, const json_t *head)
{
	const json_t *job = json_object_get(s->request, "job");
	uint32_t ranks = (uint32_t)json_integer_value(json_object_get(job, "ranks"));
	struct place *place = s->is_placed ? NULL : place_read(head, ranks);

	if (!place) {
		s->events->refused(
			"what scored says of the job's place makes no sense; both sides must "
			"be of one version of OpenSCore",
			s->owner);
		return;
	}
	s->is_placed = true;
	s->events->placed(place, s->owner);
}

static void on_ended(struct submit *s, const json_t *head)
{
	s->events->ended(ending_code(head), head_text(head, "text"),
			 json_object_get(head, "statistics"), head_number(head, "checkpoint"),
			 s->owner);
}

static void on_ok(struct submit *s, const json_t *head)
{
	if (s->is_dry_run) {
		s->events->possible(head, s->owner);
	} else if (s->suspensions) {
		s->suspensions--;
		s->events->suspended(s->owner);
	}
}

static void on_error(struct submit *s, const json_t *head)
{
	/* A request that came too late is no reason to end. */
	if (!s->id || s->is_dry_run)
		s->events->refused(head_text(head, "text"), s->owner);
	else
		on_ok(s, head);
}

static void on_message(struct link *link, const char *op, json_t *head, const char *body,
		       size_t body_size, void *owner)
{
	/* Other messages answer requests that are none of ours. */
	static void (*const handlers[MESSAGES_OPS])(struct submit * s,
						    const json_t *head) = {[ON_QUEUED] = on_queued,
									   [ON_PLACED] = on_placed,
									   [ON_ENDED] = on_ended,
									   [ON_OK] = on_ok,
									   [ON_ERROR] = on_error};
	struct submit *s = owner;
	char why[256], text[400];
	int said = messages_check(MESSAGES_SCORED_TO_USER, head, why, sizeof(why));

	if (said >= 0 && handlers[said]) {
		handlers[said](s, head);
	} else if (said == -EINVAL) {
		snprintf(text, sizeof(text),
			 "what scored says makes no sense (%s); both sides must be of one version "
			 "of OpenSCore",
			 why);
		s->events->refused(text, s->owner);
	}
}

static void on_closed(struct link *link, int error, const char *why, void *owner)
{
	struct submit *s = owner;
	enum submit_lost how = s->is_placed ? SUBMIT_RUNNING
			       : s->id      ? SUBMIT_QUEUED
					    : SUBMIT_UNREACHED;

	s->link = NULL;
	if (how == SUBMIT_QUEUED)
		ev_timer_start(s->loop, &s->again);
	s->events->lost(how, error, why, s->owner);
}

static const struct link_events link_events = {.ready = on_ready,
					       .message = on_message,
					       .closed = on_closed};

static bool connect_to(struct submit *s)
{
	s->link = link_connect(s->loop, s->auth, s->address, 0, "scrun", NOBODY, &link_events, s);
	return s->link != NULL;
}

static void on_again(struct ev_loop *loop, ev_timer *timer, int events)
{
	if (!connect_to(timer->data))
		ev_timer_start(loop, timer);
}

struct submit *submit_open(struct ev_loop *loop, struct auth *auth, const char *address,
			   json_t *request, const struct submit_events *events, void *owner)
{
	struct submit *s = calloc(1, sizeof(*s));

	if (!s) {
		json_decref(request);
		return NULL;
	}
	*s = (struct submit){.loop = loop,
			     .auth = auth,
			     .address = strdup(address),
			     .request = request,
			     .is_dry_run = json_is_true(json_object_get(request, "dry_run")),
			     .events = events,
			     .owner = owner};
	ev_timer_init(&s->again, on_again, SUBMIT_AGAIN_S, 0.);
	s->again.data = s;
	if (!s->request || !s->address || !connect_to(s)) {
		submit_close(s);
		return NULL;
	}
	return s;
}

void submit_close(struct submit *s)
{
	if (!s)
		return;
	ev_timer_stop(s->loop, &s->again);
	if (s->link)
		link_close(s->link, 0);
	json_decref(s->request);
	free(s->address);
	free(s);
}

bool submit_suspend(struct submit *s, bool is_suspended)
{
	if (!s->link || !s->is_placed ||
	    link_send(s->link,
		      json_pack("{s:s, s:b}", "op", OP_SUSPEND, "is_suspended", is_suspended), NULL,
		      0))
		return false;
	s->suspensions++;
	return true;
}

bool submit_cancel(struct submit *s)
{
	return s->link && s->id &&
	       !link_send(s->link,
			  json_pack("{s:s, s:I}", "op", OP_CANCEL, "id", (json_int_t)s->id), NULL,
			  0);
}

bool submit_is_lost(const struct submit *s)
{
	return !s->link;
}
