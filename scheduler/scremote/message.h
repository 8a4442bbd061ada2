/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message - what scout says to its agent (messages.def), taken from the wire and judged. Pure.
 */
#ifndef SCHEDULER_SCREMOTE_MESSAGE_H
#define SCHEDULER_SCREMOTE_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MESSAGE_ARGUMENTS_MAX 65536
#define MESSAGE_TREE_MAX 65536 /* hosts in a tree of OP_PUT */
#define MESSAGE_TREE_DEPTH_MAX 64
#define MESSAGE_SHA256_CHARS 64

enum message_kind {
	MESSAGE_PING,
	MESSAGE_RUN,
	MESSAGE_IN,
	MESSAGE_OUT_ROOM,
	MESSAGE_SIGNAL,
	MESSAGE_PUT,
	MESSAGE_DATA,
	MESSAGE_IN_ROOM, /* from a host below us in a tree of OP_PUT */
	MESSAGE_GET,
	MESSAGE_DOOR_WANTED,
};

/* A host that gets a file from us, and what it passes on. */
struct message_child {
	char *address;
	json_t *children; /* of OP_PUT to it */
	json_t *hosts;    /* names: its own and of all below */
};

/* A field that the kind has no use for is 0 or NULL. */
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
	char *path;   /* absolute, or below the home directory */
	mode_t mode;
	uint64_t size;    /* bytes of the file */
	char *sha256;     /* of it, in hexadecimal */
	int64_t mtime_ns; /* since 1970; -1: not said */
	struct message_child *children;
	size_t n_children;
};

/*
 * 0; -ENOTSUP: an op of which we know nothing; -EINVAL or -ENOMEM, and a sentence. Whatever it is,
 * ret->id is set if the message has one, and message_free() is due.
 */
int message_decode(struct message *ret, const char *op, const json_t *head, char *why,
		   size_t why_size);
void message_free(struct message *message);

#endif
