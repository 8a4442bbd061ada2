/* SPDX-License-Identifier: BSD-3-Clause */
/* patience - how long a node may be silent before it counts as dead. */
#ifndef PM_VERBS_PATIENCE_H
#define PM_VERBS_PATIENCE_H

#include "pm-verbs/device.h"

/* Until when the connection that is greeted for from @now on may take; UINT64_MAX = for ever. */
uint64_t pmv_patience_until(const struct pmv_link *link, const struct pm_link_peer *peer,
			    uint64_t now);
/* What @qp sent was not acknowledged: how long its peer may take to come back, UINT64_MAX = as a first contact. */
uint64_t pmv_patience_lost(struct pmv_link *link, struct pmv_qp *qp);
/* The rail has failed, or works again: silence by it says nothing of others. */
void pmv_patience_of_rail(struct pmv_link *link, struct pmv_rail *rail);

#endif
