/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dry - what --dry-run prints on standard output: the hosts of a job, its ranks there, and the
 * cores that each would be bound to. Pure but for the printing.
 */
#ifndef SCHEDULER_SCRUN_DRY_H
#define SCHEDULER_SCRUN_DRY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "scheduler/proto/job.h"

/*
 * The ranks as an array of objects: rank N, host S, bound B, cores [N], cpus [N]. NULL: @head,
 * scored's answer, makes no sense.
 */
json_t *dry_ranks(const json_t *head, const struct job *job);
/*
 * Prints for people, or one object with hosts, ranks and waits (null or a text). -EINVAL as above,
 * or -ENOMEM.
 */
int dry_print(FILE *out, const json_t *head, const struct job *job, bool is_json);

#endif
