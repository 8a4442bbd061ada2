// SPDX-License-Identifier: BSD-3-Clause
/*
 * input - one queue of chunks, and a place in it for each reader; a chunk goes when the last reader
 * has it.
 */
#include "scheduler/scstepd/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "scheduler/proto/ops.h"

struct chunk {
	struct chunk *next;
	size_t size;    /* 0: the end of the input */
	size_t readers; /* that have not had it yet */
	char data[];
};

struct reader {
	struct reader *next;
	struct input *input;
	const struct rank *rank;
	ev_io watcher;
	struct chunk *at; /* what it gets next; NULL = all had */
	size_t done;      /* bytes of it */
	bool is_terminal;
};

struct input {
	struct step *step;
	struct reader *readers;
	size_t n_readers;
	struct chunk *first, **last;
	bool is_begun;         /* all readers are there */
	struct winsize window; /* of scrun's terminal; 0 = not known */
};

struct input *input_open(struct step *step)
{
	struct input *input = calloc(1, sizeof(*input));

	if (input) {
		input->step = step;
		input->last = &input->first;
	}
	return input;
}

bool input_is_for(const struct step *step, const struct world *world, uint32_t rank)
{
	int64_t wanted = step->order->job->stdin_rank;

	return !world->is_spawned && (wanted == JOB_STDIN_ALL || wanted == (int64_t)rank);
}

/* Chunks that every reader had. */
static void acknowledge(struct input *input)
{
	size_t bytes = 0;

	while (input->first && !input->first->readers) {
		struct chunk *chunk = input->first;

		bytes += chunk->size;
		input->first = chunk->next;
		if (!input->first)
			input->last = &input->first;
		free(chunk);
	}
	if (bytes)
		step_send(input->step, 0,
			  json_pack("{s:s, s:I}", "op", OP_IN_ROOM, "bytes", (json_int_t)bytes),
			  NULL, 0);
}

static void reader_free(struct reader *reader)
{
	struct input *input = reader->input;
	struct reader **at = &input->readers;

	for (struct chunk *chunk = reader->at; chunk; chunk = chunk->next)
		chunk->readers--;
	while (*at != reader)
		at = &(*at)->next;
	*at = reader->next;
	input->n_readers--;
	ev_io_stop(input->step->loop, &reader->watcher);
	close(reader->watcher.fd);
	free(reader);
}

static void next_chunk(struct reader *reader)
{
	reader->at->readers--;
	reader->at = reader->at->next;
	reader->done = 0;
}

/* A terminal has no end of file; it has a character that its line discipline takes for one. */
static bool end_terminal(const struct reader *reader)
{
	struct termios terminal;
	char byte = 4;

	if (tcgetattr(reader->watcher.fd, &terminal) == 0)
		byte = (char)terminal.c_cc[VEOF];
	return write(reader->watcher.fd, &byte, 1) == 1;
}

/* false: the reader is gone. */
static bool feed(struct reader *reader)
{
	while (reader->at) {
		struct chunk *chunk = reader->at;
		ssize_t n;

		if (!chunk->size) {
			if (!reader->is_terminal) {
				reader_free(reader);
				return false;
			}
			if (!end_terminal(reader))
				break;
			next_chunk(reader);
			continue;
		}
		n = write(reader->watcher.fd, chunk->data + reader->done,
			  chunk->size - reader->done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			/* It does not want to read: not our business. */
			reader_free(reader);
			return false;
		}
		reader->done += (size_t)n;
		if (reader->done == chunk->size)
			next_chunk(reader);
	}
	if (reader->at)
		ev_io_start(reader->input->step->loop, &reader->watcher);
	else
		ev_io_stop(reader->input->step->loop, &reader->watcher);
	return true;
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct reader *reader = watcher->data;
	struct input *input = reader->input;

	feed(reader);
	acknowledge(input);
}

static void set_window(const struct input *input, const struct reader *reader)
{
	/* Without it a program takes its own default. */
	if (reader->is_terminal && input->window.ws_col)
		ioctl(reader->watcher.fd, TIOCSWINSZ, &input->window);
}

int input_add(struct input *input, struct rank *rank, int fd, bool is_terminal)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	if (!reader) {
		close(fd);
		return -ENOMEM;
	}
	*reader = (struct reader){
		.next = input->readers, .input = input, .rank = rank, .is_terminal = is_terminal};
	ev_io_init(&reader->watcher, on_writable, fd, EV_WRITE);
	reader->watcher.data = reader;
	input->readers = reader;
	input->n_readers++;
	set_window(input, reader);
	return 0;
}

void input_begin(struct input *input)
{
	input->is_begun = true;
	for (struct chunk *chunk = input->first; chunk; chunk = chunk->next)
		chunk->readers = input->n_readers;
	for (struct reader *reader = input->readers, *next; reader; reader = next) {
		next = reader->next;
		reader->at = input->first;
		feed(reader);
	}
	acknowledge(input);
}

void input_rank_ended(struct input *input, const struct rank *rank)
{
	for (struct reader *reader = input->readers, *next; reader; reader = next) {
		next = reader->next;
		if (reader->rank == rank)
			reader_free(reader);
	}
	if (input->is_begun)
		acknowledge(input);
}

void input_told(struct input *input, const char *body, size_t size)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk) {
		step_failed(input->step, 0, -1, STEP_CODE_LOST, "out of memory");
		return;
	}
	*chunk = (struct chunk){.size = size, .readers = input->is_begun ? input->n_readers : 1};
	if (size)
		memcpy(chunk->data, body, size);
	*input->last = chunk;
	input->last = &chunk->next;
	for (struct reader *reader = input->is_begun ? input->readers : NULL, *next; reader;
	     reader = next) {
		next = reader->next;
		if (!reader->at) {
			reader->at = chunk;
			feed(reader);
		}
	}
	acknowledge(input);
}

void input_window(struct input *input, int columns, int rows)
{
	input->window.ws_col = (unsigned short)columns;
	input->window.ws_row = (unsigned short)rows;
	for (struct reader *reader = input->readers; reader; reader = reader->next)
		set_window(input, reader);
}

void input_close(struct input *input)
{
	if (!input)
		return;
	while (input->readers)
		reader_free(input->readers);
	while (input->first) {
		struct chunk *chunk = input->first;

		input->first = chunk->next;
		free(chunk);
	}
	free(input);
}
