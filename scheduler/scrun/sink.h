/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink - a place that output goes to: standard output, standard error, a file. Queues what it does
 * not take now, and says when that is too much.
 */
#ifndef SCHEDULER_SCRUN_SINK_H
#define SCHEDULER_SCRUN_SINK_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "scheduler/scrun/descriptor.h"

#define SINK_FULL (1u << 20) /* bytes queued from which on it is full */

struct sink;

struct sink_events {
	void (*drained)(void *owner); /* was full, is half empty now; or is empty now */
	/*
	 * It takes no more, and forgets what it is given from now on. May come out of sink_write().
	 */
	void (*failed)(const struct sink *sink, int error, void *owner);
};

/* @descriptor is the sink's from now on. @name: for messages; copied. NULL: no memory. */
struct sink *sink_open(struct ev_loop *loop, struct descriptor descriptor, const char *name,
		       const struct sink_events *events, void *owner);
void sink_close(struct sink *sink);
void sink_write(struct sink *sink, const void *data, size_t size);
bool sink_is_full(const struct sink *sink);
bool sink_is_empty(const struct sink *sink);
const char *sink_name(const struct sink *sink);

#endif
