// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/link.h"

struct input_chunk {
	struct input_chunk *next;
	size_t size, done;
	char bytes[];
};

/* The first chunk, or what is left of it, is dealt with. */
static void drop(struct input *input)
{
	struct input_chunk *chunk = input->first;

	input->bytes -= chunk->size - chunk->done;
	input->first = chunk->next;
	if (!input->first)
		input->last = NULL;
	free(chunk);
}

static size_t drop_all(struct input *input)
{
	size_t bytes = input->bytes;

	while (input->first)
		drop(input);
	return bytes;
}

static void shut(struct input *input)
{
	if (input->fd < 0)
		return;
	ev_io_stop(input->loop, &input->writable);
	close(input->fd);
	input->fd = -1;
}

/* Bytes that the pipe took; -EAGAIN, or another -errno: nobody reads it any more. */
static ssize_t write_first(struct input *input)
{
	struct input_chunk *chunk = input->first;
	ssize_t n = write(input->fd, chunk->bytes + chunk->done, chunk->size - chunk->done);

	if (n < 0)
		return -errno;
	chunk->done += (size_t)n;
	input->bytes -= (size_t)n;
	if (chunk->done == chunk->size)
		drop(input);
	return n;
}

static void feed(struct input *input)
{
	size_t taken = 0;
	ssize_t n = 0;

	while (input->fd >= 0 && input->first && (n = write_first(input)) >= 0)
		taken += (size_t)n;
	if (n < 0 && n != -EAGAIN && n != -EINTR)
		shut(input);
	if (input->fd < 0)
		taken += drop_all(input);
	else if (input->first)
		ev_io_start(input->loop, &input->writable);
	else
		ev_io_stop(input->loop, &input->writable);
	if (input->is_ended && !input->first)
		shut(input);
	if (taken)
		input->room(taken, input->owner);
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	feed(watcher->data);
}

void input_open(struct input *input, struct ev_loop *loop, int fd,
		void (*room)(size_t bytes, void *owner), void *owner)
{
	*input = (struct input){.loop = loop, .fd = fd, .room = room, .owner = owner};
	ev_io_init(&input->writable, on_writable, fd, EV_WRITE);
	input->writable.data = input;
}

int input_add(struct input *input, const char *bytes, size_t size)
{
	struct input_chunk *chunk;

	if (input->is_ended)
		return 0;
	if (size > LINK_FULL - input->bytes)
		return -ENOBUFS;
	input->is_ended = !size;
	if (size) {
		chunk = malloc(sizeof(*chunk) + size);
		if (!chunk)
			return -ENOMEM;
		*chunk = (struct input_chunk){.size = size};
		memcpy(chunk->bytes, bytes, size);
		*(input->last ? &input->last->next : &input->first) = chunk;
		input->last = chunk;
		input->bytes += size;
	}
	feed(input);
	return 0;
}

void input_discard(struct input *input)
{
	shut(input);
	feed(input);
}

void input_close(struct input *input)
{
	shut(input);
	drop_all(input);
}
