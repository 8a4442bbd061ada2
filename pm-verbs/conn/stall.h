/* SPDX-License-Identifier: BSD-3-Clause */
/* stall - connections whose work does not come back after a port failed. */
#ifndef PM_VERBS_CONN_STALL_H
#define PM_VERBS_CONN_STALL_H

#include "pm-verbs/conn/record.h"

/* Ends the connections of queue pairs that got stuck. */
void pmv_stall_timers(struct pmv_link *link, uint64_t now);

#endif
