/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * briefing - what a scstepd must know of its job and of this host: when it starts, and when it was
 * restored from an image that another host may have written.
 */
#ifndef SCHEDULER_SCNODED_BRIEFING_H
#define SCHEDULER_SCNODED_BRIEFING_H

#include <jansson.h>

#include "scheduler/scnoded/scnoded.h"

/* Adds to @head: order, host and, where it is limited, memory. */
void briefing_add(const struct step *step, json_t *head);

#endif
