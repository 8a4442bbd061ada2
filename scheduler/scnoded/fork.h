/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork - starts a scstepd: as the job's user, in the job's group, with one end of a socket pair as
 * descriptor 3. Steps that can fail because of the user's data are done before the fork.
 */
#ifndef SCHEDULER_SCNODED_FORK_H
#define SCHEDULER_SCNODED_FORK_H

#include "scheduler/scnoded/criu/restore.h"
#include "scheduler/scnoded/scnoded.h"

/* NULL and step->pid, *@control = our end; or why not, the caller's. */
char *fork_step(struct step *step, int *control);
/*
 * The same of a job that is restored. *@ret_told: to be read by restore_hear() until it has ended.
 */
char *fork_restored(struct step *step, const struct restore_order *order, int *ret_told);

#endif
