/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output - what the ranks print, on its way to standard output and error or to files: byte for
 * byte, as labelled lines, or merged. Says when it takes no more for now.
 */
#ifndef SCHEDULER_SCRUN_OUTPUT_H
#define SCHEDULER_SCRUN_OUTPUT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/scrun/place.h"

#define OUTPUT_MERGE_S 0.2 /* how long equal lines are waited for */

struct output;
struct sink;

struct output_events {
	void (*drained)(void *owner); /* takes more again, or all is written */
	/*
	 * It cannot be written: @name is a file, "standard output"... May come out of
	 * output_write().
	 */
	void (*failed)(const char *name, int error, void *owner);
};

struct output_options {
	bool is_labelled, is_merged;
	const char *pattern; /* of files, or NULL */
	bool is_continued;   /* files that are there are not emptied */
};

/* Options and place must outlive it. NULL: no memory. */
struct output *output_open(struct ev_loop *loop, const struct output_options *options,
			   const struct output_events *events, void *owner);
void output_close(struct output *output);
/* Where the ranks are; before the first output_write(). */
void output_place(struct output *output, const struct place *place);
/* Size 0: the end of that stream. @stream is 1 or 2. */
void output_write(struct output *output, uint64_t world, uint64_t rank, int stream,
		  const char *data, size_t size);
/* Nothing more comes: lines that have no end go now. */
void output_end(struct output *output);
bool output_is_full(const struct output *output);
bool output_is_empty(const struct output *output);
/* Our standard error, for lines of our own. */
struct sink *output_error(const struct output *output);

#endif
