/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * munged - one of a test's own, with a key and a socket in a directory that goes with it.
 */
#ifndef TESTS_HARNESS_MUNGED_H
#define TESTS_HARNESS_MUNGED_H

#include <stdbool.h>
#include <sys/types.h>

struct munged {
	char dir[64], path[96]; /* path: of its socket */
	pid_t pid;
};

/* False: the test is skipped, or has failed. */
bool munged_start(struct munged *munged);
/* As by a crash: what it has in the directory stays. */
void munged_kill(struct munged *munged);
void munged_stop(struct munged *munged);

#endif
