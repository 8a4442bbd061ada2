/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message - what a tool says to its user on standard error, and the exit codes of all tools. Knows
 * no test and no context. Inside the tools a function that fails has said so and returns -errno;
 * message_exit_code turns that into the code of the process.
 */
#ifndef TOOLS_MESSAGE_H
#define TOOLS_MESSAGE_H

#include <stdbool.h>

enum {
	MESSAGE_OK = 0,
	MESSAGE_USAGE = 1,         /* wrong arguments, or no way to start */
	MESSAGE_DATA = 2,          /* data arrived wrong, twice, out of order or not at all */
	MESSAGE_LOST = 3,          /* a node died, left or stayed silent beyond the time limit */
	MESSAGE_INTERRUPTED = 130, /* by a signal */
};

/* Starts each line with "PROGRAM: " and, once the node is known, "PROGRAM: node N: ". */
void message_node(unsigned int node);
void message_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same for what is no error. */
void message_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * A line that the next one overwrites; nothing when standard error is no terminal. message_error,
 * message_note and message_progress_end remove it.
 */
bool message_has_progress(void);
void message_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void message_progress_end(void);

/*
 * -EINTR: interrupted. -EBADMSG, -EILSEQ, -EACCES (a one-sided operation was refused): data.
 * -EPIPE, -ETIMEDOUT, -ECONNRESET, -ECONNREFUSED, -EHOSTUNREACH: lost. 0: ok. Others: usage.
 */
int message_exit_code(int rc);

#endif
