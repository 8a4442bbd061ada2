/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files - the descriptors that a daemon may have, and the parts of them that strangers get. These
 * have not said yet who they are or what they want. The rest is for the daemon's own work and for
 * those whom it knows.
 */
#ifndef SCHEDULER_PROTO_FILES_H
#define SCHEDULER_PROTO_FILES_H

#include <stdbool.h>
#include <stddef.h>

#define FILES_PARTS 8 /* one for each kind of strangers, of which no daemon has more than four */

/* How many this process may have. */
unsigned long long files_limit(void);
/* As many as it may ask for from now on; how many that are. */
unsigned long long files_raise(void);
/*
 * Is @n as many connections as one kind of strangers may have? @max where descriptors are plenty.
 */
bool files_full(size_t n, size_t max);
/*
 * Something could not be opened, accepted or made: said in the log once a minute, if it is for want
 * of descriptors.
 */
void files_say(int error);
/* The remedy, if this error of errno is about the number of descriptors; else @otherwise. */
const char *files_remedy(int error, const char *otherwise);

#endif
