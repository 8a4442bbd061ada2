// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/parent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "scheduler/scremote/message.h"
#include "scheduler/scremote/put.h"

struct parent {
	TAILQ_ENTRY(parent) all;
	struct parents *parents;
	struct link *link;
	bool is_known; /* one of ours */
};

struct parents {
	struct agent *agent;
	struct acceptor *acceptor;
	TAILQ_HEAD(, parent) list;
	size_t n;
};

static void forget(struct parent *parent)
{
	struct parents *parents = parent->parents;

	TAILQ_REMOVE(&parents->list, parent, all);
	parents->n--;
	put_lose(parents->agent, parent->link);
	if (parent->link)
		link_close(parent->link, 0);
	free(parent);
}

static void ready(struct link *link, void *owner)
{
	struct parent *parent = owner;

	parent->is_known = link_uid(link) == geteuid() && !strcmp(link_role(link), "remote");
	if (!parent->is_known)
		forget(parent);
}

static void message(struct link *link, const char *op, json_t *head, const char *body, size_t size,
		    void *owner)
{
	struct parent *parent = owner;
	struct message m;
	char why[512];

	if (message_decode(&m, op, head, why, sizeof(why)) ||
	    agent_take_file(parent->parents->agent, link, &m, body, size))
		forget(parent);
	message_free(&m);
}

static void closed(struct link *link, int error, const char *why, void *owner)
{
	struct parent *parent = owner;

	(void)error;
	(void)why;
	put_lose(parent->parents->agent, link);
	parent->link = NULL;
	forget(parent);
}

static const struct link_events events = {.ready = ready, .message = message, .closed = closed};

/*
 * For one more: who has not said yet who he is goes first, so that a crowd of strangers ends no
 * file.
 */
static void make_room(struct parents *parents)
{
	struct parent *parent;

	TAILQ_FOREACH(parent, &parents->list, all)
		if (!parent->is_known)
			break;
	forget(parent ? parent : TAILQ_FIRST(&parents->list));
}

static void enter(int fd, uint64_t job, void *owner)
{
	struct parents *parents = owner;
	struct parent *parent = job ? NULL : calloc(1, sizeof(*parent));

	if (!parent) {
		close(fd);
		return;
	}
	if (parents->n == PARENTS_MAX)
		make_room(parents);
	parent->parents = parents;
	TAILQ_INSERT_TAIL(&parents->list, parent, all);
	parents->n++;
	parent->link =
		link_accept(parents->agent->loop, parents->agent->auth, fd, 0, &events, parent);
	if (!parent->link)
		forget(parent);
}

struct parents *parents_open(struct agent *agent)
{
	struct parents *parents = calloc(1, sizeof(*parents));
	int err = ENOMEM;

	if (parents && agent_auth(agent)) {
		parents->agent = agent;
		TAILQ_INIT(&parents->list);
		parents->acceptor = acceptor_open(agent->loop, "0", enter, parents);
		if (parents->acceptor)
			return parents;
		err = errno;
	}
	free(parents);
	errno = err;
	return NULL;
}

int parents_port(const struct parents *parents)
{
	return acceptor_port(parents->acceptor);
}

void parents_close(struct parents *parents)
{
	if (!parents)
		return;
	while (!TAILQ_EMPTY(&parents->list))
		forget(TAILQ_FIRST(&parents->list));
	acceptor_close(parents->acceptor);
	free(parents);
}
