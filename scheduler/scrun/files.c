// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/files.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct file {
	struct file *next, *previous; /* of those that are open */
	char *name;
	struct sink *sink; /* NULL = closed, to be gone on with */
	unsigned int users;
};

struct files {
	struct ev_loop *loop;
	const struct sink_events *events;
	void *owner;
	void *by_name; /* tsearch(3); closed ones, too */
	struct file *open;
	bool is_continued;
};

char *files_name(const char *pattern, const struct files_words *words, char *wrong)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	*wrong = 0;
	for (const char *at = pattern; out && *at && !*wrong; at++) {
		if (*at != '%') {
			putc(*at, out);
			continue;
		}
		switch (*++at) {
		case 'r':
			fprintf(out, "%llu", (unsigned long long)words->rank);
			break;
		case 'h':
			fputs(words->host ? words->host : "unknown", out);
			break;
		case 'j':
			fprintf(out, "%llu", (unsigned long long)words->job);
			break;
		case 'w':
			fprintf(out, "%llu", (unsigned long long)words->world);
			break;
		case 's':
			fputs(words->stream == 2 ? "err" : "out", out);
			break;
		case '%':
			putc('%', out);
			break;
		default:
			*wrong = *at ? *at : '%';
			at -= !*at;
		}
	}
	if (!out || fclose(out) || *wrong) {
		free(text);
		return NULL;
	}
	return text;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

/* One file for each rank may be more than are allowed by default. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

struct files *files_open(struct ev_loop *loop, const struct sink_events *events, void *owner)
{
	struct files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->loop = loop;
	files->events = events;
	files->owner = owner;
	raise_limit();
	return files;
}

void files_continue(struct files *files)
{
	files->is_continued = true;
}

static void unlist(struct files *files, struct file *file)
{
	sink_close(file->sink);
	file->sink = NULL;
	if (file->next)
		file->next->previous = file->previous;
	*(file->previous ? &file->previous->next : &files->open) = file->next;
}

static void file_free(void *node)
{
	struct file *file = node;

	free(file->name);
	free(file);
}

void files_close(struct files *files)
{
	if (!files)
		return;
	while (files->open)
		unlist(files, files->open);
	tdestroy(files->by_name, file_free);
	free(files);
}

static struct file *find(struct files *files, const char *name)
{
	struct file key = {.name = (char *)(uintptr_t)name}, *file, **node;

	node = tfind(&key, &files->by_name, by_name);
	if (node)
		return *node;
	file = calloc(1, sizeof(*file));
	if (file && (file->name = strdup(name)) && tsearch(file, &files->by_name, by_name))
		return file;
	if (file)
		file_free(file);
	errno = ENOMEM;
	return NULL;
}

static bool open_file(struct files *files, struct file *file, bool is_first)
{
	struct descriptor descriptor;
	int fd = open(file->name,
		      O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (is_first ? O_TRUNC : O_APPEND),
		      0666);

	if (fd < 0)
		return false;
	descriptor_take_file(&descriptor, fd);
	file->sink = sink_open(files->loop, descriptor, file->name, files->events, files->owner);
	if (!file->sink) {
		errno = ENOMEM;
		return false;
	}
	file->previous = NULL;
	file->next = files->open;
	if (file->next)
		file->next->previous = file;
	files->open = file;
	return true;
}

struct sink *files_get(struct files *files, const char *name)
{
	struct file key = {.name = (char *)(uintptr_t)name}, *file;
	bool is_first = !files->is_continued && !tfind(&key, &files->by_name, by_name);

	file = find(files, name);
	if (!file || (!file->sink && !open_file(files, file, is_first)))
		return NULL;
	file->users++;
	return file->sink;
}

void files_put(struct files *files, struct sink *sink)
{
	for (struct file *file = files->open, *next; file; file = next) {
		next = file->next;
		if (file->sink == sink)
			file->users--;
		if (!file->users && sink_is_empty(file->sink))
			unlist(files, file);
	}
}

bool files_are_full(const struct files *files)
{
	for (const struct file *file = files->open; file; file = file->next)
		if (sink_is_full(file->sink))
			return true;
	return false;
}

bool files_are_empty(const struct files *files)
{
	for (const struct file *file = files->open; file; file = file->next)
		if (!sink_is_empty(file->sink))
			return false;
	return true;
}
