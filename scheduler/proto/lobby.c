// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/lobby.h"

#include <stdlib.h>
#include <unistd.h>

#include "scheduler/proto/fairqueue.h"
#include "scheduler/proto/files.h"

/* One connection. */
struct visitor {
	struct fairqueue_item item;
	struct lobby *lobby;
	struct link *link;
};

struct lobby {
	struct ev_loop *loop;
	struct auth *auth;
	const struct lobby_events *events;
	void *owner;
	struct fairqueue visitors;
	unsigned int n_displaced;
};

static void forget(struct visitor *visitor)
{
	fairqueue_remove(&visitor->lobby->visitors, &visitor->item);
	free(visitor);
}

static void ready(struct link *link, void *owner)
{
	struct visitor *visitor = owner;
	struct lobby *lobby = visitor->lobby;

	forget(visitor);
	lobby->events->known(link, lobby->owner);
}

static void closed(struct link *link, int error, const char *why, void *owner)
{
	struct visitor *visitor = owner;
	struct lobby *lobby = visitor->lobby;

	forget(visitor);
	if (lobby->events->failed)
		lobby->events->failed(link, error, why, lobby->owner);
}

static const struct link_events events = {.ready = ready, .closed = closed};

static void make_room(struct lobby *lobby, struct netaddr_net from)
{
	size_t n = lobby->visitors.n, max = files_full(n, LOBBY_MAX) ? n : LOBBY_MAX;
	struct fairqueue_item *item = fairqueue_excess(&lobby->visitors, from, max, LOBBY_NET_MAX);
	struct visitor *visitor = item ? item->owner : NULL;

	if (!visitor)
		return;
	link_refuse(visitor->link,
		    "too many connections are waiting there to say who they are; try again");
	forget(visitor);
	lobby->n_displaced++;
}

void lobby_enter(struct lobby *lobby, int fd)
{
	struct netaddr_net from = netaddr_net_there(fd);
	struct visitor *visitor = calloc(1, sizeof(*visitor));

	if (!visitor) {
		close(fd);
		return;
	}
	make_room(lobby, from);
	visitor->lobby = lobby;
	visitor->item.owner = visitor;
	if (fairqueue_add(&lobby->visitors, &visitor->item, from, auth_knows(lobby->auth, &from))) {
		close(fd);
		free(visitor);
		return;
	}
	visitor->link = link_accept(lobby->loop, lobby->auth, fd, 0, &events, visitor);
	if (!visitor->link)
		forget(visitor);
}

unsigned int lobby_displaced(struct lobby *lobby)
{
	unsigned int n = lobby->n_displaced;

	lobby->n_displaced = 0;
	return n;
}

struct lobby *lobby_open(struct ev_loop *loop, struct auth *auth, const struct lobby_events *events,
			 void *owner)
{
	struct lobby *lobby = calloc(1, sizeof(*lobby));

	if (!lobby)
		return NULL;
	lobby->loop = loop;
	lobby->auth = auth;
	lobby->events = events;
	lobby->owner = owner;
	fairqueue_init(&lobby->visitors);
	return lobby;
}

void lobby_close(struct lobby *lobby)
{
	struct fairqueue_item *item;

	if (!lobby)
		return;
	while ((item = fairqueue_take(&lobby->visitors))) {
		struct visitor *visitor = item->owner;

		link_close(visitor->link, 0);
		free(visitor);
	}
	free(lobby);
}
