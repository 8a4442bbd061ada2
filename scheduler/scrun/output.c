// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/scrun/files.h"
#include "scheduler/scrun/merge.h"
#include "scheduler/scrun/sink.h"
#include "scheduler/scrun/source.h"

struct output {
	struct ev_loop *loop;
	const struct output_options *options;
	const struct output_events *events;
	void *owner;
	const struct place *place; /* NULL = not known yet */
	struct sink *standard[2];
	struct files *files; /* if the pattern is set */
	struct sources sources;
	struct merge *merge; /* if lines are merged */
	ev_timer merge_due;
	char *batch; /* labelled lines that go together */
	size_t batch_size, batch_room;
};

/* ---- sinks ---- */

static void on_drained(void *owner)
{
	struct output *output = owner;

	if (!output_is_full(output))
		output->events->drained(output->owner);
}

static void on_failed(const struct sink *sink, int error, void *owner)
{
	struct output *output = owner;

	output->events->failed(sink_name(sink), error, output->owner);
}

static const struct sink_events sink_events = {.drained = on_drained, .failed = on_failed};

static bool open_standard(struct output *output, int which, int fd, const char *name)
{
	struct descriptor descriptor;

	descriptor_open(&descriptor, fd, true);
	output->standard[which] = sink_open(output->loop, descriptor, name, &sink_events, output);
	return output->standard[which] != NULL;
}

static void no_memory(struct output *output)
{
	output->events->failed("output", ENOMEM, output->owner);
}

/* ---- merged lines ---- */

static void put_merged(int stream, const char *who, const char *line, size_t size, void *owner)
{
	struct output *output = owner;
	struct sink *sink = output->standard[stream - 1];

	sink_write(sink, "[", 1);
	sink_write(sink, who, strlen(who));
	sink_write(sink, "] ", 2);
	sink_write(sink, line, size);
	sink_write(sink, "\n", 1);
}

static void flush_merged(struct output *output)
{
	ev_timer_stop(output->loop, &output->merge_due);
	if (merge_flush(output->merge, put_merged, output))
		no_memory(output);
}

static void on_merge_due(struct ev_loop *loop, ev_timer *timer, int events)
{
	flush_merged(timer->data);
}

/* ---- life ---- */

static bool is_by_lines(const struct output *output)
{
	return output->options->is_labelled || output->options->is_merged;
}

struct output *output_open(struct ev_loop *loop, const struct output_options *options,
			   const struct output_events *events, void *owner)
{
	struct output *output = calloc(1, sizeof(*output));

	if (!output)
		return NULL;
	output->loop = loop;
	output->options = options;
	output->events = events;
	output->owner = owner;
	ev_timer_init(&output->merge_due, on_merge_due, 0., OUTPUT_MERGE_S);
	output->merge_due.data = output;
	if (options->is_merged)
		output->merge = merge_open();
	if (options->pattern)
		output->files = files_open(loop, &sink_events, output);
	if (output->files && options->is_continued)
		files_continue(output->files);
	if ((options->is_merged && !output->merge) || (options->pattern && !output->files) ||
	    !open_standard(output, 0, STDOUT_FILENO, "standard output") ||
	    !open_standard(output, 1, STDERR_FILENO, "standard error")) {
		output_close(output);
		return NULL;
	}
	return output;
}

void output_close(struct output *output)
{
	if (!output)
		return;
	ev_timer_stop(output->loop, &output->merge_due);
	sources_fini(&output->sources);
	files_close(output->files);
	merge_close(output->merge);
	sink_close(output->standard[0]);
	sink_close(output->standard[1]);
	free(output->batch);
	free(output);
}

void output_place(struct output *output, const struct place *place)
{
	output->place = place;
}

struct sink *output_error(const struct output *output)
{
	return output->standard[1];
}

/* ---- sources ---- */

static const char *host_of(const struct output *output, uint64_t world, uint64_t rank)
{
	return output->place && !world ? place_name_of(output->place, rank) : NULL;
}

static void open_file(struct output *output, struct source *source, int stream, const char *host)
{
	struct files_words words = {.job = output->place ? output->place->id : 0,
				    .world = source->world,
				    .rank = source->rank,
				    .host = host,
				    .stream = stream};
	char wrong, *name = files_name(output->options->pattern, &words, &wrong);

	if (!name) {
		output->events->failed(output->options->pattern, wrong ? EINVAL : ENOMEM,
				       output->owner);
		return;
	}
	source->file[stream - 1] = files_get(output->files, name);
	if (!source->file[stream - 1])
		output->events->failed(name, errno, output->owner);
	free(name);
}

static struct source *source_of(struct output *output, uint64_t world, uint64_t rank)
{
	struct source *source = sources_find(&output->sources, world, rank);
	const char *host;

	if (source)
		return source;
	source = sources_add(&output->sources, world, rank);
	if (!source) {
		no_memory(output);
		return NULL;
	}
	host = host_of(output, world, rank);
	label_text(source->label, world, rank, host);
	if (output->files) {
		open_file(output, source, 1, host);
		open_file(output, source, 2, host);
	}
	return source;
}

static struct sink *sink_of(const struct output *output, const struct source *source, int stream)
{
	if (output->files)
		return source->file[stream - 1];
	return output->standard[stream - 1];
}

/* ---- lines ---- */

struct emission {
	struct output *output;
	const struct source *source;
	int stream;
	bool is_failed;
};

static bool make_room(struct output *output, size_t size)
{
	size_t room = output->batch_room ? output->batch_room : 4096;
	char *more;

	while (room - output->batch_size < size)
		room *= 2;
	if (room == output->batch_room)
		return true;
	more = realloc(output->batch, room);
	if (!more)
		return false;
	output->batch = more;
	output->batch_room = room;
	return true;
}

static void add_labelled(struct emission *e, const char *line, size_t size)
{
	struct output *output = e->output;
	size_t length = strlen(e->source->label);
	char *to;

	if (!make_room(output, length + size + 1)) {
		e->is_failed = true;
		return;
	}
	to = output->batch + output->batch_size;
	memcpy(to, e->source->label, length);
	memcpy(to + length, line, size);
	to[length + size] = '\n';
	output->batch_size += length + size + 1;
}

static void on_line(const char *line, size_t size, void *owner)
{
	struct emission *e = owner;
	struct output *output = e->output;

	/* Only ranks of one world can be counted together. */
	if (!output->merge || e->source->world) {
		add_labelled(e, line, size);
		return;
	}
	if (merge_add(output->merge, (uint32_t)e->source->rank, e->stream, line, size))
		e->is_failed = true;
	else if (!ev_is_active(&output->merge_due))
		ev_timer_again(output->loop, &output->merge_due);
}

static void put_lines(struct output *output, struct source *source, int stream, const char *data,
		      size_t size)
{
	struct emission e = {.output = output, .source = source, .stream = stream};
	struct label_line *line = &source->line[stream - 1];
	struct sink *sink = sink_of(output, source, stream);

	if (!size)
		label_end(line, on_line, &e);
	else if (label_feed(line, data, size, on_line, &e))
		e.is_failed = true;
	if (e.is_failed)
		no_memory(output);
	if (sink)
		sink_write(sink, output->batch, output->batch_size);
	output->batch_size = 0;
	if (output->merge && merge_size(output->merge) >= MERGE_FULL)
		flush_merged(output);
}

/* ---- what comes ---- */

static void end_stream(struct output *output, struct source *source, int stream)
{
	if (source->is_ended[stream - 1])
		return;
	source->is_ended[stream - 1] = true;
	if (is_by_lines(output))
		put_lines(output, source, stream, NULL, 0);
	label_fini(&source->line[stream - 1]);
	if (source->file[stream - 1])
		files_put(output->files, source->file[stream - 1]);
	source->file[stream - 1] = NULL;
}

void output_write(struct output *output, uint64_t world, uint64_t rank, int stream,
		  const char *data, size_t size)
{
	struct source *source = source_of(output, world, rank);

	if (!source || source->is_ended[stream - 1])
		return;
	if (!size)
		end_stream(output, source, stream);
	else if (is_by_lines(output))
		put_lines(output, source, stream, data, size);
	else if (sink_of(output, source, stream))
		sink_write(sink_of(output, source, stream), data, size);
}

void output_end(struct output *output)
{
	for (struct source *source = output->sources.first; source; source = source->next) {
		end_stream(output, source, 1);
		end_stream(output, source, 2);
	}
	if (output->merge)
		flush_merged(output);
}

bool output_is_full(const struct output *output)
{
	return sink_is_full(output->standard[0]) || sink_is_full(output->standard[1]) ||
	       (output->files && files_are_full(output->files));
}

bool output_is_empty(const struct output *output)
{
	return sink_is_empty(output->standard[0]) && sink_is_empty(output->standard[1]) &&
	       (!output->files || files_are_empty(output->files));
}
