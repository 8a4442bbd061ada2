/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * daemon - what scored and scnoded do alike: lines to standard error, sentences, and a loop that
 * runs until it is told to stop.
 */
#ifndef SCHEDULER_PROTO_DAEMON_H
#define SCHEDULER_PROTO_DAEMON_H

#include <ev.h>

/* One line to standard error, after the program's name. */
void daemon_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A string of one's own; never NULL: the process ends without memory for a sentence. */
char *daemon_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Tells the service manager that we are ready, and runs the loop until SIGTERM or SIGINT. */
void daemon_run(struct ev_loop *loop);

#endif
