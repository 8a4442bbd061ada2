/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_limit - that the job has on this host, as scnoded tells it.
 */
#ifndef SCHEDULER_SCSTEPD_MEMORY_LIMIT_H
#define SCHEDULER_SCSTEPD_MEMORY_LIMIT_H

#include <jansson.h>

#include "scheduler/scstepd/step.h"

/* In place of one before. @from: "memory" of scnoded's message; NULL: there is none. */
void memory_limit_take(struct step *step, const json_t *from);

#endif
