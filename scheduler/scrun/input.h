/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input - standard input, or a file, on its way to the ranks: read only when they have room for it,
 * and never while the terminal belongs to somebody else.
 */
#ifndef SCHEDULER_SCRUN_INPUT_H
#define SCHEDULER_SCRUN_INPUT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#define INPUT_GLANCE_S 0.5 /* how often to see whether a terminal has become ours */

struct input;

struct input_events {
	size_t (*room)(void *owner); /* bytes that may come now */
	/* Size 0: the end; @error: the reason if it is not the natural one. */
	void (*data)(const char *data, size_t size, int error, void *owner);
};

/* Reads @fd, ours from now on if @is_ours. Nothing is read before input_go(). NULL: no memory. */
struct input *input_open(struct ev_loop *loop, int fd, bool is_ours,
			 const struct input_events *events, void *owner);
void input_close(struct input *input);
/* There may be room, or the terminal may have become ours. */
void input_go(struct input *input);

#endif
