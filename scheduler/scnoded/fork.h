/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork - a scstepd comes into being: as the job's user, in the job's group, with one end of a socket pair as
 * descriptor 3. What can fail by the user's data is done before the fork.
 */
#ifndef SCHEDULER_SCNODED_FORK_H
#define SCHEDULER_SCNODED_FORK_H

#include "scheduler/scnoded/scnoded.h"

/* NULL and step->pid, *@cord = our end; or why not, the caller's. */
char *fork_step(struct step *step, int *cord);

#endif
