// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/output.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"

static char chunk[FRAME_CHUNK];

static size_t wanted(const struct output *output)
{
	size_t room = output->events->room(output->owner);

	if (output->has_limit && output->limit < room)
		room = output->limit;
	return room < sizeof(chunk) ? room : sizeof(chunk);
}

static void end(struct output *output)
{
	output_close(output);
	output->events->end(output->owner);
}

static void read_some(struct output *output)
{
	size_t size = wanted(output);
	ssize_t n;

	if (output->has_limit && !output->limit) {
		end(output);
		return;
	}
	if (!size) {
		ev_io_stop(output->loop, &output->readable);
		return;
	}
	n = read(output->fd, chunk, size);
	if (n < 0 && (errno == EINTR || (errno == EAGAIN && !output->has_limit)))
		return;
	if (n <= 0) {
		end(output);
		return;
	}
	output->events->bytes(output->stream, chunk, (size_t)n, output->owner);
	if (!output->has_limit)
		return;
	output->limit -= (size_t)n;
	if (!output->limit)
		end(output);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	read_some(watcher->data);
}

void output_open(struct output *output, struct ev_loop *loop, int fd, int stream,
		 const struct output_events *events, void *owner)
{
	*output = (struct output){
		.loop = loop, .fd = fd, .stream = stream, .events = events, .owner = owner};
	ev_io_init(&output->readable, on_readable, fd, EV_READ);
	output->readable.data = output;
	output_resume(output);
}

void output_resume(struct output *output)
{
	if (output->fd >= 0 && output->events->room(output->owner))
		ev_io_start(output->loop, &output->readable);
}

void output_finish(struct output *output)
{
	int n = 0;

	if (output->fd < 0)
		return;
	/* A pipe that does not tell is read until it is empty. */
	output->limit = ioctl(output->fd, FIONREAD, &n) ? (size_t)-1 : (size_t)n;
	output->has_limit = true;
	/* Nothing may ever make it readable. */
	ev_feed_event(output->loop, &output->readable, EV_READ);
}

void output_close(struct output *output)
{
	if (output->fd < 0)
		return;
	ev_io_stop(output->loop, &output->readable);
	close(output->fd);
	output->fd = -1;
}
