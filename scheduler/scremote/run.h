/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run - one command by scout's order: its keeper, its standard input and output, its end.
 */
#ifndef SCHEDULER_SCREMOTE_RUN_H
#define SCHEDULER_SCREMOTE_RUN_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "scheduler/scremote/agent.h"
#include "scheduler/scremote/input.h"
#include "scheduler/scremote/keeper.h"
#include "scheduler/scremote/message.h"
#include "scheduler/scremote/output.h"

#define RUN_MAX 1024 /* at once */

struct run {
	TAILQ_ENTRY(run) all;
	struct agent *agent;
	uint64_t id;
	int control; /* to the keeper; -1: the command has ended */
	ev_io heard;
	struct input input;
	struct output output[2];
	size_t room; /* bytes of output that scout takes */
	struct keeper_report report;
};

struct run *run_find(const struct agent *agent, uint64_t id);
/* Whether it could be started or not, scout hears OP_ENDED. */
void run_start(struct agent *agent, const struct message *message);
/* 0, or -errno: it is not kept to the credit, or there is no memory. */
int run_input(struct run *run, const char *bytes, size_t size);
void run_room(struct run *run, size_t bytes);
void run_signal(struct run *run, int signal);
/* Whether the command has not ended. */
bool run_is_under_way(const struct run *run);
/* There may be room for output again. */
void run_resume(struct run *run);
/* Its keeper sees to it that nothing of it is left, if the command has not ended. */
void run_free(struct run *run);

/* OP_ENDED of one that never began. @report->text may be empty. */
void run_refuse(struct agent *agent, uint64_t id, const struct keeper_report *report);

#endif
