/* SPDX-License-Identifier: BSD-3-Clause */
/* cq - the room in a rail's completion queue. */
#ifndef PM_VERBS_HW_CQ_H
#define PM_VERBS_HW_CQ_H

#include "pm-verbs/hw/link.h"

#define PMV_CQ_FIRST 512 /* completions there is room for at first */

/* Makes sure that @n more completions find room. */
int pmv_cq_reserve(struct pmv_link *link, struct pmv_rail *rail, uint32_t n);

#endif
