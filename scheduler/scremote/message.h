/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message - what scout says to its agent (proto/ops.h), taken from the wire and judged. Pure.
 */
#ifndef SCHEDULER_SCREMOTE_MESSAGE_H
#define SCHEDULER_SCREMOTE_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_ARGUMENTS_MAX 65536

enum message_kind {
	MESSAGE_PING,
	MESSAGE_RUN,
	MESSAGE_IN,
	MESSAGE_OUT_ROOM,
	MESSAGE_SIGNAL,
};

/* What the kind has no use for is 0 or NULL. */
struct message {
	enum message_kind kind;
	uint64_t id;
	char **argv;     /* at least one */
	char *directory; /* NULL: home */
	char **env;      /* "NAME=VALUE" */
	bool has_stdin;
	bool is_directory_needed;
	bool merges_stderr;
	int signal;
	size_t bytes; /* of credit */
};

/*
 * 0; -ENOTSUP: an op of which we know nothing; -EINVAL or -ENOMEM, and a sentence. Whatever it is, ret->id is set if
 * the message has one, and message_free() is due.
 */
int message_decode(struct message *ret, const char *op, const json_t *head, char *why,
		   size_t why_size);
void message_free(struct message *message);

#endif
