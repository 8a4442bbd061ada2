/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control - the local link between scnoded and the scstepd of one job, and the socket at which a
 * scstepd asks for a new one when its scnoded has started anew. A scstepd is its user's process:
 * whatever it says is checked.
 */
#ifndef SCHEDULER_SCNODED_CONTROL_H
#define SCHEDULER_SCNODED_CONTROL_H

#include "scheduler/scnoded/scnoded.h"

/* The step's part that is ours. */
void control_init(struct step *step);
/* Ties the step to our end of a socket pair. */
void control_tie(struct step *step, int fd);
/* Opens RUNDIR/scnoded.sock. 0 or -errno. */
int control_open(struct scnoded *d);
void control_close(struct scnoded *d);

#endif
