/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_scout - an agent in a process of its own, and scout's side of its connection, one message
 * after the other.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCREMOTE_FAKE_SCOUT_H
#define TESTS_UNIT_SCHEDULER_SCREMOTE_FAKE_SCOUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SCOUT_HEAR_MS 10000 /* an agent that lives has answered by then */
#define SCOUT_HOST "h0"

struct scout {
	pid_t agent;
	int fd;
	char *bytes; /* that have come */
	size_t n, room;
	json_t *head;     /* of the last message; NULL: the connection has ended */
	const char *body; /* in bytes */
	size_t body_size;
};

/* The result of a command, and its output until its end. */
struct scout_end {
	int status;
	char error[32], text[512]; /* "": none */
	char *out[2];              /* a zero follows */
	size_t size[2];
};

/* Has heard OP_REMOTE_READY. */
void scout_open(struct scout *scout);
/* NULL: as it is. */
void scout_open_with(struct scout *scout, const char *munge_socket, const char *home);
/* Closes the connection, waits for the agent. */
void scout_close(struct scout *scout);

/* Takes the reference. */
void scout_say(struct scout *scout, json_t *head, const void *body, size_t size);
/* The next message's op; "" = none has come within @ms, or the connection has ended. */
const char *scout_hear(struct scout *scout, int ms);
int64_t scout_number(const struct scout *scout, const char *name);
const char *scout_text(const struct scout *scout, const char *name);

/* A line for the shell as command 1, with more fields, which may be NULL. */
void scout_run(struct scout *scout, const char *line, json_t *more);
/* All until OP_ENDED of command 1, with room for it. free_end() it. */
struct scout_end scout_end_of(struct scout *scout);
void scout_free_end(struct scout_end *end);
/* The first number that command 1 says on a line. */
pid_t scout_pid(struct scout *scout);

/* Names in the directory, but for those that begin with a dot. */
int names_in(const char *directory);
/* Whether there are so many within some seconds. */
bool has_names_soon(const char *directory, int want);

/* Whether the process is gone within some seconds, as a zombie or for good. */
bool is_gone(pid_t pid);

#endif
