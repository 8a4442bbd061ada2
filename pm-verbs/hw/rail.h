/* SPDX-License-Identifier: BSD-3-Clause */
/* rail - what is opened of one port. */
#ifndef PM_VERBS_HW_RAIL_H
#define PM_VERBS_HW_RAIL_H

#include "pm-verbs/hw/link.h"

/* Opens rails[index] of @port on @device; closing takes what is half open. */
int pmv_rail_open(struct pmv_link *link, struct pmv_rail *rail, struct ibv_device *device);
void pmv_rail_close(struct pmv_link *link, struct pmv_rail *rail);
/*
 * Writes the sentence about a call that failed, by errno; the error that lets the composite go on
 * without us.
 */
int pmv_rail_explain(struct pmv_link *link, const struct pmv_rail *rail, const char *what);

#endif
