// SPDX-License-Identifier: BSD-3-Clause
/*
 * front - a queue until scrun attaches, then its link.
 */
#include "scheduler/scstepd/front.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/messages_check.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/letters.h"

#define FRONT_REFUSAL_S 1.0 /* for the word that refuses */
#define FRONT_LINGER_S 10.0 /* for what scrun has not read yet at the end */

struct front {
	const struct front_events *events;
	void *owner;
	uint64_t job;
	struct link *link;
	bool is_attached, is_gone;
	bool is_parting;        /* it was told to close its link, and has not yet */
	struct letters letters; /* until it attaches */
};

struct front *front_open(uint64_t job, const struct front_events *events, void *owner)
{
	struct front *front = calloc(1, sizeof(*front));

	if (front) {
		front->job = job;
		front->events = events;
		front->owner = owner;
		letters_init(&front->letters);
	}
	return front;
}

static void send_waiting(struct front *front)
{
	for (struct letter *each = front->letters.first; each; each = each->next)
		link_send(front->link, json_incref(each->head), each->body, each->size);
	letters_drop(&front->letters);
}

static void leave(struct front *front)
{
	front->link = NULL;
	front->is_gone = true;
	letters_drop(&front->letters);
	front->events->gone(front->owner);
}

/* A scrun that is not attached makes room for another one. */
static void turn_away(struct front *front, const char *why)
{
	link_send(front->link,
		  json_pack("{s:s, s:s, s:s}", "op", OP_ERROR, "error", "EPROTO", "text", why),
		  NULL, 0);
	link_close(front->link, FRONT_REFUSAL_S);
	front->link = NULL;
	if (front->is_attached)
		leave(front);
}

static void attach(struct front *front, const json_t *head)
{
	/* Its connection is for our job, as the handshake has found: the program confuses them. */
	if (json_integer_value(json_object_get(head, "id")) != (json_int_t)front->job) {
		turn_away(front, "the job that is asked for is not the one that the connection is "
				 "for");
		return;
	}
	front->is_attached = true;
	front->events->attached(head, front->owner);
	send_waiting(front);
	if (!link_is_full(front->link))
		front->events->drained(front->owner);
}

static void on_message(struct link *link, const char *op, json_t *head, const char *body,
		       size_t body_size, void *owner)
{
	struct front *front = owner;
	char why[256];
	int said = messages_check(MESSAGES_SCRUN_TO_LEADER, head, why, sizeof(why));

	if (said == -EINVAL)
		turn_away(front, why);
	else if (front->is_attached)
		front->events->message(op, head, body, body_size, front->owner);
	else if (said == ON_ATTACH)
		attach(front, head);
}

static void on_drained(struct link *link, void *owner)
{
	struct front *front = owner;

	front->events->drained(front->owner);
}

static void on_closed(struct link *link, int error, const char *why, void *owner)
{
	struct front *front = owner;

	/* A link that breaks may have lost input. */
	if (!front->is_parting || error) {
		leave(front);
		return;
	}
	front->link = NULL;
	front->is_parting = front->is_attached = false;
	front->events->parted(front->owner);
}

static const struct link_events front_events = {.message = on_message,
						.drained = on_drained,
						.closed = on_closed};

void front_enter(struct front *front, struct link *link)
{
	/* It is back before the end of its first link has come, and tries again. */
	if (front->is_parting) {
		link_close(link, 0);
		return;
	}
	if (front->link || front->is_gone) {
		link_send(link,
			  json_pack("{s:s, s:s, s:s}", "op", OP_ERROR, "error", "EBUSY", "text",
				    "another scrun belongs to this job"),
			  NULL, 0);
		link_close(link, FRONT_REFUSAL_S);
		return;
	}
	front->link = link;
	link_set(link, &front_events, front);
}

void front_send(struct front *front, json_t *head, const void *body, size_t size)
{
	if (!head)
		return;
	/* A link that is ending says so itself. */
	if (front->is_attached && front->link && !front->is_parting)
		link_send(front->link, head, body, size);
	else if (front->is_gone)
		json_decref(head);
	else
		letters_keep(&front->letters, 0, head, body, size);
}

bool front_part(struct front *front)
{
	if (front->link && front->is_attached) {
		link_send(front->link, json_pack("{s:s}", "op", OP_LEAVE), NULL, 0);
		front->is_parting = true;
		return false;
	}
	if (front->link)
		link_close(front->link, 0);
	front->link = NULL;
	return true;
}

bool front_is_full(const struct front *front)
{
	if (front->is_gone)
		return false;
	return !front->is_attached || front->is_parting || link_is_full(front->link);
}

bool front_is_awaited(const struct front *front)
{
	return (!front->is_attached || front->is_parting) && !front->is_gone;
}

void front_close(struct front *front)
{
	if (!front)
		return;
	if (front->link)
		link_close(front->link, FRONT_LINGER_S);
	letters_drop(&front->letters);
	free(front);
}
