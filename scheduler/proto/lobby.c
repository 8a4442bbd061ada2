// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/lobby.h"

#include <stdlib.h>
#include <unistd.h>

#include "scheduler/proto/fairqueue.h"
#include "scheduler/proto/files.h"

/* One connection. */
struct pending {
	struct fairqueue_item item;
	struct lobby *lobby;
	struct link *link;
};

struct lobby {
	struct ev_loop *loop;
	struct auth *auth;
	const struct lobby_events *events;
	void *owner;
	struct fairqueue pending;
	unsigned int n_displaced;
};

static void forget(struct pending *pending)
{
	fairqueue_remove(&pending->lobby->pending, &pending->item);
	free(pending);
}

static void ready(struct link *link, void *owner)
{
	struct pending *pending = owner;
	struct lobby *lobby = pending->lobby;

	forget(pending);
	lobby->events->known(link, lobby->owner);
}

static void closed(struct link *link, int error, const char *why, void *owner)
{
	struct pending *pending = owner;
	struct lobby *lobby = pending->lobby;

	forget(pending);
	if (lobby->events->failed)
		lobby->events->failed(link, error, why, lobby->owner);
}

static const struct link_events events = {.ready = ready, .closed = closed};

static void make_room(struct lobby *lobby, struct netaddr_net from)
{
	size_t n = lobby->pending.n, max = files_full(n, LOBBY_MAX) ? n : LOBBY_MAX;
	struct fairqueue_item *item = fairqueue_excess(&lobby->pending, from, max, LOBBY_NET_MAX);
	struct pending *pending = item ? item->owner : NULL;

	if (!pending)
		return;
	link_refuse(pending->link,
		    "too many connections are waiting there to say who they are; try again");
	forget(pending);
	lobby->n_displaced++;
}

void lobby_enter(struct lobby *lobby, int fd)
{
	struct netaddr_net from = netaddr_net_there(fd);
	struct pending *pending = calloc(1, sizeof(*pending));

	if (!pending) {
		close(fd);
		return;
	}
	make_room(lobby, from);
	pending->lobby = lobby;
	pending->item.owner = pending;
	if (fairqueue_add(&lobby->pending, &pending->item, from, auth_knows(lobby->auth, &from))) {
		close(fd);
		free(pending);
		return;
	}
	pending->link = link_accept(lobby->loop, lobby->auth, fd, 0, &events, pending);
	if (!pending->link)
		forget(pending);
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
	fairqueue_init(&lobby->pending);
	return lobby;
}

void lobby_close(struct lobby *lobby)
{
	struct fairqueue_item *item;

	if (!lobby)
		return;
	while ((item = fairqueue_take(&lobby->pending))) {
		struct pending *pending = item->owner;

		link_close(pending->link, 0);
		free(pending);
	}
	free(lobby);
}
