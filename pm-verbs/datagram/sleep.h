/* SPDX-License-Identifier: BSD-3-Clause */
/* sleep - descriptors to sleep on, and what the devices say besides completions. */
#ifndef PM_VERBS_DATAGRAM_SLEEP_H
#define PM_VERBS_DATAGRAM_SLEEP_H

#include "pm-verbs/datagram/device.h"

int pmvd_sleep_fds(struct pm_dev *dev, int *fds, int room);
int pmvd_sleep_arm(struct pm_dev *dev);
void pmvd_sleep_disarm(struct pm_dev *dev);
enum pm_rail_state pmvd_rail_state(struct pm_dev *dev, uint32_t rail);

#endif
