/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * child - between fork and exec: everything a rank is given by its parent. The process has threads
 * (PMIx's), so from the fork on nothing is called that could want a lock. The child stops before
 * exec until its parent lets it go.
 */
#ifndef SCHEDULER_SCSTEPD_CHILD_H
#define SCHEDULER_SCSTEPD_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/proto/job.h"

/* All of it belongs to the caller. */
struct child_plan {
	const char *path; /* of the program */
	char *const *argv;
	char *const *env;
	const char *cwd;
	const struct job *job;     /* limits and umask */
	const unsigned long *mask; /* cpus */
	size_t mask_bytes;
	int in, out, err; /* become 0, 1, 2; one of a terminal may stand for all */
	bool is_terminal; /* in is a terminal that becomes the controlling one */
	int keep;         /* descriptor that stays open across exec, -1 = none */
	int go;           /* read end: one byte lets go, the end of it means exit */
	int failure;      /* write end, close-on-exec: a struct child_failure */
	pid_t parent;     /* set by child_fork(): its death is the rank's */
};

enum child_stage { CHILD_CWD, CHILD_LIMIT, CHILD_STDIO, CHILD_EXEC };

/* The step that the child could not do. */
struct child_failure {
	int32_t stage; /* enum child_stage */
	int32_t error; /* errno */
	int32_t what;  /* CHILD_LIMIT: the resource */
};

/*
 * Forks. The pid, or -errno. Child exits with 126 or 127 if it cannot exec, 125 if it is not let
 * go.
 */
pid_t child_fork(struct child_plan *plan);

#endif
