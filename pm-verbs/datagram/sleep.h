/* SPDX-License-Identifier: BSD-3-Clause */
/* sleep - descriptors to sleep on, and what the devices say besides completions. */
#ifndef PM_VERBS_DATAGRAM_SLEEP_H
#define PM_VERBS_DATAGRAM_SLEEP_H

#include "pm-verbs/datagram/device.h"

/* The rail's descriptors in the set of those that wake, and out of it. 0 or -errno. */
int pmvd_sleep_watch(struct pmvd_dev *d, struct pmvd_rail *rail);
void pmvd_sleep_unwatch(struct pmvd_dev *d, struct pmvd_rail *rail);
int pmvd_sleep_fds(struct pm_dev *dev, int *fds, int room);
int pmvd_sleep_arm(struct pm_dev *dev);
void pmvd_sleep_disarm(struct pm_dev *dev);
enum pm_rail_state pmvd_rail_state(struct pm_dev *dev, uint32_t rail);

#endif
