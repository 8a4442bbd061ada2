/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output - one pipe that a command writes into, read as far as there is room for it with its
 * reader.
 */
#ifndef SCHEDULER_SCREMOTE_OUTPUT_H
#define SCHEDULER_SCREMOTE_OUTPUT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct output_events {
	size_t (*room)(void *owner); /* how much may be told now */
	void (*bytes)(int stream, const char *bytes, size_t size, void *owner);
	void (*end)(void *owner); /* of this pipe; nothing of it is used after the call */
};

struct output {
	struct ev_loop *loop;
	int fd; /* -1: closed */
	int stream;
	ev_io readable;
	bool has_limit; /* the command has ended: only what it wrote is of interest */
	size_t limit;   /* bytes of that */
	const struct output_events *events;
	void *owner;
};

/* @fd is ours from now on; -1: there is none, and no event comes. */
void output_open(struct output *output, struct ev_loop *loop, int fd, int stream,
		 const struct output_events *events, void *owner);
/* There may be room again. */
void output_resume(struct output *output);
/*
 * The command has ended: no more than what stands in the pipe now is read, whoever else may hold
 * it.
 */
void output_finish(struct output *output);
void output_close(struct output *output);

#endif
