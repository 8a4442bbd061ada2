/* SPDX-License-Identifier: BSD-3-Clause */
/* progress - polling, receiving and sleeping. */
#ifndef PM_VERBS_PROGRESS_H
#define PM_VERBS_PROGRESS_H

#include "pm-verbs/conn/record.h"

#define PMV_IDLE_CHORES 64 /* polls between looks at the timers */

int pmv_progress(struct pmv_link *link); /* completions handled, or peers that left */
int pmv_receive(struct pm_link *base, struct pm_inbound *ret);
/* See struct pm_link_ops. */
bool pmv_is_gone(struct pm_link *base, struct pm_link_peer *peer);
int pmv_poll_fds(struct pm_link *base, int *fds, int room);
int pmv_arm(struct pm_link *base, uint64_t *timeout_ns);
void pmv_disarm(struct pm_link *base);

#endif
