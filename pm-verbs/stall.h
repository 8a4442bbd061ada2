/* SPDX-License-Identifier: BSD-3-Clause */
/* stall - queue pairs whose work does not come back after their port failed. */
#ifndef PM_VERBS_STALL_H
#define PM_VERBS_STALL_H

#include "pm-verbs/device.h"

/*
 * The rail's port failed: its queue pairs are watched. Or it works again: those of them that have something posted are,
 * and those of ports that are down.
 */
void pmv_stall_watch(struct pmv_link *link, struct pmv_rail *rail);
/* The queue pair is not watched any more. */
void pmv_stall_end(struct pmv_link *link, struct pmv_qp *qp);
/* Ends the connections of those that got stuck. */
void pmv_stall_timers(struct pmv_link *link, uint64_t now);
/* How long until there may be one; UINT64_MAX = none is watched. */
uint64_t pmv_stall_deadline(const struct pmv_link *link, uint64_t now);

/* Nothing of what was posted then is left. */
void pmv_stall_all_returned(struct pmv_link *link, struct pmv_qp *qp);

/* Something sent by the queue pair has come back. */
static inline void pmv_stall_returned(struct pmv_link *link, struct pmv_qp *qp)
{
	if (qp->n_watched && !--qp->n_watched)
		pmv_stall_all_returned(link, qp);
}

#endif
