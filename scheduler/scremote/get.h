/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * get - a file that is sent to scout, read by a process as far as scout has room.
 */
#ifndef SCHEDULER_SCREMOTE_GET_H
#define SCHEDULER_SCREMOTE_GET_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "scheduler/scremote/agent.h"
#include "scheduler/scremote/file.h"
#include "scheduler/scremote/message.h"
#include "scheduler/scremote/output.h"

#define GET_MAX 64 /* at once */

struct get {
	TAILQ_ENTRY(get) all;
	struct agent *agent;
	uint64_t id;
	int control; /* to the reader; -1: it has said how it went */
	ev_io heard;
	struct output output;
	size_t room;  /* bytes that scout takes */
	bool is_told; /* scout knows what file it is */
	struct file_report report;
};

struct get *get_find(const struct agent *agent, uint64_t id);
/* Scout hears OP_FILE or OP_FAILED. */
void get_start(struct agent *agent, const struct message *message);
void get_room(struct get *get, size_t bytes);
/* There may be room again. */
void get_resume(struct get *get);
/* scout wants no more of it: OP_FAILED. */
void get_cancel(struct get *get);
void get_free(struct get *get);

#endif
