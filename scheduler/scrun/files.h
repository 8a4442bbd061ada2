/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files - the files that --output names: each is emptied when it is opened first, and shared by all
 * whose name is the same.
 */
#ifndef SCHEDULER_SCRUN_FILES_H
#define SCHEDULER_SCRUN_FILES_H

#include <stdint.h>

#include "scheduler/scrun/sink.h"

struct files;

/* The values of %r, %h, %j, %w and %s in a pattern. */
struct files_words {
	uint64_t job, world, rank;
	const char *host; /* NULL = not known: "unknown" */
	int stream;
};

/*
 * The name, owned by the caller; NULL with *@wrong = the unknown letter behind a %, or 0: no
 * memory.
 */
char *files_name(const char *pattern, const struct files_words *words, char *wrong);

struct files *files_open(struct ev_loop *loop, const struct sink_events *events, void *owner);
/* From now on files that are there are continued, and not emptied. */
void files_continue(struct files *files);
void files_close(struct files *files);
/* Opens it if it is not open. NULL with errno. Each files_get() wants its files_put(). */
struct sink *files_get(struct files *files, const char *name);
/* Closed when nobody has it any more and all is written. */
void files_put(struct files *files, struct sink *sink);
bool files_are_full(const struct files *files);
bool files_are_empty(const struct files *files);

#endif
