/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * say - lines for the user on standard error, and one status line that the next one wipes out.
 */
#ifndef SCHEDULER_SCRUN_SAY_H
#define SCHEDULER_SCRUN_SAY_H

struct sink;

/*
 * From now on lines go through @sink, behind what is queued there; NULL: straight to standard
 * error.
 */
void say_through(struct sink *sink);
/* "scrun: ...". Control characters of what came from elsewhere become "?". */
__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);
/* A line without "scrun: ". */
__attribute__((format(printf, 1, 2))) void say_plain(const char *fmt, ...);
/* Shown on a terminal only, until anything else is; "" wipes it out. */
void say_status(const char *text);

#endif
