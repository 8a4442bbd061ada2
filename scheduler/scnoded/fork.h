/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork - starts a scstepd: as the job's user, in the job's group, with one end of a socket pair as
 * descriptor 3. Steps that can fail because of the user's data are done before the fork.
 */
#ifndef SCHEDULER_SCNODED_FORK_H
#define SCHEDULER_SCNODED_FORK_H

#include "scheduler/scnoded/scnoded.h"

/* NULL and step->pid, *@control = our end; or why not, the caller's. */
char *fork_step(struct step *step, int *control);

#endif
