/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * restore - after a start of ours: jobs that the journal knows to run, and their cores as soon as
 * their hosts have registered.
 */
#ifndef SCHEDULER_SCORED_RESTORE_H
#define SCHEDULER_SCORED_RESTORE_H

#include "scheduler/scored/scored.h"

/* Enters them into the list, without a place. 0 or -errno with a sentence. */
int restore_jobs(struct scored *d, char *why, size_t why_size);
/*
 * Into the matrix, on the cores it has. 0, also when a host is still missing; -errno: somebody else
 * has them.
 */
int restore_place(struct scored *d, struct sjob *job);

#endif
