/* SPDX-License-Identifier: BSD-3-Clause */
/* completion - polling and sleeping. */
#ifndef PM_VERBS_COMPLETION_H
#define PM_VERBS_COMPLETION_H

#include "pm-verbs/device.h"

int pmv_progress(struct pmv_link *link); /* completions handled, or peers that left */
int pmv_poll_fds(struct pm_link *base, int *fds, int room);
int pmv_arm(struct pm_link *base, uint64_t *timeout_ns);
void pmv_disarm(struct pm_link *base);

#endif
