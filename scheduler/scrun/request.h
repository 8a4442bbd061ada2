/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request - the job that scored is asked for: what was typed, and what this process passes on of
 * itself: environment, directory, umask, resource limits.
 */
#ifndef SCHEDULER_SCRUN_REQUEST_H
#define SCHEDULER_SCRUN_REQUEST_H

#include "scheduler/scrun/options.h"

/*
 * 0 and *@ret (job_free()), or -EINVAL, -ENOMEM or what the kernel said, with a sentence in @why.
 */
int request_build(struct job **ret, const struct options *options, char *const *environment,
		  char *why, size_t why_size);

/* The first message to scored: OP_SUBMIT, or OP_RESTART. NULL: no memory. */
json_t *request_message(const struct options *options, const struct job *job);

#endif
