// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/label.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int keep(struct label_line *line, const char *data, size_t size)
{
	size_t room = line->room ? line->room : 256;
	char *more;

	while (room < line->size + size)
		room *= 2;
	if (room > line->room) {
		more = realloc(line->text, room);
		if (!more)
			return -ENOMEM;
		line->text = more;
		line->room = room;
	}
	memcpy(line->text + line->size, data, size);
	line->size += size;
	return 0;
}

static void emit_kept(struct label_line *line, label_emit *emit, void *owner)
{
	size_t size = line->size;

	line->size = 0;
	emit(line->text ? line->text : "", size, owner);
}

int label_feed(struct label_line *line, const char *data, size_t size, label_emit *emit,
	       void *owner)
{
	while (size) {
		size_t most = LABEL_LINE_MAX - line->size;
		const char *end = memchr(data, '\n', size <= most ? size : most + 1);
		size_t n = end ? (size_t)(end - data) : size < most ? size : most;

		if (end && !line->size)
			emit(data, n, owner);
		else if (keep(line, data, n))
			return -ENOMEM;
		else if (end || !n)
			emit_kept(line, emit, owner);
		data += n + (end != NULL);
		size -= n + (end != NULL);
	}
	return 0;
}

void label_end(struct label_line *line, label_emit *emit, void *owner)
{
	if (line->size)
		emit_kept(line, emit, owner);
}

void label_fini(struct label_line *line)
{
	free(line->text);
	*line = (struct label_line){0};
}

void label_text(char to[LABEL_MAX], uint64_t world, uint64_t rank, const char *host)
{
	char number[48];

	if (world)
		snprintf(number, sizeof(number), "%" PRIu64 ".%" PRIu64, world, rank);
	else
		snprintf(number, sizeof(number), "%" PRIu64, rank);
	if (host)
		snprintf(to, LABEL_MAX, "[%s %s] ", number, host);
	else
		snprintf(to, LABEL_MAX, "[%s] ", number);
}
