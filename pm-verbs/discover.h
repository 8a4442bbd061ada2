/* SPDX-License-Identifier: BSD-3-Clause */
/* discover - which ports there are, and which of them become rails. */
#ifndef PM_VERBS_DISCOVER_H
#define PM_VERBS_DISCOVER_H

#include "pm-verbs/device.h"

#define PMV_NO_DEVICE "verbs: there is no RDMA device here (rdma link shows them)"

int pmv_discover(struct pmv_link *link);

#endif
