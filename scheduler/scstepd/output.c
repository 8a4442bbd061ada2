// SPDX-License-Identifier: BSD-3-Clause
/*
 * output - one watcher per pipe. A pipe outlives its rank when something that the rank has started
 * still holds it.
 */
#include "scheduler/scstepd/output.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "scheduler/proto/ops.h"

struct stream {
	struct stream *next;
	struct output *output;
	struct rank *rank;
	int number; /* 1 or 2 */
	ev_io watcher;
	bool is_dry; /* its rank is gone, and what it wrote is read */
};

struct output {
	struct step *step;
	struct stream *streams;
	int64_t room; /* bytes; may be a chunk below zero */
	bool is_stopped;
	char chunk[FRAME_CHUNK];
};

static bool has_room(const struct output *output)
{
	return output->room > 0 && !tree_is_full(output->step->tree);
}

static void send_chunk(struct stream *stream, size_t size)
{
	struct output *output = stream->output;

	output->room -= (int64_t)size;
	step_send(output->step, 0,
		  json_pack("{s:s, s:I, s:I, s:i}", "op", OP_OUT, "world",
			    (json_int_t)stream->rank->world->number, "rank",
			    (json_int_t)stream->rank->number, "stream", stream->number),
		  output->chunk, size);
}

static void check_ended(struct rank *rank)
{
	if (!rank->has_ended || rank->is_reported)
		return;
	for (int i = 0; i < 2; i++)
		if (rank->streams[i] && !rank->streams[i]->is_dry)
			return;
	rank->is_reported = true;
	step_rank_ended(rank->step, rank);
}

static void stream_free(struct stream *stream)
{
	struct stream **at = &stream->output->streams;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	ev_io_stop(stream->output->step->loop, &stream->watcher);
	close(stream->watcher.fd);
	stream->rank->streams[stream->number - 1] = NULL;
	free(stream);
}

/* Reads while there is something and room. */
static void read_stream(struct stream *stream)
{
	struct output *output = stream->output;
	struct rank *rank = stream->rank;

	while (has_room(output)) {
		ssize_t n = read(stream->watcher.fd, output->chunk, sizeof(output->chunk));

		if (n > 0) {
			send_chunk(stream, (size_t)n);
			if (rank->has_ended)
				continue;
			return; /* the others' turn */
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			stream->is_dry = rank->has_ended;
			break;
		}
		/* The end; a terminal says EIO. */
		send_chunk(stream, 0);
		stream_free(stream);
		break;
	}
	check_ended(rank);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct stream *stream = watcher->data;
	struct output *output = stream->output;

	read_stream(stream);
	output_check(output);
}

struct output *output_open(struct step *step)
{
	struct output *output = calloc(1, sizeof(*output));

	if (output) {
		output->step = step;
		output->room = output_window(step->order->n_hosts);
	}
	return output;
}

void output_close(struct output *output)
{
	while (output && output->streams)
		stream_free(output->streams);
	free(output);
}

int output_add(struct output *output, struct rank *rank, int number, int fd)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream) {
		close(fd);
		return -ENOMEM;
	}
	*stream = (struct stream){
		.next = output->streams, .output = output, .rank = rank, .number = number};
	output->streams = stream;
	rank->streams[number - 1] = stream;
	ev_io_init(&stream->watcher, on_readable, fd, EV_READ);
	stream->watcher.data = stream;
	if (!output->is_stopped)
		ev_io_start(output->step->loop, &stream->watcher);
	return 0;
}

void output_rank_ended(struct output *output, struct rank *rank)
{
	for (int i = 0; i < 2; i++)
		if (rank->streams[i])
			read_stream(rank->streams[i]);
	check_ended(rank);
	output_check(output);
}

void output_room(struct output *output, int64_t bytes)
{
	/* The output under way may be up to a chunk more than the window. */
	if (bytes > 0 && bytes <= OUTPUT_HOST_MAX + FRAME_CHUNK)
		output->room += bytes;
	output_check(output);
}

void output_check(struct output *output)
{
	bool is_stopped = !has_room(output);

	if (is_stopped == output->is_stopped)
		return;
	output->is_stopped = is_stopped;
	for (struct stream *stream = output->streams, *next; stream; stream = next) {
		next = stream->next;
		if (is_stopped)
			ev_io_stop(output->step->loop, &stream->watcher);
		else
			ev_io_start(output->step->loop, &stream->watcher);
	}
}
