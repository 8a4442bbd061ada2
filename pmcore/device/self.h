/* SPDX-License-Identifier: BSD-3-Clause */
/* self - the link of a node to itself: a queue in memory. */
#ifndef PM_DEVICE_SELF_H
#define PM_DEVICE_SELF_H

#include "pm_device.h"

extern const struct pm_link_ops pm_self_ops;

#endif
