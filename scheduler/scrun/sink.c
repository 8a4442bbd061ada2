// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sink {
	struct ev_loop *loop;
	struct descriptor descriptor;
	const struct sink_events *events;
	void *owner;
	char *name;
	ev_io writable;
	char *queue;
	size_t begin, end, room; /* what waits is queue[begin..end) */
	bool has_failed;
};

static size_t waiting(const struct sink *sink)
{
	return sink->end - sink->begin;
}

static void fail(struct sink *sink, int error)
{
	ev_io_stop(sink->loop, &sink->writable);
	sink->has_failed = true;
	sink->begin = sink->end = 0;
	sink->events->failed(sink, error, sink->owner);
}

/* Bytes that went; it has failed if they are fewer than @size and no room is not the reason. */
static size_t write_now(struct sink *sink, const char *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = descriptor_write(&sink->descriptor, data + done, size - done);

		if (n == -EAGAIN)
			break;
		if (n < 0) {
			fail(sink, (int)-n);
			break;
		}
		done += (size_t)n;
	}
	return done;
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct sink *sink = watcher->data;
	bool was_full = sink_is_full(sink);
	size_t n = write_now(sink, sink->queue + sink->begin, waiting(sink));

	if (sink->has_failed)
		return;
	sink->begin += n;
	if (sink_is_empty(sink)) {
		ev_io_stop(loop, watcher);
		sink->begin = sink->end = 0;
	}
	if (sink_is_empty(sink) || (was_full && !sink_is_full(sink)))
		sink->events->drained(sink->owner);
}

struct sink *sink_open(struct ev_loop *loop, struct descriptor descriptor, const char *name,
		       const struct sink_events *events, void *owner)
{
	struct sink *sink = calloc(1, sizeof(*sink));

	if (!sink || !(sink->name = strdup(name))) {
		free(sink);
		descriptor_close(&descriptor);
		return NULL;
	}
	sink->loop = loop;
	sink->descriptor = descriptor;
	sink->events = events;
	sink->owner = owner;
	ev_io_init(&sink->writable, on_writable, descriptor.fd, EV_WRITE);
	sink->writable.data = sink;
	return sink;
}

void sink_close(struct sink *sink)
{
	if (!sink)
		return;
	ev_io_stop(sink->loop, &sink->writable);
	descriptor_close(&sink->descriptor);
	free(sink->queue);
	free(sink->name);
	free(sink);
}

static bool make_room(struct sink *sink, size_t size)
{
	size_t room = sink->room ? sink->room : 4096;
	char *more;

	if (sink->begin) {
		memmove(sink->queue, sink->queue + sink->begin, waiting(sink));
		sink->end -= sink->begin;
		sink->begin = 0;
	}
	while (room - sink->end < size)
		room *= 2;
	if (room == sink->room)
		return true;
	more = realloc(sink->queue, room);
	if (!more)
		return false;
	sink->queue = more;
	sink->room = room;
	return true;
}

void sink_write(struct sink *sink, const void *data, size_t size)
{
	size_t done;

	if (sink->has_failed || !size)
		return;
	done = sink_is_empty(sink) ? write_now(sink, data, size) : 0;
	if (done == size || sink->has_failed)
		return;
	if (sink->room - sink->end < size - done && !make_room(sink, size - done)) {
		fail(sink, ENOMEM);
		return;
	}
	memcpy(sink->queue + sink->end, (const char *)data + done, size - done);
	sink->end += size - done;
	ev_io_start(sink->loop, &sink->writable);
}

bool sink_is_full(const struct sink *sink)
{
	return waiting(sink) >= SINK_FULL;
}

bool sink_is_empty(const struct sink *sink)
{
	return !waiting(sink);
}

const char *sink_name(const struct sink *sink)
{
	return sink->name;
}
