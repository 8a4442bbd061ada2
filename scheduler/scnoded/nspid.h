/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nspid - which process of the host is meant by a number that a job's scstepd tells. That is its
 * user's program, so a number counts only if the kernel shows a process of the job that has it.
 */
#ifndef SCHEDULER_SCNODED_NSPID_H
#define SCHEDULER_SCNODED_NSPID_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "pmcore/util/pidns.h"
#include "scheduler/scnoded/scnoded.h"

/* All processes of a job with a namespace; without one it stays empty. 0 or -ENOMEM. */
int nspid_list(const struct step *step, struct pidns_table *ret);
/* The host's number of a process that is now in the job's groups, 0: @told is none of the job's. */
pid_t nspid_of(const struct step *step, const struct pidns_table *table, json_int_t told);
/* Whether that process of the host is the job's scstepd. */
bool nspid_is_scstepd(const struct step *step, pid_t pid);

#endif
