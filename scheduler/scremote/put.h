/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put - a file that comes, from scout or from a host above us in a tree, and goes to a process that
 * writes it and to the hosts below us. Room is given for what has gone to all of them: the slowest
 * sets the pace.
 */
#ifndef SCHEDULER_SCREMOTE_PUT_H
#define SCHEDULER_SCREMOTE_PUT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "scheduler/scremote/agent.h"
#include "scheduler/scremote/branch.h"
#include "scheduler/scremote/file.h"
#include "scheduler/scremote/input.h"
#include "scheduler/scremote/message.h"

#define PUT_MAX 64 /* at once */

struct put {
	TAILQ_ENTRY(put) all;
	struct agent *agent;
	struct link *source; /* NULL: gone, and not needed */
	uint64_t id;
	int control; /* to the writer; -1: it has said how it went */
	ev_io heard;
	struct input input; /* of the writer */
	struct branch_list branches;
	uint64_t come;    /* bytes of the file */
	uint64_t written; /* of them by the writer */
	uint64_t given;   /* of them the source has got room for again */
	bool is_at_end;   /* all has come */
	bool has_failed;  /* here; it may still go to others */
	bool is_busy;     /* the input is being called */
};

struct put *put_find(const struct agent *agent, const struct link *source, uint64_t id);
/* Whether it can be or not, scout hears OP_FILE_DONE or OP_FAILED. */
void put_start(struct agent *agent, struct link *source, const struct message *message);
/*
 * No bytes: the end. 0, or -errno: the source keeps to no credit, or there is no memory. The put
 * may be gone.
 */
int put_data(struct put *put, const char *bytes, size_t size);
/* The source is gone: what it has not sent to its end has failed. */
void put_lose(struct agent *agent, const struct link *source);
/* A file that is not finished leaves nothing on the disk. */
void put_free(struct put *put);

#endif
