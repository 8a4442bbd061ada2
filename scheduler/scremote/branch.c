// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/branch.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/fields.h"
#include "scheduler/proto/ops.h"

#define LINGER_S 5.0 /* for the file's end, which is not acknowledged */

struct branch_chunk {
	STAILQ_ENTRY(branch_chunk) next;
	struct shared *bytes;
};

bool branch_is_done(const struct branch *branch)
{
	return !branch->link;
}

static void drop_first(struct branch *branch)
{
	struct branch_chunk *chunk = STAILQ_FIRST(&branch->waiting);

	STAILQ_REMOVE_HEAD(&branch->waiting, next);
	shared_release(chunk->bytes);
	free(chunk);
}

static void leave(struct branch *branch, double linger)
{
	while (!STAILQ_EMPTY(&branch->waiting))
		drop_first(branch);
	branch->passed = UINT64_MAX;
	ev_timer_stop(branch->agent->loop, &branch->stall);
	if (branch->link)
		link_close(branch->link, linger);
	branch->link = NULL;
}

static void cut(struct branch *branch, const char *why)
{
	agent_send_cut(branch->agent, branch->id, branch->hosts, why);
	leave(branch, 0);
}

/* ---- sending ---- */

static json_t *data_head(const struct branch *branch)
{
	return json_pack("{s:s, s:I}", "op", OP_DATA, "id", (json_int_t)branch->id);
}

/* As much as there is room for. */
static void push(struct branch *branch)
{
	struct branch_chunk *chunk;

	while ((chunk = STAILQ_FIRST(&branch->waiting)) && chunk->bytes->size <= branch->room) {
		link_send_shared(branch->link, data_head(branch), chunk->bytes);
		branch->room -= chunk->bytes->size;
		branch->passed += chunk->bytes->size;
		drop_first(branch);
	}
	if (!chunk && branch->is_at_end && !branch->has_ended) {
		link_send(branch->link, data_head(branch), NULL, 0);
		branch->has_ended = true;
	}
}

/* The end stands behind all that it has acknowledged, and goes while we linger. */
static void check_end(struct branch *branch)
{
	if (branch->is_ready && branch->has_ended && branch->room == LINK_FULL)
		leave(branch, LINGER_S);
}

/* It owes us something, or nothing. */
static void watch(struct branch *branch)
{
	bool owes = !STAILQ_EMPTY(&branch->waiting) || branch->room < LINK_FULL;

	if (!branch->link || !owes)
		ev_timer_stop(branch->agent->loop, &branch->stall);
	else
		ev_timer_again(branch->agent->loop, &branch->stall);
}

void branch_add(struct branch *branch, struct shared *bytes)
{
	struct branch_chunk *chunk;

	if (!branch->link)
		return;
	if (!bytes) {
		branch->is_at_end = true;
	} else if (!(chunk = malloc(sizeof(*chunk)))) {
		cut(branch, "no memory");
		return;
	} else {
		chunk->bytes = shared_hold(bytes);
		STAILQ_INSERT_TAIL(&branch->waiting, chunk, next);
	}
	push(branch);
	if (!ev_is_active(&branch->stall))
		watch(branch);
	check_end(branch);
}

/* ---- its link ---- */

static void message(struct link *link, const char *op, json_t *head, const char *body, size_t size,
		    void *owner)
{
	struct branch *branch = owner;
	struct message m;
	char why[256];
	bool is_wrong = message_decode(&m, op, head, why, sizeof(why)) ||
			m.kind != MESSAGE_IN_ROOM || m.bytes > LINK_FULL - branch->room;

	(void)link;
	(void)body;
	(void)size;
	if (is_wrong) {
		cut(branch, "what it says is no answer to a file");
	} else {
		branch->room += m.bytes;
		push(branch);
		watch(branch);
		check_end(branch);
	}
	message_free(&m);
	branch->moved(branch->owner);
}

static void ready(struct link *link, void *owner)
{
	struct branch *branch = owner;

	(void)link;
	branch->is_ready = true;
	check_end(branch);
	branch->moved(branch->owner);
}

static void closed(struct link *link, int error, const char *why, void *owner)
{
	struct branch *branch = owner;

	(void)link;
	(void)error;
	branch->link = NULL;
	cut(branch, why);
	branch->moved(branch->owner);
}

static void stalled(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct branch *branch = timer->data;

	(void)loop;
	(void)events;
	cut(branch, "it takes nothing: is it stopped, or its disk slow?");
	branch->moved(branch->owner);
}

static const struct link_events events = {.ready = ready, .message = message, .closed = closed};

/* ---- beginning and end ---- */

static json_t *head_for(const struct message *put, const struct message_child *child)
{
	json_t *head = json_pack("{s:s, s:I, s:o, s:i, s:I, s:s, s:O}", "op", OP_PUT, "id",
				 (json_int_t)put->id, "path", fields_from_text(put->path), "mode",
				 (int)put->mode, "size", (json_int_t)put->size, "sha256",
				 put->sha256, "children", child->children);

	if (put->mtime_ns >= 0)
		json_object_set_new(head, "mtime_ns", json_integer(put->mtime_ns));
	return head;
}

struct branch *branch_open(struct agent *agent, const struct message *put,
			   const struct message_child *child, void (*moved)(void *owner),
			   void *owner)
{
	struct branch *branch = calloc(1, sizeof(*branch));

	if (!branch || !agent_auth(agent)) {
		free(branch);
		return NULL;
	}
	*branch = (struct branch){.agent = agent,
				  .id = put->id,
				  .hosts = json_incref(child->hosts),
				  .room = LINK_FULL,
				  .moved = moved,
				  .owner = owner};
	STAILQ_INIT(&branch->waiting);
	ev_timer_init(&branch->stall, stalled, 0., BRANCH_STALL_S);
	branch->stall.data = branch;
	branch->link = link_connect(agent->loop, agent->auth, child->address, 0, "remote",
				    (uid_t)-1, &events, branch);
	if (branch->link)
		link_send(branch->link, head_for(put, child), NULL, 0);
	else
		cut(branch, "no memory");
	return branch;
}

void branch_close(struct branch *branch)
{
	leave(branch, 0);
	json_decref(branch->hosts);
	free(branch);
}
