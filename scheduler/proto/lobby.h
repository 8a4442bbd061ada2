/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lobby - the connections at a daemon's acceptor whose other side has not proved its identity.
 * Bounds how many there are, in all and of one network: for one more somebody has to go, so a flood
 * of strangers costs memory of a fixed size and displaces its own. Knows nothing of what they want.
 */
#ifndef SCHEDULER_PROTO_LOBBY_H
#define SCHEDULER_PROTO_LOBBY_H

#include "scheduler/proto/link.h"

#define LOBBY_MAX 2048
/* of one network (netaddr.h): as many as a user may have connections to scored */
#define LOBBY_NET_MAX 1024

struct lobby;

struct lobby_events {
	/* It is ready; its events are the callee's to set, before this returns. */
	void (*known)(struct link *link, void *owner);
	/* It has failed, as link_events.closed tells; may be NULL. */
	void (*failed)(struct link *link, int error, const char *why, void *owner);
};

/* NULL: no memory. */
struct lobby *lobby_open(struct ev_loop *loop, struct auth *auth, const struct lobby_events *events,
			 void *owner);
/* NULL is fine. */
void lobby_close(struct lobby *lobby);
/* Takes the descriptor, whose preamble was read already and asks for no job. */
void lobby_enter(struct lobby *lobby, int fd);
/* How many had to go for others, since it was asked last. */
unsigned int lobby_displaced(struct lobby *lobby);

#endif
