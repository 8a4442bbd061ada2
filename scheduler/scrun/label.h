/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * label - whole lines out of the pieces that come, so that a label can stand in front of each and
 * lines of two ranks never mix. Pure.
 */
#ifndef SCHEDULER_SCRUN_LABEL_H
#define SCHEDULER_SCRUN_LABEL_H

#include <stddef.h>
#include <stdint.h>

#define LABEL_LINE_MAX (64u << 10) /* bytes; longer lines are cut there */
#define LABEL_MAX 320              /* bytes of a label */

/* The line that has begun, of one stream of one rank. Zeroed: none has. */
struct label_line {
	char *text;
	size_t size, room;
};

/* One line without its end. */
typedef void label_emit(const char *line, size_t size, void *owner);

/* Calls @emit for each line that ends in @data, and keeps the rest. 0 or -ENOMEM. */
int label_feed(struct label_line *line, const char *data, size_t size, label_emit *emit,
	       void *owner);
/* The end of the stream: what is left is a line, too. */
void label_end(struct label_line *line, label_emit *emit, void *owner);
void label_fini(struct label_line *line);

/* "[3 h1] ", of a world that was spawned "[2.3] ". @host may be NULL. */
void label_text(char to[LABEL_MAX], uint64_t world, uint64_t rank, const char *host);

#endif
