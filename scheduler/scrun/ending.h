/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ending - how the job ended for the user: an exit code, and one line unless all went well. The
 * first ending that is given counts. Pure but for ending_say().
 */
#ifndef SCHEDULER_SCRUN_ENDING_H
#define SCHEDULER_SCRUN_ENDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define ENDING_USAGE 2
#define ENDING_LOST 123      /* a host or a daemon */
#define ENDING_STARTLESS 125 /* it could not be started */

/* Zeroed: not known yet. */
struct ending {
	bool is_given;
	int code; /* of exit(3) */
	char text[2048];
};

/* @code out of 0..255 becomes 255. */
__attribute__((format(printf, 3, 4))) void ending_give(struct ending *ending, int code,
						       const char *fmt, ...);
/* The code of an OP_ENDED; 255 if it is none. */
int ending_code(const json_t *head);
/* The line, if there is one. @job: its number, 0 = it has none. */
void ending_say(const struct ending *ending, uint64_t job);

#endif
