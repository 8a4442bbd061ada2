/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link_world - what tests of links over loopback share: a munged of their own, an acceptor with a
 * server behind it, and a client, all in one loop. Counts what happens; judges nothing.
 */
#ifndef TESTS_UNIT_SCHEDULER_PROTO_LINK_WORLD_H
#define TESTS_UNIT_SCHEDULER_PROTO_LINK_WORLD_H

#include "scheduler/proto/acceptor.h"
#include "scheduler/proto/link.h"
#include "tests/harness/munged.h"

#define NOBODY 65534

struct side {
	struct ev_loop *loop;
	struct link *link;
	unsigned int n_ready, n_messages, n_closed;
	uid_t uid;
	char role[64];
	char last_op[32];
	size_t body_bytes;
	int error;
	char why[512];
	bool is_echo, closes_when_ready;
	const char *break_at; /* "ready", "message", "closed" end ev_run() */
};

struct world {
	struct ev_loop *loop;
	struct munged munged;
	struct auth *auth;
	struct acceptor *acceptor;
	struct side server, client;
	uint64_t asks;   /* job that the client asks for */
	uint64_t job;    /* that the acceptor was told */
	uint64_t serves; /* job of the server, if it is another one than the preamble named */
	unsigned int n_entered;
	char address[64];
	ev_timer limit;
};

extern const struct link_events world_events;

void world_run(struct world *world);
void world_settle(struct world *world);
bool world_setup(struct world *world);
void world_teardown(struct world *world);
void world_connect(struct world *world, const char *break_at);
int world_stranger(const struct world *world);
int world_greeted_stranger(struct world *world);
void world_enter(int fd, uint64_t job, void *owner);

#endif
