// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/input.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "scheduler/scrun/descriptor.h"
#include "scheduler/scrun/terminal.h"

struct input {
	struct ev_loop *loop;
	const struct input_events *events;
	void *owner;
	struct descriptor descriptor;
	int fd; /* as it was given: what the terminal is asked about */
	bool is_ours;
	bool is_ended;
	ev_io readable;
	ev_timer glance;
	char chunk[FRAME_CHUNK];
};

static void stop(struct input *input)
{
	ev_io_stop(input->loop, &input->readable);
	ev_timer_stop(input->loop, &input->glance);
}

static void end(struct input *input, int error)
{
	stop(input);
	input->is_ended = true;
	input->events->data(NULL, 0, error, input->owner);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct input *input = watcher->data;
	size_t room = input->events->room(input->owner);
	ssize_t n;

	/*
	 * No event tells of the foreground; who reads in the background is stopped, and the job's
	 * output with it.
	 */
	if (!terminal_is_ours(input->fd)) {
		ev_io_stop(loop, watcher);
		ev_timer_again(loop, &input->glance);
		return;
	}
	if (!room) {
		ev_io_stop(loop, watcher);
		return;
	}
	n = descriptor_read(&input->descriptor, input->chunk,
			    room < sizeof(input->chunk) ? room : sizeof(input->chunk));
	if (n == -EAGAIN)
		return;
	/* A terminal that has hung up says EIO. */
	if (n <= 0)
		end(input, n == -EIO && isatty(input->fd) ? 0 : (int)-n);
	else
		input->events->data(input->chunk, (size_t)n, 0, input->owner);
}

void input_go(struct input *input)
{
	if (input->is_ended || !input->events->room(input->owner))
		return;
	ev_timer_stop(input->loop, &input->glance);
	ev_io_start(input->loop, &input->readable);
}

static void on_glance(struct ev_loop *loop, ev_timer *timer, int events)
{
	input_go(timer->data);
}

struct input *input_open(struct ev_loop *loop, int fd, bool is_ours,
			 const struct input_events *events, void *owner)
{
	struct input *input = calloc(1, sizeof(*input));

	if (!input) {
		if (is_ours)
			close(fd);
		return NULL;
	}
	input->loop = loop;
	input->events = events;
	input->owner = owner;
	input->fd = fd;
	input->is_ours = is_ours;
	descriptor_open(&input->descriptor, fd, false);
	ev_io_init(&input->readable, on_readable, input->descriptor.fd, EV_READ);
	ev_timer_init(&input->glance, on_glance, 0., INPUT_GLANCE_S);
	input->readable.data = input->glance.data = input;
	return input;
}

void input_close(struct input *input)
{
	if (!input)
		return;
	stop(input);
	descriptor_close(&input->descriptor);
	if (input->is_ours)
		close(input->fd);
	free(input);
}
