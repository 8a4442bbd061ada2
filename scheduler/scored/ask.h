/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ask - where a job would run if it were submitted now. Plans in a copy of the matrix: nothing is
 * kept.
 */
#ifndef SCHEDULER_SCORED_ASK_H
#define SCHEDULER_SCORED_ASK_H

#include "scheduler/scored/scored.h"

/* The answer to OP_SUBMIT with dry_run. NULL with a sentence: it could never run. */
json_t *ask_place(struct scored *d, const struct job *job, char *why, size_t why_size);

#endif
