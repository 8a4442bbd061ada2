/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_link - links without sockets, and an agent with such a link to scout: what is sent is kept
 * for the test, what comes is said by the test. Defines functions of link.h and auth.h, so it is
 * for one file of a test program.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCREMOTE_FAKE_LINK_H
#define TESTS_UNIT_SCHEDULER_SCREMOTE_FAKE_LINK_H

#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scremote/agent.h"
#include "tests/harness/tap.h"

#define FAKE_LINKS 8
#define FAKE_TURNS 10000
#define FAKE_TURN_S 0.002

struct fake_sent {
	struct fake_sent *next;
	json_t *head;
	size_t size;
	char body[];
};

struct link {
	char address[64]; /* "": nobody connected it */
	const struct link_events *events;
	void *owner;
	struct fake_sent *first, **last;
	bool is_full, is_closed;
	double linger;
};

static struct {
	struct link links[FAKE_LINKS]; /* in the order in which they were made */
	size_t n_links;
	bool has_no_memory; /* no more links */
	int n_auths;        /* threads that would run */
	struct agent agent;
	struct link *scout;
} fake;

struct link *link_connect(struct ev_loop *loop, struct auth *auth, const char *address,
			  uint64_t job, const char *role, uid_t expect,
			  const struct link_events *events, void *owner)
{
	struct link *link = &fake.links[fake.n_links];

	is_str(role, "remote");
	if (fake.has_no_memory || !ok(fake.n_links < FAKE_LINKS))
		return NULL;
	fake.n_links++;
	*link = (struct link){.events = events, .owner = owner, .last = &link->first};
	snprintf(link->address, sizeof(link->address), "%s", address);
	return link;
}

int link_send(struct link *link, json_t *head, const void *body, size_t size)
{
	struct fake_sent *sent = calloc(1, sizeof(*sent) + size + 1);

	ok(!link->is_closed);
	*sent = (struct fake_sent){.head = head, .size = size};
	if (size)
		memcpy(sent->body, body, size);
	*link->last = sent;
	link->last = &sent->next;
	return 0;
}

int link_send_shared(struct link *link, json_t *head, struct shared *body)
{
	return link_send(link, head, body->bytes, body->size);
}

bool link_is_full(const struct link *link)
{
	return link->is_full;
}

void link_close(struct link *link, double linger_s)
{
	ok(!link->is_closed);
	link->is_closed = true;
	link->linger = linger_s;
}

struct auth *auth_open(struct ev_loop *loop, const char *socket_path)
{
	fake.n_auths++;
	return (struct auth *)&fake;
}

static inline void fake_drop(struct link *link)
{
	struct fake_sent *sent = link->first;

	link->first = sent->next;
	if (!link->first)
		link->last = &link->first;
	json_decref(sent->head);
	free(sent);
}

static inline void fake_open(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.agent.loop = ev_loop_new(EVFLAG_AUTO);
	fake.scout = link_connect(fake.agent.loop, NULL, "", 0, "remote", 0, NULL, NULL);
	fake.agent.link = fake.scout;
	snprintf(fake.agent.host, sizeof(fake.agent.host), "h0");
	TAILQ_INIT(&fake.agent.runs);
	TAILQ_INIT(&fake.agent.puts);
	TAILQ_INIT(&fake.agent.gets);
}

static inline void fake_close(void)
{
	for (size_t i = 0; i < fake.n_links; i++)
		while (fake.links[i].first)
			fake_drop(&fake.links[i]);
	ev_loop_destroy(fake.agent.loop);
}

/* The loop runs until the link has a message, or for a long time. */
static inline bool fake_wait(struct link *link)
{
	for (int i = 0; !link->first && i < FAKE_TURNS; i++) {
		ev_run(fake.agent.loop, EVRUN_NOWAIT);
		if (!link->first)
			ev_sleep(FAKE_TURN_S);
	}
	return ok(link->first != NULL);
}

static inline void fake_turn(void)
{
	for (int i = 0; i < 8; i++)
		ev_run(fake.agent.loop, EVRUN_NOWAIT);
}

/* The oldest message is this one, in JSON with sorted keys; it is forgotten. */
static inline void fake_sent(struct link *link, const char *want)
{
	char *text;

	if (!ok(link->first != NULL))
		return;
	text = json_dumps(link->first->head, JSON_COMPACT | JSON_SORT_KEYS);
	is_str(text, want);
	free(text);
	fake_drop(link);
}

/* The oldest message is of this op; its field. */
static inline json_t *fake_field(const struct link *link, const char *op, const char *name)
{
	if (!ok(link->first != NULL))
		return NULL;
	is_str(json_string_value(json_object_get(link->first->head, "op")), op);
	return json_object_get(link->first->head, name);
}

/* A message from the other side; takes the reference. */
static inline void fake_say(struct link *link, json_t *head)
{
	char op[32];

	snprintf(op, sizeof(op), "%s", json_string_value(json_object_get(head, "op")));
	link->events->message(link, op, head, NULL, 0, link->owner);
	json_decref(head);
}

#endif
