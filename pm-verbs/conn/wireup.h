/* SPDX-License-Identifier: BSD-3-Clause */
/* wireup - greetings, by which both ends learn of each other's queue pair. */
#ifndef PM_VERBS_CONN_WIREUP_H
#define PM_VERBS_CONN_WIREUP_H

#include "pm-verbs/conn/record.h"

void pmv_greeting_arrived(struct pmv_link *link, const uint8_t *bytes, size_t len);
/* Sends greetings again that are due, and gives up peers that were silent for too long. */
void pmv_greeting_timers(struct pmv_link *link, uint64_t now);
/* ns from now to the next of these, UINT64_MAX = none. */
uint64_t pmv_greeting_deadline(struct pmv_link *link, uint64_t now);

#endif
