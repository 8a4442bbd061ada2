/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * absence - a rank that ended well without ever coming to MPI. Alone that is nothing: it is no MPI
 * program. But if others of its world are in MPI, they wait for it in MPI_Init for ever, and PMIx
 * tells nobody: then the job fails.
 */
#ifndef SCHEDULER_SCSTEPD_ABSENCE_H
#define SCHEDULER_SCSTEPD_ABSENCE_H

#include <jansson.h>
#include <stdint.h>

#include "scheduler/scstepd/step.h"

#define ABSENCE_S 1.0 /* a job that is over by then sends no message about it */

/* At the leader: such a rank has ended. Only the first of a world counts. */
void absence_begin(struct step *step, uint32_t world, uint32_t rank);
/* OP_ABSENT, at every host. */
void absence_told(struct step *step, const json_t *head);
/* A rank of that world came to MPI here. */
void absence_check(struct step *step, const struct world *world);
void absence_close(struct step *step);

#endif
