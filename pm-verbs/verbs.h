/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs - the reliable link over InfiniBand and RoCE, through libibverbs. */
#ifndef PM_VERBS_VERBS_H
#define PM_VERBS_VERBS_H

#include "pm_device.h"

extern const struct pm_link_ops pm_verbs_ops;

#endif
