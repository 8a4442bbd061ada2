/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * branch - a host below us in the tree of one file that is put: what has come goes on to it as far
 * as it has room. One that cannot be reached, or takes nothing for BRANCH_STALL_S, is cut off with
 * all hosts below it, and scout is told.
 */
#ifndef SCHEDULER_SCREMOTE_BRANCH_H
#define SCHEDULER_SCREMOTE_BRANCH_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/shared.h"
#include "scheduler/scremote/agent.h"
#include "scheduler/scremote/message.h"

#define BRANCH_STALL_S 10.0

struct branch_chunk;

struct branch {
	TAILQ_ENTRY(branch) all;
	struct agent *agent;
	uint64_t id;       /* of the put */
	struct link *link; /* NULL: nothing more goes there */
	json_t *hosts;     /* names of all that get nothing if it is cut */
	STAILQ_HEAD(, branch_chunk) waiting;
	uint64_t passed; /* bytes of the file that we need not keep for it */
	size_t room;     /* bytes it takes */
	bool is_ready;   /* it knows who we are */
	bool is_at_end;  /* of the file: nothing comes behind what waits */
	bool has_ended;  /* that is said, too */
	ev_timer stall;
	void (*moved)(void *owner); /* passed has grown, or it is done */
	void *owner;
};
TAILQ_HEAD(branch_list, branch);

/* Its first message is @put for @child. NULL: no memory. */
struct branch *branch_open(struct agent *agent, const struct message *put,
			   const struct message_child *child, void (*moved)(void *owner),
			   void *owner);
/* The next bytes; NULL: the end. moved() is not called. */
void branch_add(struct branch *branch, struct shared *bytes);
/* All there is to do has been done. */
bool branch_is_done(const struct branch *branch);
void branch_close(struct branch *branch);

#endif
