/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * moved - sets right what is different for a scstepd that was restored from its image: hosts and
 * their addresses, numbers of processes, and the cores of ranks, which CRIU does not keep.
 */
#ifndef SCHEDULER_SCSTEPD_MOVED_H
#define SCHEDULER_SCSTEPD_MOVED_H

#include <jansson.h>

#include "scheduler/scstepd/step.h"

/* By scnoded's OP_REJOINED with an order. NULL; or why the job can't go on, which is static. */
const char *moved_take(struct step *step, const json_t *head);

#endif
