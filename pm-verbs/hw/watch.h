/* SPDX-License-Identifier: BSD-3-Clause */
/* watch - queue pairs whose port has failed or come back. */
#ifndef PM_VERBS_HW_WATCH_H
#define PM_VERBS_HW_WATCH_H

#include "pm-verbs/hw/link.h"

/*
 * The rail's port failed: its queue pairs are watched. Or it works again: those of them that have
 * something posted are, and those of ports that are down.
 */
void pmv_watch_rail(struct pmv_link *link, struct pmv_rail *rail);
/* The queue pair is not watched any more. */
void pmv_watch_end(struct pmv_link *link, struct pmv_qp *qp);
/* Its time is up and it is not stuck: what is left has that time once more. */
void pmv_watch_again(struct pmv_link *link, struct pmv_qp *qp, uint64_t now);
/* Nanoseconds until the time of one is up; UINT64_MAX = none is watched. */
uint64_t pmv_watch_deadline(const struct pmv_link *link, uint64_t now);

/* Nothing of what was posted then is left. */
void pmv_watch_all_returned(struct pmv_link *link, struct pmv_qp *qp);

/* Something sent by the queue pair has come back. */
static inline void pmv_watch_returned(struct pmv_link *link, struct pmv_qp *qp)
{
	if (qp->n_watched && !--qp->n_watched)
		pmv_watch_all_returned(link, qp);
}

#endif
