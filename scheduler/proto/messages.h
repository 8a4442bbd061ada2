/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * messages - the table of messages.def for programs: each op has a number, each direction of a
 * connection a list of the messages that may come that way. Knows no message that was received.
 */
#ifndef SCHEDULER_PROTO_MESSAGES_H
#define SCHEDULER_PROTO_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Directions: MESSAGES_USER_TO_SCORED... */
enum messages_link {
#define LINK(name, ...) MESSAGES_##name,
#define MESSAGE(...)
#define ALSO(...)
#include "scheduler/proto/messages.def"
#undef LINK
#undef MESSAGE
	MESSAGES_LINKS
};

/* Numbers of ops, for arrays of handlers: ON_SUBMIT... */
enum messages_op {
#define LINK(...)
#define MESSAGE(name, ...) ON_##name,
#include "scheduler/proto/messages.def"
#undef LINK
#undef MESSAGE
#undef ALSO
	MESSAGES_OPS
};

/* The types of messages.def. */
enum messages_type {
	MESSAGES_NUMBER,
	MESSAGES_ID,
	MESSAGES_INTEGER,
	MESSAGES_REAL,
	MESSAGES_BOOL,
	MESSAGES_TEXT,
	MESSAGES_BYTES,
	MESSAGES_TEXTS,
	MESSAGES_NUMBERS,
	MESSAGES_LIST,
	MESSAGES_OBJECT,
};

struct messages_field {
	const char *name; /* NULL: behind the last one */
	enum messages_type type;
	bool is_optional;
	bool has_range;
	int64_t min, max;         /* of a number, or of how many values a list has; if has_range */
	const char *const *words; /* all that a text may be, NULL behind the last one; NULL: any */
};

struct messages_entry {
	enum messages_op op;
	enum messages_link link;
	const struct messages_field *fields;
};

/* All entries, in the table's order. */
const struct messages_entry *messages_entries(size_t *ret_n);
const char *messages_op_text(enum messages_op op);
/* Of a message that comes by @link; NULL: there is none with this op. */
const struct messages_entry *messages_find(enum messages_link link, const char *op);

#endif
