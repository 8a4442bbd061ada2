/* SPDX-License-Identifier: BSD-3-Clause */
/* events - what the devices say besides completions. */
#ifndef PM_VERBS_HW_EVENTS_H
#define PM_VERBS_HW_EVENTS_H

#include "pm-verbs/hw/link.h"

/* Handles the events that have come. */
void pmv_events(struct pmv_link *link);

#endif
