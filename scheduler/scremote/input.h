/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input - the standard input of one command: what scout sent and the pipe did not take yet. Gives
 * back the credit of what is written, and of all that nobody wants to read.
 */
#ifndef SCHEDULER_SCREMOTE_INPUT_H
#define SCHEDULER_SCREMOTE_INPUT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct input_chunk;

struct input {
	struct ev_loop *loop;
	int fd; /* -1: closed, what comes is thrown away */
	ev_io writable;
	struct input_chunk *first, *last;
	size_t bytes;  /* that wait */
	bool is_ended; /* by scout */
	void (*room)(size_t bytes, void *owner);
	void *owner;
};

/*
 * @fd is ours from now on; -1: there is none. @room may be called by any of the functions below but
 * input_close().
 */
void input_open(struct input *input, struct ev_loop *loop, int fd,
		void (*room)(size_t bytes, void *owner), void *owner);
/* No bytes: the end. 0; -ENOBUFS: more than the credit; -ENOMEM. */
int input_add(struct input *input, const char *bytes, size_t size);
/* Nobody reads it any more: what waits and what comes is thrown away, and there is room for it. */
void input_discard(struct input *input);
void input_close(struct input *input);

#endif
